#include "train/plan.hpp"

#include <algorithm>
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

std::string row(const std::string& name, Index trainable, const Costs& c) {
  return row(name, format_count(trainable), format_count(c.fixed), format_count(c.shared));
}

std::string entry(const std::string& name, const std::string& value) {
  char text[128];
  std::snprintf(text, sizeof text, "  %-52s %20s\n", name.c_str(), value.c_str());
  return text;
}

/// Papers state sizes up to 10 G in millions: "406.1 M", "1214.9 M".
std::string in_millions(Index count) {
  if (count >= Index{10'000'000'000}) return format_si(static_cast<double>(count));
  char text[32];
  std::snprintf(text, sizeof text, "%.1f M", static_cast<double>(count) / 1e6);
  return text;
}

/// Papers disagree on whether a size includes the gains of norms; without them it is this.
Index matrix_elements(const Model<float>& model) {
  Index count = 0;
  for (const ParameterInfo& info : model.parameters().infos()) {
    if (info.shape.size() >= 2) count += info.size;
  }
  return count;
}

constexpr int name_width = 20;

std::string comparison_row(const MemberCounts& m, const MemberCounts& reference) {
  const Index difference = m.trainable - reference.trainable;
  const double percent = 100 * static_cast<double>(difference) / double(reference.trainable);
  const std::string exact = (difference > 0 ? "+" : "") + format_count(difference);
  char text[160];
  // A name too long for its column stands on a line of its own.
  const bool fits = m.member.size() <= std::size_t(name_width);
  std::snprintf(text, sizeof text, "  %-*s %13s %9s %14s %+8.2f M %+7.2f\n", name_width,
                fits ? m.member.c_str() : "", format_count(m.trainable).c_str(),
                in_millions(m.matrices).c_str(), exact.c_str(),
                static_cast<double>(difference) / 1e6, percent);
  return fits ? text : "  " + m.member + "\n" + text;
}

}  // namespace

double flops_per_token(const Model<float>& model) {
  return model.costs().transformer.flops_per_token + model.costs().head.flops_per_token;
}

std::string model_tables(const Model<float>& model, const std::string& interface,
                         const MemoryNeed& need) {
  const auto [input, body, head] = model.costs();
  const auto trainable = [&](const char* package) { return model.parameters().count(package); };
  const Index total = model.parameters().count();
  std::string text = "Parameters\n" + row("package", "trainable", "fixed", "shared");
  text += row("embedding." + interface, trainable("embedding."), input);
  text += row("transformer", trainable("transformer."), body);
  text += row("head", trainable("head."), head);
  text += row("all", format_count(total), format_count(input.fixed), format_count(input.shared));
  text += entry("all, in short", format_si(static_cast<double>(total)));
  text += entry("matrices alone, in short", in_millions(matrix_elements(model)));
  if (input.matched_to > 0) {
    text += entry("embedding." + interface + " less lev's " + format_count(input.matched_to),
                  format_count(trainable("embedding.") - input.matched_to));
  }

  text += "Work of training (a multiply-add is 2 FLOP)\n";
  text += entry("transformer, per token", format_si(body.flops_per_token, "FLOP"));
  text += entry("head, per token", format_si(head.flops_per_token, "FLOP"));
  text += entry("embedding." + interface + ", per distinct token of a step",
                format_si(input.flops_per_distinct, "FLOP"));

  text += need.ranks == 1 ? "Device memory of the rank\n"
                          : "Device memory of each of " + format_count(need.ranks) + " ranks\n";
  text += entry("parameters and gradients", format_bytes(need.values));
  text += entry("AdamW's two moments", format_bytes(need.moments));
  text += entry("activations kept through a step", format_bytes(need.kept));
  text += entry("work space that phases share", format_bytes(need.shared));
  text += entry("token ids and buckets", format_bytes(need.batch));
  text += entry("peak", format_bytes(need.peak()));
  return text;
}

std::string fit_table(const MemberSettings& settings, Index vocabulary, int ranks) {
  const Index share = settings.sizes(vocabulary, ranks).rank_sequences;
  std::string text =
      "Largest micro-batch that fits, of " + format_count(share) + " sequences of a rank\n";
  for (const Index gigabytes : {64, 80}) {
    const Index fit =
        largest_micro_batch(settings, vocabulary, ranks, gigabytes * Index{1'000'000'000});
    text += entry("device of " + format_count(gigabytes) + " GB (10^9 bytes, all of it)",
                  fit == 0 ? "does not fit" : "fits, " + format_count(fit));
  }
  return text;
}

MemberCounts member_counts(const Model<float>& model, const std::string& member) {
  return {member, model.costs().embedding.shared > 0, model.parameters().count(),
          matrix_elements(model)};
}

std::string comparison_table(const std::vector<MemberCounts>& members) {
  const auto tied =
      std::find_if(members.begin(), members.end(), [](const MemberCounts& m) { return m.tied; });
  const MemberCounts& reference = tied != members.end() ? *tied : members.front();
  char header[128];
  std::snprintf(header, sizeof header, "  %-*s %13s %9s %14s %10s %7s\n", name_width, "member",
                "trainable", "matrices", "difference", "in short", "in %");
  std::string text = "Parameters of the members\n" + std::string(header);
  for (const MemberCounts& m : members) text += comparison_row(m, reference);
  return text + "  difference: trainable, less those of " + reference.member + "\n";
}

}  // namespace lexikos
