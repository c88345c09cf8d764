// What reader and writer share. Not for other folders: includes hdf5.h.
#pragma once

#include <hdf5.h>

#include <cstdint>
#include <string>
#include <utility>

namespace lexikos::detail {

/// Must come before any other HDF5 call: no file locks unless the user asked for them, no printing.
void start_hdf5();

/// The reason of the last failed HDF5 call, as a person would put it; empties the error stack.
std::string hdf5_reason();

/// Owns one HDF5 identifier.
class Handle {
 public:
  using Close = herr_t (*)(hid_t);

  Handle() = default;
  Handle(hid_t id, Close close) : id_(id), close_(close) {}
  ~Handle() { reset(); }
  Handle(Handle&& other) noexcept : id_(std::exchange(other.id_, -1)), close_(other.close_) {}
  Handle& operator=(Handle&& other) noexcept {
    if (this != &other) {
      reset();
      id_ = std::exchange(other.id_, -1);
      close_ = other.close_;
    }
    return *this;
  }

  [[nodiscard]] hid_t id() const { return id_; }
  [[nodiscard]] bool valid() const { return id_ >= 0; }
  /// Closes now; true where the library agreed.
  bool reset() { return id_ < 0 || close_(std::exchange(id_, -1)) >= 0; }

 private:
  hid_t id_ = -1;
  Close close_ = nullptr;
};

/// The type T has in memory, and the little-endian one it gets on disk.
template <class T>
hid_t memory_type();
template <class T>
hid_t disk_type();

/// Variable-length UTF-8 text.
Handle string_type();

}  // namespace lexikos::detail

/// Expands macro(T) for every element type of Hdf5Reader and Hdf5Writer.
#define LEXIKOS_FOR_HDF5_TYPES(macro)                                                      \
  macro(float) macro(double) macro(std::int64_t) macro(std::uint64_t) macro(std::uint32_t) \
      macro(std::uint16_t) macro(std::uint8_t)
