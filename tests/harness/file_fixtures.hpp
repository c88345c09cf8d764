// What tests of files share: a folder of their own, errors as text, token files of every kind.
#pragma once

#include <hdf5.h>
#include <stdlib.h>
#include <sys/resource.h>

#include <csignal>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "hdf5/file.hpp"
#include "utils/error.hpp"

namespace fixtures {

/// A new folder that is removed with everything in it.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "lexikos_test_XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("no temporary folder");
    path_ = name;
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  [[nodiscard]] std::string path() const { return path_.string(); }
  [[nodiscard]] std::string file(const std::string& name) const { return (path_ / name).string(); }
  [[nodiscard]] std::size_t entries() const {
    return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(path_), {}));
  }

 private:
  std::filesystem::path path_;
};

/// The text of the Error that `action` throws, checked to be of `status` and one line; "" if none.
template <class Action>
std::string error_of(const Action& action, lexikos::Status status = lexikos::Status::file) {
  try {
    action();
  } catch (const lexikos::Error& error) {
    const std::string text = error.what();
    if (error.status() != status) return "wrong status: " + text;
    if (text.find('\n') != std::string::npos) return "more than one line: " + text;
    return text;
  }
  return "";
}

inline bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

inline std::string bytes_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

inline bool same_bytes(const std::string& a, const std::string& b) {
  return bytes_of(a) == bytes_of(b);
}

inline void write_bytes(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

/// While it lives no file may grow past `bytes`: the disk that is full, for a test.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) {
    handler_ = std::signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &before_);
    rlimit limit = before_;
    limit.rlim_cur = bytes;
    setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FileSizeLimit() {
    setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, handler_);
  }
  FileSizeLimit(const FileSizeLimit&) = delete;
  FileSizeLimit& operator=(const FileSizeLimit&) = delete;

 private:
  rlimit before_{};
  void (*handler_)(int);
};

/// The root and the attributes of a tokens.h5; datasets follow.
inline void write_token_root(lexikos::Hdf5Writer& file, std::int64_t vocabulary_size,
                             std::int64_t version = 1) {
  lexikos::Attributes root;
  root.set("format", "lexikos-tokens")
      .set("format_version", version)
      .set("vocabulary_size", vocabulary_size)
      .set("tokenizer", "bytes")
      .set("tokenizer_hash", "0123abcd")
      .set("end_of_text", vocabulary_size - 1)
      .set("source", "a test")
      .set("code_version", "test");
  file.set_attributes("/", root);
}

/// A tokens.h5 with one split of Word (uint16_t or uint32_t).
template <class Word>
void write_tokens(const std::string& path, std::int64_t vocabulary_size,
                  const std::vector<Word>& ids, const std::string& split = "train") {
  lexikos::Hdf5Writer file(path);
  write_token_root(file, vocabulary_size);
  file.write("/" + split, {static_cast<std::int64_t>(ids.size())}, ids.data());
  lexikos::Attributes attributes;
  attributes.set("source_bytes", 1000).set("source_words", 200).set("documents", 3);
  attributes.set("description", "a test split");
  file.set_attributes("/" + split, attributes);
  file.commit();
}

/// How a dataset is laid out in write_tokens_as.
struct Layout {
  bool chunked = false;
  bool compressed = false;
  hid_t disk_type = H5T_STD_U16LE;
  bool old_strings = false;  // attributes of fixed length, ASCII, as C programs write them
  bool earliest = false;     // oldest file format, as h5py writes it
};

/// A tokens.h5 as other programs might write it: through the C interface, every layout.
inline void write_tokens_as(const std::string& path, std::int64_t vocabulary_size,
                            const std::vector<std::uint32_t>& ids, const Layout& layout) {
  const hid_t access = H5Pcreate(H5P_FILE_ACCESS);
  if (!layout.earliest) H5Pset_libver_bounds(access, H5F_LIBVER_V18, H5F_LIBVER_V110);
  const hid_t file = H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, access);
  const hid_t scalar = H5Screate(H5S_SCALAR);

  const auto set_text = [&](const char* name, const std::string& text) {
    const hid_t type = H5Tcopy(H5T_C_S1);
    const char* characters = text.c_str();
    if (layout.old_strings) {
      H5Tset_size(type, text.size() + 5);
      H5Tset_strpad(type, H5T_STR_SPACEPAD);
    } else {
      H5Tset_size(type, H5T_VARIABLE);
      H5Tset_cset(type, H5T_CSET_UTF8);
    }
    const hid_t attribute = H5Acreate2(file, name, type, scalar, H5P_DEFAULT, H5P_DEFAULT);
    const std::string padded = text + std::string(5, ' ');
    if (layout.old_strings) {
      H5Awrite(attribute, type, padded.data());
    } else {
      H5Awrite(attribute, type, &characters);
    }
    H5Aclose(attribute);
    H5Tclose(type);
  };
  const auto set_integer = [&](const char* name, std::int64_t value) {
    const hid_t attribute = H5Acreate2(file, name, H5T_STD_I32LE, scalar, H5P_DEFAULT, H5P_DEFAULT);
    H5Awrite(attribute, H5T_NATIVE_INT64, &value);
    H5Aclose(attribute);
  };
  set_text("format", "lexikos-tokens");
  set_text("tokenizer", "bytes");
  set_text("tokenizer_hash", "0123abcd");
  set_integer("format_version", 1);
  set_integer("vocabulary_size", vocabulary_size);

  const hsize_t size = ids.size();
  const hsize_t chunk = 16;
  const hid_t space = H5Screate_simple(1, &size, nullptr);
  const hid_t creation = H5Pcreate(H5P_DATASET_CREATE);
  if (layout.chunked || layout.compressed) H5Pset_chunk(creation, 1, &chunk);
  if (layout.compressed) H5Pset_shuffle(creation);
  if (layout.compressed && H5Zfilter_avail(H5Z_FILTER_DEFLATE) > 0) H5Pset_deflate(creation, 4);
  const hid_t dataset =
      H5Dcreate2(file, "/train", layout.disk_type, space, H5P_DEFAULT, creation, H5P_DEFAULT);
  H5Dwrite(dataset, H5T_NATIVE_UINT32, H5S_ALL, H5S_ALL, H5P_DEFAULT, ids.data());
  H5Dclose(dataset);
  H5Pclose(creation);
  H5Sclose(space);
  H5Sclose(scalar);
  H5Fclose(file);
  H5Pclose(access);
}

}  // namespace fixtures
