// Device memory, laid out once at set-up: no step allocates, and `-n` can print the peak.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "kokkos_types.hpp"
#include "utils/checked_size.hpp"
#include "utils/error.hpp"

namespace lexikos {

template <class T>
class Rows;

/// Places for numbers, reserved one by one at set-up and allocated together. Handles point at the
/// memory that gave them, so it stays where it is.
///
/// `rows` reserves for the whole step; what one phase reserves by `scratch` is overlaid by the
/// next, because only one phase (a block's forward, its backward, the head ...) is at work at a
/// time.
class Memory {
 public:
  Memory() = default;
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  /// A place for n rows of c numbers, kept through the step.
  template <class T>
  Rows<T> rows(const std::string& label, Index n, Index c = 1) {
    return reserve<T>(label, n, c, false, kept_);
  }

  /// Begins a phase; its reservations start where every phase starts.
  void begin_phase() { phase_ = 0; }

  /// A place for n rows of c numbers, the phase's own until another phase writes.
  template <class T>
  Rows<T> scratch(const std::string& label, Index n, Index c = 1) {
    const Rows<T> place = reserve<T>(label, n, c, true, phase_);
    shared_ = std::max(shared_, phase_);
    return place;
  }

  /// Allocates all places, uninitialised: from here on handles give windows.
  void allocate() {
    memory_ = Buffer<unsigned char>(without_initializing("Lexikos::memory"), bytes());
  }

  Index kept_bytes() const { return kept_; }
  Index shared_bytes() const { return shared_; }  // of the largest phase
  Index bytes() const { return kept_ + shared_; }

 private:
  template <class T>
  friend class Rows;

  /// Places begin on a cache line.
  static constexpr Index alignment = 64;

  struct Place {
    std::string label;
    Index rows, cols;
    bool shared;   // lies in the part that phases overlay
    Index offset;  // bytes from the beginning of its part
  };

  template <class T>
  Rows<T> reserve(const std::string& label, Index n, Index c, bool shared, Index& end) {
    places_.push_back({label, n, c, shared, end});
    const Index bytes = checked_product({n, c, Index(sizeof(T))}, label);
    end = checked_sum({end, bytes, -bytes & (alignment - 1)}, label);
    return Rows<T>(*this, static_cast<Index>(places_.size()) - 1);
  }

  unsigned char* begin_of(const Place& place) const {
    return memory_.data() + (place.shared ? kept_ : 0) + place.offset;
  }

  Index kept_ = 0, shared_ = 0, phase_ = 0;
  std::vector<Place> places_;
  Buffer<unsigned char> memory_;
};

/// A handle on n rows of c numbers of type T: copied freely; gives windows once its memory is
/// allocated. Asking for more rows than there are throws Error(resource), as does a handle that
/// nobody reserved.
template <class T>
class Rows {
 public:
  Rows() = default;

  /// The first `count` rows [count c].
  View2<T> operator()(Index count) const { return (*this)(0, count); }
  /// Rows [begin, begin + count) as [count c].
  View2<T> operator()(Index begin, Index count) const {
    return View2<T>(at(begin, count), count, place().cols);
  }
  /// The first `count` numbers of a place of one column [count].
  View1<T> column(Index count) const { return column(0, count); }
  View1<T> column(Index begin, Index count) const {
    if (place().cols != 1) refuse("has more than one column");
    return View1<T>(at(begin, count), count);
  }
  /// Every number [n c].
  View1<T> all() const { return View1<T>(data(), place().rows * place().cols); }
  /// The first number, for windows of other shapes.
  T* data() const { return at(0, place().rows); }

  Index count() const { return place().rows; }
  Index width() const { return place().cols; }

 private:
  friend class Memory;
  Rows(const Memory& memory, Index index) : memory_(&memory), index_(index) {}

  const Memory::Place& place() const {
    if (memory_ == nullptr) fail(Status::resource, "rows are used that nobody has reserved");
    return memory_->places_[index_];
  }
  T* at(Index begin, Index count) const {
    const Memory::Place& p = place();
    if (begin < 0 || count < 0 || begin + count > p.rows) {
      refuse("has no rows " + std::to_string(begin) + " to " + std::to_string(begin + count));
    }
    return reinterpret_cast<T*>(memory_->begin_of(p)) + begin * p.cols;
  }
  [[noreturn]] void refuse(const std::string& why) const {
    fail(Status::resource, "memory of '" + place().label + "' [" + std::to_string(place().rows) +
                               " " + std::to_string(place().cols) + "] " + why);
  }

  const Memory* memory_ = nullptr;
  Index index_ = -1;
};

}  // namespace lexikos
