#include "plugind/privd/spec_codec.h"

#include "ipc/codec/bounded_lists.h"

#include <cstdint>
#include <cstring>
#include <optional>
#include <utility>

namespace vfiogate {
namespace {

/// Absent: it has not an entry for each device.
std::optional<SpecState> inPlace(capnp::List<capnp::List<capnp::Text>>::Reader told,
                                 const StaticSpec& spec) {
  if (told.size() != spec.devices.size()) return std::nullopt;
  SpecState state;
  for (capnp::uint i = 0; i < told.size(); ++i) {
    std::vector<std::string> nodes;
    for (const auto node : told[i]) nodes.emplace_back(node.begin(), node.size());
    if (!nodes.empty()) state.nodes.emplace(spec.devices[i], std::move(nodes));
  }
  return state;
}

std::optional<SpecState> stateOf(schema::SpecOutcome::Reader outcome, const StaticSpec& spec) {
  const auto trouble = [](std::string text) { return SpecState{std::move(text), {}}; };
  switch (outcome.which()) {
    case schema::SpecOutcome::IN_PLACE:
      return inPlace(outcome.getInPlace(), spec);
    case schema::SpecOutcome::BAD_NAME:
      return trouble("privd does not take it for a resource name");
    case schema::SpecOutcome::NOT_KIND:
      return trouble(
          "its name is no CDI kind, which begins with a letter and has no dot: give it a `name`, "
          "or naming: pci_vendor_device");
    case schema::SpecOutcome::FOREIGN_PREFIX:
      return trouble("its prefix is not among privd's --resource-prefix: add it there");
    case schema::SpecOutcome::FAILED:
      return trouble(std::string("privd could not write its CDI spec: ") +
                     strerror(outcome.getFailed()));
  }
  return std::nullopt;
}

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

schema::Handles handlesOf(Backend backend) {
  switch (backend) {
    case Backend::kLegacy:
      return schema::Handles::LEGACY;
    case Backend::kIommufd:
      return schema::Handles::IOMMUFD;
    case Backend::kBoth:
      return schema::Handles::BOTH;
    case Backend::kAuto:
      break;
  }
  return schema::Handles::AUTO;
}

void encode(const std::vector<StaticSpec>& specs, capnp::List<schema::StaticSpec>::Builder to) {
  for (capnp::uint i = 0; i < to.size(); ++i) {
    const StaticSpec& spec = specs[i];
    to[i].setResource(spec.resource);
    to[i].setHandles(handlesOf(spec.backend));
    to[i].setWholeGroups(spec.wholeGroups);
    auto devices = to[i].initDevices(static_cast<capnp::uint>(spec.devices.size()));
    for (capnp::uint k = 0; k < devices.size(); ++k) encodeAddress(spec.devices[k], devices[k]);
  }
}

Result<SpecAnswer, std::string> decode(schema::SpecsAnswer::Reader answer,
                                       const std::vector<StaticSpec>& specs) {
  if (answer.isDenied()) {
    return answerForAll(specs,
                        "privd gives no right to CDI specs: add cdi to its --plugind-rights");
  }
  if (!answer.isOutcomes()) return Failure{std::string("it is unknown here")};
  const auto outcomes = answer.getOutcomes();
  if (outcomes.size() != specs.size()) return Failure{std::string("it is about other specs")};
  SpecAnswer result;
  for (capnp::uint i = 0; i < outcomes.size(); ++i) {
    auto state = stateOf(outcomes[i], specs[i]);
    const auto name = ResourceName::parse(specs[i].resource);
    if (!state || !name) return Failure{std::string("an outcome is about other devices")};
    result.passing = result.passing || outcomes[i].isFailed();
    result.specs.emplace(*name, *std::move(state));
  }
  return result;
}

SpecAnswer answerForAll(const std::vector<StaticSpec>& specs, const std::string& trouble) {
  SpecAnswer answer;
  for (const StaticSpec& spec : specs) {
    if (const auto name = ResourceName::parse(spec.resource)) {
      answer.specs.emplace(*name, SpecState{trouble, {}});
    }
  }
  return answer;
}

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
