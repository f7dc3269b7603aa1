#include "plugind/privd/claim_spec_codec.h"

#include "ipc/codec/bounded_lists.h"
#include "plugind/privd/spec_codec.h"

#include <cstdint>
#include <cstring>

namespace vfiogate {
namespace {

constexpr const char* kDenied =
    "privd gives no right to CDI specs: add cdi to its --plugind-rights";
constexpr const char* kUnknown = "privd gave an answer about a claim's spec that is unknown here";

SpecTrouble failed(const char* what, std::uint16_t error) {
  return {std::string(what) + ": " + strerror(error), true};
}

SpecTrouble refused(capnp::Text::Reader what) {
  return {"privd does not write it: " + std::string(what.begin(), what.size())};
}

std::string addressText(schema::Address::Reader address) {
  const auto known =
      Bdf::make(address.getSegment(), address.getBus(), address.getDevice(), address.getFunction());
  return known ? known->str() : "a device";
}

std::vector<std::string> textsOf(capnp::List<capnp::Text>::Reader list) {
  std::vector<std::string> texts;
  for (const auto text : list) texts.emplace_back(text.begin(), text.size());
  return texts;
}

}  // namespace

void encode(const ClaimSpec& spec, schema::ClaimSpec::Builder to) {
  to.setDriver(spec.driver);
  to.setUid(spec.uid);
  to.setClaimNamespace(spec.claimNamespace);
  to.setName(spec.name);
  to.setMetadata(spec.metadata);
  to.setPodClaimName(spec.podClaimName);
  to.setPool(spec.pool);
  auto devices = to.initDevices(static_cast<capnp::uint>(spec.devices.size()));
  for (capnp::uint i = 0; i < devices.size(); ++i) {
    const ClaimDevice& device = spec.devices[i];
    encodeAddress(device.address, devices[i].initAddress());
    devices[i].setResource(device.resource);
    devices[i].setHandles(handlesOf(device.backend));
    devices[i].setRequest(device.request);
    auto hands = devices[i].initHands(static_cast<capnp::uint>(device.hands.size()));
    capnp::uint next = 0;
    for (const Bdf& hand : device.hands) encodeAddress(hand, hands[next++]);
  }
}

Result<std::vector<std::string>, SpecTrouble> decode(schema::ClaimSpecAnswer::Reader answer,
                                                     std::size_t devices) {
  switch (answer.which()) {
    case schema::ClaimSpecAnswer::IN_PLACE:
      if (answer.getInPlace().size() != devices) return Failure{SpecTrouble{kUnknown}};
      return textsOf(answer.getInPlace());
    case schema::ClaimSpecAnswer::BAD:
      return Failure{refused(answer.getBad())};
    case schema::ClaimSpecAnswer::UNREACHABLE:
      return Failure{
          SpecTrouble{addressText(answer.getUnreachable()) + " has no device node now", true}};
    case schema::ClaimSpecAnswer::FAILED:
      return Failure{failed("privd could not write the claim's spec", answer.getFailed())};
    case schema::ClaimSpecAnswer::DENIED:
      return Failure{SpecTrouble{kDenied}};
  }
  return Failure{SpecTrouble{kUnknown}};
}

Result<Done, SpecTrouble> decode(schema::UnlinkAnswer::Reader answer) {
  switch (answer.which()) {
    case schema::UnlinkAnswer::GONE:
      return Done{};
    case schema::UnlinkAnswer::BAD:
      return Failure{refused(answer.getBad())};
    case schema::UnlinkAnswer::FAILED:
      return Failure{failed("privd could not remove the claim's spec", answer.getFailed())};
    case schema::UnlinkAnswer::DENIED:
      return Failure{SpecTrouble{kDenied}};
  }
  return Failure{SpecTrouble{kUnknown}};
}

Result<std::vector<std::string>, SpecTrouble> decode(schema::ClaimSpecsAnswer::Reader answer) {
  switch (answer.which()) {
    case schema::ClaimSpecsAnswer::TEXTS:
      if (answer.getTexts().size() > kMostClaimSpecs) return Failure{SpecTrouble{kUnknown}};
      return textsOf(answer.getTexts());
    case schema::ClaimSpecsAnswer::FAILED:
      return Failure{failed("privd could not read the claims' specs", answer.getFailed())};
    case schema::ClaimSpecsAnswer::DENIED:
      return Failure{SpecTrouble{kDenied}};
  }
  return Failure{SpecTrouble{kUnknown}};
}

}  // namespace vfiogate
