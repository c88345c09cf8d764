// Sizes, counts and offsets that a file gives: held against the length of the file before anything
// is computed with them, so that no product or sum of them overflows and nothing is allocated that
// the file could not fill.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>

namespace lexikos {

class FileExtent {
 public:
  /// Of a file of `bytes` bytes; `path` is what errors name.
  FileExtent(std::string path, std::uint64_t bytes) : path_(std::move(path)), bytes_(bytes) {}
  /// Of the file there. Throws Error(file) where there is none.
  explicit FileExtent(const std::string& path);

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }

  /// The product of factors that `what` ("the extents of '/train'") gives. Throws Error(file) where
  /// it is 2^63 or more.
  [[nodiscard]] std::int64_t product(const std::string& what,
                                     std::initializer_list<std::uint64_t> factors) const;
  template <class List>
  [[nodiscard]] std::int64_t product(const std::string& what, const List& factors) const {
    std::uint64_t all = 1;
    for (const auto factor : factors) {
      all = times(what, all, static_cast<std::uint64_t>(factor));
    }
    return static_cast<std::int64_t>(all);
  }
  /// The sum, in the same manner.
  [[nodiscard]] std::int64_t sum(const std::string& what, std::uint64_t a, std::uint64_t b) const;

  /// Throws Error(file) where the bytes [begin, begin + count * bytes_each) are not in the file.
  void require_inside(const std::string& what, std::uint64_t begin, std::uint64_t count,
                      std::uint64_t bytes_each) const;

  /// Throws Error(file): "cannot read '<path>': <what>".
  [[noreturn]] void refuse(const std::string& what) const;

 private:
  [[nodiscard]] std::uint64_t times(const std::string& what, std::uint64_t a,
                                    std::uint64_t b) const;

  std::string path_;
  std::uint64_t bytes_ = 0;
};

}  // namespace lexikos
