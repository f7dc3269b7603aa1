#include "tests/support/played/claim_specs.h"
#include "tests/support/taken_over/attacks.h"
#include "tests/support/taken_over/gate_speaker.h"
#include "tests/support/taken_over/made_up.h"

#include <array>
#include <vector>

namespace vfiogate::test {
namespace {

constexpr const char* kDevice = "0000:02:00.0";  // alone in its group

SpecNodes nodesOfGroup(std::uint32_t group) {
  return {{SpecNode::Kind::kContainer, 0}, {SpecNode::Kind::kGroup, group}};
}

std::string write(GateSpeaker& gate, const ClaimSpec& spec) {
  const std::vector<SpecNodes> nodes(spec.devices.size(), nodesOfGroup(8));
  return gate.ask(gate::Put{ClaimSpecText{spec, nodes}});
}

/// Each is wrong in one place.
std::vector<ClaimSpec> nonsense() {
  std::vector<ClaimSpec> all;
  const auto add = [&all](auto change) {
    all.push_back(claimSpec({kDevice}));
    change(all.back());
  };
  for (const char* uid : {"../../../etc/cron.d/x", "..", "", "C7E7B22E-239B-4498-B27C-7F1344481E14",
                          "c7e7b22e-239b-4498-b27c-7f1344481e14/../x"}) {
    add([uid](ClaimSpec& spec) { spec.uid = uid; });
  }
  add([](ClaimSpec& spec) { spec.driver = "gpu.nvidia.com"; });
  add([](ClaimSpec& spec) { spec.driver = "../x"; });
  add([](ClaimSpec& spec) { spec.claimNamespace = "a/b"; });
  add([](ClaimSpec& spec) { spec.name = "x\", \"hooks\": [\""; });
  add([](ClaimSpec& spec) { spec.podClaimName = "../x"; });
  add([](ClaimSpec& spec) { spec.pool = "\"}\n{"; });
  add([](ClaimSpec& spec) { spec.devices[0].request = "../../x"; });
  add([](ClaimSpec& spec) { spec.devices[0].resource = "nvidia.com/gpu"; });
  add([](ClaimSpec& spec) { spec.devices[0].resource = "vfiogate.dev/\"x"; });
  add([](ClaimSpec& spec) { spec.devices.clear(); });
  return all;
}

std::string specsOfNonsense(Captive& captive) {
  GateSpeaker gate(captive);
  Tally tally;
  for (const ClaimSpec& spec : nonsense()) tally.add(write(gate, spec));
  return tally.str();
}

std::string unlinksWhatIsNoClaims(Captive& captive) {
  GateSpeaker gate(captive);
  Tally tally;
  for (const char* uid : {"../../../etc/passwd", "..", "", "*", "nvidia"}) {
    tally.add(gate.ask(gate::Remove{.uid = uid}));
    tally.add(gate.ask(gate::Open{gate::Open::File::kClaimSpec, uid}));
  }
  return tally.str();
}

std::string fiveHundredSpecs(Captive& captive) {
  GateSpeaker gate(captive);
  Tally tally;
  for (unsigned i = 0; i < 500; ++i) {
    ClaimSpec spec = claimSpec({kDevice}, claimUid(i));
    spec.metadata = true;
    tally.add(write(gate, spec));
  }
  return tally.str();
}

/// One claim whose request has another name each time.
std::string threeHundredRequests(Captive& captive) {
  GateSpeaker gate(captive);
  Tally tally;
  for (unsigned i = 0; i < 300; ++i) {
    ClaimSpec spec = claimSpec({kDevice});
    spec.metadata = true;
    spec.devices[0].request = "r" + std::to_string(i);
    tally.add(write(gate, spec));
  }
  return tally.str();
}

std::string declare(GateSpeaker& gate, const std::string& resource) {
  return gate.ask(gate::Put{StaticSpecText{.resource = resource,
                                           .nodeSets = {nodesOfGroup(8)},
                                           .devices = {{*Bdf::parse(kDevice), 0}}}});
}

std::string declaresNonsense(Captive& captive) {
  GateSpeaker gate(captive);
  Tally tally;
  for (const char* resource : {"nvidia.com/gpu", "../../etc/x", "vfiogate.dev/a/b", "", "x"}) {
    tally.add(declare(gate, resource));
  }
  return tally.str();
}

std::string fiveHundredResources(Captive& captive) {
  GateSpeaker gate(captive);
  Tally tally;
  for (unsigned i = 0; i < 500; ++i) {
    tally.add(declare(gate, "vfiogate.dev/x" + std::to_string(i)));
  }
  return tally.str();
}

SpecNodes manyNodes(std::uint32_t count) {
  SpecNodes nodes;
  for (std::uint32_t i = 0; i < count; ++i) nodes.push_back({SpecNode::Kind::kDevice, i});
  return nodes;
}

/// As long as a resource's spec may be: 2.8 MiB of text.
std::string declareAtLength(GateSpeaker& gate, const std::string& resource) {
  StaticSpecText spec{.resource = resource, .nodeSets = {manyNodes(8)}, .devices = {}};
  for (unsigned i = 0; i < 4096; ++i) spec.devices.push_back({madeUp(i), 0});
  return gate.ask(gate::Put{spec});
}

/// As long as they may be, and as many.
std::string declaresAsMuchAsItMay(Captive& captive) {
  GateSpeaker gate(captive);
  Tally tally;
  for (unsigned i = 0; i < 32; ++i) {
    tally.add(declareAtLength(gate, "vfiogate.dev/x" + std::to_string(i)));
  }
  return tally.str();
}

/// All that the gate keeps for it in files.
std::string writesAsMuchAsItMay(Captive& captive) {
  // Of the record's files these are of two pages, and the others of one.
  constexpr unsigned kOfTwoPages = 512;
  const std::string note(4000, 'x');
  GateSpeaker gate(captive);
  Tally tally;
  for (unsigned i = 0; i < 32; ++i) {
    tally.add(declareAtLength(gate, "vfiogate.dev/x" + std::to_string(i)));
  }
  for (unsigned i = 0; i < kMostClaimSpecs; ++i) {
    const ClaimSpec spec = claimSpec({kDevice}, claimUid(i));
    tally.add("claim " + gate.ask(gate::Put{ClaimSpecText{spec, {manyNodes(600)}}}));
  }
  for (unsigned i = 0; i < 4096; ++i) {
    const gate::Allocate group{{madeUp(i)}, i < kOfTwoPages ? note : "x"};
    tally.add("record " + gate.ask(group));
  }
  return tally.str();
}

/// Beside a record that is full of what is largest in memory.
std::string declaresBesideAFullRecord(Captive& captive) {
  const std::string note(gate::kLongestNote, 'x');
  GateSpeaker gate(captive);
  unsigned taken = 0;
  for (unsigned i = 0; i < 4096; ++i) {
    if (gate.ask(gate::Allocate{{madeUp(i)}, note}) == "done") ++taken;
  }
  Tally tally;
  for (unsigned i = 0; i < 32; ++i) {
    tally.add(declareAtLength(gate, "vfiogate.dev/x" + std::to_string(i)));
  }
  return std::to_string(taken) + " on record, " + tally.str();
}

constexpr std::array kAttacks{
    WireAttack{"SpecsOfNonsense", specsOfNonsense},
    WireAttack{"UnlinksWhatIsNoClaims", unlinksWhatIsNoClaims},
    WireAttack{"FiveHundredSpecs", fiveHundredSpecs},
    WireAttack{"ThreeHundredRequests", threeHundredRequests},
    WireAttack{"DeclaresNonsense", declaresNonsense},
    WireAttack{"FiveHundredResources", fiveHundredResources},
    WireAttack{"DeclaresAsMuchAsItMay", declaresAsMuchAsItMay},
    WireAttack{"DeclaresBesideAFullRecord", declaresBesideAFullRecord},
    WireAttack{"WritesAsMuchAsItMay", writesAsMuchAsItMay},
};

}  // namespace

std::span<const WireAttack> attacksBySpec() {
  return kAttacks;
}

}  // namespace vfiogate::test
