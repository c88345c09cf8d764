#include "train/provenance.hpp"

#include "console/configuration.hpp"
#include "kernels/gemm/gemm.hpp"
#include "train/plan.hpp"

namespace lexikos {

Attributes provenance(const std::string& resolved_deck, Compute compute) {
  Attributes a;
  a.set("code_version", code_version()).set("deck", resolved_deck);
  a.set("threads", host_threads()).set("device", device_text());
  return a.set("blas",
               compute == Compute::bf16 ? gemm_library_name<Bf16>() : gemm_library_name<float>());
}

Attributes run_attributes(const MemberSettings& settings, const RunData& data,
                          const Model<float>& model, const Communicator& comm) {
  const Costs input = model.costs().embedding;
  const Compute compute = settings.model.execution.compute;
  Attributes a = provenance(settings.resolved_deck, compute);
  a.set("member", settings.member);
  a.set("parameters_trainable", model.parameters().count());
  a.set("parameters_fixed", input.fixed);
  a.set("parameters_shared", input.shared);
  a.set("parameters_input_trainable", model.parameters().count("embedding."));
  a.set("flops_per_token", static_cast<std::int64_t>(flops_per_token(model)));
  a.set("ranks", comm.size());
  a.set("precision", std::string("fp32"));
  a.set("compute", std::string(compute == Compute::bf16 ? "bf16" : "fp32"));
  a.set("vocabulary_size", data.vocabulary);
  a.set("validation_bytes_per_token", data.validation_bytes_per_token);
  a.set("validation_words_per_token", data.validation_words_per_token);
  a.set("data_source", data.source);
  a.set("tokenizer", data.tokenizer);
  a.set("tokenizer_hash", data.tokenizer_hash);
  return a;
}

}  // namespace lexikos
