// Parameters: named, shaped windows on four flat arenas (value, gradient, first and second
// moment), so that reduction, AdamW, norms and checkpoints are loops over slices.
#pragma once

#include <string>
#include <vector>

#include "kokkos_types.hpp"

namespace lexikos {

/// What weight decay pulls a parameter towards.
enum class Decay { none, to_zero, to_one };

/// Initial values: mean + deviation * N(0, 1).
struct Init {
  double mean = 0.0;
  double deviation = 0.0;
};

struct ParameterInfo {
  std::string name;          // package.part, e.g. transformer.0.attention.qkv
  std::vector<Index> shape;  // row-major
  Init init;
  Decay decay;
  Index offset;  // elements from the arena's start
  Index size;    // product of shape
};

/// In arena order.
using ParameterInfos = std::vector<ParameterInfo>;

/// Elements [begin, end) of the arenas: a package's parameters, or a rank's slice.
struct ArenaRange {
  Index begin = 0, end = 0;
  Index size() const { return end - begin; }
};

/// The slice of `arena_size` elements that rank `rank` of `ranks` updates: equal ones that begin on
/// a cache line; the last ones may be shorter or empty.
ArenaRange slice_of(Index arena_size, int rank, int ranks);

/// A stretch of the arenas whose parameters share one decay rule.
struct Segment {
  Index begin, end;
  Decay decay;
};

template <class S>
class Weight;

/// All parameters: their list, and once allocated the four arenas behind it. Weights point at the
/// parameters that gave them, so these stay where they are.
template <class S>
class Parameters {
 public:
  Parameters() = default;
  Parameters(const Parameters&) = delete;
  Parameters& operator=(const Parameters&) = delete;

  /// Appends a parameter. Names are unique (Error(deck) otherwise).
  Weight<S> add(const std::string& name, std::vector<Index> shape, Init init, Decay decay);
  /// The parameter of that name, for packages that share one. Throws Error(deck) when missing.
  Weight<S> find(const std::string& name) const;

  const ParameterInfos& infos() const { return infos_; }
  /// Elements of one arena, alignment gaps included; the gaps stay zero.
  Index arena_size() const { return end_; }
  /// Trainable elements whose name starts with the prefix ("" counts all).
  Index count(const std::string& prefix = "") const;
  /// Neighbours with equal decay rules merged.
  std::vector<Segment> segments() const;

  /// Allocates four arenas, all zero; of the two moments only the elements in `moments`.
  void allocate(ArenaRange moments);
  void allocate() { allocate({0, arena_size()}); }
  /// Allocates values only, all zero: gradients and moments are empty windows.
  void allocate_values();

  /// Sets every value from (seed, name, element index) only.
  void initialise(std::uint64_t seed);

  const Buffer<S>& values() const { return value_; }
  const Buffer<S>& gradients() const { return gradient_; }
  /// [moment_range().size()], of the elements of moment_range().
  const Buffer<S>& first_moments() const { return moment1_; }
  const Buffer<S>& second_moments() const { return moment2_; }
  /// The elements whose moments are here, and which adamw_update updates; all unless a slice was
  /// asked for.
  ArenaRange moment_range() const { return moment_range_; }
  bool has_all_moments() const { return moment_range_.size() == arena_size(); }

 private:
  ParameterInfos infos_;
  Index end_ = 0;
  ArenaRange moment_range_;
  Buffer<S> value_, gradient_, moment1_, moment2_;
};

/// A handle on one parameter: copied freely; gives windows once its parameters are allocated, empty
/// ones before. Windows of two dimensions are the first dimension by the product of the others.
template <class S>
class Weight {
 public:
  Weight() = default;

  View1<S> value1() const { return window1(parameters_->values()); }
  View2<S> value2() const { return window2(parameters_->values()); }
  View1<S> gradient1() const { return window1(parameters_->gradients()); }
  View2<S> gradient2() const { return window2(parameters_->gradients()); }

  const ParameterInfo& info() const { return parameters_->infos()[index_]; }
  /// Elements of the arenas.
  ArenaRange range() const { return {info().offset, info().offset + info().size}; }

 private:
  friend class Parameters<S>;
  Weight(const Parameters<S>& parameters, Index index) : parameters_(&parameters), index_(index) {}

  View1<S> window1(const Buffer<S>& arena) const {
    if (arena.size() == 0) return {};
    return View1<S>(arena.data() + info().offset, info().size);
  }
  View2<S> window2(const Buffer<S>& arena) const {
    if (arena.size() == 0) return {};
    const Index rows = info().shape.front();
    return View2<S>(arena.data() + info().offset, rows, rows == 0 ? 0 : info().size / rows);
  }

  const Parameters<S>* parameters_ = nullptr;
  Index index_ = -1;
};

/// From the first element of `first` to the last of `last`, declared one after the other.
template <class S>
ArenaRange range_of(const Weight<S>& first, const Weight<S>& last) {
  return {first.range().begin, last.range().end};
}

}  // namespace lexikos
