#include "plugind/control/status_json.h"

#include <gmock/gmock.h>

#include <set>

#include "plugind/cli/ask.h"
#include "tests/support/seen/source_file.h"

namespace vfiogate {
namespace {

using nlohmann::json;
using testing::HasSubstr;

const ResourceName kGpu = *ResourceName::parse("vfiogate.dev/gpu");
const ResourceName kMore = *ResourceName::parse("vfiogate.dev/more");
const Bdf kFirst = *Bdf::parse("0000:65:00.0");
const Bdf kSecond = *Bdf::parse("0000:65:00.1");
const std::chrono::sys_seconds kMorning{std::chrono::seconds(1'795'254'127)};
constexpr std::int64_t kSeconds = 1'795'254'187;  // a minute later
const Moment kNow{Instant(std::chrono::seconds(100)), kMorning, 0};

PluginStatus everything() {
  const Instant earlier = kNow.instant - std::chrono::milliseconds(3'250);
  GroupView group{.group = IommuGroupId(31),
                  .members = {kFirst, kSecond},
                  .holding = Holding::kAllocated,
                  .use = GroupUse::kOpen,
                  .holders = {},
                  .since = {}};
  group.holders.push_back({.state = HolderState::kAllocated,
                           .claim = ClaimName{"c-1", "default", "claim-1"},
                           .resource = kGpu,
                           .ids = {kFirst},
                           .rest = {kSecond},
                           .since = kMorning,
                           .ref = HolderRef(0x7f3a),
                           .podName = "default/vm-1",
                           .podUid = "p-1"});
  DeviceStatus device{
      .address = kFirst,
      .model = "10de:2684",
      .driver = "vfio-pci",
      .numaNode = 1,
      .shown = true,
      .healthy = true,
      .hardware = "no-node",
      .hardwareText = "/dev/vfio/31 is missing",
      .reason = "no-node",
      .reasonText = "/dev/vfio/31 is missing",
      .lastRefusal = LastRefusal{kMorning, {"group-allocated", "allocated, ref=7f3a"}},
      .group = group};
  group.since = kMorning;
  return {.privdThere = false,
          .privdAwaySince = earlier,
          .privdMissing = {"privd-hardware"},
          .allocationOpen = true,
          .begun = true,
          .adopted = false,
          .resources = {{.name = kGpu,
                         .allocation = {.more = MoreDevices{kMore, 2}},
                         .facts = {.state = RegistrationState::kStanding,
                                   .turns = {},
                                   .trouble = "it was slow",
                                   .streams = 1,
                                   .framesSent = 7,
                                   .lastFrame = earlier},
                         .devices = {device},
                         .tickets = {{.companion = kSecond,
                                      .model = "10de:22ba",
                                      .card = kFirst,
                                      .healthy = true}},
                         .moreOf = MoreStatus{.of = kGpu, .tickets = 4, .healthy = 2}}},
          .gone = {group},
          .leftOut = {{kSecond, {"companion", "travels with 0000:65:00.0"}}},
          .obstacles = {{"readonly_sysfs", "mount it writable"}}};
}

TEST(StatusJson, HasEveryField) {
  EXPECT_EQ(json(toJson(everything(), kNow)), json::parse(R"({
    "time": "2026-11-21T09:42:07Z", "privd": {"there": false, "awayFor": 3.25, "missing": ["privd-hardware"]},
    "allocation": "open", "adoption": "running",
    "resources": [{
      "name": "vfiogate.dev/gpu", "serve": "plugin", "groupUnit": "one", "inject": "nodes", "kata": false, "kubevirt": true,
      "registered": true, "registration": "standing", "streams": 1,
      "frames": 7, "lastFrameAge": 3.25, "trouble": "it was slow",
      "devices": [{
        "address": "0000:65:00.0", "model": "10de:2684", "driver": "vfio-pci", "group": 31,
        "members": ["0000:65:00.0", "0000:65:00.1"], "health": "healthy", "state": "allocated",
        "use": "open", "hardware": "no-node", "hardwareText": "/dev/vfio/31 is missing",
        "reason": "no-node", "reasonText": "/dev/vfio/31 is missing", "numaNode": 1,
        "holders": [{"ref": "7f3a", "state": "allocated", "since": "2026-11-21T09:42:07Z",
          "path": "claim", "resource": "vfiogate.dev/gpu", "devices": ["0000:65:00.0"], "rest": ["0000:65:00.1"],
          "pod": "default/vm-1", "podUid": "p-1", "claim": "default/claim-1",
          "claimUid": "c-1"}],
        "lastRefusal": {"time": "2026-11-21T09:42:07Z", "reason": "group-allocated",
          "text": "allocated, ref=7f3a"}}],
      "tickets": [{"companion": "0000:65:00.1", "model": "10de:22ba", "card": "0000:65:00.0",
        "healthy": true}],
      "more": {"resource": "vfiogate.dev/more", "count": 2},
      "moreOf": {"resource": "vfiogate.dev/gpu", "tickets": 4, "healthy": 2}}],
    "gone": [{"members": ["0000:65:00.0", "0000:65:00.1"], "holders": [{"ref": "7f3a",
      "state": "allocated", "since": "2026-11-21T09:42:07Z", "path": "claim", "resource": "vfiogate.dev/gpu",
      "devices": ["0000:65:00.0"], "rest": ["0000:65:00.1"], "pod": "default/vm-1",
      "podUid": "p-1", "claim": "default/claim-1", "claimUid": "c-1"}]}],
    "leftOut": [{"address": "0000:65:00.1", "reason": "companion",
      "text": "travels with 0000:65:00.0"}],
    "obstacles": [{"reason": "readonly_sysfs", "text": "mount it writable"}]})"));
}

void collectKeys(const json& value, std::set<std::string>& keys) {
  if (value.is_object()) {
    for (const auto& [key, inner] : value.items()) {
      keys.insert(key);
      collectKeys(inner, keys);
    }
  } else if (value.is_array()) {
    for (const json& inner : value) collectKeys(inner, keys);
  }
}

TEST(StatusJson, EveryFieldIsDocumented) {
  const std::string page = test::sourceText("docs/status-json.md");
  std::set<std::string> keys;
  collectKeys(toJson(everything(), kNow), keys);
  const Explanation explanation{.address = kFirst,
                                .present = true,
                                .resource = kGpu,
                                .reason = "offered",
                                .lines = {"x"},
                                .device = everything().resources[0].devices[0]};
  collectKeys(toJson(explanation), keys);
  ASSERT_GT(keys.size(), 30U);
  for (const std::string& key : keys) {
    EXPECT_THAT(page, HasSubstr("`" + key + "`")) << "not in docs/status-json.md";
  }
}

TEST(StatusTable, ShowsHolderAndRefusalWithReference) {
  setenv("TZ", "UTC", 1);
  tzset();
  const std::string text = statusTable(toJson(everything(), kNow), 0, false, kSeconds);
  EXPECT_EQ(
      text,
      R"(privd away for 3 s (privd-hardware) | allocations on | startup scan running (at most 30 s)

vfiogate.dev/gpu: registered (it was slow), 1 stream, last frame 3 s ago, groupUnit one
DEVICE        GROUP  MODEL      HEALTH   STATE      USE   SINCE     HOLDER                          HARDWARE
0000:65:00.0  31     10de:2684  healthy  allocated  open  09:42:07  claim default/claim-1 ref=7f3a  no-node
  0000:65:00.1 (10de:22ba) goes along with 0000:65:00.0, healthy
  further devices of vfiogate.dev/gpu: 4 tickets, 2 healthy
  last refusal of 0000:65:00.0 at 09:42:07: allocated, ref=7f3a
gone while allocated: ["0000:65:00.0","0000:65:00.1"], claim default/claim-1 ref=7f3a

1 device falls into no resource: plugind explain ADDRESS says why
)");
}

TEST(StatusTable, SaysWhatIsServedToClaims) {
  PluginStatus status = everything();
  status.resources[0].allocation.serve = Serve::kDra;
  EXPECT_THAT(statusTable(toJson(status, kNow), 0, false, kSeconds),
              HasSubstr("vfiogate.dev/gpu: served to claims only, groupUnit one\n"));
  status.resources[0].allocation.serve = Serve::kBoth;
  EXPECT_THAT(statusTable(toJson(status, kNow), 0, false, kSeconds),
              HasSubstr("3 s ago, to claims too, groupUnit one\n"));
}

TEST(StatusTable, TellsOfTheDraDriver) {
  PluginStatus status;
  status.dra = DriverStatus{.driver = "vfio.example",
                            .registration = DraRegistrationState::kRefused,
                            .trouble = "no",
                            .apiThere = true};
  EXPECT_THAT(
      statusTable(toJson(status, kNow), 0, false, kSeconds),
      HasSubstr("DRA driver vfio.example: not registered (no) | netd dra connected | nothing "
                "published yet\n"));
  status.dra = DriverStatus{.driver = "vfio.example",
                            .registration = DraRegistrationState::kRegistered,
                            .resourceApi = ResourceApi::kV1beta2,
                            .node = "node-1",
                            .poolDevices = 3,
                            .taintedDevices = 1};
  EXPECT_THAT(statusTable(toJson(status, kNow), 0, false, kSeconds),
              HasSubstr("DRA driver vfio.example: registered | netd dra not connected | "
                        "resource.k8s.io/v1beta2 | pool node-1: 3 published, 1 tainted\n"));
}

TEST(StatusTable, ColoursWhatIsWrong) {
  const std::string text = statusTable(toJson(everything(), kNow), 0, true, kSeconds);
  EXPECT_THAT(text, HasSubstr("\x1b["));
}

TEST(StatusTable, IsEmptyButSoundAtTheVeryStart) {
  EXPECT_EQ(statusTable(toJson(PluginStatus{}, kNow), 0, false, kSeconds),
            "privd away | allocations off | startup scan waiting (at most 30 s)\n");
}

TEST(StatusTable, SaysWhichOfPrivdIsAway) {
  PluginStatus status{.privdThere = true};
  const auto begin = [&status]() {
    return statusTable(toJson(status, kNow), 0, false, kSeconds).substr(0, 37);
  };
  EXPECT_EQ(begin(), "privd connected | allocations off | s");
  status.privdMissing = {"privd-binder"};
  EXPECT_EQ(begin(), "privd connected, privd-binder away | ");
  status.privdThere = false;
  status.privdMissing = {"privd-gate", "privd-binder"};
  EXPECT_EQ(begin(), "privd away (privd-gate, privd-binder)");
}

TEST(ExplanationText, IsOneLineWithTheReasonAndThenWhy) {
  const Explanation explanation{.address = kFirst,
                                .present = false,
                                .resource = {},
                                .reason = "gone",
                                .lines = {"there is no such device on this node"},
                                .device = {}};
  EXPECT_EQ(explanationText(toJson(explanation)),
            "0000:65:00.0: gone\n  there is no such device on this node\n");
}

}  // namespace
}  // namespace vfiogate
