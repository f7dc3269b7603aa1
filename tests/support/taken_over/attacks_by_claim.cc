#include "plugind/privd/spec_codec.h"
#include "tests/support/played/claim_specs.h"
#include "tests/support/taken_over/attacks.h"
#include "tests/support/taken_over/speaker.h"

#include <array>
#include <vector>

namespace vfiogate::test {
namespace {

constexpr const char* kDevice = "0000:02:00.0";  // alone in its group

std::string write(Speaker& speaker, const ClaimSpec& spec) {
  return outcomeOf([&]() {
    auto request = speaker.session().writeClaimSpecRequest();
    encode(spec, request.initSpec());
    return memberOf(speaker.await(request).getAnswer());
  });
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
  // The marker's group is another one.
  add([](ClaimSpec& spec) { spec.devices[0].hands.insert(*Bdf::parse("0000:00:1f.0")); });
  return all;
}

std::string specsOfNonsense(Captive& captive) {
  Speaker speaker(captive);
  Tally tally;
  for (const ClaimSpec& spec : nonsense()) tally.add(write(speaker, spec));
  return tally.str();
}

std::string specsOfDevicesWithoutNode(Captive& captive) {
  Speaker speaker(captive);
  Tally tally;
  // No device at all, one of the host's, one without driver.
  for (const char* device : {"0000:77:00.0", "0000:03:00.0", "0000:04:00.0"}) {
    tally.add(write(speaker, claimSpec({device})));
  }
  return tally.str();
}

std::string unlinksWhatIsNoClaims(Captive& captive) {
  Speaker speaker(captive);
  Tally tally;
  for (const char* uid : {"../../../etc/passwd", "..", "", "*", "nvidia"}) {
    tally.add(outcomeOf([&]() {
      auto request = speaker.session().unlinkClaimSpecRequest();
      request.setUid(uid);
      return memberOf(speaker.await(request).getAnswer());
    }));
  }
  return tally.str();
}

std::string fiveHundredSpecs(Captive& captive) {
  Speaker speaker(captive);
  Tally tally;
  for (unsigned i = 0; i < 500; ++i) {
    ClaimSpec spec = claimSpec({kDevice}, claimUid(i));
    spec.metadata = true;
    tally.add(write(speaker, spec));
  }
  return tally.str();
}

/// One claim whose request has another name each time.
std::string threeHundredRequests(Captive& captive) {
  Speaker speaker(captive);
  Tally tally;
  for (unsigned i = 0; i < 300; ++i) {
    ClaimSpec spec = claimSpec({kDevice});
    spec.metadata = true;
    spec.devices[0].request = "r" + std::to_string(i);
    tally.add(write(speaker, spec));
  }
  return tally.str();
}

using Resources = std::vector<std::string>;

std::string declare(Speaker& speaker, const Resources& resources) {
  return outcomeOf([&]() {
    auto request = speaker.session().declareSpecsRequest();
    auto specs = request.initSpecs(static_cast<capnp::uint>(resources.size()));
    for (capnp::uint i = 0; i < specs.size(); ++i) specs[i].setResource(resources[i]);
    auto answered = speaker.await(request);
    Tally tally;
    for (const auto outcome : answered.getAnswer().getOutcomes()) tally.add(memberOf(outcome));
    return tally.str();
  });
}

std::string declaresNonsense(Captive& captive) {
  Speaker speaker(captive);
  const std::string names =
      declare(speaker, {"nvidia.com/gpu", "../../etc/x", "vfiogate.dev/a/b", "", "x"});
  // A resource twice: what no plugind of ours says.
  return names + "; " + declare(speaker, {"vfiogate.dev/gpu", "vfiogate.dev/gpu"});
}

constexpr std::array kAttacks{
    WireAttack{"SpecsOfNonsense", specsOfNonsense},
    WireAttack{"SpecsOfDevicesWithoutNode", specsOfDevicesWithoutNode},
    WireAttack{"UnlinksWhatIsNoClaims", unlinksWhatIsNoClaims},
    WireAttack{"FiveHundredSpecs", fiveHundredSpecs},
    WireAttack{"ThreeHundredRequests", threeHundredRequests},
    WireAttack{"DeclaresNonsense", declaresNonsense},
};

}  // namespace

std::span<const WireAttack> attacksByClaim() {
  return kAttacks;
}

}  // namespace vfiogate::test
