// A file that HDF5 has open for reading, and how its objects are found. Not for other folders:
// includes hdf5.h.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "hdf5/detail.hpp"
#include "hdf5/file.hpp"
#include "utils/file_extent.hpp"

namespace lexikos::detail {

class OpenFile {
 public:
  /// The door of every HDF5 file that is read: a sealed one is compared with its seal, then any
  /// is looked at by a process of its own (probe.hpp), and only then does HDF5 open it here.
  /// `advice` ends the messages of files that are not there or not what is expected,
  /// `if_damaged` those of damaged ones. Throws Error(file).
  OpenFile(const std::string& path, const std::string& advice, const std::string& if_damaged);

  [[nodiscard]] const std::string& path() const { return extent_.path(); }
  [[nodiscard]] const std::string& advice() const { return advice_; }
  [[nodiscard]] const std::string& if_damaged() const { return if_damaged_; }
  [[nodiscard]] const FileExtent& extent() const { return extent_; }
  [[nodiscard]] bool sealed() const { return sealed_; }

  /// Throws Error(file): "cannot read '<path>': <what>".
  [[noreturn]] void refuse(const std::string& what) const { extent_.refuse(what); }
  /// `result`, or the error that HDF5 gives a reason for.
  template <class Result>
  Result checked(Result result, const std::string& where) const {
    if (result < 0) refuse(where + ": " + hdf5_reason());
    return result;
  }

  [[nodiscard]] bool has(const std::string& name) const { return resolve(name).has_value(); }
  /// False also where a link leads out of the file.
  [[nodiscard]] bool is_inside(const std::string& name) const;
  [[nodiscard]] Handle object(const std::string& name) const;
  [[nodiscard]] Handle dataset(const std::string& name) const;
  [[nodiscard]] Handle group(const std::string& name) const;

 private:
  /// The name with no soft link on its way; nothing where there is no such object. HDF5 itself
  /// follows links into other files without a word, so it is given none to follow: `leads_out` is
  /// called with such a link, which by default is an error that names the other file.
  using LeadsOut = std::function<void(const std::string& link, const H5L_info_t& info)>;
  [[nodiscard]] std::optional<std::string> resolve(const std::string& name) const;
  [[nodiscard]] std::optional<std::string> resolve(const std::string& name,
                                                   const LeadsOut& leads_out) const;
  [[nodiscard]] std::vector<char> link_value(const std::string& link, std::size_t bytes) const;
  [[noreturn]] void refuse_outside(const std::string& link, const H5L_info_t& info) const;
  using Open = hid_t (*)(hid_t, const char*, hid_t);
  [[nodiscard]] Handle found(const std::string& name, const char* what, Open open,
                             Handle::Close close) const;

  FileExtent extent_;
  std::string advice_, if_damaged_;
  bool sealed_ = false;
  Handle file_;
};

/// What is stored under a name and how. Throws Error(file) where its values cannot be had, all of
/// them, from this very file: never written or only in part, in other files, behind filters that
/// are not read, more than the file can hold.
DatasetInfo describe(const OpenFile& file, hid_t dataset, const std::string& name);

/// All texts of a dataset that holds text, in order. Throws Error(file).
std::vector<std::string> read_texts(const OpenFile& file, hid_t dataset, const std::string& name);

/// One attribute; nothing where it is not a single text, whole number or real number.
std::optional<AttributeValue> read_attribute(const OpenFile& file, hid_t attribute);

}  // namespace lexikos::detail
