// A whole file as read-only memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace lexikos {

/// A file that loses pages while it is mapped (cut short by another program, a failed disk) ends
/// the process with one line on stderr and Status::file, at the read that meets it.
class MappedFile {
 public:
  /// Maps `path`. Throws Error(file): missing, a folder, empty, or refused by the system. `advice`
  /// ends the message of a file that cannot be opened ("check data.tokens").
  explicit MappedFile(const std::string& path, const std::string& advice = "check the path");
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] const std::byte* data() const { return data_; }
  [[nodiscard]] std::uint64_t size() const { return size_; }
  /// `count` bytes from `begin` as text; fewer at the end of the file.
  [[nodiscard]] std::string_view text(std::uint64_t begin, std::uint64_t count) const;
  /// A little-endian number at any byte; the caller has checked that it is there.
  template <class T>
  [[nodiscard]] T number(std::uint64_t at) const {
    T value;
    std::memcpy(&value, data_ + at, sizeof value);
    return value;
  }

  /// Throws Error(file): "cannot read '<path>': <what>".
  [[noreturn]] void refuse(const std::string& what) const;

 private:
  std::string path_;
  const std::byte* data_ = nullptr;
  std::uint64_t size_ = 0;
};

}  // namespace lexikos
