#include "embedding/lev/lev.hpp"

#include <algorithm>

#include "embedding/lev/lev_kernels.hpp"
#include "kernels/gemm/gemm.hpp"
#include "utils/error.hpp"

namespace lexikos::lev {
namespace {

/// Enough tasks to keep the device busy; the heads are tasks already.
Index chunk_count(Index heads) {
  if constexpr (!device_is_host) return 16;
  return std::max<Index>(1, (Index(ExecSpace().concurrency()) + heads - 1) / heads);
}

template <class S>
class Lev : public Embedding<S> {
 public:
  Lev(const Settings& settings, Index base, const ModelShape& shape)
      : settings_(settings),
        sizes_{{settings.codebooks, base},
               settings.seed_width,
               settings.heads,
               settings.knots,
               settings.rank},
        shape_(shape),
        chunk_count_(chunk_count(settings.heads)) {}

  void declare(Parameters<S>& parameters, Memory& memory) override {
    declare_parameters(parameters);
    reserve(memory);
  }

  void forward(const ExecSpace& space, View1<const TokenId> tokens, View2<S> e) override {
    const Region region("Lexikos::lev::forward");
    const Index u = tokens.extent(0);
    digits(space, sizes_.books, tokens, digit_(u));
    gemm<S>(space, Op::none, Op::transpose, S(1), codebooks_.value2(), mix_.value2(), S(0),
            rows_(sizes_.books.rows()));
    coordinates<S>(space, sizes_, digit_(u), rows_(sizes_.books.rows()), gain_.value1(),
                   bias_.value1(), normal_(u), rstd_(u), s_(u));
    products<S>(space, sizes_, {chunk_count_, u}, s_(u), spline_.value1().data(), product_(u),
                workspace_.data());
    gemm<S>(space, Op::none, Op::none, S(1), product_(u), out_.value2(), S(0), e);
  }

  void backward(const ExecSpace& space, View1<const TokenId> tokens, View2<const S> de) override {
    const Region region("Lexikos::lev::backward");
    const Index u = tokens.extent(0);
    const View2<S> ds = ds_(u), drows = rows_(sizes_.books.rows());
    gemm<S>(space, Op::transpose, Op::none, S(1), product_(u), de, S(1), out_.gradient2());
    gemm<S>(space, Op::none, Op::transpose, S(1), de, out_.value2(), S(0), dproduct_(u));
    spline_gradient(space, u);
    sigmoid_gradient<S>(space, s_(u), ds);
    norm_weight_gradient<S>(space, ds, normal_(u), gain_.gradient1(), bias_.gradient1());
    norm_gradient<S>(space, sizes_, normal_(u), rstd_(u), gain_.value1(), ds);
    Kokkos::deep_copy(space, drows, S(0));
    digit_sums_.add<S>(space, digit_(u), ds, drows);
    gemm<S>(space, Op::none, Op::none, S(1), drows, mix_.value2(), S(1), codebooks_.gradient2());
    gemm<S>(space, Op::transpose, Op::none, S(1), drows, codebooks_.value2(), S(1),
            mix_.gradient2());
  }

  Costs costs() const override {
    const double d = sizes_.seed_width, h = sizes_.heads, r = sizes_.rank, c = shape_.width;
    // Forward: 3 multiply-adds and the product for each (d, q); backward about three times that.
    return {.flops_per_distinct = 4.0 * 7.0 * h * d * r + 6.0 * h * r * c};
  }

 private:
  void declare_parameters(Parameters<S>& parameters) {
    const Index hd = sizes_.heads * sizes_.seed_width, hr = sizes_.heads * sizes_.rank;
    const Init plain{.deviation = 0.02};
    const Init spline{.mean = 1.0, .deviation = settings_.spline_deviation};
    const Init out{.deviation = 0.02 / std::sqrt(static_cast<double>(sizes_.heads))};
    codebooks_ = parameters.add("embedding.lev.codebooks", {sizes_.books.rows(), sizes_.seed_width},
                                plain, Decay::to_zero);
    mix_ = parameters.add("embedding.lev.mix", {hd, sizes_.seed_width}, plain, Decay::to_zero);
    gain_ = parameters.add("embedding.lev.gain", {hd}, {.mean = 1.0}, Decay::none);
    bias_ = parameters.add("embedding.lev.bias", {hd}, {}, Decay::none);
    spline_ = parameters.add("embedding.lev.spline", {hd, sizes_.knots, sizes_.rank}, spline,
                             Decay::to_one);
    out_ = parameters.add("embedding.lev.out", {hr, shape_.width}, out, Decay::to_zero);
  }

  void reserve(Memory& memory) {
    const Index u = shape_.distinct_max, hd = sizes_.heads * sizes_.seed_width,
                hr = sizes_.heads * sizes_.rank;
    digit_ = memory.rows<std::int32_t>("lev digits", u, sizes_.books.count);
    rows_ = memory.rows<S>("lev codebook rows by head", sizes_.books.rows(), hd);
    normal_ = memory.rows<S>("lev normalised", u, hd);
    rstd_ = memory.rows<S>("lev rstd", u, sizes_.heads);
    s_ = memory.rows<S>("lev coordinates", u, hd);
    product_ = memory.rows<S>("lev products", u, hr);
    memory.begin_phase();
    digit_sums_.declare(memory, sizes_.books, u);
    dproduct_ = memory.scratch<S>("lev gradient of products", u, hr);
    ds_ = memory.scratch<S>("lev gradient of coordinates", u, hd);
    slabs_ = memory.scratch<S>("lev spline gradient slabs", chunk_count_ > 1 ? chunk_count_ : 0,
                               hd * sizes_.knots * sizes_.rank);
    workspace_ =
        memory.scratch<double>("lev prefix products", gradient_workspace(sizes_, chunk_count_));
    phi_ = memory.scratch<S>("lev factors", chunk_count_ * sizes_.heads,
                             sizes_.seed_width * sizes_.rank);
  }

  /// With one chunk the tasks add to the gradient itself; with more, to slabs folded at the end.
  void spline_gradient(const ExecSpace& space, Index u) {
    const View1<S> gradient = spline_.gradient1();
    const bool slabs = chunk_count_ > 1;
    S* const into = slabs ? slabs_.data() : gradient.data();
    if (slabs) Kokkos::deep_copy(space, slabs_.all(), S(0));
    products_gradient<S>(space, sizes_, {chunk_count_, u}, s_(u), spline_.value1().data(),
                         dproduct_(u), ds_(u), into, workspace_.data(), phi_.data());
    if (slabs) fold_slabs<S>(space, chunk_count_, gradient.size(), into, gradient.data());
  }

  Settings settings_;
  Sizes sizes_;
  ModelShape shape_;
  Index chunk_count_;
  Weight<S> codebooks_, mix_, gain_, bias_, spline_, out_;
  Rows<std::int32_t> digit_;
  DigitSums digit_sums_;
  Rows<S> rows_, normal_, rstd_, s_, product_;
  Rows<S> dproduct_, ds_, slabs_, phi_;
  Rows<double> workspace_;
};

}  // namespace

Index parameter_count(const Settings& s, Index base, Index width) {
  const Index d = s.seed_width;
  return s.codebooks * base * d + s.heads * (d * d + 2 * d) + s.heads * d * s.knots * s.rank +
         s.heads * s.rank * width;
}

Settings Settings::read(const DeckTable& table) {
  Settings s;
  s.codebooks =
      table.integer({.name = "codebooks", .doc = "digits of a token id, k"}, 3, Between(1, 16));
  s.base = table.integer(
      {.name = "base", .doc = "rows of a codebook, b", .default_note = "0: smallest with b^k >= V"},
      0, Between(0, 1 << 16));
  s.base_statement = table.statement("base");
  s.seed_width = table.integer({.name = "seed_width", .doc = "d_seed"}, 128, Between(1, 1 << 16));
  s.heads = table.integer({.name = "heads", .doc = "h"}, 8, Between(1, 1 << 12));
  s.knots =
      table.integer({.name = "knots", .doc = "knots of a spline, kappa"}, 16, Between(2, 1 << 16));
  s.rank = table.integer({.name = "rank", .doc = "products of a head, r"}, 64, Between(1, 1 << 16));
  s.spline_deviation = table.real(
      {.name = "spline_deviation", .doc = "of the initial spline values, whose mean is 1"}, 0.1,
      Between(0, 1000));
  return s;
}

Index base_of(const Settings& s, Index vocabulary) {
  return s.base > 0 ? s.base : smallest_base(vocabulary, s.codebooks);
}

template <class S>
std::unique_ptr<Embedding<S>> Settings::make(const ModelShape& shape) const {
  const Index b = base_of(*this, shape.vocabulary);
  if (power(b, codebooks) < shape.vocabulary) {
    fail(Status::deck, base_statement +
                           " is too small: base^codebooks is less than the vocabulary of " +
                           std::to_string(shape.vocabulary));
  }
  return std::make_unique<Lev<S>>(*this, b, shape);
}

template std::unique_ptr<Embedding<float>> Settings::make<float>(const ModelShape&) const;
template std::unique_ptr<Embedding<double>> Settings::make<double>(const ModelShape&) const;

}  // namespace lexikos::lev
