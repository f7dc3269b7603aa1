#pragma once
// One row of a process's system call table: which call, with which arguments, and why.

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string_view>
#include <tuple>

namespace vfiogate {

/// A test on one argument (0 to 5): passes if (argument & mask) == value.
struct ArgCheck {
  unsigned index = 0;
  std::uint64_t mask = 0;
  std::uint64_t value = 0;
  std::string_view text;  ///< for people: "cmd is F_GETFL"
  bool ownPid = false;    ///< `value` is the loading process's own pid, known when it loads
};

/// The argument, an int to the kernel, is `value`. The upper half is not looked at: callers may
/// leave anything there, and the kernel drops it.
consteval ArgCheck intIs(unsigned index, std::int64_t value, std::string_view text) {
  return {index, 0xffffffffU, static_cast<std::uint64_t>(value) & 0xffffffffU, text};
}

/// The argument, as wide as a pointer, is `value`.
consteval ArgCheck wordIs(unsigned index, std::uint64_t value, std::string_view text) {
  return {index, ~std::uint64_t{0}, value, text};
}

/// None of `bits` is set in the argument.
consteval ArgCheck without(unsigned index, std::uint64_t bits, std::string_view text) {
  return {index, bits, 0, text};
}

/// The argument is the pid of the process that loads the table.
consteval ArgCheck isOwnPid(unsigned index, std::string_view text) {
  return {index, 0xffffffffU, 0, text, true};
}

/// All tests that one row makes; all must pass. Alternatives are rows of their own.
struct ArgChecks {
  static constexpr std::size_t kMost = 3;

  consteval ArgChecks() = default;
  // Implicit: a row with one test reads as that test.
  // NOLINTNEXTLINE(google-explicit-constructor)
  consteval ArgChecks(ArgCheck only) : checks{only}, count(1) {}
  consteval ArgChecks(ArgCheck first, ArgCheck second) : checks{first, second}, count(2) {}
  consteval ArgChecks(ArgCheck first, ArgCheck second, ArgCheck third)
      : checks{first, second, third}, count(3) {}

  constexpr std::span<const ArgCheck> all() const { return {checks.data(), count}; }

  std::array<ArgCheck, kMost> checks{};
  std::size_t count = 0;
};
inline constexpr ArgChecks kAnyArgs{};

/// Answers the call with this errno instead of carrying it out.
struct AnswerErrno {
  int error;
};

/// Marks a row that a short test cannot need, with the condition under which it is needed.
struct Defensive {
  std::string_view condition;
};

/// One row. A row without a reason, or defensive without a condition, does not compile.
class Rule {
public:
  consteval Rule(int syscall, ArgChecks args, std::string_view reason)
      : syscall_(syscall), args_(args), reason_(reason) {
    demand(!reason.empty());
  }
  consteval Rule(int syscall, ArgChecks args, std::string_view reason, Defensive defensive)
      : Rule(syscall, args, reason) {
    demand(!defensive.condition.empty());
    condition_ = defensive.condition;
  }
  consteval Rule(int syscall, AnswerErrno answer, std::string_view reason)
      : Rule(syscall, kAnyArgs, reason) {
    demand(answer.error > 0);
    error_ = answer.error;
  }

  /// Number of the call, as SCMP_SYS gives it.
  constexpr int syscall() const { return syscall_; }
  constexpr std::span<const ArgCheck> args() const { return args_.all(); }
  constexpr std::string_view reason() const { return reason_; }
  /// 0: the call is carried out; else the errno that it gets.
  constexpr int error() const { return error_; }
  constexpr bool isDefensive() const { return !condition_.empty(); }
  /// When a defensive row is needed; empty for the others.
  constexpr std::string_view condition() const { return condition_; }

private:
  static consteval void demand(bool met) {
    if (!met) throw std::logic_error("a row needs a reason, a defensive one its condition");
  }

  int syscall_;
  ArgChecks args_;
  std::string_view reason_;
  std::string_view condition_;
  int error_ = 0;
};

/// The rows of one table after the other's.
template <std::size_t... Rows>
constexpr auto joined(const std::array<Rule, Rows>&... tables) {
  return std::apply([](auto... rows) { return std::array{rows...}; }, std::tuple_cat(tables...));
}

/// At most this many rows of a table may be defensive.
inline constexpr std::size_t kMostDefensiveRows = 12;

/// True if no row of the table is made void by another and few enough are defensive: a call has
/// either one row for any arguments, or only rows that test them.
constexpr bool isSound(std::span<const Rule> table) {
  std::size_t defensive = 0;
  for (std::size_t i = 0; i < table.size(); ++i) {
    defensive += table[i].isDefensive() ? 1 : 0;
    for (std::size_t k = i + 1; k < table.size(); ++k) {
      const bool eitherTakesAll = table[i].args().empty() || table[k].args().empty();
      if (table[i].syscall() == table[k].syscall() && eitherTakesAll) return false;
    }
  }
  return defensive <= kMostDefensiveRows;
}

}  // namespace vfiogate
