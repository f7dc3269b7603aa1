#pragma once
// What a test asks the guards, and their answer in short.

#include <set>
#include <string>
#include <vector>

#include "privd/bind/plan/guards.h"
#include "tests/unit/privd/bind/topologies.h"

namespace vfiogate {

inline std::set<Bdf> endpointsOf(const Topology& topology, unsigned group) {
  std::set<Bdf> all;
  for (const Bdf& member : topology.group(group).members) {
    if (isEndpoint(topology.snapshot.devices.at(member))) all.insert(member);
  }
  return all;
}

struct GuardQuestion {
  ChangeKind kind = ChangeKind::kBind;
  ChangeBy by = ChangeBy::kOperator;
  GuardSettings settings{};
  std::vector<GuardOverride> overrides{};
  Allocated allocated = Allocated::kNo;
  bool excluded = false;
};

/// For a change of all endpoints of the group.
inline std::vector<Objection> ask(const Topology& topology, unsigned group,
                                  const GuardQuestion& question = {}) {
  const std::set<Bdf> changed = endpointsOf(topology, group);
  return objectionsTo({.snapshot = topology.snapshot,
                       .group = topology.group(group),
                       .changed = changed,
                       .named = {*changed.begin()},
                       .kind = question.kind,
                       .by = question.by,
                       .facts = topology.facts,
                       .allocated = question.allocated,
                       .excluded = question.excluded},
                      question.settings, question.overrides);
}

/// `<address> <guard>[?][ lifted]`, `?` where it is not known.
inline std::string shown(const std::vector<Objection>& objections) {
  std::string text;
  for (const Objection& one : objections) {
    text += (text.empty() ? "" : "; ") + one.address.str().substr(5) + " " +
            std::string(nameOf(one.guard)) + (one.verdict == Verdict::kUnknown ? "?" : "") +
            (one.overridden ? " lifted" : "");
  }
  return text;
}

}  // namespace vfiogate
