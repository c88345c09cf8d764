#include "console/console.hpp"

#include <unistd.h>

#include <cmath>
#include <cstdio>

#include "console/output.hpp"
#include "utils/text.hpp"

namespace lexikos {

Console::Console(bool speaks, std::string prefix)
    : speaks_(speaks),
      // Both, because mpirun gives its ranks a terminal for stdout even where it has none.
      terminal_(isatty(STDOUT_FILENO) != 0 && isatty(STDERR_FILENO) != 0),
      prefix_(std::move(prefix)) {}

Console::~Console() { clear_bar(); }

void Console::clear_bar() {
  if (bar_shown_) write_output("\r\033[K");
  bar_shown_ = false;
}

void Console::line(const std::string& text) {
  if (!speaks_) return;
  clear_bar();
  write_output(prefix_ + text + "\n");
}

void Console::step(const StepLine& s) {
  char text[160];
  std::snprintf(text, sizeof text,
                "step=%lld/%lld tokens=%lld loss=%.4f lr=%.1e norm=%.2f tok/s=%.0f data=%.1e",
                static_cast<long long>(s.step), static_cast<long long>(s.steps),
                static_cast<long long>(s.tokens), s.loss, s.learning_rate, s.gradient_norm,
                s.tokens_per_second, s.data_seconds);
  std::string whole = text;
  if (std::isfinite(s.gemm_share)) {
    std::snprintf(text, sizeof text, " gemm=%.0f%%", 100.0 * s.gemm_share);
    whole += text;
  }
  line(whole);
}

void Console::progress(Index done, Index total, double seconds) {
  const double now = since_start_.seconds();
  if (!speaks_ || !terminal_ || done < 1 || now - last_bar_ < 0.1) return;
  last_bar_ = now;
  constexpr int width = 30;
  const double share = static_cast<double>(done) / static_cast<double>(total);
  const int filled = static_cast<int>(share * width);
  const double left = seconds / share - seconds;
  char text[160];
  std::snprintf(text, sizeof text, "[%s%s] %3.0f %%  step %lld of %lld  %s left",
                std::string(filled, '#').c_str(), std::string(width - filled, '.').c_str(),
                100.0 * share, static_cast<long long>(done), static_cast<long long>(total),
                format_duration(left).c_str());
  write_output("\r\033[K" + prefix_ + text);
  bar_shown_ = true;
}

}  // namespace lexikos
