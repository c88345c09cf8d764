// Texts and attributes of an open file.
#include <algorithm>
#include <cstring>
#include <limits>

#include "hdf5/open_file.hpp"

namespace lexikos::detail {
namespace {

void release_strings(hid_t type, hid_t space, void* strings) {
#if H5_VERSION_GE(1, 12, 0)
  H5Treclaim(type, space, H5P_DEFAULT, strings);
#else
  H5Dvlen_reclaim(type, space, H5P_DEFAULT, strings);
#endif
}

/// The `count` texts of a dataset or attribute whose type on disk is `stored`; `read` is H5Dread or
/// H5Aread. Nothing where HDF5 refused, or where the file is shorter than the texts.
template <class Read>
std::optional<std::vector<std::string>> texts_of(const OpenFile& file, hid_t stored, hid_t space,
                                                 std::size_t count, const Read& read) {
  std::vector<std::string> result;
  if (count == 0) return result;
  // The library does not convert between character sets: ask for the one that is there.
  const Handle type(H5Tcopy(H5T_C_S1), H5Tclose);
  H5Tset_cset(type.id(), H5Tget_cset(stored));
  if (H5Tis_variable_str(stored) > 0) {
    H5Tset_size(type.id(), H5T_VARIABLE);
    std::vector<char*> characters(count, nullptr);
    if (read(type.id(), characters.data()) < 0) return std::nullopt;
    for (const char* text : characters) result.emplace_back(text == nullptr ? "" : text);
    release_strings(type.id(), space, characters.data());
    return result;
  }
  const std::size_t width = H5Tget_size(stored);
  if (width == 0 || count > file.extent().bytes() / width) return std::nullopt;
  const H5T_str_t padding = H5Tget_strpad(stored);
  H5Tset_size(type.id(), width);
  H5Tset_strpad(type.id(), padding);
  std::vector<char> characters(count * width);
  if (read(type.id(), characters.data()) < 0) return std::nullopt;
  for (std::size_t i = 0; i < count; ++i) {
    const char* begin = characters.data() + i * width;
    std::string text(begin, strnlen(begin, width));
    if (padding == H5T_STR_SPACEPAD) text.erase(text.find_last_not_of(' ') + 1);
    result.push_back(std::move(text));
  }
  return result;
}

std::optional<AttributeValue> read_whole_number(hid_t attribute, hid_t type) {
  if (H5Tget_sign(type) != H5T_SGN_NONE) {
    std::int64_t value = 0;
    if (H5Aread(attribute, H5T_NATIVE_INT64, &value) < 0) return std::nullopt;
    return value;
  }
  std::uint64_t value = 0;
  if (H5Aread(attribute, H5T_NATIVE_UINT64, &value) < 0) return std::nullopt;
  if (value > std::uint64_t{std::numeric_limits<std::int64_t>::max()}) return std::nullopt;
  return static_cast<std::int64_t>(value);
}

}  // namespace

std::vector<std::string> read_texts(const OpenFile& file, hid_t dataset, const std::string& name) {
  const DatasetInfo info = describe(file, dataset, name);
  const std::string who = "dataset '" + name + "' ";
  if (info.kind != DatasetInfo::Kind::string) {
    file.refuse(who + "holds " + info.type + " where text is expected; " + file.advice());
  }
  if (info.shape.size() != 1) {
    file.refuse(who + "has " + std::to_string(info.shape.size()) +
                " dimensions where a list is expected; " + file.advice());
  }
  const Handle type(file.checked(H5Dget_type(dataset), name), H5Tclose);
  const Handle space(file.checked(H5Dget_space(dataset), name), H5Sclose);
  auto texts = texts_of(file, type.id(), space.id(), static_cast<std::size_t>(info.size()),
                        [&](hid_t memory, void* out) {
                          return H5Dread(dataset, memory, H5S_ALL, H5S_ALL, H5P_DEFAULT, out);
                        });
  if (!texts) file.refuse(who + "cannot be read: " + hdf5_reason() + "; " + file.if_damaged());
  return std::move(*texts);
}

std::optional<AttributeValue> read_attribute(const OpenFile& file, hid_t attribute) {
  const Handle type(H5Aget_type(attribute), H5Tclose);
  const Handle space(H5Aget_space(attribute), H5Sclose);
  if (!type.valid() || !space.valid()) return std::nullopt;
  const H5T_class_t kind = H5Tget_class(type.id());
  const auto count = H5Sget_simple_extent_npoints(space.id());
  if (kind == H5T_STRING) {
    if (count == 0) return std::string();  // h5py's way to write an empty string
    if (count != 1) return std::nullopt;
    const auto read = [&](hid_t memory, void* out) { return H5Aread(attribute, memory, out); };
    auto texts = texts_of(file, type.id(), space.id(), 1, read);
    if (!texts) return std::nullopt;
    return std::move(texts->front());
  }
  if (count != 1 || H5Tget_size(type.id()) > sizeof(double)) return std::nullopt;
  if (kind == H5T_INTEGER) return read_whole_number(attribute, type.id());
  double real = 0;
  if (kind != H5T_FLOAT || H5Aread(attribute, H5T_NATIVE_DOUBLE, &real) < 0) return std::nullopt;
  return real;
}

}  // namespace lexikos::detail
