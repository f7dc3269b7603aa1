#include "plugind/metrics/ledger_metrics.h"
#include "plugind/core/status/known_codes.h"

#include <gmock/gmock.h>

#include <regex>

#include "tests/support/seen/source_file.h"

namespace vfiogate {
namespace {

using testing::HasSubstr;

const ResourceName kGpu = *ResourceName::parse("vfiogate.dev/gpu");
const Bdf kFirst = *Bdf::parse("0000:65:00.0");
const Bdf kSecond = *Bdf::parse("0000:66:00.0");

DiscoveryCounts someCounts() {
  DiscoveryCounts counts;
  counts[DiscoveryCount::kRereads] = 7;
  counts[DiscoveryCount::kSweeps] = 3;
  counts[DiscoveryCount::kFailedSweeps] = 1;
  counts[DiscoveryCount::kSweepNanoseconds] = 1'500'000'000;
  counts[DiscoveryCount::kHints] = 9;
  counts[DiscoveryCount::kForeign] = 2;
  counts[DiscoveryCount::kLosses] = 4;
  counts[DiscoveryCount::kLandlock] = 2;
  return counts;
}

PluginStatus oneAllocatedOneFree() {
  PluginStatus status;
  status.leftOut.emplace(*Bdf::parse("0000:00:01.0"), LeftOut{"bridge", "a bridge"});
  status.privdThere = true;
  status.resources.push_back({.name = kGpu,
                              .allocation = {},
                              .facts = {.state = RegistrationState::kStanding,
                                        .turns = {{RegistrationTurn::kTaken, 3}},
                                        .trouble = {},
                                        .streams = 2,
                                        .framesSent = 9,
                                        .lastFrame = {}},
                              .devices = {}});
  for (const Bdf& address : {kFirst, kSecond}) {
    DeviceStatus device{.address = address, .shown = true, .healthy = true, .group = {}};
    device.reason = address == kFirst ? "offered" : "host-driver";
    device.group.members = {address};
    device.group.holding = address == kFirst ? Holding::kAllocated : Holding::kFree;
    if (address == kFirst) {
      device.group.holders.push_back({.state = HolderState::kAllocated,
                                      .claim = ClaimName{"c-1", "ns", "claim"},
                                      .resource = kGpu,
                                      .ids = {address},
                                      .rest = {},
                                      .since = {},
                                      .ref = HolderRef(0x7f3a),
                                      .podName = {},
                                      .podUid = {}});
    }
    status.resources[0].devices.push_back(device);
  }
  return status;
}

void countSome(LedgerMetrics& metrics) {
  JournalEvent refused;
  refused.event = "refused";
  refused.reason = "group-allocated";
  metrics.count(refused);
  refused.reason = "not-viable:guard-users";
  metrics.count(refused);
  JournalEvent other;
  for (const auto& [event, reason] :
       std::vector<std::pair<std::string, std::string>>{{"withheld", "guard-users"},
                                                        {"withheld", "host-driver"},
                                                        {"bind-failed", "refused"},
                                                        {"bound", "bound"}}) {
    other.event = event;
    other.reason = reason;
    metrics.count(other);
  }
  metrics.allocateAnswered(std::chrono::milliseconds(3), true);
  metrics.reconcileEnded(true);
  metrics.configurationPosted(false);
}

TEST(LedgerMetrics, CountsAndTellsTheState) {
  LedgerMetrics metrics;
  countSome(metrics);
  PluginStatus status = oneAllocatedOneFree();
  status.build = BuildInfo{"1.2.3", "c0ffee", "2026-02-03T04:05:06Z"};
  const std::string text = metrics.text(status, someCounts());
  for (const char* line :
       {"vfiogate_build_info{version=\"1.2.3\",commit=\"c0ffee\",date=\"2026-02-03T04:05:06Z\"} 1",
        "vfiogate_ledger_events_total{event=\"refused\"} 2",
        "vfiogate_refusals_total{reason=\"group-allocated\"} 1",
        "vfiogate_allocate_duration_seconds_bucket{answer=\"granted\",le=\"0.005\"} 1",
        "vfiogate_guard_refusals_total{guard=\"users\"} 2",
        "vfiogate_guard_refusals_total{guard=\"network\"} 0",
        "vfiogate_refusals_total{reason=\"not-viable\"} 1",
        "vfiogate_binds_total{outcome=\"refused\"} 1",
        "vfiogate_binds_total{outcome=\"done\"} 1",
        "vfiogate_resource_allocated_devices{resource=\"vfiogate.dev/gpu\"} 1",
        "vfiogate_resource_free_devices{resource=\"vfiogate.dev/gpu\"} 0",
        "vfiogate_resources 1",
        "vfiogate_resources_limit 64",
        "vfiogate_reconciles_total{outcome=\"proved\"} 1",
        "vfiogate_configurations_total{outcome=\"refused\"} 1",
        "vfiogate_privd_up 1",
        "vfiogate_allocation_open 0",
        "vfiogate_resource_devices{resource=\"vfiogate.dev/gpu\",health=\"healthy\"} 2",
        "vfiogate_resource_streams{resource=\"vfiogate.dev/gpu\"} 2",
        "vfiogate_groups{state=\"allocated\"} 1",
        "vfiogate_groups{state=\"free\"} 1",
        "vfiogate_groups{state=\"lingering\"} 0",
        "vfiogate_groups_held{path=\"plugin\"} 0",
        "vfiogate_groups_held{path=\"claim\"} 1",
        "vfiogate_groups_disputed 0",
        "vfiogate_registrations_total{resource=\"vfiogate.dev/gpu\",turn=\"taken\"} 3",
        "vfiogate_registrations_total{resource=\"vfiogate.dev/gpu\",turn=\"no-stream\"} 0",
        "vfiogate_devices{reason=\"bridge\"} 1",
        "vfiogate_devices{reason=\"offered\"} 1",
        "vfiogate_devices{reason=\"host-driver\"} 1",
        "vfiogate_uevents_total{kind=\"hint\"} 9",
        "vfiogate_uevents_total{kind=\"foreign\"} 2",
        "vfiogate_uevent_losses_total 4",
        "vfiogate_hardware_rereads_total{kind=\"place\"} 7",
        "vfiogate_hardware_rereads_total{kind=\"sweep\"} 3",
        "vfiogate_hardware_rereads_total{kind=\"failed\"} 1",
        "vfiogate_hardware_sweep_seconds_total 1.5",
        "vfiogate_privd_landlock_abi 2"}) {
    EXPECT_THAT(text, HasSubstr(line));
  }
}

TEST(LedgerMetrics, TellsAGroupThatTwoPartiesHold) {
  PluginStatus status = oneAllocatedOneFree();
  const HolderView holder{.claim = {},
                          .resource = kGpu,
                          .ids = {},
                          .rest = {},
                          .since = {},
                          .ref = HolderRef(1),
                          .podName = {},
                          .podUid = {}};
  GroupView& group = status.resources[0].devices[0].group;
  group.holders = {holder, holder};
  EXPECT_THAT(LedgerMetrics().text(status, {}), HasSubstr("vfiogate_groups_disputed 0"));
  group.disputed = true;
  EXPECT_THAT(LedgerMetrics().text(status, {}), HasSubstr("vfiogate_groups_disputed 1"));
}

std::set<std::string> seriesOf(const LedgerMetrics& metrics, const PluginStatus& status) {
  std::set<std::string> series;
  for (const prometheus::MetricFamily& family : metrics.collect(status, {})) {
    for (const prometheus::ClientMetric& metric : family.metric) {
      std::string name = family.name;
      for (const auto& label : metric.label) name += "," + label.name + "=" + label.value;
      series.insert(name);
    }
  }
  return series;
}

// Else rate() and increase() miss the first time that something happens.
TEST(LedgerMetrics, AreAllThereFromTheStart) {
  LedgerMetrics metrics;
  const PluginStatus status = oneAllocatedOneFree();
  const auto before = seriesOf(metrics, status);
  countSome(metrics);
  EXPECT_EQ(seriesOf(metrics, status), before);
  PluginStatus none;
  for (const std::string& series : seriesOf(metrics, none)) {
    EXPECT_TRUE(before.contains(series)) << series;
  }
  for (const std::string& series : before) {
    const bool ofResource = series.find("resource=") != std::string::npos;
    EXPECT_TRUE(ofResource || seriesOf(metrics, none).contains(series)) << series;
  }
}

std::set<std::string> firstColumn(const std::string& page, std::size_t from, std::size_t to) {
  std::set<std::string> names;
  const std::string table = page.substr(from, to - from);
  const std::regex row("\n\\| ((`[a-z-]+`(, )?)+) \\|");
  const std::regex name("`([a-z-]+)`");
  for (std::sregex_iterator at(table.begin(), table.end(), row), end; at != end; ++at) {
    const std::string cell = (*at)[1];
    for (std::sregex_iterator in(cell.begin(), cell.end(), name); in != end; ++in) {
      names.insert((*in)[1]);
    }
  }
  return names;
}

// docs_test holds the pages against the code that says the codes.
TEST(KnownCodes, AreThoseOfThePages) {
  const std::string journal = test::sourceText("docs/journal.md");
  const auto events = knownJournalEvents();
  EXPECT_EQ(firstColumn(journal, journal.find("| event | what"), journal.size()),
            std::set<std::string>(events.begin(), events.end()));
  const std::string reasons = test::sourceText("docs/reasons.md");
  std::set<std::string> plain;
  for (const std::string& reason : knownOfferReasons()) {
    if (!reason.starts_with("guard-")) plain.insert(reason);
  }
  EXPECT_EQ(firstColumn(reasons, 0, reasons.size()), plain);
}

TEST(GuardIn, IsNamedByAReasonOfAGuard) {
  EXPECT_EQ(guardIn("guard-users"), Guard::kUsers);
  EXPECT_EQ(guardIn("not-viable:guard-root-disk"), Guard::kRootDisk);
  EXPECT_EQ(guardIn("not-viable:host-driver"), std::nullopt);
  EXPECT_EQ(guardIn("users"), std::nullopt);
}

TEST(LedgerMetrics, FollowTheNamingRuleAndAreDocumented) {
  const std::string page = test::sourceText("docs/metrics.md");
  const std::regex rule("vfiogate(_[a-z]+)+");
  LedgerMetrics metrics;
  countSome(metrics);
  const auto families = metrics.collect(oneAllocatedOneFree(), someCounts());
  ASSERT_GT(families.size(), 10U);
  for (const prometheus::MetricFamily& family : families) {
    EXPECT_TRUE(std::regex_match(family.name, rule)) << family.name;
    EXPECT_EQ(family.name.ends_with("_total"), family.type == prometheus::MetricType::Counter)
        << family.name;
    EXPECT_FALSE(family.help.empty()) << family.name;
    EXPECT_THAT(page, HasSubstr("`" + family.name + "`")) << "not in docs/metrics.md";
  }
}

}  // namespace
}  // namespace vfiogate
