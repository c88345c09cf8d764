// One edit of an HDF5 file, and those that go through the library.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace lexikos::fuzz {

struct Base;

/// Eight bytes of an input; what they mean depends on the kind.
struct Edit {
  unsigned kind, object;
  std::uint16_t a;
  std::uint32_t b;
};

/// What an edit's kind stands for, modulo their number.
enum class EditKind : unsigned {
  retype,
  reshape,
  layout,
  unwritten,
  remove,
  link,
  attribute,
  value,
  extra,
  bytes,
  length,
  seal
};
inline constexpr unsigned edit_kinds = 12;

inline EditKind kind_of(const Edit& edit) { return static_cast<EditKind>(edit.kind % edit_kinds); }

/// A number that is an edge of some type, by index.
std::int64_t edge(std::uint32_t index);

/// Does those edits that the library can do. What it refuses is left out. Returns what was done,
/// one a line.
std::string edit_objects(const std::string& path, const Base& base, const std::vector<Edit>& edits);

}  // namespace lexikos::fuzz
