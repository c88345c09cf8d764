#include "jobs/exchange/bake.hpp"

#include "console/configuration.hpp"
#include "jobs/model_job.hpp"
#include "jobs/registry.hpp"
#include "train/member_files.hpp"
#include "train/run_history.hpp"
#include "train/trained_model.hpp"
#include "utils/paths.hpp"
#include "utils/text.hpp"
#include "utils/text_file.hpp"

namespace lexikos {
namespace {

/// The member's deck with a table for its interface, to be trained or evaluated on its own.
MemberSettings baked_settings(const MemberSettings& settings) {
  const std::string folder = settings.directory + "/baked";
  const Deck deck = Deck::from_string(settings.resolved_deck, "the baked deck")
                        .without("embedding." + settings.model.interface)
                        .with("embedding.interface", toml_value(table_interface(false)))
                        .with("output.directory", toml_value(folder))
                        .with("job", toml_value(std::string("train")));
  read_job(deck);
  return MemberSettings::read(deck, "", folder);
}

/// Overwrites every parameter of `to` that `from` has as well.
void copy_common(const Parameters<float>& from, const Parameters<float>& to) {
  for (const ParameterInfo& target : to.infos()) {
    for (const ParameterInfo& source : from.infos()) {
      if (source.name != target.name) continue;
      Kokkos::deep_copy(View1<float>(to.values().data() + target.offset, target.size),
                        View1<float>(from.values().data() + source.offset, source.size));
    }
  }
}

/// Overwrites the table of `to` with the vectors of `from`'s interface.
void copy_input_matrix(Model<float>& from, const Model<float>& to) {
  const ExecSpace space;
  const std::string table = stored_table(table_interface(false));
  from.materialise(space, 0, to.parameters().find(table).value2());
  space.fence();
}

void refuse_overwriting(const std::string& path) {
  if (exists(path)) {
    fail(Status::file,
         "'" + path + "' is there already; remove it, or choose another folder with -d");
  }
}

class BakeJob final : public ModelJob {
 public:
  using ModelJob::ModelJob;
  Outcome run(const JobContext& context) override;

 private:
  void bake(const std::string& path, const RunData& data, Console& console) const;
};

void BakeJob::bake(const std::string& path, const RunData& data, Console& console) const {
  const MemberSettings baked = baked_settings(settings_);
  const auto from =
      TrainedModel::open(path, settings_, settings_.sizes(data.vocabulary, 1), tokenizer_of(data));
  CheckpointHeader header = from->header;
  const std::string target = checkpoint_path(baked.directory, header.step);
  refuse_overwriting(target);

  Model<float> to(baked.model, baked.sizes(data.vocabulary, 1));
  to.allocate(settings_.seed);
  copy_common(from->model.parameters(), to.parameters());
  copy_input_matrix(from->model, to);
  header.deck = baked.resolved_deck;
  header.code_version = code_version();
  header.member = "";
  make_directory(baked.directory);
  save_state(baked.directory, header, to.parameters(), run_history());
  write_text(baked.directory + "/deck.toml", baked.resolved_deck);
  console.line("baked " + path + ": " + settings_.model.interface + " (" +
               format_count(from->model.parameters().count("embedding.")) +
               " parameters) into a table of " + format_count(data.vocabulary) + " x " +
               std::to_string(from->model.shape().width));
  console.line("wrote " + target + " and " + baked.directory + "/deck.toml");
}

/// One rank has all the state and writes it; the others only hear how it went.
Outcome BakeJob::run(const JobContext& context) {
  const RunData data = open_data(settings_.data, settings_.seed, context.comm);
  const std::string path = trained_checkpoint(context.arguments.restart, settings_.directory,
                                              context.comm, context.console);
  context.comm.on_root([&] { bake(path, data, context.console); });
  return {};
}

}  // namespace

std::unique_ptr<Job> read_bake(JobDeck& from) {
  return std::make_unique<BakeJob>(read_member(from));
}

}  // namespace lexikos
