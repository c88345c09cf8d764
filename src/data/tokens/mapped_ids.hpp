// Token ids in a mapped file, in any of the types that token files store them in.
#pragma once

#include <memory>

#include "kokkos_types.hpp"
#include "utils/mapped_file.hpp"

namespace lexikos {

/// Whole numbers on disk, little-endian.
enum class IdType { uint8, int8, uint16, int16, uint32, int32, int64 };

/// Bytes of one id.
Index id_bytes(IdType type);
/// "uint16".
const char* id_type_name(IdType type);

/// `count` ids from byte `offset` of a file on, which may be any; the caller has checked that they
/// are there.
class MappedIds {
 public:
  MappedIds(std::shared_ptr<const MappedFile> file, Index offset, IdType type, Index count);

  /// Ids [begin, begin + count) into out. What no TokenId can hold (negative, or 2^32 and more)
  /// becomes the largest TokenId, which is in no vocabulary.
  void read(Index begin, Index count, TokenId* out) const;

  [[nodiscard]] Index count() const { return count_; }
  [[nodiscard]] IdType type() const { return type_; }
  /// Byte of the file at which an id begins.
  [[nodiscard]] Index byte(Index id) const { return offset_ + id * id_bytes(type_); }
  [[nodiscard]] const MappedFile& file() const { return *file_; }

 private:
  std::shared_ptr<const MappedFile> file_;
  Index offset_;
  IdType type_;
  Index count_;
};

}  // namespace lexikos
