// requests.h5: the questions and pages of evaluation tasks as token ids. inputs/prepare/README.md
// has the layout.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kokkos_types.hpp"

namespace lexikos {

/// Newest format version of requests.h5 that is read.
inline constexpr std::int64_t requests_format_version = 1;

/// What becomes of the log-likelihoods of a task's documents.
enum class TaskShape { multiple_choice, last_word, rolling };

struct Task {
  std::string name;
  TaskShape shape = TaskShape::multiple_choice;
  std::string shape_name;
  std::string metrics;      ///< names, separated by blanks
  std::string description;  ///< where its records come from, examples shown, records left out
};

/// All requests of a file, on the host. A request is a context and a continuation that is scored;
/// requests of one document that have the same context name the same one.
struct Requests {
  std::string path, tokenizer, tokenizer_hash;
  Index vocabulary = 0;  ///< of the tokenizer
  std::vector<Task> tasks;

  std::vector<std::int64_t> task, gold, words, bytes;  ///< of each document; words, bytes: of pages
  std::vector<std::int64_t> first_request;             ///< [documents + 1]

  std::vector<std::int64_t> choice, code_points, choice_bytes, context;  ///< of each request
  std::vector<std::int64_t> continuation_begin;                          ///< [requests + 1]
  std::vector<TokenId> continuation_ids;
  std::vector<std::int64_t> context_begin;  ///< [contexts + 1]
  std::vector<TokenId> context_ids;

  [[nodiscard]] Index documents() const { return static_cast<Index>(task.size()); }
  [[nodiscard]] Index requests() const { return static_cast<Index>(context.size()); }
  [[nodiscard]] const Task& task_of(Index document) const { return tasks[task[document]]; }
  [[nodiscard]] Index context_length(Index request) const {
    return context_begin[context[request] + 1] - context_begin[context[request]];
  }
  [[nodiscard]] Index continuation_length(Index request) const {
    return continuation_begin[request + 1] - continuation_begin[request];
  }
  /// Id i of a request's text: its context, followed by its continuation.
  [[nodiscard]] TokenId id(Index request, Index i) const {
    const Index before = context_length(request);
    return i < before ? context_ids[context_begin[context[request]] + i]
                      : continuation_ids[continuation_begin[request] + i - before];
  }

  /// Reads a file and compares it with its checksum. Errors (Status::file), each naming the file:
  /// missing, another format, a newer version, damaged, counts or offsets that contradict each
  /// other.
  static Requests read(const std::string& path);

  /// An id that is not below V is an Error(Status::file) with file, dataset and offset.
  void check_ids(Index V) const;
};

}  // namespace lexikos
