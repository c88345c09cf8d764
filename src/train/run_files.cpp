#include "train/run_files.hpp"

#include "hdf5/file.hpp"
#include "train/member_files.hpp"

namespace lexikos {
namespace {

bool says_finished(const std::string& path, Index step) {
  try {
    const Hdf5Reader file(path);
    const auto steps = file.read_list<std::int64_t>("/history/step");
    return file.text("/", "status") == "finished" && !steps.empty() && steps.back() == step;
  } catch (const Error&) {
    return false;  // none, or none that can be read: it is written anew
  }
}

}  // namespace

RunFiles::RunFiles(std::string folder, Attributes about, const Communicator& comm)
    : folder_(std::move(folder)), about_(std::move(about)), comm_(comm) {}

Attributes RunFiles::about(const std::string& status) const {
  Attributes all = about_;
  return all.set("status", status);
}

void RunFiles::write_history(const History& history, const std::string& status) const {
  comm_.on_root([&] { history.write(folder_ + "/history.h5", history_format, about(status)); });
}

void RunFiles::write_embedding(Model<float>& model, const std::string& status) const {
  comm_.on_root([&] { save_embedding_file(folder_ + "/embedding.h5", about(status), model); });
}

std::string RunFiles::write_post_mortem(const NotFinite& found, const History& history) const {
  history.write(folder_ + "/history.h5", history_format, about("stopped"));
  Attributes more = about("stopped");
  more.set("loss", found.record.loss).set("gradient_norm", found.record.gradient_norm);
  const std::string path = post_mortem_path(folder_, found.record.step);
  lexikos::write_post_mortem(path, more, found.found);
  return path;
}

bool RunFiles::finished_at(Index step) const {
  const bool says = comm_.is_root() && says_finished(folder_ + "/history.h5", step);
  return comm_.max(says ? 1.0 : 0.0) > 0;
}

}  // namespace lexikos
