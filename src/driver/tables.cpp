#include "driver/tables.hpp"

#include <cstdio>

#include "utils/text.hpp"

namespace lexikos {
namespace {

std::string row(const std::string& name, const std::string& a, const std::string& b,
                const std::string& c) {
  char text[128];
  std::snprintf(text, sizeof text, "  %-26s %16s %12s %16s\n", name.c_str(), a.c_str(), b.c_str(),
                c.c_str());
  return text;
}

std::string row(const std::string& name, const Counts& c) {
  return row(name, format_count(c.trainable), format_count(c.fixed), format_count(c.shared));
}

std::string entry(const std::string& name, const std::string& value) {
  char text[128];
  std::snprintf(text, sizeof text, "  %-52s %20s\n", name.c_str(), value.c_str());
  return text;
}

}  // namespace

template <class S>
double flops_per_token(const Model<S>& model) {
  return model.transformer_counts().flops_per_token + model.head_counts().flops_per_token;
}

template <class S>
std::string model_tables(const Model<S>& model, const std::string& interface, Index batch_bytes) {
  const Counts input = model.embedding_counts(), body = model.transformer_counts(),
               head = model.head_counts();
  const Index total = input.trainable + body.trainable + head.trainable;
  std::string text = "Parameters\n" + row("package", "trainable", "fixed", "shared");
  text += row("embedding." + interface, input) + row("transformer", body) + row("head", head);
  text += row("all", format_count(total), format_count(input.fixed), format_count(input.shared));
  text += entry("all, in short", format_si(static_cast<double>(total)));
  if (input.matched_to > 0) {
    text += entry("embedding." + interface + " less lev's " + format_count(input.matched_to),
                  format_count(input.trainable - input.matched_to));
  }

  text += "Work of training (a multiply-add is 2 FLOP)\n";
  text += entry("transformer, per token", format_si(body.flops_per_token, "FLOP"));
  text += entry("head, per token", format_si(head.flops_per_token, "FLOP"));
  text += entry("embedding." + interface + ", per distinct token of a step",
                format_si(input.flops_per_distinct, "FLOP"));

  const Index arena = model.list().arena_size() * Index(sizeof(S));
  const Index peak = 4 * arena + model.memory_plan().bytes() + batch_bytes;
  text += "Device memory of a rank\n";
  text += entry("parameters, gradients and two moments", format_bytes(4 * arena));
  text += entry("activations kept through a step", format_bytes(model.memory_plan().kept_bytes()));
  text += entry("work space that phases share", format_bytes(model.memory_plan().shared_bytes()));
  text += entry("token ids and buckets", format_bytes(batch_bytes));
  text += entry("peak", format_bytes(peak));
  return text;
}

#define LEXIKOS_TABLES(S)                          \
  template double flops_per_token(const Model<S>&); \
  template std::string model_tables(const Model<S>&, const std::string&, Index);
LEXIKOS_TABLES(float)
LEXIKOS_TABLES(double)
#undef LEXIKOS_TABLES

}  // namespace lexikos
