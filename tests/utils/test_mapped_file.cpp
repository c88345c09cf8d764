// Mapped files whose pages go away while they are read.
#include <fcntl.h>
#include <unistd.h>

#include <csignal>

#include "harness/catch.hpp"
#include "harness/child_process.hpp"
#include "harness/file_fixtures.hpp"
#include "utils/mapped_file.hpp"

using namespace lexikos;
using namespace fixtures;

namespace {

constexpr std::uint64_t size = 1 << 20;

std::string write_file(const TemporaryFolder& folder, const std::string& name) {
  const std::string path = folder.file(name);
  std::ofstream(path) << std::string(size, 'a');
  return path;
}

/// The status of a child that does `work` with its stderr in the file `errors`.
template <class Work>
int status_of(const std::string& errors, const Work& work) {
  return status_of_child([&] {
    dup2(open(errors.c_str(), O_CREAT | O_WRONLY, 0600), STDERR_FILENO);
    work();
  });
}

/// Not optimised away, and not seen through.
char byte_at(const MappedFile& file, std::uint64_t at) {
  return static_cast<char>(*static_cast<const volatile std::byte*>(file.data() + at));
}

}  // namespace

TEST_CASE("a file that is cut short while it is mapped ends the process with one line") {
  const TemporaryFolder folder;
  const std::string path = write_file(folder, "ids.bin"), other = write_file(folder, "other.bin"),
                    errors = folder.file("errors");
  const int status = status_of(errors, [&] {
    const MappedFile whole(other), file(path);
    if (byte_at(file, size - 1) != 'a') _exit(1);
    std::filesystem::resize_file(path, 4096);
    if (byte_at(file, 0) != 'a' || byte_at(whole, size - 1) != 'a') _exit(1);
    byte_at(file, size - 1);
  });
  REQUIRE(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == static_cast<int>(Status::file));
  CHECK(bytes_of(errors) ==
        "lexikos: error: cannot read '" + path +
            "': it became shorter, or its disk failed, while it was read; restore the file and "
            "restart\n");
}

TEST_CASE("the last of very many mapped files is named as well") {
  const TemporaryFolder folder;
  const std::string path = write_file(folder, "last.bin"), other = write_file(folder, "other.bin"),
                    errors = folder.file("errors");
  const int status = status_of(errors, [&] {
    std::vector<std::unique_ptr<MappedFile>> files;
    for (int i = 0; i < 1500; ++i) files.push_back(std::make_unique<MappedFile>(other));
    files.erase(files.begin() + 700, files.begin() + 800);
    for (int i = 0; i < 200; ++i) files.push_back(std::make_unique<MappedFile>(other));
    const MappedFile file(path);
    std::filesystem::resize_file(path, 4096);
    byte_at(file, size - 1);
  });
  REQUIRE(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == static_cast<int>(Status::file));
  CHECK(bytes_of(errors).find(path) != std::string::npos);
}

TEST_CASE("a bus error that no mapped file has to do with is left to the system") {
  const TemporaryFolder folder;
  const std::string path = write_file(folder, "ids.bin"), errors = folder.file("errors");
  const int status = status_of(errors, [&] {
    { const MappedFile file(path); }
    raise(SIGBUS);
    raise(SIGBUS);
  });
  REQUIRE(WIFSIGNALED(status));
  CHECK(WTERMSIG(status) == SIGBUS);
  CHECK(bytes_of(errors).empty());
}
