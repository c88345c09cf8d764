#include "weights/weight_file.hpp"

#include <algorithm>
#include <filesystem>

#include "hdf5/signature.hpp"
#include "utils/error.hpp"
#include "utils/text.hpp"
#include "weights/folder.hpp"
#include "weights/formats.hpp"

namespace lexikos {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t widest_row = 1 << 24;  // bytes, of a matrix without rows

// The names that model families give their matrices, in the order of README.md.
constexpr const char* input_names[] = {
    "model.embed_tokens.weight",           // llama, mistral, qwen, gemma, phi-3, olmo2, smollm
    "wte.weight",                          // gpt2
    "transformer.wte.weight",              // gpt2, gptj, mpt
    "gpt_neox.embed_in.weight",            // gpt_neox, pythia
    "model.decoder.embed_tokens.weight",   // opt
    "word_embeddings.weight",              // bloom
    "transformer.word_embeddings.weight",  // bloom, falcon
    "tok_embeddings.weight",               // llama as first published
    "embeddings.word_embeddings.weight",   // bert
    "bert.embeddings.word_embeddings.weight",
    "token_embd.weight",  // GGUF
    "array",              // .npy
};
constexpr const char* output_names[] = {
    "lm_head.weight",    // most
    "embed_out.weight",  // gpt_neox, pythia
    "output.weight",     // llama as first published, GGUF
};

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

/// What a file of no known format seems to be.
std::string guess(const MappedFile& file) {
  const std::string head = lower(trim(file.text(0, 512)));
  if (head.rfind("version https://git-lfs", 0) == 0) {
    return "it is a Git LFS pointer, not the weights; run `git lfs pull` where it came from";
  }
  if (head.rfind("<!doctype", 0) == 0 || head.rfind("<html", 0) == 0 ||
      head.rfind("<?xml", 0) == 0) {
    return "it is a web page, not weights; download the file itself";
  }
  const bool pickled = head.size() > 1 && head[0] == '\x80' && head[1] >= 2 && head[1] <= 5;
  if (head.rfind("pk\x03\x04", 0) == 0 || pickled) {
    return "it is a pickle or archive; save the matrix as safetensors or .npy";
  }
  for (const char* old : {"lmgg", "fmgg", "tjgg"}) {
    if (head.rfind(old, 0) == 0) return "it is of llama.cpp's time before GGUF; convert it to GGUF";
  }
  if (file.size() < 8) return "it is too short for any weight file";
  return "its format is not known; safetensors, GGUF, .npy and HDF5 are read";
}

struct Place {
  std::string path, dataset, passed_over;
};

/// "file.h5:/dataset" in its two parts, unless a file has the whole name.
Place place_of(const std::string& text, const WeightKeys& keys) {
  std::error_code ignored;
  if (fs::is_directory(text, ignored)) {
    const FolderFile found = file_of_folder(text, !keys.input.empty(), keys.advice());
    return {found.path, "", found.passed_over};
  }
  const std::size_t colon = text.rfind(":/");
  if (fs::exists(text, ignored) || colon == std::string::npos) return {text, "", ""};
  return {text.substr(0, colon), text.substr(colon + 1), ""};
}

std::string shape_text(const std::vector<Index>& shape) {
  std::vector<std::string> extents;
  for (const Index extent : shape) extents.push_back(std::to_string(extent));
  return "[" + join(extents, " x ") + "]";
}

template <std::size_t n>
std::vector<std::string> names_in(const std::vector<TensorEntry>& tensors,
                                  const char* const (&names)[n]) {
  std::vector<std::string> found;
  for (const char* name : names) {
    for (const TensorEntry& t : tensors) {
      if (t.name == name) found.push_back(t.name);
    }
  }
  return found;
}

}  // namespace

TensorEntry TensorEntry::broken(const std::string& name, const std::string& trouble) {
  const auto open = [trouble](std::size_t) -> WeightMatrix { fail(Status::file, trouble); };
  return {name, {}, "", open, trouble};
}

TensorEntry formats::stored_tensor(const File& file, const std::string& name,
                                   std::vector<Index> shape, const std::string& type,
                                   std::optional<Element> element, std::uint64_t offset) {
  const auto open = [=](std::size_t dimensions) -> WeightMatrix {
    const std::string who = "tensor '" + name + "' ";
    if (shape.size() != dimensions) {
      file->refuse(who + "has " + std::to_string(shape.size()) + " dimensions; a " +
                   (dimensions == 2 ? "matrix [V D]" : "vector") + " is expected");
    }
    const Index rows = dimensions == 2 ? shape[0] : 1, width = shape.back();
    if (!element) file->refuse(who + "is of type " + type + ", which is not read");
    if (*element == Element::q8_0 && width % q8_block != 0) {
      file->refuse(who + "has rows of " + std::to_string(width) +
                   " values; Q8_0 wants a multiple of 32");
    }
    // Of one row at least: no rows may still be too wide for any memory.
    const auto bytes = checked_bytes(*element, std::max<Index>(rows, 1), width);
    if (width == 0 || (rows == 0 && (!bytes || *bytes > widest_row))) {
      file->refuse(who + "of shape " + shape_text(shape) + " has no values");
    }
    const std::uint64_t needed = rows == 0 ? 0 : bytes.value_or(file->size() + 1);
    if (offset > file->size() || needed > file->size() - offset) {
      file->refuse(who + "goes past the end; the file is truncated");
    }
    return {file->path() + ":" + name, rows, width, *element, file->data() + offset, file, false};
  };
  return {name, shape, type, open, ""};
}

WeightFile::WeightFile(const std::string& text, WeightKeys keys, const StoredTable& table)
    : keys_(std::move(keys)) {
  const Place place = place_of(text, keys_);
  path_ = place.path;
  passed_over_ = place.passed_over;
  const auto file = std::make_shared<const MappedFile>(path_, keys_.advice());
  if (is_hdf5(*file)) {
    formats::Hdf5Matrices found = formats::read_hdf5(path_, place.dataset, keys_.advice(), table);
    format_ = found.format;
    tensors_ = std::move(found.tensors);
    input_ = found.input;
    output_ = found.output;
    why_no_input_ = found.why_no_input;
    return;
  }
  if (!place.dataset.empty())
    file->refuse("it is no HDF5 file, and has no '" + place.dataset + "'");
  if (formats::is_gguf(*file)) {
    format_ = "GGUF";
    tensors_ = formats::read_gguf(file);
  } else if (formats::is_npy(*file)) {
    format_ = ".npy";
    tensors_ = formats::read_npy(file);
  } else if (formats::is_safetensors(*file)) {
    format_ = "safetensors";
    tensors_ = formats::read_safetensors(file);
  } else if (file->text(0, 1) == "{") {
    format_ = "safetensors, sharded";
    tensors_ = formats::read_safetensors_index(file, keys_.advice());
  } else {
    file->refuse(guess(*file));
  }
}

/// Names of matrices, those near to `wanted` first, or those that speak of an embedding.
std::string WeightFile::near_names(const std::string& wanted) const {
  std::vector<std::pair<std::size_t, std::string>> names;  // how far, and which
  for (const TensorEntry& t : tensors_) {
    if (t.shape.size() != 2) continue;
    const std::size_t other = lower(t.name).find("emb") == std::string::npos ? 1 : 0;
    names.emplace_back(wanted.empty() ? other : edit_distance(t.name, wanted), t.name);
  }
  if (names.empty()) return "; the file has no matrix";
  std::stable_sort(names.begin(), names.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  const std::size_t shown = std::min<std::size_t>(names.size(), 5);
  std::vector<std::string> nearest;
  for (std::size_t i = 0; i < shown; ++i) nearest.push_back(names[i].second);
  return std::string(shown == names.size() ? "; its matrices are: " : "; near names: ") +
         join(nearest, ", ");
}

void WeightFile::refuse(const std::string& why) const {
  fail(Status::file, "cannot read '" + path_ + "': " + why);
}

const TensorEntry& WeightFile::entry(const std::string& name) const {
  const TensorEntry* found = nullptr;
  for (const TensorEntry& t : tensors_) {
    if (t.name != name) continue;
    if (found != nullptr) refuse("it has two tensors '" + name + "'");
    found = &t;
  }
  if (found == nullptr) refuse("it has no tensor '" + name + "'" + near_names(name));
  return *found;
}

WeightMatrix WeightFile::opened(const TensorEntry& entry, std::size_t dimensions) const {
  const WeightMatrix matrix = entry.open(dimensions);
  if (matrix.element != Element::f8_e4m3 && matrix.element != Element::f8_e5m2) return matrix;
  for (const char* suffix : {"_scale_inv", "_scale"}) {
    for (const TensorEntry& t : tensors_) {
      if (t.name != entry.name + suffix) continue;
      refuse("tensor '" + entry.name + "' is of type " + element_name(matrix.element) +
             " and its values are those times '" + t.name + "', which is not read; give it in " +
             "a type that needs no scale");
    }
  }
  return matrix;
}

WeightMatrix WeightFile::matrix(const std::string& name) const { return opened(entry(name), 2); }

WeightMatrix WeightFile::tensor(const std::string& name, const std::vector<Index>& shape) const {
  const TensorEntry& found = entry(name);
  if (found.trouble.empty() && found.shape != shape) {
    refuse("tensor '" + name + "' has shape " + shape_text(found.shape) + " where " +
           shape_text(shape) + " is expected");
  }
  return opened(found, shape.size());
}

std::optional<WeightMatrix> WeightFile::matrix(Side side) const {
  const bool input = side == Side::input;
  const std::string& told = input ? input_ : output_;
  if (!told.empty()) return matrix(told);
  const std::vector<std::string> names =
      input ? names_in(tensors_, input_names) : names_in(tensors_, output_names);
  const std::string& key = input ? keys_.input : keys_.output;
  if (names.size() > 1 && names[0] != names[1]) {
    refuse("both '" + names[0] + "' and '" + names[1] + "' may be the " +
           (input ? "input" : "output") + " matrix; say which in " + key);
  }
  if (!names.empty()) return matrix(names[0]);
  if (!input) return std::nullopt;
  if (!why_no_input_.empty()) refuse(why_no_input_);
  refuse("none of its tensors has an input matrix's usual name; name it in " + key +
         near_names(""));
}

}  // namespace lexikos
