#include "head/head.hpp"

#include <algorithm>

#include "kernels/cross_entropy.hpp"
#include "kernels/gemm/gemm.hpp"
#include "kernels/rows_of.hpp"
#include "state/factor.hpp"
#include "utils/error.hpp"

namespace lexikos::head {

Settings read(const DeckTable& table) {
  return {.chunk = table.integer(
              {.name = "chunk", .doc = "positions whose logits exist together", .unit = "tokens"},
              512, Between(1, 1 << 24))};
}

namespace {

/// The head whose products multiply numbers of type A: S, or Bf16 where S is float.
template <class S, class A>
class ChunkedHead final : public Head<S> {
 public:
  ChunkedHead(const Settings& settings, const ModelShape& shape)
      : settings_(settings), shape_(shape) {}

  void declare(Parameters<S>& parameters, Memory& memory) override {
    const Index rows = std::min(settings_.chunk, shape_.positions());
    const Index v = shape_.vocabulary, c = shape_.width;
    weight_ = Factor<S, A>(
        parameters.add("head.weight", {v, c}, {.deviation = shape_.init_deviation}, Decay::to_zero),
        memory, "rounded head matrix");
    memory.begin_phase();
    logits_ = memory.scratch<S>("logits of a chunk", rows, v);
    if (!rounds) return;
    dlogits_ = memory.scratch<A>("their gradients", rows, v);
    x_ = memory.scratch<A>("rounded rows of a chunk", rows, c);
  }

  void refresh(const ExecSpace& space) override { weight_.refresh(space); }

  void loss_and_gradient(const ExecSpace& space, View2<const S> x, View1<const TokenId> targets,
                         double scale, View1<double> nll, View2<S> dx) override {
    const Region region("Lexikos::head::loss_and_gradient");
    for_chunks(x.extent(0), [&](Index begin, Index rows) {
      const View2<const A> x_rows = factor(space, x, begin, rows);
      const View2<S> logits = multiply(space, x_rows);
      const View2<A> dlogits = gradient_of(logits);
      cross_entropy::loss_and_gradient<S>(space, logits, part_of(targets, begin, rows), scale,
                                          part_of(nll, begin, rows), dlogits);
      gemm<A>(space, Op::none, Op::none, S(1), dlogits, weight_.factor(), S(0),
              rows_of(dx, begin, rows));
      gemm<A>(space, Op::transpose, Op::none, S(1), dlogits, x_rows, S(1), weight_.gradient2());
    });
  }

  void loss(const ExecSpace& space, View2<const S> x, View1<const TokenId> targets,
            View1<double> nll) override {
    const Region region("Lexikos::head::loss");
    for_chunks(x.extent(0), [&](Index begin, Index rows) {
      cross_entropy::loss<S>(space, multiply(space, factor(space, x, begin, rows)),
                             part_of(targets, begin, rows), part_of(nll, begin, rows));
    });
  }

  void score(const ExecSpace& space, View2<const S> x, View1<const TokenId> targets,
             View1<double> nll, View1<std::uint8_t> largest) override {
    const Region region("Lexikos::head::score");
    for_chunks(x.extent(0), [&](Index begin, Index rows) {
      const View2<S> logits = multiply(space, factor(space, x, begin, rows));
      const View1<const TokenId> wanted = part_of(targets, begin, rows);
      cross_entropy::loss<S>(space, logits, wanted, part_of(nll, begin, rows));
      cross_entropy::is_largest<S>(space, logits, wanted, part_of(largest, begin, rows));
    });
  }

  void logits(const ExecSpace& space, View2<const S> x, View2<S> out) const override {
    for_chunks(x.extent(0), [&](Index begin, Index rows) {
      gemm<A>(space, Op::none, Op::transpose, S(1), factor(space, x, begin, rows), weight_.factor(),
              S(0), rows_of(out, begin, rows));
    });
  }

  const Weight<S>& weight() const override { return weight_; }

  Costs costs() const override {
    return {.flops_per_token = 6.0 * shape_.vocabulary * shape_.width};
  }

 private:
  static constexpr bool rounds = !std::is_same_v<S, A>;

  template <class Work>
  void for_chunks(Index n, const Work& work) const {
    for (Index begin = 0; begin < n; begin += settings_.chunk) {
      work(begin, std::min(settings_.chunk, n - begin));
    }
  }

  /// Rows [begin, begin + rows) of x as products read them.
  View2<const A> factor([[maybe_unused]] const ExecSpace& space, const View2<const S>& x,
                        Index begin, Index rows) const {
    const View2<const S> x_rows = rows_of(x, begin, rows);
    if constexpr (rounds) {
      const View2<A> to = x_(rows);
      narrow_into<A>(space, x_rows, to);
      return to;
    } else {
      return x_rows;
    }
  }

  View2<S> multiply(const ExecSpace& space, const View2<const A>& x_rows) const {
    const View2<S> logits = logits_(x_rows.extent(0));
    gemm<A>(space, Op::none, Op::transpose, S(1), x_rows, weight_.factor(), S(0), logits);
    return logits;
  }

  /// Where the gradient of these logits goes: into them, where products read S.
  View2<A> gradient_of(const View2<S>& logits) const {
    if constexpr (rounds) {
      return dlogits_(logits.extent(0));
    } else {
      return logits;
    }
  }

  Settings settings_;
  ModelShape shape_;
  Factor<S, A> weight_;
  Rows<S> logits_;
  Rows<A> dlogits_, x_;
};

}  // namespace

template <class S>
std::unique_ptr<Head<S>> make(const Settings& settings, const ModelShape& shape, Compute compute) {
  if (compute == Compute::own) return std::make_unique<ChunkedHead<S, S>>(settings, shape);
  if constexpr (std::is_same_v<S, Wide<Bf16>>) {
    return std::make_unique<ChunkedHead<S, Bf16>>(settings, shape);
  } else {
    fail(Status::deck, "run.compute = bf16 goes only with fp32 models");
  }
}

template std::unique_ptr<Head<float>> make<float>(const Settings&, const ModelShape&, Compute);
template std::unique_ptr<Head<double>> make<double>(const Settings&, const ModelShape&, Compute);

}  // namespace lexikos::head
