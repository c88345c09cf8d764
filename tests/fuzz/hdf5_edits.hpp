// A small valid HDF5 file, and what an input makes of it: a list of edits of eight bytes each, some
// through the HDF5 library (types, extents, layouts, links, attributes), some to bytes behind its
// back.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace lexikos::fuzz {

/// The file that edits begin with.
struct Base {
  std::string bytes;
  std::vector<std::string> objects;     ///< paths; the first is "/"
  std::vector<std::string> attributes;  ///< names that occur
};

/// Writes a file by `write(path)` and looks at what is in it.
Base make_base(const std::function<void(const std::string& path)>& write);

/// The file that came of an input.
struct Edited {
  std::string path;
  bool damaged = false;  ///< bytes were changed without the library
  bool sealed = false;   ///< the seal at its end is right
  std::string told;      ///< the edits, one a line
};

/// Writes folder()/name. An input that is an HDF5 file stands for itself.
Edited write_edited(const std::string& name, const Base& base, std::string_view input);

/// Whether readers look at a file from a process of its own (hdf5/probe.hpp) before they open it,
/// which takes a tenth of a second: no damage may then do any harm. Off at first.
bool& through_door();

/// Looks at a file. Without that, a damaged one in a process of its own: the HDF5 library may crash
/// or loop on it, and only what our own code breaks is a finding. True where `look` returned.
bool look_at(const Edited& file, const std::function<void()>& look);

/// A dataset as the library itself reads it, as doubles; false where it cannot, or where the
/// dataset is large.
bool read_directly(const std::string& path, const std::string& dataset,
                   std::vector<double>& values);

}  // namespace lexikos::fuzz
