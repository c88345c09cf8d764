// data/requests/requests_file: edits of a requests.h5. What was accepted is sealed, and every id of
// every request is there.
#include "data/requests/requests_file.hpp"

#include <optional>

#include "fuzz/hdf5_edits.hpp"
#include "fuzz/reader.hpp"
#include "hdf5/file.hpp"

namespace {

namespace fuzz = lexikos::fuzz;
using lexikos::Index;
using lexikos::Requests;
using lexikos::Status;

constexpr Index vocabulary = 50;

void write_file(const std::string& path) {
  lexikos::Hdf5Writer file(path);
  lexikos::Attributes root;
  root.set("format", "lexikos-requests")
      .set("format_version", 1)
      .set("vocabulary_size", vocabulary);
  root.set("tokenizer", "bytes").set("tokenizer_hash", "0123").set("prefix", 0);
  file.set_attributes("/", root);
  file.write_strings("/tasks/name", {"choices", "words", "pages"});
  file.write_strings("/tasks/shape", {"multiple_choice", "last_word", "rolling"});
  file.write_strings("/tasks/metrics", {"acc acc_norm", "acc perplexity", "word_perplexity"});
  file.write_strings("/tasks/description", {"a", "b", "c"});
  const auto write = [&](const std::string& name, const std::vector<std::int64_t>& values) {
    file.write(name, {static_cast<Index>(values.size())}, values.data());
  };
  write("/documents/task", {0, 0, 1, 2});
  write("/documents/gold", {1, 0, 0, 0});
  write("/documents/words", {0, 0, 0, 3});
  write("/documents/bytes", {0, 0, 0, 11});
  write("/documents/first_request", {0, 2, 4, 5, 6});
  write("/requests/choice", {0, 1, 0, 1, 0, 0});
  write("/requests/code_points", {1, 2, 3, 4, 5, 6});
  write("/requests/bytes", {1, 2, 3, 4, 5, 6});
  write("/requests/context", {0, 0, 1, 1, 2, 3});
  write("/contexts/begin", {0, 3, 5, 6, 7});
  write("/continuations/begin", {0, 2, 3, 5, 6, 7, 10});
  const std::vector<std::uint16_t> contexts = {1, 2, 3, 4, 5, 6, 0};
  const std::vector<std::uint16_t> continuations = {9, 8, 7, 6, 5, 4, 3, 2, 1, 49};
  file.write("/contexts/ids", {7}, contexts.data());
  file.write("/continuations/ids", {10}, continuations.data());
  file.commit();
}

void check(const Requests& requests) {
  fuzz::require(requests.requests() > 0 && requests.documents() > 0, "there are requests");
  std::uint64_t sum = 0;
  for (Index d = 0; d < requests.documents(); ++d) {
    const Index begin = requests.first_request[d], end = requests.first_request[d + 1];
    sum += requests.task_of(d).name.size();
    fuzz::require(requests.gold[d] >= 0 && requests.gold[d] < end - begin,
                  "a right choice is there");
    for (Index r = begin; r < end; ++r) {
      const Index length = requests.context_length(r) + requests.continuation_length(r);
      fuzz::require(requests.context_length(r) > 0 && requests.continuation_length(r) > 0,
                    "no context and no continuation is empty");
      for (Index i = 0; i < length; ++i) sum += requests.id(r, i);
    }
  }
  fuzz::accepts(Status::file,
                [&] { requests.check_ids(vocabulary + static_cast<Index>(sum % 2)); });
}

void look(const fuzz::Edited& file) {
  std::optional<Requests> requests;
  if (!fuzz::accepts(Status::file, [&] { requests = Requests::read(file.path); })) return;
  fuzz::require(file.sealed, "what is not sealed is refused\n" + file.told);
  check(*requests);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const fuzz::Base base = fuzz::make_base(write_file);
  const fuzz::Edited file = fuzz::write_edited("requests.h5", base, fuzz::text_of(data, size));
  fuzz::look_at(file, [&] { look(file); });
  return 0;
}
