// safetensors: u64 length N, N bytes of JSON, then one contiguous buffer up to the end of the file.
#include <algorithm>
#include <filesystem>
#include <map>
#include <set>

#include "utils/error.hpp"
#include "utils/json.hpp"
#include "weights/formats.hpp"

namespace lexikos::formats {
namespace {

constexpr std::uint64_t longest_header = 100'000'000;

struct DataType {
  const char* name;
  std::uint64_t bytes;
  std::optional<Element> element;  // nothing: cannot be an embedding
};

constexpr DataType data_types[] = {{"F64", 8, Element::f64},
                                   {"F32", 4, Element::f32},
                                   {"F16", 2, Element::f16},
                                   {"BF16", 2, Element::bf16},
                                   {"F8_E4M3", 1, Element::f8_e4m3},
                                   {"F8_E5M2", 1, Element::f8_e5m2},
                                   {"I64", 8, {}},
                                   {"I32", 4, {}},
                                   {"I16", 2, {}},
                                   {"I8", 1, {}},
                                   {"U64", 8, {}},
                                   {"U32", 4, {}},
                                   {"U16", 2, {}},
                                   {"U8", 1, {}},
                                   {"BOOL", 1, {}}};

struct Entry {
  std::string name, dtype;
  const DataType* type = nullptr;  // null: a dtype of a newer format, whose size is not known
  std::vector<Index> shape;
  std::uint64_t begin = 0, end = 0;
};

const Json& member(const MappedFile& file, const std::string& tensor, const Json& json,
                   const char* name, Json::Kind kind) {
  const Json* found = json.find(name);
  if (found == nullptr || !found->is(kind)) {
    file.refuse("tensor '" + tensor + "' has no proper '" + name + "' in the header");
  }
  return *found;
}

std::uint64_t whole(const MappedFile& file, const std::string& tensor, const Json& json) {
  if (!json.whole || *json.whole > (std::uint64_t{1} << 62)) {
    file.refuse("tensor '" + tensor + "' has an extent or offset that is no sensible number");
  }
  return *json.whole;
}

Entry read_entry(const MappedFile& file, const std::string& name, const Json& json) {
  Entry entry;
  entry.name = name;
  if (!json.is(Json::Kind::object)) file.refuse("tensor '" + name + "' is no object");
  entry.dtype = member(file, name, json, "dtype", Json::Kind::text).text;
  for (const DataType& known : data_types) {
    if (entry.dtype == known.name) entry.type = &known;
  }
  std::uint64_t bytes = entry.type != nullptr ? entry.type->bytes : 0;
  for (const Json& extent : member(file, name, json, "shape", Json::Kind::array).items) {
    const std::uint64_t n = whole(file, name, extent);
    if (__builtin_mul_overflow(bytes, n, &bytes)) {
      file.refuse("the size of tensor '" + name + "' overflows");
    }
    entry.shape.push_back(static_cast<Index>(n));
  }
  const Json& offsets = member(file, name, json, "data_offsets", Json::Kind::array);
  if (offsets.items.size() != 2) file.refuse("tensor '" + name + "' has no two data_offsets");
  entry.begin = whole(file, name, offsets.items[0]);
  entry.end = whole(file, name, offsets.items[1]);
  const bool ordered = entry.begin <= entry.end;
  if (!ordered || (entry.type != nullptr && entry.end - entry.begin != bytes)) {
    file.refuse("tensor '" + name + "' occupies bytes " + std::to_string(entry.begin) + " to " +
                std::to_string(entry.end) +
                (ordered ? " where its shape and dtype need " + std::to_string(bytes)
                         : std::string(", the end before the beginning")));
  }
  return entry;
}

/// The buffer must be covered once and without holes.
void check_cover(const MappedFile& file, std::vector<Entry> entries, std::uint64_t size) {
  std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
    return a.begin != b.begin ? a.begin < b.begin : a.end < b.end;
  });
  std::uint64_t at = 0;
  for (const Entry& entry : entries) {
    if (entry.end > size) {
      file.refuse("tensor '" + entry.name + "' ends at byte " + std::to_string(entry.end) +
                  " of a buffer of " + std::to_string(size) + "; the file is truncated");
    }
    if (entry.begin != at) {
      file.refuse("tensor '" + entry.name + "' begins at byte " + std::to_string(entry.begin) +
                  (entry.begin > at ? ", which leaves a hole after byte "
                                    : ", which overlaps what ends at byte ") +
                  std::to_string(at));
    }
    at = entry.end;
  }
  if (at != size) {
    file.refuse(std::to_string(size - at) + " bytes trail after the last tensor");
  }
}

/// A length that is sensible only when its bytes are read from the other end.
bool is_swapped(std::uint64_t length, std::uint64_t file_size) {
  const std::uint64_t swapped = __builtin_bswap64(length);
  return length > longest_header && swapped > 0 && swapped <= file_size - 8;
}

/// What the header's length says, checked against the file's.
std::uint64_t header_length(const MappedFile& file) {
  const auto length = file.number<std::uint64_t>(0);
  if (is_swapped(length, file.size())) {
    file.refuse("its header's length is big-endian; safetensors files are little-endian");
  }
  if (length > longest_header) {
    file.refuse("its safetensors header would have " + std::to_string(length) + " bytes; " +
                std::to_string(longest_header) + " are permitted");
  }
  if (length > file.size() - 8) {
    file.refuse("its safetensors header of " + std::to_string(length) +
                " bytes goes past the end; the file is truncated");
  }
  return length;
}

/// The shards that an index names, and which of them have a tensor.
class Shards {
 public:
  Shards(const File& index, std::string advice)
      : index_(index),
        folder_(std::filesystem::path(index->path()).parent_path()),
        advice_(std::move(advice)) {}

  /// Reads a shard, once.
  void add(const std::string& shard) {
    if (troubles_.count(shard) > 0) return;
    std::string& trouble = troubles_[shard];
    try {
      for (TensorEntry& t : read(shard)) tensors_[t.name].emplace_back(shard, std::move(t));
    } catch (const Error& error) {
      trouble = error.what();
    }
  }

  /// The tensor that the index says is in `shard`.
  TensorEntry find(const std::string& name, const std::string& shard) const {
    const std::string& trouble = troubles_.at(shard);
    if (!trouble.empty()) return TensorEntry::broken(name, trouble);
    const auto found = tensors_.find(name);
    if (found == tensors_.end()) return lacking(name, shard);
    const auto& places = found->second;
    if (places.size() > 1) {
      return TensorEntry::broken(name, "cannot read '" + index_->path() + "': both '" +
                                           places[0].first + "' and '" + places[1].first +
                                           "' have tensor '" + name + "'; remove the stale one");
    }
    return places[0].first == shard ? places[0].second : lacking(name, shard);
  }

  /// Those that the index does not name: transformers loads them all the same.
  std::vector<TensorEntry> others(const Json& map) const {
    std::set<std::string> named;
    for (const auto& member : map.members) named.insert(member.name);
    std::vector<TensorEntry> found;
    for (const auto& [name, places] : tensors_) {
      if (named.count(name) == 0) found.push_back(find(name, places[0].first));
    }
    return found;
  }

 private:
  std::vector<TensorEntry> read(const std::string& shard) const {
    const auto file = std::make_shared<const MappedFile>((folder_ / shard).string(), advice_);
    if (!is_safetensors(*file))
      file->refuse("it is no safetensors file, though the index names it");
    return read_safetensors(file);
  }

  TensorEntry lacking(const std::string& name, const std::string& shard) const {
    return TensorEntry::broken(name, "cannot read '" + index_->path() + "': '" + name +
                                         "' is not in '" + shard + "', where the index says it is");
  }

  const File& index_;
  std::filesystem::path folder_;
  std::string advice_;
  std::map<std::string, std::string> troubles_;  // of each shard; "": it was read
  std::map<std::string, std::vector<std::pair<std::string, TensorEntry>>> tensors_;
};

}  // namespace

bool is_safetensors(const MappedFile& file) { return file.size() >= 9 && file.text(8, 1) == "{"; }

std::vector<TensorEntry> read_safetensors(const File& file) {
  const std::uint64_t length = header_length(*file);
  const Json header = parse_json(file->text(8, length), "cannot read '" + file->path() + "'");
  std::vector<Entry> entries;
  for (const auto& [name, json] : header.members) {
    if (name != "__metadata__") entries.push_back(read_entry(*file, name, json));
  }
  check_cover(*file, entries, file->size() - 8 - length);
  std::vector<TensorEntry> tensors;
  for (const Entry& e : entries) {
    tensors.push_back(stored_tensor(file, e.name, e.shape, e.dtype,
                                    e.type != nullptr ? e.type->element : std::nullopt,
                                    8 + length + e.begin));
  }
  return tensors;
}

std::vector<TensorEntry> read_safetensors_index(const File& index, const std::string& advice) {
  const Json json =
      parse_json(index->text(0, index->size()), "cannot read '" + index->path() + "'");
  const Json* map = json.find("weight_map");
  if (map == nullptr || !map->is(Json::Kind::object)) {
    index->refuse("it has no 'weight_map'; a model.safetensors.index.json is expected");
  }
  Shards shards(index, advice);
  for (const auto& [name, shard] : map->members) {
    if (shard.is(Json::Kind::text)) shards.add(shard.text);
  }
  std::vector<TensorEntry> tensors;
  for (const auto& [name, shard] : map->members) {
    tensors.push_back(shard.is(Json::Kind::text)
                          ? shards.find(name, shard.text)
                          : TensorEntry::broken(name, "cannot read '" + index->path() +
                                                          "': it names no shard for '" + name +
                                                          "'"));
  }
  for (TensorEntry& t : shards.others(*map)) tensors.push_back(std::move(t));
  return tensors;
}

}  // namespace lexikos::formats
