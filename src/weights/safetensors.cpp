// safetensors: u64 length N, N bytes of JSON, then one contiguous buffer up to the end of the file.
#include <algorithm>
#include <filesystem>
#include <map>

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
  std::string name;
  const DataType* type = nullptr;
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
  const std::string& type = member(file, name, json, "dtype", Json::Kind::text).text;
  for (const DataType& known : data_types) {
    if (type == known.name) entry.type = &known;
  }
  if (entry.type == nullptr)
    file.refuse("tensor '" + name + "' has the unknown dtype '" + type + "'");
  std::uint64_t bytes = entry.type->bytes;
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
  if (entry.end < entry.begin || entry.end - entry.begin != bytes) {
    file.refuse("tensor '" + name + "' occupies bytes " + std::to_string(entry.begin) + " to " +
                std::to_string(entry.end) + " where its shape and dtype need " +
                std::to_string(bytes));
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

void check_metadata(const MappedFile& file, const Json& metadata) {
  bool good = metadata.is(Json::Kind::object);
  for (const auto& [name, value] : metadata.members) good = good && value.is(Json::Kind::text);
  if (!good) file.refuse("__metadata__ in the header is not text to text");
}

}  // namespace

bool is_safetensors(const MappedFile& file) { return file.size() >= 9 && file.text(8, 1) == "{"; }

std::vector<TensorEntry> read_safetensors(const File& file) {
  const auto length = file->number<std::uint64_t>(0);
  if (length > longest_header) {
    file->refuse("its safetensors header would have " + std::to_string(length) +
                 " bytes; 100000000 are permitted");
  }
  if (length > file->size() - 8) {
    file->refuse("its safetensors header of " + std::to_string(length) +
                 " bytes goes past the end; the file is truncated");
  }
  const Json header = parse_json(file->text(8, length), "cannot read '" + file->path() + "'");
  std::vector<Entry> entries;
  for (const auto& [name, json] : header.members) {
    if (name == "__metadata__") {
      check_metadata(*file, json);
    } else {
      entries.push_back(read_entry(*file, name, json));
    }
  }
  check_cover(*file, entries, file->size() - 8 - length);
  std::vector<TensorEntry> tensors;
  for (const Entry& e : entries) {
    tensors.push_back(
        stored_tensor(file, e.name, e.shape, e.type->name, e.type->element, 8 + length + e.begin));
  }
  return tensors;
}

std::vector<TensorEntry> read_safetensors_index(const File& index) {
  const Json json =
      parse_json(index->text(0, index->size()), "cannot read '" + index->path() + "'");
  const Json* map = json.find("weight_map");
  if (map == nullptr || !map->is(Json::Kind::object)) {
    index->refuse("it has no 'weight_map'; a model.safetensors.index.json is expected");
  }
  const auto folder = std::filesystem::path(index->path()).parent_path();
  std::map<std::string, std::vector<TensorEntry>> shards;
  std::vector<TensorEntry> tensors;
  for (const auto& member : map->members) {
    // Not as a structured binding: clang before 16 cannot capture one.
    const auto& name = member.name;
    const auto& shard = member.value;
    if (!shard.is(Json::Kind::text)) index->refuse("'" + name + "' names no shard");
    if (shards.count(shard.text) == 0) {
      const auto file = std::make_shared<const MappedFile>((folder / shard.text).string(),
                                                           "check capacity.files");
      if (!is_safetensors(*file))
        file->refuse("it is no safetensors file, though the index names it");
      shards[shard.text] = read_safetensors(file);
    }
    const auto& of_shard = shards[shard.text];
    const auto found = std::find_if(of_shard.begin(), of_shard.end(),
                                    [&](const TensorEntry& t) { return t.name == name; });
    if (found == of_shard.end()) {
      index->refuse("'" + name + "' is not in '" + shard.text + "', where the index says it is");
    }
    tensors.push_back(*found);
  }
  return tensors;
}

}  // namespace lexikos::formats
