#include "hdf5/detail.hpp"

#include <cstdlib>
#include <cstring>

namespace lexikos::detail {

void start_hdf5() {
  static const bool started = [] {
    // Read by the library once, when its file driver starts; an existing value wins.
    setenv("HDF5_USE_FILE_LOCKING", "FALSE", 0);
    H5open();
    H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
    return true;
  }();
  (void)started;
}

namespace {

herr_t keep_first(unsigned position, const H5E_error2_t* error, void* text) {
  if (position == 0 && error->desc != nullptr) *static_cast<std::string*>(text) = error->desc;
  return 0;
}

}  // namespace

std::string hdf5_reason() {
  std::string reason;
  // Upward: position 0 is the innermost failure, the one with the cause.
  H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, keep_first, &reason);
  H5Eclear2(H5E_DEFAULT);
  const std::size_t mark = reason.find("errno = ");
  if (mark != std::string::npos) {
    const int number = std::atoi(reason.c_str() + mark + 8);
    if (number != 0) return std::strerror(number);
  }
  return reason.empty() ? "the HDF5 library gave no reason" : reason;
}

template <>
hid_t memory_type<float>() {
  return H5T_NATIVE_FLOAT;
}
template <>
hid_t memory_type<double>() {
  return H5T_NATIVE_DOUBLE;
}
template <>
hid_t memory_type<std::int64_t>() {
  return H5T_NATIVE_INT64;
}
template <>
hid_t memory_type<std::uint64_t>() {
  return H5T_NATIVE_UINT64;
}
template <>
hid_t memory_type<std::uint32_t>() {
  return H5T_NATIVE_UINT32;
}
template <>
hid_t memory_type<std::uint16_t>() {
  return H5T_NATIVE_UINT16;
}
template <>
hid_t memory_type<std::uint8_t>() {
  return H5T_NATIVE_UINT8;
}

template <>
hid_t disk_type<float>() {
  return H5T_IEEE_F32LE;
}
template <>
hid_t disk_type<double>() {
  return H5T_IEEE_F64LE;
}
template <>
hid_t disk_type<std::int64_t>() {
  return H5T_STD_I64LE;
}
template <>
hid_t disk_type<std::uint64_t>() {
  return H5T_STD_U64LE;
}
template <>
hid_t disk_type<std::uint32_t>() {
  return H5T_STD_U32LE;
}
template <>
hid_t disk_type<std::uint16_t>() {
  return H5T_STD_U16LE;
}
template <>
hid_t disk_type<std::uint8_t>() {
  return H5T_STD_U8LE;
}

Handle string_type() {
  Handle type(H5Tcopy(H5T_C_S1), H5Tclose);
  H5Tset_size(type.id(), H5T_VARIABLE);
  H5Tset_cset(type.id(), H5T_CSET_UTF8);
  return type;
}

}  // namespace lexikos::detail
