// Requests of evaluation tasks, made up in memory.
#pragma once

#include <string>
#include <vector>

#include "data/requests/requests_file.hpp"

namespace lexikos::test {

/// Adds documents one by one; the first task is a multiple choice, the second a last word, the
/// third rolling.
class ListedRequests {
 public:
  struct Choice {
    std::vector<TokenId> continuation;
    std::int64_t code_points = 1, bytes = 1;
  };

  ListedRequests() {
    requests.path = "listed";
    requests.tasks = {
        {"choices", TaskShape::multiple_choice, "multiple_choice", "acc acc_norm acc_bytes", ""},
        {"words", TaskShape::last_word, "last_word", "acc perplexity", ""},
        {"pages", TaskShape::rolling, "rolling", "word_perplexity byte_perplexity bits_per_byte",
         ""}};
    requests.first_request = {0};
    requests.continuation_begin = {0};
    requests.context_begin = {0};
  }

  /// Choices after one context.
  void question(const std::vector<TokenId>& context, const std::vector<Choice>& choices,
                std::int64_t gold = 0) {
    add_context(context);
    for (const Choice& choice : choices) add_request(choice);
    close(0, gold, 0, 0);
  }
  /// Choices after a context of each.
  void question(const std::vector<std::vector<TokenId>>& contexts,
                const std::vector<Choice>& choices) {
    for (std::size_t i = 0; i < choices.size(); ++i) {
      add_context(contexts[i]);
      add_request(choices[i]);
    }
    close(0, 0, 0, 0);
  }
  void word(const std::vector<TokenId>& context, const std::vector<TokenId>& continuation) {
    add_context(context);
    add_request({continuation});
    close(1, 0, 0, 0);
  }
  void page(TokenId prefix, const std::vector<TokenId>& ids, std::int64_t words,
            std::int64_t bytes) {
    add_context({prefix});
    add_request({ids});
    close(2, 0, words, bytes);
  }

  Requests requests;

 private:
  void add_context(const std::vector<TokenId>& ids) {
    requests.context_ids.insert(requests.context_ids.end(), ids.begin(), ids.end());
    requests.context_begin.push_back(static_cast<std::int64_t>(requests.context_ids.size()));
  }
  void add_request(const Choice& choice) {
    const Index first = requests.first_request.back();
    requests.choice.push_back(requests.requests() - first);
    requests.code_points.push_back(choice.code_points);
    requests.choice_bytes.push_back(choice.bytes);
    requests.context.push_back(static_cast<std::int64_t>(requests.context_begin.size()) - 2);
    requests.continuation_ids.insert(requests.continuation_ids.end(), choice.continuation.begin(),
                                     choice.continuation.end());
    requests.continuation_begin.push_back(
        static_cast<std::int64_t>(requests.continuation_ids.size()));
  }
  void close(std::int64_t task, std::int64_t gold, std::int64_t words, std::int64_t bytes) {
    requests.task.push_back(task);
    requests.gold.push_back(gold);
    requests.words.push_back(words);
    requests.bytes.push_back(bytes);
    requests.first_request.push_back(requests.requests());
  }
};

}  // namespace lexikos::test
