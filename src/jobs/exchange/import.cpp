#include "jobs/exchange/import.hpp"

#include <algorithm>
#include <cmath>
#include <set>

#include "console/configuration.hpp"
#include "jobs/exchange/llama_tensors.hpp"
#include "jobs/model_job.hpp"
#include "jobs/registry.hpp"
#include "train/member_files.hpp"
#include "train/run_history.hpp"
#include "utils/paths.hpp"
#include "utils/text.hpp"
#include "utils/text_file.hpp"
#include "weights/weight_file.hpp"

namespace lexikos {
namespace {

/// Values that travel to the device together, at most.
constexpr Index piece = Index{1} << 20;

const WeightKeys keys = {.place = "import.folder", .input = "", .output = ""};

/// Sets a key that the folder decides; the deck may repeat it.
Deck with_key(const Deck& deck, const std::string& table, const std::string& key,
              const std::string& value, const std::string& folder) {
  const Node* given = deck.root().at({table, key});
  const std::string name = table + "." + key;
  if (given != nullptr && given->toml() != value) {
    fail(Status::deck, name + " is " + given->toml() + " in the deck and " + value + " in '" +
                           folder + "/config.json'; leave it out");
  }
  return deck.with(name, value, {folder + "/config.json", 0});
}

Deck with_context(const Deck& deck, Index most, const std::string& folder) {
  if (!deck.has("transformer.context"))
    return deck.with("transformer.context", std::to_string(most));
  const Index asked =
      deck.table("transformer")
          .integer({.name = "context"}, required, Between(1, transformer::most_context));
  if (asked > most) {
    deck.table("transformer")
        .reject("context", "is more than the max_position_embeddings = " + std::to_string(most) +
                               " of '" + folder + "/config.json'");
  }
  return deck;
}

/// Tensors that older files carry and that follow from config.json.
bool follows_from_config(const std::string& name) {
  const std::string end = ".rotary_emb.inv_freq";
  return name.size() > end.size() && name.compare(name.size() - end.size(), end.size(), end) == 0;
}

void check_tensor_names(const WeightFile& file, const LlamaConfig& config,
                        const std::vector<LlamaTensor>& wanted) {
  std::set<std::string> known;
  for (const LlamaTensor& t : wanted) known.insert(t.tensor.name);
  for (const TensorEntry& entry : file.tensors()) {
    if (known.count(entry.name) > 0 || follows_from_config(entry.name)) continue;
    const std::string start = "cannot read '" + file.path() + "': tensor '" + entry.name + "' ";
    if (!config.tied || entry.name != "lm_head.weight") {
      fail(Status::file, start + "is not part of a LlamaForCausalLM without biases");
    }
    if (!same_values(file.matrix(entry.name), file.matrix("model.embed_tokens.weight"))) {
      fail(Status::file, start +
                             "differs from 'model.embed_tokens.weight', though config.json has "
                             "tie_word_embeddings = true");
    }
  }
}

WeightMatrix open_tensor(const WeightFile& file, const TensorShape& tensor) {
  const WeightMatrix matrix = file.tensor(tensor.name, tensor.shape);
  for (const Element known : {Element::f64, Element::f32, Element::f16, Element::bf16}) {
    if (matrix.element == known) return matrix;
  }
  fail(Status::file, "cannot read '" + file.path() + "': tensor '" + tensor.name + "' is of type " +
                         element_name(matrix.element) + "; F64, F32, F16 and BF16 are read");
}

/// All of them, before there is memory for a model that the file may not hold.
std::vector<WeightMatrix> open_tensors(const WeightFile& file,
                                       const std::vector<LlamaTensor>& tensors) {
  std::vector<WeightMatrix> opened;
  for (const LlamaTensor& t : tensors) opened.push_back(open_tensor(file, t.tensor));
  return opened;
}

/// Row i in fp32, into out[width]. Throws Error(file) where a value is not finite, or too large.
void read_narrowed(const WeightMatrix& from, Index i, std::vector<double>& row, float* out) {
  read_finite(from, i, row.data());
  for (Index d = 0; d < from.width; ++d) {
    out[d] = static_cast<float>(row[d]);
    if (!std::isfinite(out[d])) {
      fail(Status::file, "cannot use '" + from.name +
                             "': " + place_in(i * from.width + d, {from.rows, from.width}) +
                             " is " + format_real(row[d]) + ", which is too large for fp32");
    }
  }
}

/// Overwrites device values [0, rows * width) with the tensor's.
void copy_tensor(const WeightMatrix& from, float* device) {
  const Index block = std::max<Index>(1, piece / from.width);
  const HostBuffer<float> host("Lexikos::import::piece", std::min(block, from.rows) * from.width);
  std::vector<double> row(static_cast<std::size_t>(from.width));
  for (Index begin = 0; begin < from.rows; begin += block) {
    const Index rows = std::min(block, from.rows - begin);
    for (Index i = 0; i < rows; ++i) {
      read_narrowed(from, begin + i, row, host_pointer(host) + i * from.width);
    }
    Kokkos::deep_copy(View1<float>(device + begin * from.width, rows * from.width),
                      Kokkos::subview(host, std::make_pair(Index{0}, rows * from.width)));
  }
}

/// `opened` are the tensors, in their order.
void copy_weights(const std::vector<WeightMatrix>& opened, const std::vector<LlamaTensor>& tensors,
                  const std::string& table, const Parameters<float>& to) {
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const std::string& own = tensors[i].parameter;
    copy_tensor(opened[i], to.find(own.empty() ? table : own).value1().data() + tensors[i].first);
  }
}

/// The deck that goes with the checkpoint.
std::string deck_beside(const MemberSettings& settings) {
  const Deck deck = Deck::from_string(settings.resolved_deck, "the imported deck")
                        .without("import")
                        .with("output.directory", toml_value(settings.directory))
                        .with("job", toml_value(std::string("train")));
  read_job(deck);
  return MemberSettings::read(deck, "", settings.directory).resolved_deck;
}

void refuse_old_files(const std::string& folder) {
  if (!find_newest_checkpoint(folder) && !exists(folder + "/deck.toml")) return;
  fail(Status::file, "'" + folder + "' holds another model already; choose another folder with -d");
}

CheckpointHeader header_of(const MemberSettings& settings, const LlamaConfig& config,
                           const std::string& folder, const std::string& deck) {
  CheckpointHeader header;
  header.seed = static_cast<std::int64_t>(settings.seed);
  header.deck = deck;
  header.code_version = code_version();
  header.other.set("imported_from", folder);
  header.other.set("end_of_text", config.end_of_text);
  return header;
}

/// transformer.window_pattern: that of all layers, or [1] where they are alike.
std::string pattern_text(const LlamaConfig& config) {
  const auto& windowed = config.windowed;
  if (std::equal(windowed.begin() + 1, windowed.end(), windowed.begin())) return "[1]";
  std::string text;
  for (const bool has : windowed) text += (text.empty() ? "[" : ", ") + std::to_string(int(has));
  return text + "]";
}

std::string read_folder(const DeckTable& table) {
  return table.path({.name = "folder", .doc = "config.json and safetensors of a Llama"}, required);
}

/// A folder whose weights are changed by what lies beside them holds two models.
LlamaConfig read_config(const std::string& folder) {
  const std::string adapter = "adapter_config.json";
  if (exists(folder + "/" + adapter)) {
    fail(Status::file, "cannot read '" + folder + "': beside its weights it has " + adapter +
                           ", which changes them in transformers; merge the adapter and save the "
                           "result, or remove it");
  }
  return read_llama_config(folder, keys.advice());
}

/// The deck with the model of `folder`.
Deck with_imported_model(const Deck& given, const std::string& folder) {
  const LlamaConfig c = read_config(folder);
  Deck deck = with_context(given, c.context, folder);
  const auto set = [&](const char* table, const char* key, const std::string& value) {
    deck = with_key(deck, table, key, value, folder);
  };
  set("transformer", "layers", std::to_string(c.layers));
  set("transformer", "width", std::to_string(c.width));
  set("transformer", "heads", std::to_string(c.heads));
  set("transformer", "kv_heads", std::to_string(c.kv_heads));
  set("transformer", "mlp", toml_value(std::string("swiglu")));
  set("transformer", "mlp_width", std::to_string(c.mlp_width));
  set("transformer", "rope_base", format_real(c.rope_base));
  set("transformer", "norm_epsilon", format_real(c.norm_epsilon));
  set("transformer", "qk_norm", c.qk_norm ? "true" : "false");
  set("transformer", "window", std::to_string(c.window));
  set("transformer", "window_pattern", pattern_text(c));
  set("embedding", "interface", toml_value(table_interface(c.tied)));
  set("data", "vocabulary_size", std::to_string(c.vocabulary));
  return deck;
}

class ImportJob final : public ModelJob {
 public:
  ImportJob(std::string folder, MemberSettings settings)
      : ModelJob(std::move(settings)), folder_(std::move(folder)) {}
  Outcome run(const JobContext& context) override {
    context.comm.on_root([&] { write(context.console); });
    return {};
  }

 private:
  void write(Console& console) const;
  std::string folder_;
};

void ImportJob::write(Console& console) const {
  refuse_old_files(settings_.directory);
  const LlamaConfig config = read_config(folder_);
  const WeightFile file(folder_, keys);
  const std::vector<LlamaTensor> tensors = llama_tensors(config);
  check_tensor_names(file, config, tensors);
  const std::vector<WeightMatrix> opened = open_tensors(file, tensors);
  Model<float> model(settings_.model, {config.vocabulary, 1, 1});
  Parameters<float>& parameters = model.parameters();
  parameters.allocate();
  copy_weights(opened, tensors, stored_table(settings_.model.interface), parameters);

  const std::string deck = deck_beside(settings_);
  make_directory(settings_.directory);
  save_state(settings_.directory, header_of(settings_, config, folder_, deck), parameters,
             run_history());
  write_text(settings_.directory + "/deck.toml", deck);
  console.line("imported " + file.path() + ": " + format_count(parameters.count()) +
               " parameters, " + settings_.model.interface + ", vocabulary " +
               format_count(config.vocabulary));
  if (!file.passed_over().empty()) console.line(file.passed_over());
  console.line("wrote " + checkpoint_path(settings_.directory, 0) + " and " + settings_.directory +
               "/deck.toml");
}

}  // namespace

std::unique_ptr<Job> read_import(JobDeck& from) {
  const std::string folder = read_folder(from.deck.table("import"));
  from.deck = with_imported_model(from.deck, folder);
  read_job(from.deck);
  read_folder(from.deck.table("import"));
  return std::make_unique<ImportJob>(folder, read_member(from));
}

void check_import(const Deck& deck) { read_folder(deck.idle_table("import")); }

}  // namespace lexikos
