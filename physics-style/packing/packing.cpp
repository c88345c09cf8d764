#include "packing/packing.hpp"

#include <algorithm>
#include <cmath>

#include "kernels/gemm/gemm.hpp"
#include "kernels/philox.hpp"
#include "optim/adamw.hpp"
#include "packing/power_loss.hpp"
#include "utils/error.hpp"

namespace lexikos::packing {
namespace {

Cell checked(const Cell& cell, Index power) {
  if (cell.dimension < 2 || cell.count < 2) {
    fail(Status::deck, "a packing of " + std::to_string(cell.count) + " vectors in " +
                           std::to_string(cell.dimension) + " dimensions; at least 2 of each");
  }
  if (power < 2 || power > largest_power) {
    fail(Status::deck, "packing.power = " + std::to_string(power) + " is not between 2 and " +
                           std::to_string(largest_power));
  }
  return cell;
}

template <class S>
void normalise_rows(const ExecSpace& space, View2<const S> x, View2<S> u, View1<S> inverse) {
  const Index d = x.extent(1);
  for_rows(
      "Lexikos::packing::normalise", space, x.extent(0),
      KOKKOS_LAMBDA(const Lane& lane, const Index i) {
        const S* const from = x.data() + i * d;
        S* const to = u.data() + i * d;
        const S most = lane.template max<S>(
            d, [=](const Index c) { return from[c] < 0 ? -from[c] : from[c]; });
        // Squares of what is larger or smaller may be no numbers. A vector of zeros gives NaN.
        const S unit = most > S(1e-15) && most < S(1e15) ? S(1) : most;
        const S square = lane.template sum<S>(d, [=](const Index c) {
          const S part = from[c] / unit;
          return part * part;
        });
        const S scale = S(1) / ::sqrt(square);
        lane.for_each(d, [=](const Index c) { to[c] = scale * (from[c] / unit); });
        lane.once([=]() { inverse.data()[i] = scale / unit; });
      });
}

/// From the gradient with respect to u = x / |x| to that with respect to x:
/// dx = (du - (du . u) u) / |x|. Overwrites du.
template <class S>
void project_rows(const ExecSpace& space, View2<const S> u, View1<const S> inverse, View2<S> du) {
  const Index d = u.extent(1);
  for_rows(
      "Lexikos::packing::project", space, u.extent(0),
      KOKKOS_LAMBDA(const Lane& lane, const Index i) {
        const S* const unit = u.data() + i * d;
        S* const g = du.data() + i * d;
        const S along = lane.template sum<S>(d, [=](const Index c) { return unit[c] * g[c]; });
        const S scale = inverse.data()[i];
        lane.for_each(d, [=](const Index c) { g[c] = scale * (g[c] - along * unit[c]); });
      });
}

/// What visit_tile needs to know.
template <class S>
struct Tile {
  View2<S> cosines;    // [rows columns]
  bool diagonal;       // rows and columns are the same vectors
  View1<double> loss;  // [rows]
  View1<S> largest;    // [rows]
  S floor;
};

/// Adds each row's part of the loss and of the maximum; `gradient`: then turns the cosines into the
/// loss's derivatives.
template <int P, class S>
void visit_tile(const ExecSpace& space, const Tile<S>& tile, bool gradient) {
  const View2<S> g = tile.cosines;
  const View1<double> loss = tile.loss;
  const View1<S> largest = tile.largest;
  const Index width = g.extent(1);
  const bool diagonal = tile.diagonal;
  // A pair outside the diagonal tiles is met once and counts twice in the sum over all i, j.
  const double weight = diagonal ? 1.0 : 2.0;
  const S floor = tile.floor;
  for_rows(
      "Lexikos::packing::visit_tile", space, g.extent(0),
      KOKKOS_LAMBDA(const Lane& lane, const Index i) {
        S* const row = g.data() + i * width;
        lane.once([=]() {
          if (diagonal) row[i] = S(0);  // a vector with itself
        });
        lane.barrier();
        add_loss<P, S>(lane, row, width, floor, weight, loss.data() + i, largest.data() + i);
        if (gradient) differentiate<P, S>(lane, row, width, floor);
      });
}

template <class S, int P = 2>
void visit_tile(const ExecSpace& space, Index power, const Tile<S>& tile, bool gradient) {
  if (power == P) {
    visit_tile<P, S>(space, tile, gradient);
  } else if constexpr (P < largest_power) {
    visit_tile<S, P + 1>(space, power, tile, gradient);
  }
}

template <class S>
View2<S> rows_of(const Buffer<S>& all, Index begin, Index rows, Index width) {
  return View2<S>(all.data() + begin * width, rows, width);
}

}  // namespace

Index published_power(const Cell& cell, Index numerator) {
  Index q = numerator;
  if (q == 0) {
    q = 60;
    if (cell.count > 4000 && cell.dimension >= 3072) q = 50;
    if (cell.count <= 4000 && cell.dimension >= 1024) q = 40;
  }
  const double ratio = static_cast<double>(q) / std::log(static_cast<double>(cell.dimension));
  return static_cast<Index>(std::min(ratio, static_cast<double>(largest_power)));
}

double published_learning_rate(const Cell& cell) { return cell.dimension <= 1024 ? 0.005 : 0.0025; }

template <class S>
Vectors<S>::Vectors(const Cell& cell, Index power, Index tile, bool optimise)
    : cell_(checked(cell, power)),
      power_(power),
      tile_(std::min(tile, cell.count)),
      unit_(without_initializing("Lexikos::packing::unit"), cell.count * cell.dimension),
      length_(without_initializing("Lexikos::packing::inverse_length"), cell.count),
      block_(without_initializing("Lexikos::packing::tile"), tile_ * tile_),
      loss_("Lexikos::packing::loss", cell.count),
      largest_("Lexikos::packing::largest", cell.count),
      sums_("Lexikos::packing::sums", 2) {
  x_ = parameters_.add("packing.vectors", {cell.count, cell.dimension}, {.deviation = 1.0},
                       Decay::none);
  optimise ? parameters_.allocate() : parameters_.allocate_values();
}

template <class S>
void Vectors<S>::draw(std::uint64_t seed, const std::string& name) {
  const ExecSpace space;
  const View2<S> x = vectors();
  const std::uint64_t stream = stream_of(name);
  Kokkos::parallel_for(
      "Lexikos::packing::draw",
      Kokkos::RangePolicy<ExecSpace, Kokkos::IndexType<Index>>(space, 0, x.size()),
      KOKKOS_LAMBDA(const Index i) {
        x.data()[i] = static_cast<S>(random_normal(seed, stream, static_cast<std::uint64_t>(i)));
      });
  // Unit length matters although the loss does not see it: it sets how far a step of Adam turns.
  normalise(space);
  Kokkos::deep_copy(space, View1<S>(x.data(), x.size()), unit_);
  space.fence();
}

template <class S>
void Vectors<S>::normalise(const ExecSpace& space) {
  normalise_rows<S>(space, vectors(), rows_of(unit_, 0, cell_.count, cell_.dimension),
                    View1<S>(length_.data(), cell_.count));
}

/// Row block `row` against column block `column` of G, and both blocks' gradients.
template <class S>
void Vectors<S>::add_tile(const ExecSpace& space, Index row, Index column, bool gradient) {
  const Index d = cell_.dimension, rows = std::min(tile_, cell_.count - row),
              columns = std::min(tile_, cell_.count - column);
  const View2<S> u_rows = rows_of(unit_, row, rows, d),
                 u_columns = rows_of(unit_, column, columns, d);
  const View2<S> g(block_.data(), rows, columns);
  const bool diagonal = row == column;
  gemm<S>(space, Op::none, Op::transpose, S(1), u_rows, u_columns, S(0), g);
  visit_tile<S>(space, power_,
                Tile<S>{g, diagonal, View1<double>(loss_.data() + row, rows),
                        View1<S>(largest_.data() + row, rows), smallest_cosine<S>(power_)},
                gradient);
  if (!gradient) return;
  // The sum over all i, j has each pair twice, hence the 2.
  const View2<S> du = this->gradient();
  const View2<S> du_rows(&du(row, 0), rows, d), du_columns(&du(column, 0), columns, d);
  gemm<S>(space, Op::none, Op::none, S(2), g, u_columns, S(1), du_rows);
  if (!diagonal) gemm<S>(space, Op::transpose, Op::none, S(2), g, u_rows, S(1), du_columns);
}

template <class S>
void Vectors<S>::project(const ExecSpace& space) {
  project_rows<S>(space, rows_of(unit_, 0, cell_.count, cell_.dimension),
                  View1<const S>(length_.data(), cell_.count), gradient());
}

template <class S>
void Vectors<S>::pass(const ExecSpace& space, bool gradient) {
  const Region region("Lexikos::packing::pass");
  normalise(space);
  Kokkos::deep_copy(space, loss_, 0.0);
  Kokkos::deep_copy(space, largest_, S(0));
  if (gradient) Kokkos::deep_copy(space, parameters_.gradients(), S(0));
  for (Index row = 0; row < cell_.count; row += tile_) {
    for (Index column = row; column < cell_.count; column += tile_)
      add_tile(space, row, column, gradient);
  }
  if (gradient) project(space);
}

template <class S>
void Vectors<S>::adam(const ExecSpace& space, double learning_rate, Index step) {
  const AdamWSettings settings = {
      .beta1 = 0.9, .beta2 = 0.999, .epsilon = 1e-8, .weight_decay = 0.0, .clip_norm = 0.0};
  adamw_update<S>(space, settings, learning_rate, step, 1.0, parameters_);
}

template <class S>
Pass Vectors<S>::read(const ExecSpace& space) {
  const Buffer<double> loss = loss_;
  const Buffer<S> largest = largest_;
  sum_into(
      "Lexikos::packing::loss", space, cell_.count,
      KOKKOS_LAMBDA(const Index i) { return loss(i); }, DeviceSum(sums_.data()));
  Kokkos::parallel_reduce(
      "Lexikos::packing::largest",
      Kokkos::RangePolicy<ExecSpace, Kokkos::IndexType<Index>>(space, 0, cell_.count),
      KOKKOS_LAMBDA(const Index i, double& most) {
        const double a = static_cast<double>(largest(i));
        most = a > most ? a : most;
      },
      Kokkos::Max<double, MemSpace>(DeviceSum(sums_.data() + 1)));
  const auto found = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), sums_);
  return {found(0), found(1)};
}

template class Vectors<float>;
template class Vectors<double>;

}  // namespace lexikos::packing
