#include "train/checkpointing.hpp"

#include "console/configuration.hpp"
#include "train/checkpoint_use.hpp"
#include "train/member_files.hpp"
#include "train/trained_model.hpp"

namespace lexikos {
namespace {

/// Bytes a second that a file system surely takes.
constexpr double slow_disk = 1e8;

CheckpointHeader header_of(const MemberSettings& settings, const RunData& data, Index step) {
  CheckpointHeader header;
  header.step = step;
  header.tokens = step * settings.batch.tokens;
  header.seed = static_cast<std::int64_t>(settings.seed);
  header.deck = settings.resolved_deck;
  header.code_version = code_version();
  header.member = settings.member;
  header.other.set("tokenizer", data.tokenizer).set("tokenizer_hash", data.tokenizer_hash);
  header.other.set(fingerprint_attribute, data.fingerprint);
  header.other.set("end_of_text", data.end_of_text);
  return header;
}

}  // namespace

void save_checkpoint(const MemberSettings& settings, const RunData& data, const Trainer& trainer,
                     const Communicator& comm) {
  save_shared_state(comm, settings.directory, header_of(settings, data, trainer.done()),
                    trainer.model().parameters(), trainer.history());
  comm.on_root([&] { prune_checkpoints(settings.directory, settings.checkpoint.retention); });
}

double checkpoint_estimate(const Model<float>& model) {
  return 3.0 * static_cast<double>(model.parameters().arena_size()) * sizeof(float) / slow_disk;
}

void check_restart(const CheckpointHeader& header, const std::string& path,
                   const MemberSettings& settings, const UsedTokenizer& tokenizer,
                   Console& console) {
  check_checkpoint(header, path, settings.resolved_deck, tokenizer);
  check_data_order(header, path, settings.resolved_deck, settings.data.allow_changed, console);
  if (header.step > settings.run.steps) {
    fail(Status::deck, "'" + path + "' is at step " + std::to_string(header.step) +
                           ", past run.steps = " + std::to_string(settings.run.steps));
  }
}

void restart(Trainer& trainer, const std::string& path, const MemberSettings& settings,
             const RunData& data, const Communicator& comm, Console& console) {
  CheckpointHeader header;
  comm.on_all([&] {
    header = load_state(path, trainer.model().parameters(), trainer.history());
    check_restart(header, path, settings, tokenizer_of(data), console);
    check_token_files(header, path, data, settings.data.allow_changed, console);
  });
  trainer.go_on_after(header.step);
  console.line("restart from " + path + ", step " + std::to_string(header.step));
}

}  // namespace lexikos
