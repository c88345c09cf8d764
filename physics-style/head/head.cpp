#include "head/head.hpp"

#include <algorithm>

#include "kernels/cross_entropy.hpp"
#include "kernels/gemm.hpp"

namespace lexikos::head {

Settings read(const DeckTable& table) {
  return {.chunk = table.integer({.name = "chunk", .doc = "positions whose logits exist together",
                                  .unit = "tokens"},
                                 512, AtLeast(1))};
}

template <class S>
Head<S>::Head(const Settings& settings, const ModelShape& shape)
    : settings_(settings), shape_(shape) {}

template <class S>
void Head<S>::declare(ParameterList& list) {
  id_ = list.add("head.weight", {shape_.vocabulary, shape_.width},
                 {.deviation = shape_.init_deviation}, Decay::to_zero);
}

template <class S>
void Head<S>::plan(MemoryPlan& plan) {
  const Index rows = std::min(settings_.chunk, shape_.positions());
  plan.begin_phase();
  logits_ = plan.scratch<S>("logits of a chunk", rows * shape_.vocabulary);
}

template <class S>
void Head<S>::bind(const Parameters<S>& parameters, const Arena& arena) {
  weight_ = parameters.value2(id_);
  gradient_ = parameters.gradient2(id_);
  arena_ = &arena;
}

namespace {

/// Rows [begin, begin + rows) of a matrix.
template <class S>
View2<S> rows_of(const View2<S>& x, Index begin, Index rows) {
  return View2<S>(x.data() + begin * x.extent(1), rows, x.extent(1));
}

template <class T>
View1<T> part_of(const View1<T>& x, Index begin, Index count) {
  return View1<T>(x.data() + begin, count);
}

}  // namespace

template <class S>
void Head<S>::loss_and_gradient(const ExecSpace& space, View2<const S> x,
                                View1<const TokenId> targets, double scale, View1<double> nll,
                                View2<S> dx) {
  const Region region("Lexikos::head::loss_and_gradient");
  const Index n = x.extent(0);
  for (Index begin = 0; begin < n; begin += settings_.chunk) {
    const Index rows = std::min(settings_.chunk, n - begin);
    const View2<S> logits = arena_->view2<S>(logits_, rows, shape_.vocabulary);
    const View2<const S> x_rows = rows_of(x, begin, rows);
    gemm<S>(space, Op::none, Op::transpose, S(1), x_rows, weight_, S(0), logits);
    cross_entropy::loss_and_gradient<S>(space, logits, part_of(targets, begin, rows), scale,
                                        part_of(nll, begin, rows));
    gemm<S>(space, Op::none, Op::none, S(1), logits, weight_, S(0), rows_of(dx, begin, rows));
    gemm<S>(space, Op::transpose, Op::none, S(1), logits, x_rows, S(1), gradient_);
  }
}

template <class S>
void Head<S>::loss(const ExecSpace& space, View2<const S> x, View1<const TokenId> targets,
                   View1<double> nll) {
  const Region region("Lexikos::head::loss");
  const Index n = x.extent(0);
  for (Index begin = 0; begin < n; begin += settings_.chunk) {
    const Index rows = std::min(settings_.chunk, n - begin);
    const View2<S> logits = arena_->view2<S>(logits_, rows, shape_.vocabulary);
    gemm<S>(space, Op::none, Op::transpose, S(1), rows_of(x, begin, rows), weight_, S(0), logits);
    cross_entropy::loss<S>(space, logits, part_of(targets, begin, rows),
                           part_of(nll, begin, rows));
  }
}

template <class S>
void Head<S>::score(const ExecSpace& space, View2<const S> x, View1<const TokenId> targets,
                    View1<double> nll, View1<std::uint8_t> largest) {
  const Region region("Lexikos::head::score");
  const Index n = x.extent(0);
  for (Index begin = 0; begin < n; begin += settings_.chunk) {
    const Index rows = std::min(settings_.chunk, n - begin);
    const View2<S> logits = arena_->view2<S>(logits_, rows, shape_.vocabulary);
    const View1<const TokenId> wanted = part_of(targets, begin, rows);
    gemm<S>(space, Op::none, Op::transpose, S(1), rows_of(x, begin, rows), weight_, S(0), logits);
    cross_entropy::loss<S>(space, logits, wanted, part_of(nll, begin, rows));
    cross_entropy::is_largest<S>(space, logits, wanted, part_of(largest, begin, rows));
  }
}

template <class S>
Counts Head<S>::counts() const {
  Counts counts;
  counts.trainable = shape_.vocabulary * shape_.width;
  counts.flops_per_token = 6.0 * shape_.vocabulary * shape_.width;
  return counts;
}

template class Head<float>;
template class Head<double>;

}  // namespace lexikos::head
