#include "ipc/gate/gate_requests.h"

#include "ipc/gate/packet_fields.h"
#include "ipc/types/static_spec.h"

#include <utility>

namespace vfiogate::gate {
namespace {

void write(PacketWriter& to, const Enter& request) {
  to.number(request.protocol);
  to.number(request.lease);
}
void write(PacketWriter& /*to*/, const Adopted& /*request*/) {}
void write(PacketWriter& /*to*/, const Seen& /*request*/) {}

void write(PacketWriter& to, const Listen& request) {
  to.number(request.kind);
  to.text(request.name);
}

void write(PacketWriter& to, const Dial& request) {
  to.number(request.socket);
}

void write(PacketWriter& to, const Open& request) {
  to.number(request.file);
  to.text(request.uid);
}

void write(PacketWriter& to, const Allocate& request) {
  to.addresses(request.members);
  to.text(request.note);
}

void write(PacketWriter& to, const Release& request) {
  to.addresses(request.members);
}

void writeNodes(PacketWriter& to, const SpecNodes& nodes) {
  to.number(static_cast<std::uint16_t>(nodes.size()));
  for (const SpecNode& node : nodes) {
    to.number(node.kind);
    to.number(node.number);
  }
}

void writeSpec(PacketWriter& to, const StaticSpecText& text) {
  to.text(text.resource);
  to.number(static_cast<std::uint16_t>(text.nodeSets.size()));
  for (const SpecNodes& nodes : text.nodeSets) writeNodes(to, nodes);
  to.number(static_cast<std::uint16_t>(text.devices.size()));
  for (const StaticSpecText::Device& device : text.devices) {
    to.address(device.address);
    to.number(device.nodes);
  }
}

void writeSpec(PacketWriter& to, const ClaimSpecText& text) {
  const ClaimSpec& spec = text.spec;
  for (const std::string* field : {&spec.driver, &spec.uid, &spec.claimNamespace, &spec.name,
                                   &spec.podClaimName, &spec.pool}) {
    to.text(*field);
  }
  to.number(static_cast<std::uint8_t>(spec.metadata));
  to.number(static_cast<std::uint16_t>(spec.devices.size()));
  for (std::size_t i = 0; i < spec.devices.size(); ++i) {
    const ClaimDevice& device = spec.devices[i];
    to.address(device.address);
    to.text(device.resource);
    to.number(device.backend);
    to.addresses(std::vector<UnitId>(device.hands.begin(), device.hands.end()));
    to.text(device.request);
    to.number(static_cast<std::uint8_t>(device.root.has_value()));
    if (device.root) to.address(*device.root);
    to.number(static_cast<std::uint8_t>(device.numaNode.has_value()));
    if (device.numaNode) to.number(*device.numaNode);
    writeNodes(to, text.nodes.at(i));
  }
}

void write(PacketWriter& to, const Put& request) {
  to.number(static_cast<std::uint8_t>(request.spec.index()));
  std::visit([&to](const auto& text) { writeSpec(to, text); }, request.spec);
}

void write(PacketWriter& to, const Remove& request) {
  to.number(request.what);
  to.text(request.uid);
}

void write(PacketWriter& to, const List& request) {
  to.number(request.what);
  to.text(request.after);
}

SpecNodes readNodes(PacketReader& from) {
  SpecNodes nodes(from.count(kMostSpecNodes));
  for (SpecNode& node : nodes) {
    node.kind = from.choice(SpecNode::Kind::kEgm);
    node.number = from.number<std::uint32_t>();
  }
  if (nodes.empty()) from.refuse("a device without nodes");
  return nodes;
}

StaticSpecText readStatic(PacketReader& from) {
  StaticSpecText text{.resource = from.text(kLongestName), .nodeSets = {}, .devices = {}};
  text.nodeSets.resize(from.count(kMostSpecDevices));
  for (SpecNodes& nodes : text.nodeSets) nodes = readNodes(from);
  const std::size_t devices = from.count(kMostSpecDevices);
  for (std::size_t i = 0; i < devices && from.fault().empty(); ++i) {
    const UnitId address = from.unit();
    const auto nodes = from.number<std::uint16_t>();
    if (nodes >= text.nodeSets.size()) from.refuse("nodes that are not told");
    const bool ordered = text.devices.empty() || text.devices.back().address < address;
    if (!ordered) from.refuse("addresses out of order");
    text.devices.push_back({address, nodes});
  }
  if (devices == 0) from.refuse("a spec without devices");
  return text;
}

ClaimSpecText readClaim(PacketReader& from) {
  ClaimSpecText text;
  ClaimSpec& spec = text.spec;
  for (std::string* field : {&spec.driver, &spec.uid, &spec.claimNamespace, &spec.name,
                             &spec.podClaimName, &spec.pool}) {
    *field = from.text(kLongestName);
  }
  spec.metadata = from.flag();
  const std::size_t devices = from.count(kMostClaimDevices);
  for (std::size_t i = 0; i < devices && from.fault().empty(); ++i) {
    ClaimDevice device{.address = from.unit(),
                       .resource = from.text(kLongestName),
                       .backend = from.choice(Backend::kAutoIommufd),
                       .hands = {},
                       .request = ""};
    const auto hands = from.units(kMostClaimHands);
    device.hands.insert(hands.begin(), hands.end());
    device.request = from.text(kLongestName);
    if (from.flag()) device.root = from.address();
    if (from.flag()) device.numaNode = from.number<std::uint32_t>();
    spec.devices.push_back(std::move(device));
    text.nodes.push_back(readNodes(from));
  }
  return text;
}

/// The fields of one are read in the order in which they stand.
Request readRequest(PacketReader& from) {
  switch (from.number<std::uint8_t>()) {
    case 1:
      return Enter{.protocol = from.number<std::uint16_t>(), .lease = from.number<std::uint64_t>()};
    case 2:
      return Adopted{};
    case 3:
      return Seen{};
    case 4:
      return Listen{.kind = from.choice(Listen::Kind::kDraRegistration),
                    .name = from.text(kLongestName)};
    case 5:
      return Dial{.socket = from.choice(Dial::Socket::kPodResources)};
    case 6:
      return Open{.file = from.choice(Open::File::kClaimSpec), .uid = from.text(kLongestUid)};
    case 7:
      return Allocate{.members = from.units(kMostMembers), .note = from.text(kLongestNote)};
    case 8:
      return Release{.members = from.units(kMostMembers)};
    case 9:
      return from.flag() ? Put{.spec = readClaim(from)} : Put{.spec = readStatic(from)};
    case 10:
      return Remove{.what = from.choice(Remove::What::kClaim), .uid = from.text(kLongestUid)};
    case 11:
      return List{.what = from.choice(List::What::kExclusions), .after = from.text(kLongestUid)};
    default:
      from.refuse("an unknown request");
      return Seen{};
  }
}
static_assert(kRequests == 11);

}  // namespace

std::string encode(const Request& request) {
  PacketWriter to;
  to.number(static_cast<std::uint8_t>(request.index() + 1));
  std::visit([&to](const auto& one) { write(to, one); }, request);
  return to.take();
}

Result<Request, std::string> decodeRequest(std::string_view packet) {
  PacketReader from(packet);
  Request request = readRequest(from);
  if (const std::string& fault = from.end(); !fault.empty()) return Failure{fault};
  return request;
}

}  // namespace vfiogate::gate
