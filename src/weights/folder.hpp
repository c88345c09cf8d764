// Which file of a folder holds its weights.
#pragma once

#include <string>

namespace lexikos {

/// The file that stands for a folder, and a sentence on what beside it was passed over ("":
/// nothing).
struct FolderFile {
  std::string path, passed_over;
};

/// As transformers decides: model.safetensors, else model.safetensors.index.json; or this program's
/// own embedding.h5 where neither is there, if `own` says that one may be meant. Throws Error(file)
/// that names what the folder has instead, or both where two of them are there; `advice` ends the
/// line.
FolderFile file_of_folder(const std::string& folder, bool own, const std::string& advice);

}  // namespace lexikos
