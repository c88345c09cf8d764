#include "data/requests/requests_file.hpp"

#include "hdf5/file.hpp"
#include "utils/error.hpp"

namespace lexikos {
namespace {

constexpr const char* advice =
    "prepare it with inputs/prepare/prepare.py tasks, or correct tasks.requests in the deck";

[[noreturn]] void refuse(const std::string& path, const std::string& why) {
  fail(Status::file, "cannot read '" + path + "': " + why + "; " + advice);
}

std::string number(Index i) { return std::to_string(i); }

TaskShape shape_of(const std::string& name, const std::string& path) {
  if (name == "multiple_choice") return TaskShape::multiple_choice;
  if (name == "last_word") return TaskShape::last_word;
  if (name == "rolling") return TaskShape::rolling;
  refuse(path, "it has a task of the unknown shape '" + name + "'");
}

void read_tasks(const Hdf5Reader& file, Requests& r) {
  const std::vector<std::string> names = file.read_strings("/tasks/name"),
                                 shapes = file.read_strings("/tasks/shape"),
                                 metrics = file.read_strings("/tasks/metrics"),
                                 descriptions = file.read_strings("/tasks/description");
  if (shapes.size() != names.size() || metrics.size() != names.size() ||
      descriptions.size() != names.size()) {
    refuse(r.path, "the datasets of /tasks have unequal lengths");
  }
  for (std::size_t i = 0; i < names.size(); ++i) {
    r.tasks.push_back(
        {names[i], shape_of(shapes[i], r.path), shapes[i], metrics[i], descriptions[i]});
  }
}

void require_length(const Requests& r, const std::string& name,
                    const std::vector<std::int64_t>& values, Index length) {
  if (static_cast<Index>(values.size()) != length) {
    refuse(r.path, name + " has " + number(values.size()) + " entries and not " + number(length));
  }
}

/// Every value from 0 to below `end`.
void require_below(const Requests& r, const std::string& name,
                   const std::vector<std::int64_t>& values, Index end) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (values[i] < 0 || values[i] >= end) {
      refuse(r.path, name + "[" + number(i) + "] is " + number(values[i]) +
                         ", not from 0 to below " + number(end));
    }
  }
}

/// Offsets from 0 to `end`, each larger than the one before: nothing is empty.
void require_offsets(const Requests& r, const std::string& name,
                     const std::vector<std::int64_t>& offsets, Index end) {
  if (offsets.empty() || offsets.front() != 0 || offsets.back() != end) {
    refuse(r.path, name + " does not go from 0 to " + number(end));
  }
  for (std::size_t i = 1; i < offsets.size(); ++i) {
    if (offsets[i] <= offsets[i - 1]) {
      refuse(r.path, name + "[" + number(i) + "] is not larger than the entry before");
    }
  }
}

void check_document(const Requests& r, Index d) {
  const Index count = r.first_request[d + 1] - r.first_request[d];
  const TaskShape shape = r.task_of(d).shape;
  if (shape != TaskShape::multiple_choice && count != 1) {
    refuse(r.path, "document " + number(d) + " of task " + r.task_of(d).name + " has " +
                       number(count) + " requests and not one");
  }
  if (r.gold[d] < 0 || r.gold[d] >= count) {
    refuse(r.path, "the right choice of document " + number(d) + " is number " + number(r.gold[d]) +
                       " of " + number(count));
  }
  if (shape == TaskShape::rolling && r.context_length(r.first_request[d]) != 1) {
    refuse(r.path, "the page " + number(d) + " has a context of more than one id");
  }
}

void check(const Requests& r) {
  const Index d = r.documents(), n = r.requests();
  if (n == 0) refuse(r.path, "it has no requests");
  require_below(r, "/documents/task", r.task, static_cast<Index>(r.tasks.size()));
  for (const auto* list : {&r.gold, &r.words, &r.bytes}) require_length(r, "/documents", *list, d);
  require_length(r, "/documents/first_request", r.first_request, d + 1);
  require_offsets(r, "/documents/first_request", r.first_request, n);
  for (const auto* list : {&r.choice, &r.code_points, &r.choice_bytes}) {
    require_length(r, "/requests", *list, n);
  }
  require_length(r, "/continuations/begin", r.continuation_begin, n + 1);
  require_offsets(r, "/continuations/begin", r.continuation_begin,
                  static_cast<Index>(r.continuation_ids.size()));
  require_offsets(r, "/contexts/begin", r.context_begin, static_cast<Index>(r.context_ids.size()));
  require_below(r, "/requests/context", r.context, static_cast<Index>(r.context_begin.size()) - 1);
  for (Index i = 0; i < d; ++i) check_document(r, i);
}

void check_list(const Requests& r, const std::string& name, const std::vector<TokenId>& ids,
                Index V) {
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (static_cast<Index>(ids[i]) >= V) {
      fail(Status::file,
           "'" + r.path + "', " + name + ": id " + number(ids[i]) + " at " + number(i) +
               " is not below the model's vocabulary size " + number(V) +
               "; prepare the requests with the tokenizer that the model was trained with");
    }
  }
}

}  // namespace

Requests Requests::read(const std::string& path) {
  Requests r;
  r.path = path;
  const Hdf5Reader file(path, advice, advice);
  file.require_format("lexikos-requests", requests_format_version, 1);
  r.tokenizer = file.text("/", "tokenizer");
  r.tokenizer_hash = file.text("/", "tokenizer_hash");
  r.vocabulary = file.integer("/", "vocabulary_size");
  read_tasks(file, r);
  const auto whole = [&](const char* name) { return file.read_list<std::int64_t>(name); };
  r.task = whole("/documents/task");
  r.gold = whole("/documents/gold");
  r.words = whole("/documents/words");
  r.bytes = whole("/documents/bytes");
  r.first_request = whole("/documents/first_request");
  r.choice = whole("/requests/choice");
  r.code_points = whole("/requests/code_points");
  r.choice_bytes = whole("/requests/bytes");
  r.context = whole("/requests/context");
  r.continuation_begin = whole("/continuations/begin");
  r.context_begin = whole("/contexts/begin");
  r.continuation_ids = file.read_list<TokenId>("/continuations/ids");
  r.context_ids = file.read_list<TokenId>("/contexts/ids");
  check(r);
  return r;
}

void Requests::check_ids(Index V) const {
  check_list(*this, "/contexts/ids", context_ids, V);
  check_list(*this, "/continuations/ids", continuation_ids, V);
}

}  // namespace lexikos
