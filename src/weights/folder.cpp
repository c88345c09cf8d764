#include "weights/folder.hpp"

#include <algorithm>
#include <filesystem>
#include <vector>

#include "utils/error.hpp"
#include "utils/text.hpp"

namespace lexikos {
namespace {

namespace fs = std::filesystem;

constexpr const char* one_file = "model.safetensors";
constexpr const char* index_file = "model.safetensors.index.json";
constexpr const char* own_file = "embedding.h5";

bool ends_with(const std::string& text, const std::string& end) {
  return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

/// Names in the folder that end so, sorted.
std::vector<std::string> names_ending(const std::string& folder, const std::string& end) {
  std::vector<std::string> names;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    const std::string name = entry.path().filename().string();
    if (ends_with(name, end)) names.push_back(name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::string quoted(const std::vector<std::string>& names) {
  constexpr std::size_t shown = 3;
  std::vector<std::string> some(names.begin(), names.begin() + std::min(names.size(), shown));
  for (std::string& name : some) name = "'" + name + "'";
  return join(some, ", ") + (names.size() > shown ? ", ..." : "");
}

/// What a folder without a known file has instead, and what to do about it.
std::string what_there_is(const std::string& folder, bool own) {
  const std::vector<std::string> safe = names_ending(folder, ".safetensors");
  if (!safe.empty()) {
    return "it has " + quoted(safe) + " and neither " + one_file + " nor " + index_file +
           ", without which transformers reads none of them either; " +
           (safe.size() == 1 ? std::string("name it ") + one_file : "bring the index");
  }
  for (const char* end : {".bin", ".pt", ".pth"}) {
    const std::vector<std::string> pickles = names_ending(folder, end);
    if (!pickles.empty()) {
      return "it has " + quoted(pickles) + ", a pickle, and no " + one_file +
             "; save the model with safe_serialization=True";
    }
  }
  return std::string("the folder has no ") + one_file + (own ? ", " : " or ") + index_file +
         (own ? std::string(" or ") + own_file : "");
}

}  // namespace

FolderFile file_of_folder(const std::string& folder, bool own, const std::string& advice) {
  std::error_code ignored;
  const auto has = [&](const char* name) { return fs::exists(fs::path(folder) / name, ignored); };
  const auto path = [&](const char* name) { return (fs::path(folder) / name).string(); };
  const char* const weights = has(one_file) ? one_file : has(index_file) ? index_file : nullptr;
  const bool has_own = own && has(own_file);
  if (weights == nullptr && has_own) return {path(own_file), ""};
  const std::string start = "cannot read '" + folder + "': ";
  if (weights == nullptr) fail(Status::file, start + what_there_is(folder, own) + "; " + advice);
  if (has_own) {
    fail(Status::file, start + "it has both '" + weights + "' and '" + own_file +
                           "'; name one of them, " + advice);
  }
  const bool both = weights == one_file && has(index_file);
  return {path(weights),
          both ? std::string(index_file) + " beside it is not read, as in transformers"
               : std::string()};
}

}  // namespace lexikos
