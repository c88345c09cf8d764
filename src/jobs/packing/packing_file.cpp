#include "jobs/packing/packing_file.hpp"

#include <cstdio>
#include <filesystem>

#include "hdf5/file.hpp"
#include "utils/error.hpp"
#include "utils/paths.hpp"
#include "utils/text.hpp"

namespace lexikos {
namespace {

constexpr const char* format = "lexikos-packing";

Attributes attributes_of(const PackingRequest& r) {
  Attributes a;
  a.set("kind", r.kind).set("dimension", r.dimension).set("count", r.count);
  a.set("repeats", r.repeats).set("power", r.power).set("learning_rate", r.learning_rate);
  a.set("seed", r.seed);
  return a;
}

std::string text_of(const AttributeValue& value) {
  if (const auto* text = std::get_if<std::string>(&value)) return *text;
  if (const auto* whole = std::get_if<std::int64_t>(&value)) return std::to_string(*whole);
  return format_real(std::get<double>(value));
}

void write_column(Hdf5Writer& file, const std::string& name, const auto& values,
                  const std::string& unit, const std::string& definition) {
  file.write_extendable("/history/" + name, values);
  file.set_attribute("/history/" + name, "unit", unit);
  file.set_attribute("/history/" + name, "definition", definition);
}

}  // namespace

std::string packing_path(const std::string& folder, const PackingRequest& r) {
  char name[96];
  std::snprintf(name, sizeof name, "cell_%s_d%05lld_k%07lld.h5", r.kind.c_str(),
                static_cast<long long>(r.dimension), static_cast<long long>(r.count));
  return (std::filesystem::path(folder) / name).string();
}

void write_packing(const std::string& path, const PackingRequest& request,
                   const PackingResult& result, const Attributes& attributes) {
  Hdf5Writer file(path);
  Attributes root;
  root.set("format", format).set("format_version", packing_format_version);
  root.add_missing(attributes_of(request));
  root.set("epsilon", result.epsilon).set("seconds", result.seconds);
  file.set_attributes("/", root.add_missing(attributes));
  file.create_group("/history");
  const bool random = request.kind == "random";
  write_column(file, random ? "trial" : "step", result.at, "1",
               random ? "number of the trial" : "steps of the optimiser done");
  write_column(file, "epsilon", result.epsilons, "1",
               "largest |cosine| between two of the vectors");
  if (!random) {
    write_column(file, "loss", result.losses, "1",
                 "sum over all i != j of |cosine|^power, before the next step");
  }
  file.commit();
}

bool has_packing(const std::string& path, const PackingRequest& request) {
  if (!exists(path)) return false;
  const Hdf5Reader file(path, "remove it");
  file.require_format(format, packing_format_version);
  for (const auto& [name, wanted] : attributes_of(request).entries()) {
    const std::string found = text_of(file.attribute("/", name));
    if (found != text_of(wanted)) {
      fail(Status::file, "'" + path + "' was made with " + name + " = " + found + ", not " +
                             text_of(wanted) + "; choose another folder with -d, or remove it");
    }
  }
  return true;
}

}  // namespace lexikos
