#include "plugind/privd/spec_codec.h"

#include "ipc/codec/bounded_lists.h"

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

}  // namespace vfiogate
