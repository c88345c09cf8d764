#include "jobs/exchange/export.hpp"

#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "jobs/exchange/llama_tensors.hpp"
#include "jobs/model_job.hpp"
#include "train/member_files.hpp"
#include "train/trained_model.hpp"
#include "utils/paths.hpp"
#include "utils/text.hpp"
#include "utils/text_file.hpp"

namespace lexikos {
namespace {

namespace fs = std::filesystem;

/// Values that travel from the device to the file together.
constexpr Index piece = Index{1} << 20;

struct ExportSettings {
  bool bf16 = false;      // else fp32
  Index shard_bytes = 0;  // of one file, at most
  std::string tokenizer;  // a folder or a file to copy; "": none
};

ExportSettings read_settings(const DeckTable& table) {
  ExportSettings s;
  s.bf16 = table.choice({.name = "precision", .doc = "of the weights that are written"}, "fp32",
                        {"fp32", "bf16"}) == "bf16";
  s.shard_bytes = table.integer(
      {.name = "shard_bytes", .doc = "of one file of weights, at most", .unit = "bytes"},
      5'000'000'000, Between(1, 1e15));
  s.tokenizer = table.path(
      {.name = "tokenizer", .doc = "folder or file of the tokenizer, to be copied along"}, "");
  return s;
}

/// A folder under a temporary name; gone again unless it was given its own.
class FolderInTheMaking {
 public:
  explicit FolderInTheMaking(std::string path)
      : path_(std::move(path)), temporary_(path_ + ".tmp." + std::to_string(::getpid())) {
    if (exists(path_)) {
      fail(Status::file, "'" + path_ +
                             "' is there already; remove it, or choose another folder "
                             "with -d");
    }
    make_directory(temporary_);
  }
  ~FolderInTheMaking() {
    std::error_code ignored;
    fs::remove_all(temporary_, ignored);
  }
  FolderInTheMaking(const FolderInTheMaking&) = delete;
  FolderInTheMaking& operator=(const FolderInTheMaking&) = delete;

  [[nodiscard]] const std::string& temporary() const { return temporary_; }

  void give_name() const {
    std::error_code error;
    fs::rename(temporary_, path_, error);
    if (error) fail(Status::file, "cannot name '" + path_ + "': " + error.message());
  }

 private:
  std::string path_, temporary_;
};

/// Files by which transformers and sentencepiece know a tokenizer.
constexpr const char* tokenizer_names[] = {
    "tokenizer.json",    "tokenizer_config.json", "special_tokens_map.json",
    "added_tokens.json", "tokenizer.model",       "vocab.json",
    "merges.txt",        "chat_template.jinja"};

/// What of `place`, a folder or one file, goes along; empty where the deck names none.
std::vector<fs::path> tokenizer_files(const std::string& place) {
  std::vector<fs::path> files;
  if (place.empty()) return files;
  std::error_code ignored;
  if (fs::is_directory(place, ignored)) {
    for (const char* name : tokenizer_names) {
      if (fs::exists(fs::path(place) / name, ignored)) files.push_back(fs::path(place) / name);
    }
    if (files.empty()) {
      fail(Status::file, "export.tokenizer: '" + place + "' has none of " +
                             join({std::begin(tokenizer_names), std::end(tokenizer_names)}, ", "));
    }
  } else if (fs::exists(place, ignored)) {
    files.emplace_back(place);
  } else {
    fail(Status::file, "export.tokenizer: there is no '" + place + "'");
  }
  return files;
}

/// The name that transformers looks for, for a single file whatever it is called.
std::string name_in_folder(const fs::path& file) {
  const std::string name = file.filename().string();
  for (const char* known : tokenizer_names) {
    if (name == known) return name;
  }
  if (file.extension() == ".json") return "tokenizer.json";
  if (file.extension() == ".model") return "tokenizer.model";
  return name;
}

void copy_tokenizer(const std::vector<fs::path>& files, const std::string& folder) {
  for (const fs::path& file : files) {
    std::error_code error;
    fs::copy_file(file, fs::path(folder) / name_in_folder(file), error);
    if (error) fail(Status::file, "cannot copy '" + file.string() + "': " + error.message());
  }
}

LlamaConfig config_of(const Model<float>& model, const transformer::Settings& t,
                      Index end_of_text) {
  LlamaConfig c;
  c.vocabulary = model.shape().vocabulary;
  c.width = t.width;
  c.mlp_width = t.mlp_width;
  c.layers = t.layers;
  c.heads = t.heads;
  c.kv_heads = t.kv_heads;
  c.context = t.context;
  c.qk_norm = t.qk_norm;
  c.norm_epsilon = t.norm_epsilon;
  c.rope_base = t.rope_base;
  c.init_deviation = t.init_deviation;
  for (Index l = 0; l < t.layers; ++l) c.windowed.push_back(t.window_of(l) > 0);
  const bool any = std::count(c.windowed.begin(), c.windowed.end(), true) > 0;
  c.window = any ? t.window : 0;
  // An interface without parameters of its own, whose table is the head's.
  const Costs input = model.costs().embedding;
  c.tied = model.parameters().count("embedding.") == 0 && input.fixed == 0 &&
           input.shared == c.vocabulary * c.width;
  c.end_of_text = end_of_text;
  return c;
}

/// Writes device values one piece after the other.
void write_values(SafetensorsWriter& file, const float* device, Index count,
                  const HostBuffer<float>& host) {
  for (Index begin = 0; begin < count; begin += piece) {
    const Index n = std::min(piece, count - begin);
    Kokkos::deep_copy(Kokkos::subview(host, std::make_pair(Index{0}, n)),
                      View1<const float>(device + begin, n));
    file.write(host_pointer(host), n);
  }
}

/// The rows of the input table, materialised a few at a time.
void write_input_rows(SafetensorsWriter& file, Model<float>& model, const HostBuffer<float>& host) {
  const ExecSpace space;
  const Index vocabulary = model.shape().vocabulary, width = model.shape().width;
  const Index block = std::min<Index>(vocabulary, 4096);
  const Buffer<float> rows(without_initializing("Lexikos::export::rows"), block * width);
  for (Index begin = 0; begin < vocabulary; begin += block) {
    const Index count = std::min(block, vocabulary - begin);
    model.materialise(space, begin, View2<float>(rows.data(), count, width));
    space.fence();
    write_values(file, rows.data(), count * width, host);
  }
}

void write_weights(SafetensorsWriter& file, Model<float>& model,
                   const std::vector<LlamaTensor>& tensors) {
  const HostBuffer<float> host("Lexikos::export::piece", piece);
  for (const LlamaTensor& t : tensors) {
    if (t.parameter.empty()) {
      write_input_rows(file, model, host);
    } else {
      write_values(file, model.parameters().find(t.parameter).value1().data() + t.first,
                   t.tensor.size(), host);
    }
  }
  file.finish();
}

std::vector<TensorShape> shapes_of(const std::vector<LlamaTensor>& tensors) {
  std::vector<TensorShape> shapes;
  for (const LlamaTensor& t : tensors) shapes.push_back(t.tensor);
  return shapes;
}

void write_configurations(const std::string& folder, const LlamaConfig& config,
                          const std::string& json) {
  write_text(folder + "/config.json", json);
  if (config.end_of_text < 0) return;
  const std::string id = std::to_string(config.end_of_text);
  write_text(folder + "/generation_config.json",
             "{\n  \"bos_token_id\": " + id + ",\n  \"eos_token_id\": " + id + "\n}\n");
}

void refuse_other_models(const transformer::Settings& t) {
  if (t.mlp == transformer::Mlp::swiglu) return;
  fail(Status::deck,
       "transformer.mlp = \"gelu\" has no counterpart in LlamaForCausalLM, whose "
       "hidden layer is SwiGLU; this model cannot be exported");
}

class ExportJob final : public ModelJob {
 public:
  ExportJob(const ExportSettings& how, MemberSettings settings)
      : ModelJob(std::move(settings)), how_(how) {}
  Outcome run(const JobContext& context) override;

 private:
  void write(const std::string& path, Console& console) const;
  ExportSettings how_;
};

void ExportJob::write(const std::string& path, Console& console) const {
  const std::vector<fs::path> tokenizer = tokenizer_files(how_.tokenizer);
  const FolderInTheMaking folder(settings_.directory + "/exported");
  const auto trained = TrainedModel::open(path, settings_, {checkpoint_vocabulary(path), 1, 1}, {});
  const LlamaConfig config =
      config_of(trained->model, settings_.model.transformer, trained->end_of_text());
  // First of all, since it refuses what no architecture computes.
  const std::string json = llama_config_json(config, how_.bf16 ? "bfloat16" : "float32");
  const std::vector<LlamaTensor> tensors = llama_tensors(config);
  SafetensorsWriter file(folder.temporary(), shapes_of(tensors),
                         how_.bf16 ? Element::bf16 : Element::f32, how_.shard_bytes);
  write_weights(file, trained->model, tensors);
  write_configurations(folder.temporary(), config, json);
  copy_tokenizer(tokenizer, folder.temporary());
  folder.give_name();
  console.line("exported " + path + ": " + settings_.model.interface + ", vocabulary " +
               format_count(config.vocabulary) + (config.tied ? ", one table for both sides" : "") +
               ", " + (how_.bf16 ? "bf16" : "fp32") + ", " +
               format_bytes(static_cast<std::uint64_t>(file.bytes())) + " in " +
               std::to_string(file.files()) + (file.files() == 1 ? " file" : " files"));
  console.line("wrote " + settings_.directory + "/exported");
}

/// One rank has all the values and writes them; the others only hear how it went.
Outcome ExportJob::run(const JobContext& context) {
  refuse_other_models(settings_.model.transformer);
  const std::string path = trained_checkpoint(context.arguments.restart, settings_.directory,
                                              context.comm, context.console);
  context.comm.on_root([&] { write(path, context.console); });
  return {};
}

}  // namespace

std::unique_ptr<Job> read_export(JobDeck& from) {
  const ExportSettings how = read_settings(from.deck.table("export"));
  return std::make_unique<ExportJob>(how, read_member(from));
}

void check_export(const Deck& deck) { read_settings(deck.idle_table("export")); }

}  // namespace lexikos
