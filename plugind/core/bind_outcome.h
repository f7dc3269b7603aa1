#pragma once
// How a change of a group's drivers ended that privd was asked for.

#include <cstdint>
#include <string>
#include <string_view>

namespace vfiogate {

struct BindOutcome {
  enum class Answer : std::uint8_t {
    kDone,
    kRefused,   ///< by privd's policy or a guard; nothing was written
    kFailed,    ///< the kernel would not, or privd did not say why
    kStuck,     ///< a write has not come back
    kVanished,  ///< no such group any more, or it lost members
    kDenied,    ///< privd gives no right to bind
    kPrivdAway,
  };
  Answer answer = Answer::kDone;
  std::string why;  ///< for people, privd's words; empty: it had none

  bool done() const { return answer == Answer::kDone; }
  friend bool operator==(const BindOutcome&, const BindOutcome&) = default;
};

/// "done", "refused", "failed", "stuck", "vanished", "denied", "privd-away".
constexpr std::string_view nameOf(BindOutcome::Answer answer) {
  switch (answer) {
    case BindOutcome::Answer::kDone:
      return "done";
    case BindOutcome::Answer::kRefused:
      return "refused";
    case BindOutcome::Answer::kFailed:
      return "failed";
    case BindOutcome::Answer::kStuck:
      return "stuck";
    case BindOutcome::Answer::kVanished:
      return "vanished";
    case BindOutcome::Answer::kDenied:
      return "denied";
    case BindOutcome::Answer::kPrivdAway:
      return "privd-away";
  }
  return "unknown";
}

}  // namespace vfiogate
