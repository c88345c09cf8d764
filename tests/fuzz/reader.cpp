#include "fuzz/reader.hpp"

#include <stdlib.h>

#include <cstdio>
#include <exception>
#include <filesystem>
#include <fstream>
#include <typeinfo>

namespace lexikos::fuzz {

std::function<void(const std::string& what)>& on_finding() {
  static std::function<void(const std::string& what)> action;
  return action;
}

void finding(const std::string& what) {
  if (on_finding()) on_finding()(what);
  std::fprintf(stderr, "finding: %s\n", what.c_str());
  std::fflush(stderr);
  std::abort();
}

const std::string& folder() {
  static const std::string made = [] {
    std::string name = (std::filesystem::temp_directory_path() / "lexikos_fuzz_XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) finding("no temporary folder");
    return name;
  }();
  return made;
}

std::string write_input(const std::string& name, std::string_view bytes) {
  std::string path = folder() + "/" + name;
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file << bytes;
  file.close();
  if (!file) finding("cannot write " + path);
  return path;
}

Counts& counts() {
  static Counts so_far;
  return so_far;
}

namespace detail {

void check_error(const Error& error, Status documented) {
  const std::string text = error.what();
  require(error.status() == documented,
          "the exit status is " + std::to_string(static_cast<int>(documented)) + ", not " +
              std::to_string(static_cast<int>(error.status())) + " (" + text + ")");
  require(!text.empty(), "an error has a text");
}

void foreign_exception() {
  try {
    throw;
  } catch (const std::exception& error) {
    finding(std::string("only Error leaves a reader, not ") + typeid(error).name() + ": " +
            error.what());
  } catch (...) {
    finding("only Error leaves a reader");
  }
}

}  // namespace detail
}  // namespace lexikos::fuzz
