#pragma once
// Outcomes that a correct program meets, as values: the C++20 stand-in for std::expected.

#include <cstdlib>
#include <utility>
#include <variant>

namespace vfiogate {

/// What a function returns instead of a value when it met `error`.
template <typename E>
struct Failure {
  E error;
};
template <typename E>
Failure(E) -> Failure<E>;

/// Either a `T` or an `E`. Same names as std::expected, to become an alias of it under C++23.
/// Asking for the half that is not there is a bug and ends the process.
template <typename T, typename E>
class [[nodiscard]] Result {
public:
  using ValueType = T;
  using ErrorType = E;

  // Implicit, like std::expected: `return value;` and `return Failure{error};` read naturally.
  // NOLINTNEXTLINE(google-explicit-constructor)
  Result(T value) : held_(std::in_place_index<0>, std::move(value)) {}
  // NOLINTNEXTLINE(google-explicit-constructor)
  Result(Failure<E> failure) : held_(std::in_place_index<1>, std::move(failure.error)) {}

  bool has_value() const { return held_.index() == 0; }
  explicit operator bool() const { return has_value(); }

  const T& value() const& { return present(std::get_if<0>(&held_)); }
  T&& value() && { return std::move(present(std::get_if<0>(&held_))); }
  const E& error() const { return present(std::get_if<1>(&held_)); }

  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  const T* operator->() const { return &value(); }

  friend bool operator==(const Result&, const Result&) = default;

private:
  template <typename Half>
  static Half& present(Half* half) {
    if (half == nullptr) std::abort();
    return *half;
  }

  std::variant<T, E> held_;
};

/// For functions that only succeed or fail.
struct Done {
  friend bool operator==(const Done&, const Done&) = default;
};

}  // namespace vfiogate
