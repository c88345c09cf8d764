#include "train/post_mortem_file.hpp"

#include <cstdio>
#include <filesystem>

#include "hdf5/file.hpp"

namespace lexikos {
namespace {

void write_column(Hdf5Writer& file, const std::string& dataset, const auto& values,
                  const std::string& unit, const std::string& definition) {
  file.write(dataset, {static_cast<std::int64_t>(values.size())}, values.data());
  file.set_attribute(dataset, "unit", unit);
  file.set_attribute(dataset, "definition", definition);
}

}  // namespace

std::string post_mortem_path(const std::string& folder, std::int64_t step) {
  char name[48];
  std::snprintf(name, sizeof name, "postmortem_%08lld.h5", static_cast<long long>(step));
  return (std::filesystem::path(folder) / name).string();
}

void write_post_mortem(const std::string& path, const Attributes& attributes,
                       const PostMortem& found) {
  Hdf5Writer file(path);
  Attributes root;
  root.set("format", "lexikos-postmortem").set("format_version", post_mortem_format_version);
  root.set("step", found.step);
  file.set_attributes("/", root.add_missing(attributes));
  file.create_group("/samples");
  write_column(file, "/samples/number", found.samples, "1",
               "samples of the step, all ranks, counted since the start of training");
  write_column(file, "/samples/source", found.sources, "1",
               "which of the deck's training sources the sample is of, from 0");
  write_column(file, "/samples/first_token", found.first_tokens, "1",
               "token of that source at which the sample's window begins");
  write_column(file, "/samples/loss", found.sample_losses, "nats per token",
               "cross entropy summed over the sample's targets and divided by their number");
  file.create_group("/parameters");
  file.write_strings("/parameters/name", found.parameters);
  write_column(file, "/parameters/elements", found.elements, "1", "elements of the parameter");
  write_column(file, "/parameters/bad_values", found.bad_values, "1",
               "elements that are NaN or infinite, before the update that was not done");
  write_column(file, "/parameters/bad_gradients", found.bad_gradients, "1",
               "elements of its gradient, summed over ranks, that are NaN or infinite");
  file.commit();
}

}  // namespace lexikos
