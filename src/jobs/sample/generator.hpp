// Texts that a model continues, all from the same prompt, one id at a time.
#pragma once

#include <vector>

#include "model.hpp"

namespace lexikos {

/// Keeps keys and values on the device and hands each step's logits to the host.
template <class S>
class Generator {
 public:
  /// `texts` at a time: at most the model's micro_batch. The model must outlive this object.
  Generator(Model<S>& model, Index texts);

  /// All texts begin with these ids; 1 to T of them, each < V.
  void begin(const std::vector<TokenId>& prompt);
  /// One id more for each text; places() must be less than T.
  void append(const std::vector<TokenId>& ids);

  /// Ids that each text has.
  [[nodiscard]] Index places() const { return places_; }
  /// Logits [V] of the id that follows in a text.
  [[nodiscard]] const S* logits(Index text) const;
  /// Logits [P V] of what follows each id of the prompt, after begin and before append.
  [[nodiscard]] std::vector<S> prompt_logits() const;

 private:
  View1<const TokenId> to_device(const std::vector<TokenId>& ids) const;

  Model<S>& model_;
  Index texts_;
  Index places_ = 0;
  bool same_ = true;  // all texts are only the prompt, with one row of logits
  Buffer<TokenId> ids_;
  Buffer<S> rows_;
  HostBuffer<S> host_;
};

}  // namespace lexikos
