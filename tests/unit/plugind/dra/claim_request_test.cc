#include "plugind/core/dra/claim_request.h"
#include "plugind/core/ledger/frames/offers.h"

#include "tests/unit/plugind/dra/pool_case.h"

namespace vfiogate {
namespace {

using test::at;
using test::kA;
using test::kB;
using test::kC;
using test::kNameA;
using test::kNameB;
using test::kNameC;
using testing::ElementsAre;
using testing::HasSubstr;

const ClaimName kAsked{"c1", "ns", "claim-c1"};

AllocatedDevice allocated(const std::string& request, const std::string& device) {
  return {.request = request,
          .pool = "node-1",
          .device = device,
          .shareId = {},
          .adminAccess = false,
          .parameters = {},
          .badParameters = {}};
}

AllocatedClaim claimOf(std::vector<AllocatedDevice> devices) {
  return {.uid = "c1", .allocated = true, .podClaimName = "vm", .devices = std::move(devices)};
}

class RequestOf : public test::PoolCase {
protected:
  Result<PrepareRequest, std::string> asked(const AllocatedClaim& claim) const {
    return requestOf(kAsked, claim, node.settings, node.ledger.state(), "node-1");
  }
  /// Why not; empty: it can be prepared.
  std::string why(const AllocatedClaim& claim) const {
    const auto request = asked(claim);
    return request ? "" : request.error();
  }
};

TEST_F(RequestOf, PutsEachDeviceUnderItsResourceWithItsParameters) {
  node.start();
  AllocatedDevice c = allocated("nic/fast", kNameC);
  c.parameters.vfio = Backend::kIommufd;
  const auto request = asked(claimOf({allocated("gpu", kNameA), allocated("b", kNameB), c}));
  ASSERT_TRUE(request) << request.error();
  EXPECT_EQ(*request, (PrepareRequest{kAsked,
                                      {{test::resource("gpu"), {at(kA), at(kC)}},
                                       {test::resource("other"), {at(kB)}}},
                                      {{at(kC), c.parameters}}}));
}

TEST_F(RequestOf, RefusesAClaimInWordsThatSayWhatToDo) {
  node.start();
  AllocatedClaim claim = claimOf({allocated("gpu", kNameA)});
  EXPECT_EQ(why(claim), "");
  claim.uid = "c2\n";
  EXPECT_EQ(why(claim),
            "the claim was made anew: its UID is \"c2?\", asked for was \"c1\"; delete the pod "
            "that used the old one");
  claim = claimOf({allocated("gpu", kNameA)});
  claim.allocated = false;
  EXPECT_THAT(why(claim), HasSubstr("not allocated"));
  EXPECT_EQ(why(claimOf({})), "the claim has no device of vfio.example.org in its allocation");
}

TEST_F(RequestOf, RefusesADeviceInWordsThatSayWhich) {
  node.settings.exclude.push_back(*Selector::parse("address=0000:02:00.0"));
  node.start();
  const std::string head = "device \"0000-01-00-0\" of request \"gpu\" ";
  AllocatedDevice a = allocated("gpu", kNameA);
  a.pool = "node-2";
  EXPECT_EQ(why(claimOf({a})), head + "is of pool \"node-2\", and this node's is \"node-1\"");
  a = allocated("gpu", kNameA);
  a.adminAccess = true;
  EXPECT_THAT(why(claimOf({a})), HasSubstr(head + "is asked for with adminAccess"));
  a = allocated("gpu", kNameA);
  a.badParameters = "parameters.vfio: \"foo\": must be auto";
  EXPECT_EQ(
      why(claimOf({a})),
      head + "has a configuration that cannot be used: parameters.vfio: \"foo\": must be auto");
  EXPECT_EQ(
      why(claimOf({allocated("gpu", "../etc\n" + std::string(100, 'x'))})),
      "device \"../etc?" + std::string(57, 'x') +
          "...\" of request \"gpu\" has no name that this driver gives: wanted is one such as "
          "0000-17-00-0");
  EXPECT_EQ(why(claimOf({allocated("gpu", "0000-7f-00-0")})),
            "device \"0000-7f-00-0\" of request \"gpu\" is gone: there is no such device on "
            "this node any more");
  EXPECT_EQ(
      why(claimOf({allocated("gpu", kNameC)})),
      "device \"0000-02-00-0\" of request \"gpu\" falls into no resource: matches exclude[0]");
  EXPECT_EQ(why(claimOf({allocated("gpu", kNameA), allocated("gpu", kNameA)})),
            head + "is named twice by the claim's allocation");
}

TEST_F(RequestOf, TakesOneDeviceForTwoRequestsOnlyWithOneConfiguration) {
  node.start();
  AllocatedDevice again = allocated("two", kNameA);
  EXPECT_EQ(why(claimOf({allocated("one", kNameA), again})), "");
  again.parameters.bindNever = true;
  EXPECT_THAT(why(claimOf({allocated("one", kNameA), again})), HasSubstr("another configuration"));
  EXPECT_THAT(why(claimOf({again, allocated("three", kNameA)})),
              HasSubstr("another configuration"));
}

// Row 6: what was prepared is prepared again, whatever hardware and configuration became.
TEST_F(RequestOf, KeepsTheResourceOfWhatTheClaimHolds) {
  node.start();
  ASSERT_EQ(node.prepare("c1", "gpu", {at(kA)}), "granted");
  node.hardware.remove(kA);
  node.settings.resources.clear();
  node.see();
  const auto request = asked(claimOf({allocated("gpu", kNameA)}));
  ASSERT_TRUE(request) << request.error();
  EXPECT_TRUE(request->devices.contains(test::resource("gpu")));
}

TEST(PreparedDevices, NamesEachDeviceOnceUnderTheRequestsOwnName) {
  AllocatedDevice share = allocated("main", kNameC);
  share.shareId = "s1";
  const AllocatedClaim claim = claimOf(
      {allocated("main/fast", kNameB), allocated("a", kNameA), allocated("second", kNameB), share});
  const auto prepared =
      preparedDevices(claim, {{at(kA), "v/claim=c1-a"}, {at(kB), "v/claim=c1-b"}});
  EXPECT_THAT(
      prepared,
      ElementsAre(
          PreparedDevice{{"main", "second"}, "node-1", kNameB, {"v/claim=c1-b"}, std::nullopt},
          PreparedDevice{{"a"}, "node-1", kNameA, {"v/claim=c1-a"}, std::nullopt},
          PreparedDevice{{"main"}, "node-1", kNameC, {}, "s1"}));
  const auto reported = reportedDevices(claim);
  ASSERT_EQ(reported.size(), 3U);
  EXPECT_EQ(reported[0].address, kB);
  EXPECT_TRUE(reported[0].ready);
  EXPECT_EQ(reported[0].reason, "Prepared");
  EXPECT_EQ(reported[2].shareId, "s1");
}

TEST_F(RequestOf, AChoiceThatIsLeftIsTheResources) {
  node.settings.resources[0].allocation.backend = Backend::kAutoIommufd;
  node.start();
  const auto backendFor = [this](std::optional<Backend> vfio) {
    AllocatedDevice device = allocated("gpu", kNameA);
    device.parameters.vfio = vfio;
    const auto request = asked(claimOf({device}));
    return allocationToClaim(node.ledger.state().catalog, *request, test::resource("gpu"), at(kA))
        .backend;
  };
  EXPECT_EQ(backendFor(std::nullopt), Backend::kAutoIommufd);
  EXPECT_EQ(backendFor(Backend::kAuto), Backend::kAutoIommufd);
  EXPECT_EQ(backendFor(Backend::kLegacy), Backend::kLegacy);
  node.settings.resources[0].allocation.backend = Backend::kLegacy;
  node.see();
  EXPECT_EQ(backendFor(Backend::kAuto), Backend::kAuto);
}

TEST_F(RequestOf, TheSpecHandsOverWhatResourceAndParametersWant) {
  node.hardware.device(kB).device = std::uint16_t{0x2684};
  node.settings.resources[0].allocation.groupUnit = GroupUnit::kWhole;
  node.settings.resources[0].allocation.backend = Backend::kLegacy;
  node.hardware.device(kA).pcieRoot = "pci10000:17";
  node.hardware.device(kA).numaNode = 1;
  node.hardware.device(kC).pcieRoot.clear();
  node.start();
  AllocatedDevice c = allocated("nic/fast", kNameC);
  c.parameters.vfio = Backend::kIommufd;
  const AllocatedClaim claim = claimOf({c, allocated("gpu", kNameA)});
  const auto request = asked(claim);
  ASSERT_TRUE(request) << request.error();
  node.writesSpecs = false;
  const CallId call(77);
  node.run(node.ledger.prepareAsked(call, *request, node.now.instant, node.now));
  ASSERT_EQ(node.outcome(call), "waits");
  const ClaimSpec spec = claimSpecOf(node.ledger.state(), node.ledger.state().calls.at(call), claim,
                                     {.driver = "vfio.example.org", .metadataFiles = true});
  const std::string gpu = test::resource("gpu").str();
  EXPECT_EQ(
      spec,
      (ClaimSpec{"vfio.example.org",
                 "c1",
                 "ns",
                 "claim-c1",
                 {{at(kA), gpu, Backend::kLegacy, {at(kA), at(kB)}, "gpu", at("10000:17:00.0"), 1},
                  {at(kC), gpu, Backend::kIommufd, {at(kC)}, "nic"}},
                 true,
                 "vm",
                 claim.devices.front().pool}));
}

}  // namespace
}  // namespace vfiogate
