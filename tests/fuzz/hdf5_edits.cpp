#include "fuzz/hdf5_edits.hpp"

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>

#include "fuzz/hdf5_byte_edits.hpp"
#include "fuzz/hdf5_edit.hpp"
#include "fuzz/reader.hpp"
#include "hdf5/detail.hpp"
#include "hdf5/seal.hpp"

// Of the sanitizers' interface, where they are linked; libFuzzer stores an input by it.
extern "C" __attribute__((weak)) void __sanitizer_set_death_callback(void (*callback)());

namespace lexikos::fuzz {

using lexikos::detail::Handle;

namespace {

constexpr std::size_t most_edits = 8;
constexpr std::size_t most_values = std::size_t{1} << 16;

std::string bytes_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

herr_t note_attribute(hid_t, const char* name, const H5A_info_t*, void* base) {
  auto& names = static_cast<Base*>(base)->attributes;
  if (std::find(names.begin(), names.end(), name) == names.end()) names.emplace_back(name);
  return 0;
}

herr_t note_object(hid_t file, const char* name, const H5O_info_t*, void* base) {
  static_cast<Base*>(base)->objects.push_back(
      std::strcmp(name, ".") == 0 ? "/" : "/" + std::string(name));
  const Handle object(H5Oopen(file, name, H5P_DEFAULT), H5Oclose);
  H5Aiterate2(object.id(), H5_INDEX_NAME, H5_ITER_INC, nullptr, note_attribute, base);
  return 0;
}

std::vector<Edit> edits_of(std::string_view input) {
  std::vector<Edit> edits;
  for (std::size_t at = 0; at + 8 <= input.size() && edits.size() < most_edits; at += 8) {
    Edit edit{};
    edit.kind = static_cast<unsigned char>(input[at]);
    edit.object = static_cast<unsigned char>(input[at + 1]);
    std::memcpy(&edit.a, input.data() + at + 2, sizeof edit.a);
    std::memcpy(&edit.b, input.data() + at + 4, sizeof edit.b);
    edits.push_back(edit);
  }
  return edits;
}

/// Appends the seal of what is there.
void seal(const std::string& path) {
  std::FILE* file = std::fopen(path.c_str(), "rb");
  const std::string text = seal_of(fileno(file), std::filesystem::file_size(path), path);
  std::fclose(file);
  std::ofstream(path, std::ios::binary | std::ios::app) << text;
}

std::string without_seal(const std::string& bytes) {
  return bytes.substr(0, bytes.size() - seal_bytes);
}

bool is_hdf5(std::string_view bytes) { return bytes.substr(0, 8) == "\x89HDF\r\n\x1a\n"; }

bool is_sealed(const std::string& path) {
  try {
    check_seal(path, "");
    return true;
  } catch (const Error&) {
    return false;
  }
}

}  // namespace

Base make_base(const std::function<void(const std::string& path)>& write) {
  const std::string path = folder() + "/base.h5";
  write(path);
  Base base;
  base.bytes = bytes_of(path);
  const Handle file(H5Fopen(path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT), H5Fclose);
  require(file.valid(), "the file that edits begin with is valid");
  H5Ovisit(file.id(), H5_INDEX_NAME, H5_ITER_INC, note_object, &base);
  return base;
}

Edited write_edited(const std::string& name, const Base& base, std::string_view input) {
  Edited edited;
  if (is_hdf5(input)) {
    edited.path = write_input(name, input);
    edited.damaged = true;
    edited.sealed = is_sealed(edited.path);
    return edited;
  }
  const std::vector<Edit> edits = edits_of(input);
  edited.path = write_input(name, without_seal(base.bytes));
  edited.told = edit_objects(edited.path, base, edits);
  std::string bytes = bytes_of(edited.path);
  const ByteEdits done = edit_bytes(edited.path, bytes, edits);
  edited.told += done.told;
  edited.damaged = done.damaged;
  write_input(name, bytes);
  if (done.seal == SealEdit::renew) seal(edited.path);
  if (done.seal == SealEdit::keep) {
    const std::string old = base.bytes.substr(base.bytes.size() - seal_bytes);
    std::ofstream(edited.path, std::ios::binary | std::ios::app) << old;
  }
  edited.sealed = is_sealed(edited.path);
  return edited;
}

namespace {

/// In the process of a damaged file: a crash is the library's and ends it without a word.
void end_quietly() {
  for (const int number : {SIGALRM, SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL}) {
    std::signal(number, SIG_DFL);
  }
  if (__sanitizer_set_death_callback != nullptr) __sanitizer_set_death_callback(nullptr);
}

}  // namespace

bool& through_door() {
  static bool through = false;
  return through;
}

bool look_at(const Edited& file, const std::function<void()>& look) {
  if (!file.damaged || through_door()) {
    look();
    return true;
  }
  constexpr int kept = 0, broken = 77;
  std::fflush(nullptr);
  const pid_t child = fork();
  if (child == 0) {
    end_quietly();
    const int words = dup(STDERR_FILENO);  // for what is a finding
    static_cast<void>(std::freopen("/dev/null", "w", stderr));
    on_finding() = [words](const std::string& what) {
      const std::string line = "finding: " + what + "\n";
      [[maybe_unused]] const auto ignored = write(words, line.data(), line.size());
      _exit(broken);
    };
    const rlimit seconds{2, 2};
    setrlimit(RLIMIT_CPU, &seconds);
    look();
    _exit(kept);
  }
  int status = 0;
  waitpid(child, &status, 0);
  if (WIFEXITED(status) && WEXITSTATUS(status) == broken) {
    finding("in a damaged file\n" + file.told);
  }
  return WIFEXITED(status) && WEXITSTATUS(status) == kept;
}

bool read_directly(const std::string& path, const std::string& dataset,
                   std::vector<double>& values) {
  const Handle file(H5Fopen(path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT), H5Fclose);
  const Handle opened(H5Dopen2(file.id(), dataset.c_str(), H5P_DEFAULT), H5Dclose);
  const Handle space(H5Dget_space(opened.id()), H5Sclose);
  const auto size = H5Sget_simple_extent_npoints(space.id());
  bool good = opened.valid() && size >= 0 && static_cast<std::size_t>(size) <= most_values;
  if (good) {
    values.assign(static_cast<std::size_t>(size), 0.0);
    good = size == 0 || H5Dread(opened.id(), H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT,
                                values.data()) >= 0;
  }
  H5Eclear2(H5E_DEFAULT);
  return good;
}

}  // namespace lexikos::fuzz
