// Device memory, laid out once at set-up: no step allocates, and `-n` can print the peak.
#pragma once

#include <string>
#include <vector>

#include "kokkos_types.hpp"

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

}  // namespace lexikos
