#include "ipc/gate/gate_answers.h"

#include "ipc/gate/packet_fields.h"

namespace vfiogate::gate {
namespace {

constexpr std::size_t kLongestWords = 1024;

void writeIdentity(PacketWriter& to, const FileIdentity& identity) {
  to.number(identity.inode);
  to.number(identity.changed);
}

void write(PacketWriter& to, const std::optional<FileIdentity>& identity) {
  to.number(static_cast<std::uint8_t>(identity.has_value()));
  if (identity) writeIdentity(to, *identity);
}

void write(PacketWriter& /*to*/, std::monostate /*nothing*/) {}

void write(PacketWriter& to, const Entered& entered) {
  to.number(entered.lease);
  to.number(static_cast<std::uint8_t>(entered.complete));
}

void write(PacketWriter& to, const Endpoint& endpoint) {
  to.text(endpoint.path);
}

void write(PacketWriter& to, const OpenedFile& file) {
  to.number(file.size);
  to.number(file.written);
  writeIdentity(to, file.identity);
  write(to, file.kubelet);
}

void write(PacketWriter& to, const ClaimUids& part) {
  to.number(static_cast<std::uint8_t>(part.more));
  to.number(static_cast<std::uint16_t>(part.uids.size()));
  for (const std::string& uid : part.uids) to.text(uid);
}

void write(PacketWriter& to, const Allocations& part) {
  to.number(static_cast<std::uint8_t>(part.more));
  to.number(static_cast<std::uint16_t>(part.groups.size()));
  for (const Allocation& one : part.groups) {
    to.addresses(one.members);
    to.text(one.note);
  }
}

void write(PacketWriter& to, const Exclusions& part) {
  to.number(static_cast<std::uint8_t>(part.more));
  to.number(static_cast<std::uint16_t>(part.devices.size()));
  for (const UnitId& device : part.devices) to.address(device);
}

void writeMessage(PacketWriter& to, const Answer& answer) {
  to.number(answer.code);
  to.number(answer.detail);
  to.text(answer.words);
  to.number(static_cast<std::uint8_t>(answer.outcome.index()));
  std::visit([&to](const auto& outcome) { write(to, outcome); }, answer.outcome);
}

void writeMessage(PacketWriter& to, const Changed& changed) {
  const WatchedFiles& files = changed.files;
  for (const auto* one :
       {&files.registration, &files.podResources, &files.checkpoint, &files.configuration}) {
    write(to, *one);
  }
  to.number(files.exclusions);
}

FileIdentity readIdentity(PacketReader& from) {
  return {.inode = from.number<std::uint64_t>(), .changed = from.number<std::int64_t>()};
}

std::optional<FileIdentity> readIdentityIf(PacketReader& from) {
  return from.flag() ? std::optional(readIdentity(from)) : std::nullopt;
}

ClaimUids readUids(PacketReader& from) {
  ClaimUids part{.uids = {}, .more = from.flag()};
  part.uids.resize(from.count(kMostClaimSpecs));
  for (std::string& uid : part.uids) uid = from.text(kLongestUid);
  return part;
}

Allocations readAllocations(PacketReader& from) {
  Allocations part{.groups = {}, .more = from.flag()};
  part.groups.resize(from.count(kMostMembers));
  for (Allocation& one : part.groups) {
    one.members = from.units(kMostMembers);
    one.note = from.text(kLongestNote);
  }
  return part;
}

Exclusions readExclusions(PacketReader& from) {
  Exclusions part{.devices = {}, .more = from.flag()};
  const std::size_t devices = from.count(kMostExclusions);
  for (std::size_t i = 0; i < devices && from.fault().empty(); ++i) {
    const UnitId device = from.unit();
    if (!part.devices.empty() && !(part.devices.back() < device)) {
      from.refuse("addresses out of order");
    }
    part.devices.push_back(device);
  }
  return part;
}

Outcome readOutcome(PacketReader& from) {
  switch (from.number<std::uint8_t>()) {
    case 0:
      return std::monostate{};
    case 1:
      return Entered{.lease = from.number<std::uint64_t>(), .complete = from.flag()};
    case 2:
      return Endpoint{.path = from.text(kLongestEndpoint)};
    case 3:
      return OpenedFile{.size = from.number<std::uint32_t>(),
                        .written = from.number<std::int64_t>(),
                        .identity = readIdentity(from),
                        .kubelet = readIdentityIf(from)};
    case 4:
      return readUids(from);
    case 5:
      return readAllocations(from);
    case 6:
      return readExclusions(from);
    default:
      from.refuse("an unknown outcome");
      return std::monostate{};
  }
}

Answer readAnswer(PacketReader& from) {
  return {.code = from.choice(Code::kLeased),
          .detail = from.number<std::uint16_t>(),
          .words = from.text(kLongestWords),
          .outcome = readOutcome(from)};
}

Changed readChanged(PacketReader& from) {
  return {.files = {.registration = readIdentityIf(from),
                    .podResources = readIdentityIf(from),
                    .checkpoint = readIdentityIf(from),
                    .configuration = readIdentityIf(from),
                    .exclusions = from.number<std::uint64_t>()}};
}

}  // namespace

std::string encode(const FromGate& message) {
  PacketWriter to;
  to.number(static_cast<std::uint8_t>(message.index() + 1));
  std::visit([&to](const auto& one) { writeMessage(to, one); }, message);
  return to.take();
}

Result<FromGate, std::string> decodeFromGate(std::string_view packet) {
  PacketReader from(packet);
  FromGate message;
  switch (from.number<std::uint8_t>()) {
    case 1:
      message = readAnswer(from);
      break;
    case 2:
      message = readChanged(from);
      break;
    default:
      from.refuse("an unknown message");
  }
  if (const std::string& fault = from.end(); !fault.empty()) return Failure{fault};
  return message;
}

std::size_t sizeOf(const Allocation& allocation) {
  PacketWriter to;
  to.addresses(allocation.members);
  return to.size() + sizeof(std::uint16_t) + allocation.note.size();
}

}  // namespace vfiogate::gate
