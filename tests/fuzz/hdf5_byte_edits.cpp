#include "fuzz/hdf5_byte_edits.hpp"

#include <algorithm>
#include <array>
#include <cstring>

#include "hdf5/detail.hpp"

namespace lexikos::fuzz {

using lexikos::detail::Handle;

namespace {

struct Region {
  std::size_t begin, size;
  std::string name;
};

/// What is found by its signature: chunks and members of B-trees, heaps, symbol tables, newer
/// object headers.
void add_signed(const std::string& bytes, std::vector<Region>& regions) {
  constexpr std::size_t looked_at = 128;
  for (const char* sign : {"TREE", "HEAP", "SNOD", "GCOL", "OHDR", "OCHK", "FRHP", "FHDB", "BTHD",
                           "BTLF", "FSHD", "SMTB"}) {
    for (std::size_t at = bytes.find(sign); at != std::string::npos;
         at = bytes.find(sign, at + 4)) {
      regions.push_back({at, std::min(looked_at, bytes.size() - at), sign});
    }
  }
}

herr_t add_object(hid_t file, const char* name, const H5O_info_t* info, void* list) {
  auto& regions = *static_cast<std::vector<Region>*>(list);
  regions.push_back({info->addr, info->hdr.space.total, std::string("header of ") + name});
  if (info->type != H5O_TYPE_DATASET) return 0;
  const Handle dataset(H5Dopen2(file, name, H5P_DEFAULT), H5Dclose);
  const haddr_t offset = H5Dget_offset(dataset.id());
  if (offset != HADDR_UNDEF) {
    regions.push_back({offset, H5Dget_storage_size(dataset.id()), std::string("data of ") + name});
  }
  return 0;
}

std::vector<Region> regions_of(const std::string& path, const std::string& bytes) {
  std::vector<Region> regions = {{0, std::min<std::size_t>(96, bytes.size()), "superblock"}};
  add_signed(bytes, regions);
  {
    const Handle file(H5Fopen(path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT), H5Fclose);
    if (file.valid()) H5Ovisit(file.id(), H5_INDEX_NAME, H5_ITER_INC, add_object, &regions);
    H5Eclear2(H5E_DEFAULT);
  }
  std::erase_if(regions, [&](const Region& r) {
    return r.size == 0 || r.begin >= bytes.size() || r.size > bytes.size() - r.begin;
  });
  return regions;
}

/// Changes a few bytes at a place; a % 4 says how, b / 65536 with what.
void change(std::string& bytes, std::size_t at, const Edit& edit) {
  const std::uint32_t what = edit.b >> 16;
  const std::size_t left = bytes.size() - at;
  switch (edit.a % 4) {
    case 0:
      bytes[at] ^= static_cast<char>(1 << what % 8);
      break;
    case 1:
      bytes[at] = static_cast<char>(what);
      break;
    case 2: {
      const std::int64_t number = edge(what);
      std::memcpy(bytes.data() + at, &number, std::min<std::size_t>(left, 1u << (what >> 8) % 4));
      break;
    }
    default:
      std::memset(bytes.data() + at, 0, std::min<std::size_t>(left, 1 + what % 64));
  }
}

void edit_region(std::string& bytes, const std::vector<Region>& regions, const Edit& edit,
                 ByteEdits& done) {
  if (regions.empty() || bytes.empty()) return;
  const Region& region = regions[edit.object % regions.size()];
  const std::size_t at = region.begin + (edit.b & 0xffff) % region.size;
  if (at >= bytes.size()) return;
  change(bytes, at, edit);
  done.damaged = true;
  done.told += "byte " + std::to_string(at) + ", in " + region.name + "\n";
}

/// Shorter, longer, or a user block before it, which HDF5 permits.
void edit_length(std::string& bytes, const Edit& edit, ByteEdits& done) {
  switch (edit.a % 3) {
    case 0:
      bytes.resize(edit.b % (bytes.size() + 1));
      done.damaged = true;
      done.told += "cut to " + std::to_string(bytes.size()) + " bytes\n";
      break;
    case 1:
      bytes.append(edit.b % 4096, static_cast<char>(edit.b >> 16));
      done.told += "bytes at the end\n";
      break;
    default:
      bytes.insert(0, std::size_t{512} << edit.b % 3, static_cast<char>(edit.b >> 16));
      done.told += "a user block\n";
  }
}

void edit_seal(const Edit& edit, ByteEdits& done) {
  constexpr std::array<const char*, 3> words = {"the seal of before", "no seal", "a new seal"};
  done.seal = static_cast<SealEdit>(edit.a % words.size());
  done.told += std::string(words[edit.a % words.size()]) + "\n";
}

}  // namespace

ByteEdits edit_bytes(const std::string& path, std::string& bytes, const std::vector<Edit>& edits) {
  ByteEdits done;
  const auto needs_regions = [](const Edit& edit) { return kind_of(edit) == EditKind::bytes; };
  std::vector<Region> regions;
  if (std::any_of(edits.begin(), edits.end(), needs_regions)) regions = regions_of(path, bytes);
  for (const Edit& edit : edits) {
    if (kind_of(edit) == EditKind::bytes) edit_region(bytes, regions, edit, done);
    if (kind_of(edit) == EditKind::length) edit_length(bytes, edit, done);
  }
  // Who damages a file does not seal it, unless an edit says so.
  done.seal = done.damaged ? SealEdit::none : SealEdit::renew;
  for (const Edit& edit : edits) {
    if (kind_of(edit) == EditKind::seal) edit_seal(edit, done);
  }
  return done;
}

}  // namespace lexikos::fuzz
