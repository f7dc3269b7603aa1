#pragma once
// The fields of one packet: integers of the machine's own byte order, texts and lists with their
// lengths. Both ends are processes of one machine and of one release.

#include "ipc/types/unit_id.h"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace vfiogate {

class PacketWriter {
public:
  /// As many bytes as its type has.
  template <typename T>
  void number(T value) {
    static_assert(std::is_integral_v<T> || std::is_enum_v<T>);
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof(value));
  }
  /// At most 65,535 bytes.
  void text(std::string_view text);
  void address(const Bdf& address);
  void address(const UnitId& id);
  template <typename Id>
  void addresses(const std::vector<Id>& ids) {
    number(static_cast<std::uint16_t>(ids.size()));
    for (const Id& one : ids) address(one);
  }

  /// Bytes so far.
  std::size_t size() const { return bytes_.size(); }
  /// The packet; the writer is of no use after that.
  std::string take() { return std::move(bytes_); }

private:
  std::string bytes_;
};

/// Reads what a stranger wrote. The first field that is not there, or is not what it must be, makes
/// all that follow empty, and fault() say why.
class PacketReader {
public:
  /// Borrows `bytes`.
  explicit PacketReader(std::string_view bytes) : rest_(bytes) {}

  /// As many bytes as its type has, of any value.
  template <typename T>
  T number() {
    static_assert(std::is_integral_v<T>);
    T value{};
    const std::string_view bytes = take(sizeof(value));
    if (bytes.size() == sizeof(value)) memcpy(&value, bytes.data(), sizeof(value));
    return value;
  }
  /// One of an enumeration's values, 0 to `last`.
  template <typename E>
  E choice(E last) {
    const auto value = number<std::underlying_type_t<E>>();
    if (value > static_cast<std::underlying_type_t<E>>(last)) refuse("an unknown choice");
    return fault_.empty() ? static_cast<E>(value) : E{};
  }
  /// 0 or 1.
  bool flag();
  /// EFBIG in words where it is longer.
  std::string text(std::size_t longest);
  Bdf address();
  UnitId unit();
  /// Ascending, at least one, at most `most`.
  std::vector<Bdf> addresses(std::size_t most) { return ascending(most, &PacketReader::address); }
  std::vector<UnitId> units(std::size_t most) { return ascending(most, &PacketReader::unit); }
  /// Of a list: at most `most`.
  std::size_t count(std::size_t most);

  /// Keeps the first reason.
  void refuse(const char* why);
  /// Nothing may follow the last field. Empty: all was as it must be.
  const std::string& end();
  const std::string& fault() const { return fault_; }

private:
  std::string_view take(std::size_t size);
  template <typename Id>
  std::vector<Id> ascending(std::size_t most, Id (PacketReader::*read)()) {
    std::vector<Id> ids;
    const std::size_t size = count(most);
    for (std::size_t i = 0; i < size && fault_.empty(); ++i) {
      const Id next = (this->*read)();
      if (!ids.empty() && !(ids.back() < next)) refuse("addresses out of order");
      ids.push_back(next);
    }
    if (size == 0) refuse("no address");
    return ids;
  }

  std::string_view rest_;
  std::string fault_;
};

}  // namespace vfiogate
