#pragma once
// One row of a process's system call table: which call, or which of several that do the same, with
// which arguments, and why.

#include <algorithm>
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

/// A call that some versions of the libraries make and others don't; or one that all do.
struct SystemCall {
  int number = -1;               ///< as SCMP_SYS gives it: negative where the architecture has none
  std::string_view madeBy = {};  ///< by which libraries, of which version; empty: by all
};

/// The calls of a row: one, or those among which libraries and kernel choose. One that the
/// architecture lacks does not compile.
struct SystemCalls {
  static constexpr std::size_t kMost = 3;

  // Implicit: a row with one call reads as that call.
  // NOLINTNEXTLINE(google-explicit-constructor)
  consteval SystemCalls(int only) : SystemCalls(SystemCall{only}) {}
  // NOLINTNEXTLINE(google-explicit-constructor)
  consteval SystemCalls(SystemCall only) : calls{there(only)}, count(1) {}
  consteval SystemCalls(SystemCall first, SystemCall second)
      : calls{there(first), there(second)}, count(2) {}
  consteval SystemCalls(SystemCall first, SystemCall second, SystemCall third)
      : calls{there(first), there(second), there(third)}, count(3) {}

  /// In the order in which they were given; never none.
  constexpr std::span<const SystemCall> all() const { return {calls.data(), count}; }

  /// `call`; one that this architecture does not have does not compile.
  static consteval SystemCall there(SystemCall call) {
    if (call.number < 0) throw std::logic_error("no call of this architecture");
    return call;
  }

  std::array<SystemCall, kMost> calls{};
  std::size_t count = 0;
};

/// One row: what a process needs. A row without a reason, defensive without a condition, or with
/// alternatives of which one names nobody who makes it or an argument is tested, does not compile:
/// the arguments of alternatives lie in different places.
class Rule {
public:
  consteval Rule(SystemCalls calls, ArgChecks args, std::string_view reason)
      : calls_(calls), args_(args), reason_(reason) {
    demand(!reason.empty());
    if (calls.count == 1) return;
    demand(args.count == 0);
    for (const SystemCall& call : calls.all()) demand(!call.madeBy.empty());
  }
  consteval Rule(SystemCalls calls, ArgChecks args, std::string_view reason, Defensive defensive)
      : Rule(calls, args, reason) {
    demand(!defensive.condition.empty());
    condition_ = defensive.condition;
  }
  consteval Rule(SystemCalls calls, AnswerErrno answer, std::string_view reason)
      : Rule(calls, kAnyArgs, reason) {
    demand(answer.error > 0);
    error_ = answer.error;
  }

  /// At least one; each of them gets what the row says.
  constexpr std::span<const SystemCall> calls() const { return calls_.all(); }
  /// True if one of its calls has this number.
  constexpr bool isFor(std::int64_t number) const {
    return std::ranges::find(calls(), number, &SystemCall::number) != calls().end();
  }
  /// True if some versions of the libraries never make its call.
  constexpr bool isOfSomeVersions() const { return !calls().back().madeBy.empty(); }
  /// The row with one of its calls alone.
  constexpr Rule only(const SystemCall& call) const {
    Rule row = *this;
    row.calls_.calls = {SystemCall{call.number}};
    row.calls_.count = 1;
    return row;
  }
  constexpr std::span<const ArgCheck> args() const { return args_.all(); }
  constexpr std::string_view reason() const { return reason_; }
  /// 0: the call is carried out; else the errno that it gets.
  constexpr int error() const { return error_; }
  constexpr bool isDefensive() const { return !condition_.empty(); }
  /// When a defensive row is needed; empty for the others.
  constexpr std::string_view condition() const { return condition_; }

private:
  static consteval void demand(bool met) {
    if (!met)
      throw std::logic_error(
          "a row needs a reason, a defensive one its condition, alternatives who makes them");
  }

  SystemCalls calls_;
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
      const bool sameCall = std::ranges::any_of(
          table[i].calls(), [&](const SystemCall& call) { return table[k].isFor(call.number); });
      if (sameCall && eitherTakesAll) return false;
    }
  }
  return defensive <= kMostDefensiveRows;
}

}  // namespace vfiogate
