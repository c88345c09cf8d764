// What the readers' harnesses share: promises, the only exception that may leave, files made of an
// input.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "utils/error.hpp"

/// The entry of every harness, as libFuzzer calls it: reads one input, and ends the process where a
/// promise is not kept. Always 0.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace lexikos::fuzz {

/// Ends the process with a line that says which promise was not kept.
[[noreturn]] void finding(const std::string& what);

/// What finding() does, where that is not to print and abort.
std::function<void(const std::string& what)>& on_finding();

/// `promise` reads as a sentence: "what was accepted reads back".
inline void require(bool kept, const std::string& promise) {
  if (!kept) finding("not kept: " + promise);
}

inline std::string_view text_of(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

/// The folder of this process for files, made on first use in TMPDIR.
const std::string& folder();

/// Overwrites a file of folder() and returns its path.
std::string write_input(const std::string& name, std::string_view bytes);

/// What became of the inputs of accepts() so far.
struct Counts {
  std::uint64_t accepted = 0, refused = 0;
};
Counts& counts();

namespace detail {
void check_error(const Error& error, Status documented);
[[noreturn]] void foreign_exception();
}  // namespace detail

/// Whether `action` accepts its input: false where it throws Error of the documented status, with a
/// text. Anything else that leaves it is a finding.
template <class Action>
bool accepts(Status documented, const Action& action) {
  try {
    action();
    ++counts().accepted;
    return true;
  } catch (const Error& error) {
    ++counts().refused;
    detail::check_error(error, documented);
    return false;
  } catch (...) {
    detail::foreign_exception();
  }
}

}  // namespace lexikos::fuzz
