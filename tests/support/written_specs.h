#pragma once
// Static CDI specs as a privd that sees the same hardware writes them.

#include "plugind/core/resource/static_specs.h"

namespace vfiogate::test {

inline StaticSpecs writtenFor(const SpecPlan& plan) {
  StaticSpecs specs;
  for (const StaticSpec& spec : plan.specs) {
    SpecState& state = specs[*ResourceName::parse(spec.resource)];
    for (const UnitId& device : spec.devices) {
      const auto nodes = plan.nodes.find(device);
      if (nodes != plan.nodes.end()) state.nodes.insert(*nodes);
    }
  }
  return specs;
}

inline StaticSpecs writtenFor(const ResourceCatalog& catalog, const Snapshot& hardware) {
  return writtenFor(planSpecs(catalog, hardware, {}, {}));
}

}  // namespace vfiogate::test
