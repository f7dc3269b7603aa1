#pragma once
// Checks the fields of a message while they are read, and remembers the first that is wrong.

#include "ipc/schema/helper.capnp.h"
#include "ipc/types/unit_id.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace vfiogate {

/// One reading of one message. After a refusal reading goes on with stand-in values, and no list is
/// walked any further; the result is then worthless, which error() says.
class CheckedFields {
public:
  /// The first refusal, such as "devices[3].classCode is 16777216, above 16777215".
  const std::optional<std::string>& error() const { return error_; }

  /// Notes that `field` of the element being read `what`, such as "is 9, not a known role".
  void refuse(std::string_view field, const std::string& what);

  /// A number that is absent when negative and must not be above `max`.
  template <typename T>
  std::optional<T> number(std::string_view field, std::int64_t value, T max) {
    if (value < 0 || !within(field, static_cast<std::uint64_t>(value), max)) return std::nullopt;
    return static_cast<T>(value);
  }
  std::string text(std::string_view field, capnp::Text::Reader value);
  Bdf address(std::string_view field, schema::Address::Reader value);
  Uuid uuid(std::string_view field, capnp::Text::Reader value);

  /// Calls `read` with each element of `list`; none if it has more than `limit`.
  template <typename List, typename Read>
  void each(std::string_view field, List list, std::uint32_t limit, Read read) {
    if (!within(std::string(field) + ".size", list.size(), limit)) return;
    path_.emplace_back(field, 0);
    for (capnp::uint i = 0; i < list.size() && !error_; ++i) {
      path_.back().second = i;
      read(list[i]);
    }
    path_.pop_back();
  }

private:
  bool within(std::string_view field, std::uint64_t value, std::uint64_t max);

  std::vector<std::pair<std::string_view, capnp::uint>> path_;
  std::optional<std::string> error_;
};

}  // namespace vfiogate
