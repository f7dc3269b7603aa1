#include "ipc/gate/packet_fields.h"

#include <limits>

namespace vfiogate {

void PacketWriter::text(std::string_view text) {
  constexpr std::size_t kLongest = std::numeric_limits<std::uint16_t>::max();
  text = text.substr(0, kLongest);
  number(static_cast<std::uint16_t>(text.size()));
  bytes_.append(text);
}

void PacketWriter::address(const Bdf& address) {
  number(address.segment());
  number(address.bus());
  number(address.device());
  number(address.function());
}

void PacketWriter::address(const UnitId& id) {
  number(static_cast<std::uint8_t>(id.uuid() != nullptr));
  if (id.uuid() != nullptr) return text(id.uuid()->str());
  address(*id.address());
}

std::string_view PacketReader::take(std::size_t size) {
  if (!fault_.empty()) return {};
  if (rest_.size() < size) {
    refuse("ends within a field");
    return {};
  }
  const std::string_view taken = rest_.substr(0, size);
  rest_.remove_prefix(size);
  return taken;
}

bool PacketReader::flag() {
  const auto value = number<std::uint8_t>();
  if (value > 1) refuse("a flag that is neither 0 nor 1");
  return value == 1;
}

std::string PacketReader::text(std::size_t longest) {
  const std::size_t size = number<std::uint16_t>();
  if (size > longest) refuse("a text that is too long");
  return std::string(take(size));
}

Bdf PacketReader::address() {
  const auto segment = number<std::uint32_t>();
  const auto bus = number<std::uint8_t>();
  const auto device = number<std::uint8_t>();
  const auto function = number<std::uint8_t>();
  const auto address = Bdf::make(segment, bus, device, function);
  if (!address) refuse("no PCI address");
  return address && fault_.empty() ? *address : *Bdf::make(0, 0, 0, 0);
}

UnitId PacketReader::unit() {
  if (!flag()) return address();
  const auto uuid = Uuid::parse(text(UnitId::kLongest));
  if (uuid) return *uuid;
  refuse("no UUID");
  return *Bdf::make(0, 0, 0, 0);
}

std::size_t PacketReader::count(std::size_t most) {
  const std::size_t size = number<std::uint16_t>();
  if (size > most) refuse("a list that is too long");
  return fault_.empty() ? size : 0;
}

void PacketReader::refuse(const char* why) {
  if (fault_.empty()) fault_ = why;
}

const std::string& PacketReader::end() {
  if (!rest_.empty()) refuse("more than its fields");
  return fault_;
}

}  // namespace vfiogate
