#include "privd/spec_server.h"

namespace vfiogate {
namespace {

void encode(const SpecOutcome& outcome, schema::SpecOutcome::Builder to) {
  switch (outcome.kind) {
    case SpecOutcome::Kind::kBadName:
      return to.setBadName();
    case SpecOutcome::Kind::kNotKind:
      return to.setNotKind();
    case SpecOutcome::Kind::kForeignPrefix:
      return to.setForeignPrefix();
    case SpecOutcome::Kind::kFailed:
      return to.setFailed(static_cast<std::uint16_t>(outcome.error));
    case SpecOutcome::Kind::kInPlace:
      break;
  }
  auto devices = to.initInPlace(static_cast<capnp::uint>(outcome.devices.size()));
  for (capnp::uint i = 0; i < devices.size(); ++i) {
    const auto& nodes = outcome.devices[i].nodes;
    auto told = devices.init(i, static_cast<capnp::uint>(nodes.size()));
    for (capnp::uint k = 0; k < told.size(); ++k) told.set(k, nodes[k].c_str());
  }
}

}  // namespace

void encode(const std::vector<SpecOutcome>& outcomes, schema::SpecsAnswer::Builder to) {
  auto told = to.initOutcomes(static_cast<capnp::uint>(outcomes.size()));
  for (capnp::uint i = 0; i < told.size(); ++i) encode(outcomes[i], told[i]);
}

}  // namespace vfiogate
