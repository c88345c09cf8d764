// Device memory, laid out once at set-up: no step allocates, and `-n` can print the peak.
#pragma once

#include <string>
#include <vector>

#include "kokkos_types.hpp"
#include "utils/error.hpp"

namespace lexikos {

/// A place in the arena, known before the arena exists.
struct Slot {
  Index offset = 0;  // bytes from the arena's start
  Index bytes = 0;
  bool shared = false;  // lies in the part that phases overlay
};

/// The layout. `keep` reserves for the whole step; what one phase reserves is overlaid by the next,
/// because only one phase (a block's forward, its backward, the head ...) is at work at a time.
class MemoryPlan {
 public:
  struct Row {
    std::string label;
    Index bytes;
    bool shared;
  };

  template <class T>
  Slot keep(const std::string& label, Index count) {
    return place(label, count * Index(sizeof(T)), kept_, false);
  }

  /// Begins a phase; its reservations start where every phase starts.
  void begin_phase() { phase_ = 0; }

  template <class T>
  Slot scratch(const std::string& label, Index count) {
    const Slot slot = place(label, count * Index(sizeof(T)), phase_, true);
    if (phase_ > shared_) shared_ = phase_;
    return slot;
  }

  Index kept_bytes() const { return kept_; }
  Index shared_bytes() const { return shared_; }
  Index bytes() const { return kept_ + shared_; }
  const std::vector<Row>& rows() const { return rows_; }

 private:
  static constexpr Index alignment = 64;

  Slot place(const std::string& label, Index bytes, Index& end, bool shared) {
    const Slot slot{end, bytes, shared};
    end += (bytes + alignment - 1) / alignment * alignment;
    rows_.push_back({label, bytes, shared});
    return slot;
  }

  Index kept_ = 0, shared_ = 0, phase_ = 0;
  std::vector<Row> rows_;
};

/// The one allocation behind a plan. Windows on it are valid as long as it lives.
class Arena {
 public:
  Arena() = default;
  explicit Arena(const MemoryPlan& plan)
      : shared_begin_(plan.kept_bytes()),
        memory_(without_initializing("Lexikos::arena"), plan.bytes()) {}

  template <class T>
  T* at(const Slot& slot) const {
    return reinterpret_cast<T*>(memory_.data() + (slot.shared ? shared_begin_ : 0) + slot.offset);
  }
  template <class T>
  View1<T> view1(const Slot& slot, Index n) const {
    return View1<T>(at<T>(slot), n);
  }
  template <class T>
  View2<T> view2(const Slot& slot, Index rows, Index cols) const {
    return View2<T>(at<T>(slot), rows, cols);
  }

 private:
  Index shared_begin_ = 0;
  Buffer<unsigned char> memory_;
};

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
    return add<T>(label, n, c, plan_.keep<T>(label, n * c));
  }

  /// Begins a phase; its reservations start where every phase starts.
  void begin_phase() { plan_.begin_phase(); }

  /// A place for n rows of c numbers, the phase's own until another phase writes.
  template <class T>
  Rows<T> scratch(const std::string& label, Index n, Index c = 1) {
    return add<T>(label, n, c, plan_.scratch<T>(label, n * c));
  }

  /// Allocates all places, uninitialised: from here on handles give windows.
  void allocate() { arena_ = Arena(plan_); }

  Index kept_bytes() const { return plan_.kept_bytes(); }
  Index shared_bytes() const { return plan_.shared_bytes(); }
  Index bytes() const { return plan_.bytes(); }

  // For packages that still plan slots.
  MemoryPlan& plan() { return plan_; }
  const MemoryPlan& plan() const { return plan_; }
  const Arena& arena() const { return arena_; }

 private:
  template <class T>
  friend class Rows;

  struct Place {
    std::string label;
    Index rows, cols;
    Slot slot;
  };

  template <class T>
  Rows<T> add(const std::string& label, Index n, Index c, const Slot& slot) {
    places_.push_back({label, n, c, slot});
    return Rows<T>(*this, static_cast<Index>(places_.size()) - 1);
  }

  MemoryPlan plan_;
  std::vector<Place> places_;
  Arena arena_;
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
  /// The first `count` rows of a place of one column [count].
  View1<T> column(Index count) const {
    if (place().cols != 1) refuse("has more than one column");
    return View1<T>(at(0, count), count);
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
    return memory_->arena_.at<T>(p.slot) + begin * p.cols;
  }
  [[noreturn]] void refuse(const std::string& why) const {
    fail(Status::resource, "memory of '" + place().label + "' [" + std::to_string(place().rows) +
                               " " + std::to_string(place().cols) + "] " + why);
  }

  const Memory* memory_ = nullptr;
  Index index_ = -1;
};

}  // namespace lexikos
