#include "weights/llama_config.hpp"

#include <algorithm>
#include <cmath>

#include "utils/error.hpp"
#include "utils/json.hpp"
#include "utils/mapped_file.hpp"
#include "utils/text.hpp"

namespace lexikos {
namespace {

/// What a value is called in a message.
std::string shown(const Json& value) {
  switch (value.kind) {
    case Json::Kind::null:
      return "null";
    case Json::Kind::boolean:
      return value.boolean ? "true" : "false";
    case Json::Kind::number:
      return value.whole ? std::to_string(*value.whole) : format_real(value.number);
    case Json::Kind::text:
      return "\"" + value.text + "\"";
    case Json::Kind::array:
      return value.items.empty() ? "[]" : "[" + shown(value.items.front()) + ", ...]";
    default:
      return "a table";
  }
}

/// The keys of a config.json; null counts as absent unless asked for.
class Reader {
 public:
  Reader(const std::string& path, const std::string& advice)
      : file_(path, advice),
        json_(parse_json(file_.text(0, file_.size()), "cannot read '" + file_.path() + "'")) {
    if (!json_.is(Json::Kind::object)) file_.refuse("it is no table of keys");
  }

  [[nodiscard]] const Json* find(const std::string& key) const { return find_in(json_, key); }

  [[nodiscard]] bool is_null(const std::string& key) const {
    const Json* value = json_.find(key);
    return value != nullptr && value->is(Json::Kind::null);
  }

  [[nodiscard]] static const Json* find_in(const Json& table, const std::string& key) {
    const Json* value = table.find(key);
    return value == nullptr || value->is(Json::Kind::null) ? nullptr : value;
  }

  /// One that must be there, from 1 to `most`.
  [[nodiscard]] Index size(const std::string& key, Index most) const {
    if (json_.find(key) == nullptr) file_.refuse("it has no '" + key + "'");
    return whole_of(key, *json_.find(key), {1, most});
  }

  struct Range {
    Index least, most;
  };

  [[nodiscard]] Index whole(const std::string& key, Index fallback, Range range) const {
    const Json* value = find(key);
    return value == nullptr ? fallback : whole_of(key, *value, range);
  }

  [[nodiscard]] double positive(const std::string& key, double fallback) const {
    const Json* value = find(key);
    return value == nullptr ? fallback : positive_of(key, *value);
  }

  /// `key` is what the value is called in messages.
  [[nodiscard]] double positive_of(const std::string& key, const Json& value) const {
    if (!value.is(Json::Kind::number) || !(value.number > 0) || !std::isfinite(value.number)) {
      refuse(key, value, "a number above 0 is expected");
    }
    return value.number;
  }

  [[nodiscard]] bool flag(const std::string& key, bool fallback) const {
    const Json* value = find(key);
    if (value == nullptr) return fallback;
    if (!value->is(Json::Kind::boolean)) refuse(key, *value, "true or false is expected");
    return value->boolean;
  }

  [[noreturn]] void refuse(const std::string& key, const Json& value,
                           const std::string& why) const {
    file_.refuse(key + " = " + shown(value) + ": " + why);
  }
  [[noreturn]] void refuse_default(const std::string& key, Index value,
                                   const std::string& why) const {
    file_.refuse(key + " is absent and so " + std::to_string(value) + ": " + why);
  }

 private:
  [[nodiscard]] Index whole_of(const std::string& key, const Json& value, Range range) const {
    if (!value.whole || *value.whole < static_cast<std::uint64_t>(range.least) ||
        *value.whole > static_cast<std::uint64_t>(range.most)) {
      refuse(key, value,
             "a whole number from " + std::to_string(range.least) + " to " +
                 std::to_string(range.most) + " is expected");
    }
    return static_cast<Index>(*value.whole);
  }

  MappedFile file_;
  Json json_;
};

// Sizes past these are no model's, and their products might not be numbers either.
constexpr Index most_layers = 1 << 16, most_width = 1 << 24, most_hidden = 1 << 27;
constexpr Index most_tokens = Index{1} << 31;  // of a vocabulary, and of a context

/// An architecture that is read, and transformers' defaults where it has others than Llama.
struct Family {
  const char* architecture;
  const char* model_type;
  Index kv_heads;  // 0: as many as heads
  Index context;
  Index window;    // 0: none
  Index head_dim;  // 0: hidden_size / num_attention_heads
  bool qk_norm;
};

constexpr Family families[] = {
    {"LlamaForCausalLM", "llama", 0, 2048, 0, 0, false},
    {"MistralForCausalLM", "mistral", 8, 131072, 4096, 0, false},
    {"Qwen3ForCausalLM", "qwen3", 32, 32768, 4096, 128, true},
};

const Family& family_of(const std::string& architecture) {
  for (const Family& family : families) {
    if (architecture == family.architecture) return family;
  }
  return families[0];  // not reached: the callers have their names from the list
}

void require_text(const Reader& reader, const std::string& key, const std::string& wanted) {
  const Json* value = reader.find(key);
  if (value == nullptr) return;
  if (!value->is(Json::Kind::text) || value->text != wanted) {
    reader.refuse(key, *value, "only \"" + wanted + "\" is read");
  }
}

std::string known_names(const char* Family::*name) {
  std::vector<std::string> names;
  for (const Family& family : families) names.emplace_back(family.*name);
  return join(names, ", ");
}

/// By model_type, with which `architectures` must agree.
const Family& read_family(const Reader& reader) {
  const Family* found = &families[0];
  if (const Json* type = reader.find("model_type")) {
    found = nullptr;
    for (const Family& family : families) {
      if (type->is(Json::Kind::text) && type->text == family.model_type) found = &family;
    }
    if (found == nullptr) {
      reader.refuse("model_type", *type, "only " + known_names(&Family::model_type) + " are read");
    }
  }
  if (const Json* names = reader.find("architectures")) {
    const bool agrees = names->is(Json::Kind::array) && names->items.size() == 1 &&
                        names->items[0].text == found->architecture;
    if (!agrees) {
      reader.refuse("architectures", *names,
                    std::string("only ") + found->architecture + " is read with model_type = \"" +
                        found->model_type + "\"");
    }
  }
  return *found;
}

/// What would change the function and is not computed here.
void refuse_unsupported(const Reader& reader) {
  require_text(reader, "hidden_act", "silu");
  for (const char* key : {"attention_bias", "mlp_bias"}) {
    if (reader.flag(key, false)) {
      reader.refuse(key, *reader.find(key), "models with biases are not read");
    }
  }
  if (const Json* value = reader.find("quantization_config")) {
    reader.refuse("quantization_config", *value, "it is not supported");
  }
  if (const Json* value = reader.find("text_config")) {
    reader.refuse("text_config", *value,
                  "its sizes and those beside it may be two models'; save the text model alone");
  }
}

constexpr const char* windowed_layer = "sliding_attention";
constexpr const char* full_layer = "full_attention";

/// `layer_types`, or where it is absent the layers from max_window_layers on.
std::vector<bool> read_layer_types(const Reader& reader, Index layers) {
  std::vector<bool> windowed;
  const Json* types = reader.find("layer_types");
  if (types == nullptr) {
    const Index first = reader.whole("max_window_layers", 28, {0, most_layers});
    for (Index l = 0; l < layers; ++l) windowed.push_back(l >= first);
    return windowed;
  }
  for (const Json& type : types->items) {
    if (type.text != windowed_layer && type.text != full_layer) {
      reader.refuse("layer_types", *types,
                    std::string("only ") + windowed_layer + " and " + full_layer + " are read");
    }
    windowed.push_back(type.text == windowed_layer);
  }
  if (static_cast<Index>(windowed.size()) != layers) {
    reader.refuse("layer_types", *types, "one a layer is expected");
  }
  return windowed;
}

/// A family without windows refuses one; in another, null is none and an absent key its default.
void read_window(const Reader& reader, const Family& family, LlamaConfig& c) {
  c.windowed.assign(static_cast<std::size_t>(c.layers), false);
  if (family.window == 0) {
    if (const Json* value = reader.find("sliding_window")) {
      reader.refuse("sliding_window", *value, "it is not supported");
    }
    return;
  }
  if (reader.is_null("sliding_window")) return;
  if (family.qk_norm) {  // Qwen's own switch
    if (!reader.flag("use_sliding_window", false)) return;
    c.windowed = read_layer_types(reader, c.layers);
  } else {
    c.windowed.assign(c.windowed.size(), true);
  }
  const bool any = std::count(c.windowed.begin(), c.windowed.end(), true) > 0;
  if (any) c.window = reader.whole("sliding_window", family.window, {1, most_tokens});
}

/// Layers before the first with a window, where all from there on have one; else all.
Index max_window_layers(const LlamaConfig& c) {
  const auto first = std::find(c.windowed.begin(), c.windowed.end(), true);
  const bool all_from_there = std::find(first, c.windowed.end(), false) == c.windowed.end();
  return all_from_there ? first - c.windowed.begin() : c.layers;
}

/// Every way of turning by position but the plain one is refused.
void refuse_other_rotary(const Reader& reader, const std::string& key, const Json& table) {
  const auto refuse_unless = [&](const char* name, auto good, const char* why) {
    const Json* value = Reader::find_in(table, name);
    if (value != nullptr && !good(*value)) reader.refuse(key + "." + name, *value, why);
  };
  const auto plain = [](const Json& type) { return type.text == "default"; };
  const auto one = [](const Json& number) { return number.number == 1.0; };
  for (const char* type : {"rope_type", "type"}) {
    refuse_unless(type, plain, "only \"default\" rotary positions are computed");
  }
  refuse_unless("factor", one, "rotary positions are not scaled");
  refuse_unless("partial_rotary_factor", one, "only whole heads are turned");
}

/// The rotary base: `rope_theta` at the top, or in `rope_parameters` since transformers 5. Versions
/// differ on which of two holds, so they must agree.
double rotary_base(const Reader& reader) {
  constexpr const char* name = "rope_theta";
  std::string said;  // where the base was found
  double base = 10000.0;
  const auto take = [&](const std::string& key, const Json& value) {
    const double found = reader.positive_of(key, value);
    if (!said.empty() && found != base) {
      reader.refuse(key, value, "and " + said + " = " + format_real(base) + "; leave one of them");
    }
    base = found;
    said = key;
  };
  if (const Json* top = reader.find(name)) take(name, *top);
  for (const char* key : {"rope_scaling", "rope_parameters"}) {
    const Json* table = reader.find(key);
    if (table == nullptr) continue;
    if (!table->is(Json::Kind::object)) reader.refuse(key, *table, "a table is expected");
    refuse_other_rotary(reader, key, *table);
    if (const Json* value = Reader::find_in(*table, name)) {
      take(std::string(key) + "." + name, *value);
    }
  }
  const Json* partial = reader.find("partial_rotary_factor");
  if (partial != nullptr && partial->number != 1.0) {
    reader.refuse("partial_rotary_factor", *partial, "only whole heads are turned");
  }
  return base;
}

/// eos_token_id: one id, or a list of one; what else it may be (several, none) is no single id.
Index end_of_text(const Reader& reader, Index vocabulary) {
  const Json* id = reader.find("eos_token_id");
  if (id != nullptr && id->items.size() == 1) id = &id->items.front();
  const bool known =
      id != nullptr && id->whole && *id->whole < static_cast<std::uint64_t>(vocabulary);
  return known ? static_cast<Index>(*id->whole) : -1;
}

void check_heads(const Reader& reader, const Family& family, const LlamaConfig& c) {
  const auto refuse = [&](const char* key, const std::string& why) {
    if (const Json* given = reader.find(key)) reader.refuse(key, *given, why);
    reader.refuse_default(key, c.kv_heads, why);
  };
  if (c.width % c.heads != 0) {
    refuse("num_attention_heads", "it does not divide hidden_size = " + std::to_string(c.width));
  }
  if (c.heads % c.kv_heads != 0) {
    refuse("num_key_value_heads",  // the one key here that may be absent
           "it does not divide num_attention_heads = " + std::to_string(c.heads));
  }
  const Index head_width = c.width / c.heads;
  const Index fallback = family.head_dim > 0 ? family.head_dim : head_width;
  if (reader.whole("head_dim", fallback, {1, most_width}) != head_width) {
    refuse(reader.find("head_dim") != nullptr ? "head_dim" : "hidden_size",
           "heads of another width than hidden_size / num_attention_heads = " +
               std::to_string(head_width) + " are not supported");
  }
  if (head_width % 2 != 0) {
    refuse("num_attention_heads", "it gives heads of odd width " + std::to_string(head_width));
  }
}

std::string flag_text(bool value) { return value ? "true" : "false"; }

std::string layer_types_text(const LlamaConfig& c) {
  std::vector<std::string> types;
  for (const bool windowed : c.windowed) {
    types.push_back(std::string("\"") + (windowed ? windowed_layer : full_layer) + "\"");
  }
  return "[" + join(types, ", ") + "]";
}

}  // namespace

std::string architecture_of(const LlamaConfig& c) {
  if (c.qk_norm) return "Qwen3ForCausalLM";
  const auto windows = std::count(c.windowed.begin(), c.windowed.end(), true);
  if (windows == 0) return "LlamaForCausalLM";
  if (windows == c.layers) return "MistralForCausalLM";
  fail(Status::deck,
       "transformer.window in some layers only has no architecture in transformers without "
       "transformer.qk_norm; this model cannot be exported");
}

std::string llama_config_json(const LlamaConfig& c, const std::string& type) {
  const std::string id = c.end_of_text < 0 ? "null" : std::to_string(c.end_of_text);
  const std::string base = format_real(c.rope_base);
  std::string text = "{\n";
  const auto add = [&](const std::string& key, const std::string& value) {
    text += (text.size() > 2 ? ",\n  \"" : "  \"") + key + "\": " + value;
  };
  const std::string architecture = architecture_of(c);
  add("architectures", "[\"" + architecture + "\"]");
  add("model_type", std::string("\"") + family_of(architecture).model_type + "\"");
  add("vocab_size", std::to_string(c.vocabulary));
  add("hidden_size", std::to_string(c.width));
  add("intermediate_size", std::to_string(c.mlp_width));
  add("num_hidden_layers", std::to_string(c.layers));
  add("num_attention_heads", std::to_string(c.heads));
  add("num_key_value_heads", std::to_string(c.kv_heads));
  add("head_dim", std::to_string(c.width / c.heads));
  add("hidden_act", "\"silu\"");
  add("attention_bias", "false");
  add("mlp_bias", "false");
  add("max_position_embeddings", std::to_string(c.context));
  if (c.window > 0) add("sliding_window", std::to_string(c.window));
  if (c.qk_norm) {
    add("use_sliding_window", flag_text(c.window > 0));
    add("max_window_layers", std::to_string(max_window_layers(c)));
    add("layer_types", layer_types_text(c));
  }
  add("rms_norm_eps", format_real(c.norm_epsilon));
  add("rope_theta", base);
  add("rope_parameters", "{\"rope_type\": \"default\", \"rope_theta\": " + base + "}");
  add("initializer_range", format_real(c.init_deviation));
  add("tie_word_embeddings", flag_text(c.tied));
  add("bos_token_id", id);
  add("eos_token_id", id);
  add("use_cache", "true");
  add("torch_dtype", "\"" + type + "\"");
  return text + "\n}\n";
}

LlamaConfig read_llama_config(const std::string& folder, const std::string& advice) {
  const Reader reader(folder + "/config.json", advice);
  const Family& family = read_family(reader);
  refuse_unsupported(reader);
  LlamaConfig c;
  c.vocabulary = reader.size("vocab_size", most_tokens);
  c.width = reader.size("hidden_size", most_width);
  c.mlp_width = reader.size("intermediate_size", most_hidden);
  c.layers = reader.size("num_hidden_layers", most_layers);
  c.heads = reader.size("num_attention_heads", most_width);
  // In transformers an absent key is the family's default, and null is one for each head.
  const bool default_groups = family.kv_heads > 0 && !reader.is_null("num_key_value_heads");
  c.kv_heads = reader.whole("num_key_value_heads", default_groups ? family.kv_heads : c.heads,
                            {1, most_width});
  c.context = reader.whole("max_position_embeddings", family.context, {1, most_tokens});
  read_window(reader, family, c);
  c.norm_epsilon = reader.positive("rms_norm_eps", 1e-6);
  c.rope_base = rotary_base(reader);
  c.qk_norm = family.qk_norm;
  c.tied = reader.flag("tie_word_embeddings", false);
  c.end_of_text = end_of_text(reader, c.vocabulary);
  check_heads(reader, family, c);
  return c;
}

}  // namespace lexikos
