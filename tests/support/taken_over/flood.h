#pragma once
// The same, over and over.

#include <chrono>
#include <string>

namespace vfiogate::test {

/// How long a flood lasts.
constexpr std::chrono::milliseconds kFlood{1500};

/// Calls `ask` again and again, as an honest peer that waits for each answer. What the first one
/// returns, with their number in parentheses; or the first one that returns something else.
template <typename Ask>
std::string flood(Ask ask) {
  std::string first;
  unsigned count = 0;
  const auto end = std::chrono::steady_clock::now() + kFlood;
  while (std::chrono::steady_clock::now() < end) {
    const std::string outcome = ask();
    if (count++ == 0) first = outcome;
    if (outcome != first) return first + ", then " + outcome;
  }
  return first + " (" + std::to_string(count) + ")";
}

}  // namespace vfiogate::test
