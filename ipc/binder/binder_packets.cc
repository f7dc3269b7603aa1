#include "ipc/binder/binder_packets.h"

#include "ipc/gate/packet_fields.h"

namespace vfiogate::binder {
namespace {

void write(PacketWriter& to, const Bind& request) {
  to.number(request.number);
  to.addresses(request.members);
}

void write(PacketWriter& to, const GiveBack& request) {
  to.number(request.number);
  to.addresses(request.members);
}

void write(PacketWriter& /*to*/, const Seen& /*request*/) {}

void write(PacketWriter& to, const Probe& request) {
  to.number(request.number);
  to.number(request.group.number());
}

void write(PacketWriter& to, const ReadSerial& request) {
  to.number(request.number);
  to.address(request.device);
}

void write(PacketWriter& to, const Answer& answer) {
  to.number(answer.number);
  to.number(answer.outcome);
  to.text(std::string_view(answer.why).substr(0, kLongestWords));
}

void writeFlag(PacketWriter& to, bool value) {
  to.number(static_cast<std::uint8_t>(value));
}

void writeGroup(PacketWriter& to, const GroupState& group) {
  to.number(group.id.number());
  to.addresses(group.members);
  for (const bool flag : {group.binding.bindable, group.binding.busy,
                          group.binding.boundForAllocation, group.binding.stuck}) {
    writeFlag(to, flag);
  }
  to.text(std::string_view(group.binding.bar).substr(0, kLongestWords));
}

void write(PacketWriter& to, const Changed& changed) {
  writeFlag(to, changed.mayBind);
  to.number(changed.sysfsWriting);
  writeFlag(to, changed.more);
  to.number(static_cast<std::uint16_t>(changed.groups.size()));
  for (const GroupState& group : changed.groups) writeGroup(to, group);
}

void write(PacketWriter& to, const Probed& probed) {
  to.number(probed.number);
  to.number(probed.found);
  to.number(probed.error);
}

void write(PacketWriter& to, const SerialTold& told) {
  to.number(told.number);
  to.number(told.found);
  to.number(told.error);
  to.text(std::string_view(told.serial).substr(0, kLongestSerial));
}

GroupState readGroup(PacketReader& from) {
  GroupState group{.id = IommuGroupId(from.number<std::uint32_t>()),
                   .members = from.addresses(kMostMembers),
                   .binding = {}};
  group.binding.bindable = from.flag();
  group.binding.busy = from.flag();
  group.binding.boundForAllocation = from.flag();
  group.binding.stuck = from.flag();
  group.binding.bar = from.text(kLongestWords);
  return group;
}

Answer readAnswer(PacketReader& from) {
  return {.number = from.number<std::uint32_t>(),
          .outcome = from.choice(Answer::Outcome::kDenied),
          .why = from.text(kLongestWords)};
}

Changed readChanged(PacketReader& from) {
  Changed changed{.mayBind = from.flag(),
                  .sysfsWriting = from.choice(SysfsWriting::kDenied),
                  .more = from.flag(),
                  .groups = {}};
  const std::size_t groups = from.count(kMostMembers);
  for (std::size_t i = 0; i < groups && from.fault().empty(); ++i) {
    changed.groups.push_back(readGroup(from));
  }
  return changed;
}

Probe readProbe(PacketReader& from) {
  const Probe request{.number = from.number<std::uint32_t>(),
                      .group = IommuGroupId(from.number<std::uint32_t>())};
  if (request.group.number() >= kMostGroups) from.refuse("a group number that no node has");
  return request;
}

Probed readProbed(PacketReader& from) {
  const Probed probed{.number = from.number<std::uint32_t>(),
                      .found = from.choice(Probed::Found::kDenied),
                      .error = from.number<std::uint16_t>()};
  const bool failed = probed.found == Probed::Found::kCannot;
  if (failed != (probed.error != 0) || probed.error >= kMostErrors) {
    from.refuse("an error where there can be none");
  }
  return probed;
}

SerialTold readSerialTold(PacketReader& from) {
  SerialTold told{.number = from.number<std::uint32_t>(),
                  .found = from.choice(SerialTold::Found::kDenied),
                  .error = from.number<std::uint16_t>(),
                  .serial = from.text(kLongestSerial)};
  const bool failed = told.found == SerialTold::Found::kCannot;
  if (failed != (told.error != 0) || told.error >= kMostErrors) {
    from.refuse("an error where there can be none");
  }
  const bool known = told.found == SerialTold::Found::kSerial;
  if (known ? !isSerialNumber(told.serial) : !told.serial.empty()) {
    from.refuse("a serial number that is none");
  }
  return told;
}

template <typename Messages>
std::string encodeAny(const Messages& message) {
  PacketWriter to;
  to.number(static_cast<std::uint8_t>(message.index() + 1));
  std::visit([&to](const auto& one) { write(to, one); }, message);
  return to.take();
}

Request readRequest(PacketReader& from) {
  switch (from.number<std::uint8_t>()) {
    case 1:
      return Bind{.number = from.number<std::uint32_t>(), .members = from.addresses(kMostMembers)};
    case 2:
      return GiveBack{.number = from.number<std::uint32_t>(),
                      .members = from.addresses(kMostMembers)};
    case 3:
      return Seen{};
    case 4:
      return readProbe(from);
    case 5:
      return ReadSerial{.number = from.number<std::uint32_t>(), .device = from.address()};
    default:
      from.refuse("an unknown request");
      return Seen{};
  }
}

FromBinder readMessage(PacketReader& from) {
  switch (from.number<std::uint8_t>()) {
    case 1:
      return readAnswer(from);
    case 2:
      return readChanged(from);
    case 3:
      return readProbed(from);
    case 4:
      return readSerialTold(from);
    default:
      from.refuse("an unknown message");
      return Answer{};
  }
}

}  // namespace

std::string encode(const Request& request) {
  return encodeAny(request);
}

std::string encode(const FromBinder& message) {
  return encodeAny(message);
}

Result<Request, std::string> decodeRequest(std::string_view packet) {
  PacketReader from(packet);
  Request request = readRequest(from);
  if (const std::string& fault = from.end(); !fault.empty()) return Failure{fault};
  return request;
}

Result<FromBinder, std::string> decodeFromBinder(std::string_view packet) {
  PacketReader from(packet);
  FromBinder message = readMessage(from);
  if (const std::string& fault = from.end(); !fault.empty()) return Failure{fault};
  return message;
}

std::size_t sizeOf(const GroupState& group) {
  PacketWriter to;
  writeGroup(to, group);
  return to.size();
}

}  // namespace vfiogate::binder
