// config.json: what computes something is understood or refused by key and value, the rest may be
// anything.
#include "weights/llama_config.hpp"

#include "harness/catch.hpp"
#include "harness/file_fixtures.hpp"

using namespace lexikos;
using namespace fixtures;

namespace {

/// A config.json with `more` behind the sizes of a small Llama.
class Config {
 public:
  explicit Config(const std::string& more, const std::string& type = "llama") {
    write_bytes(folder_.file("config.json"),
                R"({"model_type":")" + type +
                    R"(","vocab_size":61,"hidden_size":32,"intermediate_size":40,)"
                    R"("num_hidden_layers":2,"num_attention_heads":4)" +
                    (more.empty() ? "" : ",") + more + "}");
  }
  [[nodiscard]] LlamaConfig read() const { return read_llama_config(folder_.path(), "check it"); }
  [[nodiscard]] std::string refusal() const {
    return error_of([&] { (void)read(); });
  }

 private:
  TemporaryFolder folder_;
};

}  // namespace

TEST_CASE("keys that compute nothing may be anything", "[weights]") {
  for (const char* more :
       {R"("initializer_range":"0.02")", R"("initializer_range":0)", R"("use_cache":null)",
        R"("torch_dtype":{"a":[1,2]})", R"("pad_token_id":-1e999)", R"("vision":[NaN,Infinity])",
        R"("transformers_version":"\ud800")", R"("max_window_layers":"x","sliding_window":null)",
        R"("bos_token_id":[])", R"("attention_dropout":"none")"}) {
    INFO(more);
    CHECK(Config(more).refusal().empty());
  }
  CHECK(Config(R"("eos_token_id":7)").read().end_of_text == 7);
  CHECK(Config(R"("eos_token_id":[7])").read().end_of_text == 7);
  for (const char* id :
       {"[7,8]", "null", "-1", "61", "18446744073709551615", "\"7\"", "{}", "[]"}) {
    INFO(id);
    CHECK(Config(std::string(R"("eos_token_id":)") + id).read().end_of_text == -1);
  }
}

TEST_CASE("keys that compute something are named with their value", "[weights]") {
  struct Bad {
    const char *more, *said;
  };
  for (const Bad& bad :
       {Bad{R"("num_key_value_heads":2.5)", "num_key_value_heads = 2.5"},
        Bad{R"("num_key_value_heads":"2")", "num_key_value_heads = \"2\""},
        Bad{R"("num_key_value_heads":[2])", "num_key_value_heads = [2, ...]"},
        Bad{R"("max_position_embeddings":1e5)", "max_position_embeddings = 1e+05"},
        Bad{R"("max_position_embeddings":-16)", "max_position_embeddings = -16"},
        Bad{R"("max_position_embeddings":99999999999999999999999)", "max_position_embeddings = "},
        Bad{R"("head_dim":{"a":1})", "head_dim = a table"},
        Bad{R"("rms_norm_eps":1e999)", "rms_norm_eps = inf"},
        Bad{R"("rms_norm_eps":NaN)", "rms_norm_eps = nan"},
        Bad{R"("rms_norm_eps":"1e-5")", "rms_norm_eps = \"1e-5\""},
        Bad{R"("rms_norm_eps":1e-999)", "rms_norm_eps = 0"},
        Bad{R"("rope_theta":0)", "rope_theta = 0"},
        Bad{R"("rope_scaling":"linear")", "rope_scaling = \"linear\""},
        Bad{R"("rope_scaling":{"rope_type":"su"})", "rope_scaling.rope_type = \"su\""},
        Bad{R"("rope_scaling":{"type":3})", "rope_scaling.type = 3"},
        Bad{R"("rope_parameters":{"rope_theta":[1]})", "rope_parameters.rope_theta = [1, ...]"},
        Bad{R"("hidden_act":"relu2")", "hidden_act = \"relu2\""},
        Bad{R"("hidden_act":["silu"])", "hidden_act = "},
        Bad{R"("tie_word_embeddings":"true")", "tie_word_embeddings = \"true\""},
        Bad{R"("attention_bias":1)", "attention_bias = 1"},
        Bad{R"("architectures":"LlamaForCausalLM")", "architectures = "},
        Bad{R"("text_config":{"hidden_size":64})", "text_config = a table"}}) {
    INFO(bad.more);
    const std::string line = Config(bad.more).refusal();
    INFO(line);
    CHECK(contains(line, bad.said));
    CHECK(contains(line, "config.json"));
  }
}

TEST_CASE("sizes past any model's", "[weights]") {
  const auto line = [](const char* key, const char* value) {
    TemporaryFolder folder;
    std::string text = R"({"vocab_size":61,"hidden_size":32,"intermediate_size":40,)"
                       R"("num_hidden_layers":2,"num_attention_heads":4})";
    const std::size_t at = text.find(':', text.find(key)) + 1;
    text.replace(at, text.find_first_of(",}", at) - at, value);
    write_bytes(folder.file("config.json"), text);
    return error_of([&] { (void)read_llama_config(folder.path(), "check it"); });
  };
  for (const char* key : {"vocab_size", "hidden_size", "intermediate_size", "num_hidden_layers",
                          "num_attention_heads"}) {
    for (const char* value : {"1099511627776", "9223372036854775808", "0", "-1", "null", "3.0"}) {
      INFO(key << " " << value);
      CHECK(contains(line(key, value), std::string(key) + " = "));
    }
  }
}

TEST_CASE("two rotary bases must agree", "[weights]") {
  CHECK(Config(R"("rope_theta":300.0,"rope_parameters":{"rope_theta":300})").read().rope_base ==
        300);
  CHECK(Config(R"("rope_parameters":{"rope_theta":300})").read().rope_base == 300);
  const std::string line =
      Config(R"("rope_theta":500,"rope_parameters":{"rope_theta":300})").refusal();
  CHECK(contains(line, "rope_parameters.rope_theta = 300"));
  CHECK(contains(line, "rope_theta = 500"));
}

TEST_CASE("null and absent heads of keys are not the same", "[weights]") {
  CHECK(Config("").read().kv_heads == 4);
  CHECK(Config(R"("num_key_value_heads":null)", "mistral").read().kv_heads == 4);
  // Its default, 8, does not divide 4.
  CHECK(contains(Config("", "mistral").refusal(), "num_key_value_heads is absent and so 8"));
}

TEST_CASE("no file, and what the line then says to do", "[weights]") {
  TemporaryFolder folder;
  CHECK(contains(error_of([&] { (void)read_llama_config(folder.path(), "check a.key"); }),
                 "check a.key"));
  write_bytes(folder.file("config.json"), "[1]");
  CHECK(contains(error_of([&] { (void)read_llama_config(folder.path(), "check a.key"); }),
                 "no table of keys"));
}
