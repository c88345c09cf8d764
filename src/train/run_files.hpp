// The files of a run beside its checkpoints: history.h5, embedding.h5, postmortem_<step>.h5.
#pragma once

#include <string>

#include "model.hpp"
#include "outputs/history.hpp"
#include "parallel/communicator.hpp"
#include "train/post_mortem.hpp"

namespace lexikos {

class RunFiles {
 public:
  /// `about` goes on the root of every file, beside `status` ("running", "finished", "stopped").
  RunFiles(std::string folder, Attributes about, const Communicator& comm);

  /// Overwrite the file there is. Collective; the root writes. Throw Error(file).
  void write_history(const History& history, const std::string& status) const;
  void write_embedding(Model<float>& model, const std::string& status) const;

  /// On the root: the history, and a post-mortem whose path it returns. Throws Error(file).
  std::string write_post_mortem(const NotFinite& found, const History& history) const;

  /// True where history.h5 says that the run is finished, at this step. Collective.
  bool finished_at(Index step) const;

 private:
  Attributes about(const std::string& status) const;

  std::string folder_;
  Attributes about_;
  const Communicator& comm_;
};

}  // namespace lexikos
