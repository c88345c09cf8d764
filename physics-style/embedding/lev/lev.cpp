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

  void declare(ParameterList& list) override {
    const Index hd = sizes_.heads * sizes_.seed_width, hr = sizes_.heads * sizes_.rank;
    const Init plain{.deviation = 0.02};
    codebooks_id_ = list.add("embedding.lev.codebooks", {sizes_.books.rows(), sizes_.seed_width},
                             plain, Decay::to_zero);
    mix_id_ = list.add("embedding.lev.mix", {hd, sizes_.seed_width}, plain, Decay::to_zero);
    gain_id_ = list.add("embedding.lev.gain", {hd}, {.mean = 1.0}, Decay::none);
    bias_id_ = list.add("embedding.lev.bias", {hd}, {}, Decay::none);
    spline_id_ = list.add("embedding.lev.spline", {hd, sizes_.knots, sizes_.rank},
                          {.mean = 1.0, .deviation = settings_.spline_deviation}, Decay::to_one);
    out_id_ = list.add("embedding.lev.out", {hr, shape_.width},
                       {.deviation = 0.02 / std::sqrt(static_cast<double>(sizes_.heads))},
                       Decay::to_zero);
  }

  void plan(MemoryPlan& plan) override {
    const Index u = shape_.distinct_max, hd = sizes_.heads * sizes_.seed_width,
                hr = sizes_.heads * sizes_.rank, tasks = chunk_count_ * sizes_.heads;
    digit_ = plan.keep<std::int32_t>("lev digits", u * sizes_.books.count);
    rows_ = plan.keep<S>("lev codebook rows by head", sizes_.books.rows() * hd);
    normal_ = plan.keep<S>("lev normalised", u * hd);
    rstd_ = plan.keep<S>("lev rstd", u * sizes_.heads);
    s_ = plan.keep<S>("lev coordinates", u * hd);
    product_ = plan.keep<S>("lev products", u * hr);
    plan.begin_phase();
    dproduct_ = plan.scratch<S>("lev gradient of products", u * hr);
    ds_ = plan.scratch<S>("lev gradient of coordinates", u * hd);
    slab_ = plan.scratch<S>("lev spline gradient slabs",
                            chunk_count_ > 1 ? chunk_count_ * hd * sizes_.knots * sizes_.rank : 0);
    workspace_ =
        plan.scratch<double>("lev prefix products", gradient_workspace(sizes_, chunk_count_));
    phi_ = plan.scratch<S>("lev factors", tasks * sizes_.seed_width * sizes_.rank);
  }

  void bind(const Parameters<S>& parameters, const Arena& arena) override {
    parameters_ = &parameters;
    arena_ = &arena;
  }

  void forward(const ExecSpace& space, View1<const TokenId> tokens, View2<S> e) override {
    const Region region("Lexikos::lev::forward");
    const Windows w = windows(tokens.extent(0));
    digits(space, sizes_.books, tokens, w.digit);
    gemm<S>(space, Op::none, Op::transpose, S(1), parameters_->value2(codebooks_id_),
            parameters_->value2(mix_id_), S(0), w.rows);
    coordinates<S>(space, sizes_, w.digit, w.rows, parameters_->value1(gain_id_),
                   parameters_->value1(bias_id_), w.normal, w.rstd, w.s);
    products<S>(space, sizes_, w.chunks, w.s, parameters_->value1(spline_id_).data(), w.product,
                arena_->at<double>(workspace_));
    gemm<S>(space, Op::none, Op::none, S(1), w.product, parameters_->value2(out_id_), S(0), e);
  }

  void backward(const ExecSpace& space, View1<const TokenId> tokens, View2<const S> de) override {
    const Region region("Lexikos::lev::backward");
    const Windows w = windows(tokens.extent(0));
    gemm<S>(space, Op::transpose, Op::none, S(1), w.product, de, S(1),
            parameters_->gradient2(out_id_));
    gemm<S>(space, Op::none, Op::transpose, S(1), de, parameters_->value2(out_id_), S(0),
            w.dproduct);
    spline_gradient(space, w);
    sigmoid_gradient<S>(space, w.s, w.ds);
    norm_weight_gradient<S>(space, w.ds, w.normal, parameters_->gradient1(gain_id_),
                            parameters_->gradient1(bias_id_));
    norm_gradient<S>(space, sizes_, w.normal, w.rstd, parameters_->value1(gain_id_), w.ds);
    gather_digits<S>(space, sizes_, w.digit, w.ds, w.rows);
    gemm<S>(space, Op::none, Op::none, S(1), w.rows, parameters_->value2(mix_id_), S(1),
            parameters_->gradient2(codebooks_id_));
    gemm<S>(space, Op::transpose, Op::none, S(1), w.rows, parameters_->value2(codebooks_id_), S(1),
            parameters_->gradient2(mix_id_));
  }

  Counts counts() const override {
    const double d = sizes_.seed_width, h = sizes_.heads, r = sizes_.rank, c = shape_.width;
    Counts counts;
    counts.trainable = parameter_count(settings_, sizes_.books.base, shape_.width);
    // Forward: 3 multiply-adds and the product for each (d, q); backward about three times that.
    counts.flops_per_distinct = 4.0 * 7.0 * h * d * r + 6.0 * h * r * c;
    return counts;
  }

 private:
  struct Windows {
    Chunks chunks;
    View2<std::int32_t> digit;
    View2<S> rows, normal, rstd, s, product, dproduct, ds;
  };

  Windows windows(Index u) const {
    const Index hd = sizes_.heads * sizes_.seed_width, hr = sizes_.heads * sizes_.rank;
    return {{chunk_count_, u},
            arena_->view2<std::int32_t>(digit_, u, sizes_.books.count),
            arena_->view2<S>(rows_, sizes_.books.rows(), hd),
            arena_->view2<S>(normal_, u, hd),
            arena_->view2<S>(rstd_, u, sizes_.heads),
            arena_->view2<S>(s_, u, hd),
            arena_->view2<S>(product_, u, hr),
            arena_->view2<S>(dproduct_, u, hr),
            arena_->view2<S>(ds_, u, hd)};
  }

  /// With one chunk the tasks add to the gradient itself; with more, to slabs folded at the end.
  void spline_gradient(const ExecSpace& space, const Windows& w) {
    const View1<S> gradient = parameters_->gradient1(spline_id_);
    const Index count = gradient.size();
    S* const slab = chunk_count_ > 1 ? arena_->at<S>(slab_) : gradient.data();
    if (chunk_count_ > 1) {
      Kokkos::deep_copy(space, View1<S>(slab, chunk_count_ * count), S(0));
    }
    products_gradient<S>(space, sizes_, w.chunks, w.s, parameters_->value1(spline_id_).data(),
                         w.dproduct, w.ds, slab, arena_->at<double>(workspace_),
                         arena_->at<S>(phi_));
    if (chunk_count_ > 1) fold_slabs<S>(space, chunk_count_, count, slab, gradient.data());
  }

  Settings settings_;
  Sizes sizes_;
  ModelShape shape_;
  Index chunk_count_;
  ParameterId codebooks_id_, mix_id_, gain_id_, bias_id_, spline_id_, out_id_;
  Slot digit_, rows_, normal_, rstd_, s_, product_;
  Slot dproduct_, ds_, slab_, workspace_, phi_;
  const Parameters<S>* parameters_ = nullptr;
  const Arena* arena_ = nullptr;
};

}  // namespace

Index parameter_count(const Settings& s, Index base, Index width) {
  const Index d = s.seed_width;
  return s.codebooks * base * d + s.heads * (d * d + 2 * d) + s.heads * d * s.knots * s.rank +
         s.heads * s.rank * width;
}

Settings read_settings(const DeckTable& table) {
  Settings s;
  s.codebooks =
      table.integer({.name = "codebooks", .doc = "digits of a token id, k"}, 3, Between(1, 16));
  s.base = table.integer(
      {.name = "base", .doc = "rows of a codebook, b", .default_note = "0: smallest with b^k >= V"},
      0, Between(0, 1 << 16));
  s.seed_width = table.integer({.name = "seed_width", .doc = "d_seed"}, 128, AtLeast(1));
  s.heads = table.integer({.name = "heads", .doc = "h"}, 8, AtLeast(1));
  s.knots = table.integer({.name = "knots", .doc = "knots of a spline, kappa"}, 16, AtLeast(2));
  s.rank = table.integer({.name = "rank", .doc = "products of a head, r"}, 64, AtLeast(1));
  s.spline_deviation = table.real(
      {.name = "spline_deviation", .doc = "of the initial spline values, whose mean is 1"}, 0.1,
      NonNegative{});
  return s;
}

Index base_of(const Settings& s, Index vocabulary) {
  return s.base > 0 ? s.base : smallest_base(vocabulary, s.codebooks);
}

template <class S>
EmbeddingFactory<S> read(const DeckTable& table) {
  const Settings s = read_settings(table);
  return [s, table](const ModelShape& shape) {
    const Index base = base_of(s, shape.vocabulary);
    if (power(base, s.codebooks) < shape.vocabulary) {
      table.reject("base", "is too small: base^codebooks is less than the vocabulary of " +
                               std::to_string(shape.vocabulary));
    }
    return std::make_unique<Lev<S>>(s, base, shape);
  };
}

template EmbeddingFactory<float> read<float>(const DeckTable&);
template EmbeddingFactory<double> read<double>(const DeckTable&);

}  // namespace lexikos::lev
