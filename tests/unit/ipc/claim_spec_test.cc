#include "ipc/types/claim_spec.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "tests/support/played/claim_specs.h"

namespace vfiogate {
namespace {

using test::claimDevice;
using test::claimSpec;

TEST(ClaimSpec, WhatKubernetesNamesHasNoFault) {
  ClaimSpec spec = claimSpec({"0000:02:00.0", "10000:02:00.1"});
  spec.name = "train.0";
  spec.podClaimName = "gpu";
  spec.metadata = true;
  EXPECT_EQ(faultIn(spec), std::nullopt);
  spec.pool.clear();
  EXPECT_EQ(faultIn(spec), std::nullopt);
}

struct Spoilt {
  std::string fault;
  std::function<void(ClaimSpec&)> spoil;
};

class ClaimSpecFault : public testing::TestWithParam<Spoilt> {};

TEST_P(ClaimSpecFault, IsNamed) {
  ClaimSpec spec = claimSpec({"0000:01:00.0", "0000:02:00.0"});
  GetParam().spoil(spec);
  const auto fault = faultIn(spec);
  ASSERT_TRUE(fault);
  EXPECT_TRUE(fault->starts_with(GetParam().fault)) << *fault;
}

INSTANTIATE_TEST_SUITE_P(
    Table, ClaimSpecFault,
    testing::Values(
        Spoilt{"driver:", [](ClaimSpec& spec) { spec.driver = "../etc"; }},
        Spoilt{"driver:", [](ClaimSpec& spec) { spec.driver.clear(); }},
        Spoilt{"uid:", [](ClaimSpec& spec) { spec.uid = "../../../etc/cron.d/x"; }},
        Spoilt{"uid:", [](ClaimSpec& spec) { spec.uid += '\0'; }},
        Spoilt{"claimNamespace:", [](ClaimSpec& spec) { spec.claimNamespace = "a\nb"; }},
        Spoilt{"claimNamespace:", [](ClaimSpec& spec) { spec.claimNamespace = "a.b"; }},
        Spoilt{"name:", [](ClaimSpec& spec) { spec.name = "a\", \"hooks\": \""; }},
        Spoilt{"name:", [](ClaimSpec& spec) { spec.name = "a;metadata"; }},
        Spoilt{"name:", [](ClaimSpec& spec) { spec.name = std::string(10240, 'a'); }},
        Spoilt{"podClaimName:", [](ClaimSpec& spec) { spec.podClaimName = "a/../b"; }},
        Spoilt{"pool:", [](ClaimSpec& spec) { spec.pool = "a b"; }},
        Spoilt{"devices:", [](ClaimSpec& spec) { spec.devices.clear(); }},
        Spoilt{"devices:",
               [](ClaimSpec& spec) { spec.devices.resize(33, claimDevice("0000:02:00.0")); }},
        Spoilt{"devices[1].address:",
               [](ClaimSpec& spec) { spec.devices[1] = claimDevice("0000:00:00.0"); }},
        Spoilt{"devices[1].address:", [](ClaimSpec& spec) { spec.devices[1] = spec.devices[0]; }},
        Spoilt{"devices[1].resource:",
               [](ClaimSpec& spec) { spec.devices[1].resource = "vfiogate.dev/a;b"; }},
        Spoilt{"devices[1].request:", [](ClaimSpec& spec) { spec.devices[1].request = "gpu/sub"; }},
        Spoilt{"devices[1].request:", [](ClaimSpec& spec) { spec.devices[1].request = ".."; }},
        Spoilt{"devices[1].hands:", [](ClaimSpec& spec) { spec.devices[1].hands.clear(); }},
        Spoilt{"devices: more than 1024 hands", [](ClaimSpec& spec) {
                 for (std::uint32_t i = 0; i < kMostClaimHands; ++i) {
                   spec.devices[1].hands.insert(*Bdf::make(i, 0, 0, 0));
                 }
               }}));

TEST(ClaimSpec, NamesOfTheRecordAreThese) {
  const Bdf address = *Bdf::parse("0000:3b:00.1");
  EXPECT_EQ(claimDeviceName(test::kClaimUid, address),
            "c7e7b22e-239b-4498-b27c-7f1344481e14-0000-3b-00-1");
  EXPECT_EQ(claimVariable(test::kClaimUid), "VFIOGATE_CLAIM_C7E7B22E_239B_4498_B27C_7F1344481E14");
  EXPECT_EQ(deviceVariable(address), "VFIOGATE_DEVICE_0000_3B_00_1");
}

}  // namespace
}  // namespace vfiogate
