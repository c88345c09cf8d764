#include "weights/weight_file.hpp"

#include <algorithm>
#include <filesystem>

#include "utils/error.hpp"
#include "utils/text.hpp"
#include "weights/formats.hpp"

namespace lexikos {
namespace {

namespace fs = std::filesystem;

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
  if (head.rfind("pk\x03\x04", 0) == 0 || head.rfind("\x80\x02", 0) == 0) {
    return "it is a pickle or archive; save the matrix as safetensors or .npy";
  }
  if (file.size() < 8) return "it is too short for any weight file";
  return "its format is not known; safetensors, GGUF, .npy and HDF5 are read";
}

/// The file that stands for a folder.
std::string file_of_folder(const std::string& folder) {
  for (const char* name : {"model.safetensors.index.json", "model.safetensors", "embedding.h5"}) {
    std::error_code ignored;
    const fs::path path = fs::path(folder) / name;
    if (fs::exists(path, ignored)) return path.string();
  }
  fail(Status::file, "cannot read '" + folder +
                         "': the folder has no model.safetensors.index.json, model.safetensors or "
                         "embedding.h5; name a file");
}

struct Place {
  std::string path, dataset;
};

/// "file.h5:/dataset" in its two parts, unless a file has the whole name.
Place place_of(const std::string& text) {
  std::error_code ignored;
  if (fs::is_directory(text, ignored)) return {file_of_folder(text), ""};
  const std::size_t colon = text.rfind(":/");
  if (fs::exists(text, ignored) || colon == std::string::npos) return {text, ""};
  return {text.substr(0, colon), text.substr(colon + 1)};
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
    std::uint64_t bytes = static_cast<std::uint64_t>(row_bytes(*element, width));
    if (__builtin_mul_overflow(bytes, static_cast<std::uint64_t>(rows), &bytes) ||
        offset > file->size() || bytes > file->size() - offset) {
      file->refuse(who + "goes past the end; the file is truncated");
    }
    return {file->path() + ":" + name, rows, width, *element, file->data() + offset, file};
  };
  return {name, shape, type, open};
}

WeightFile::WeightFile(const std::string& text, const StoredTable& table) {
  const Place place = place_of(text);
  path_ = place.path;
  const auto file = std::make_shared<const MappedFile>(path_, "check capacity.files");
  if (formats::is_hdf5(*file)) {
    formats::Hdf5Matrices found = formats::read_hdf5(path_, place.dataset, table);
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
    tensors_ = formats::read_safetensors_index(file);
  } else {
    file->refuse(guess(*file));
  }
}

std::string WeightFile::near_names(const std::string& wanted) const {
  std::vector<std::string> names;
  for (const TensorEntry& t : tensors_) {
    if (t.shape.size() == 2) names.push_back(t.name);
  }
  if (names.empty()) return "; the file has no matrix";
  std::stable_sort(names.begin(), names.end(), [&](const std::string& a, const std::string& b) {
    const bool embeds_a = lower(a).find("emb") != std::string::npos;
    const bool embeds_b = lower(b).find("emb") != std::string::npos;
    if (wanted.empty() && embeds_a != embeds_b) return embeds_a;
    return !wanted.empty() && edit_distance(a, wanted) < edit_distance(b, wanted);
  });
  const std::size_t shown = std::min<std::size_t>(names.size(), 5);
  const bool all = shown == names.size();
  names.resize(shown);
  return std::string(all ? "; its matrices are: " : "; near names: ") + join(names, ", ");
}

const TensorEntry& WeightFile::entry(const std::string& name) const {
  for (const TensorEntry& t : tensors_) {
    if (t.name == name) return t;
  }
  fail(Status::file,
       "cannot read '" + path_ + "': it has no tensor '" + name + "'" + near_names(name));
}

WeightMatrix WeightFile::matrix(const std::string& name) const { return entry(name).open(2); }

WeightMatrix WeightFile::tensor(const std::string& name, const std::vector<Index>& shape) const {
  const TensorEntry& found = entry(name);
  if (found.shape != shape) {
    fail(Status::file, "cannot read '" + path_ + "': tensor '" + name + "' has shape " +
                           shape_text(found.shape) + " where " + shape_text(shape) +
                           " is expected");
  }
  return found.open(shape.size());
}

std::optional<WeightMatrix> WeightFile::matrix(Side side) const {
  const bool input = side == Side::input;
  const std::string& told = input ? input_ : output_;
  if (!told.empty()) return matrix(told);
  const std::vector<std::string> names =
      input ? names_in(tensors_, input_names) : names_in(tensors_, output_names);
  const std::string key = input ? "capacity.input_tensor" : "capacity.output_tensor";
  if (names.size() > 1) {
    fail(Status::file, "cannot read '" + path_ + "': both '" + names[0] + "' and '" + names[1] +
                           "' may be the " + (input ? "input" : "output") +
                           " matrix; say which in " + key);
  }
  if (names.size() == 1) return matrix(names[0]);
  if (!input) return std::nullopt;
  if (!why_no_input_.empty()) fail(Status::file, "cannot read '" + path_ + "': " + why_no_input_);
  fail(Status::file, "cannot read '" + path_ +
                         "': none of its tensors has an input matrix's usual name; name it in " +
                         key + near_names(""));
}

}  // namespace lexikos
