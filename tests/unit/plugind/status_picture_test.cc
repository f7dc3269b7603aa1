#include "plugind/cli/ask.h"

#include <gmock/gmock.h>

namespace vfiogate {
namespace {

using nlohmann::json;
using testing::ElementsAre;

json device(const char* address, const char* state, const char* hardware, const char* reason) {
  return {{"address", address},   {"model", "10de:2684"},
          {"driver", "vfio-pci"}, {"numaNode", 0},
          {"group", 7},           {"state", state},
          {"hardware", hardware}, {"hardwareText", "why"},
          {"reason", reason},     {"reasonText", "because"}};
}

json statusOf(json devices) {
  return {{"time", "2026-11-23T10:42:07Z"},
          {"resources", {{{"name", "a.dev/gpu"}, {"devices", std::move(devices)}}}},
          {"gone", json::array()},
          {"leftOut", json::array()}};
}

TEST(StatusPicture, MarksEachDeviceByWhatKeepsItFromThePod) {
  const struct {
    const char* state;
    const char* hardware;
    const char* reason;
    Mark mark;
    const char* shown;
  } kRows[] = {
      {"free", "ready", "offered", Mark::kFree, "free"},
      {"allocated", "ready", "offered", Mark::kHeld, "allocated"},
      {"lingering", "ready", "lingering", Mark::kHeld, "lingering"},
      {"free", "bindable", "offered", Mark::kHost, "free, bindable"},
      {"free", "host-driver", "host-driver", Mark::kHost, "free, host-driver"},
      {"free", "not-answering", "not-answering", Mark::kFaulty, "free, not-answering"},
      {"foreign", "ready", "foreign", Mark::kBarred, "foreign"},
      {"free", "ready", "privd-away", Mark::kBarred, "free, privd-away"},
  };
  for (const auto& row : kRows) {
    const Topology topology = topologyOf(
        statusOf(json::array({device("0000:65:00.0", row.state, row.hardware, row.reason)})));
    const TopologyDevice& shown = topology.nodes.at(0).devices.at(0);
    EXPECT_EQ(shown.mark, row.mark) << row.state << " " << row.hardware;
    EXPECT_EQ(shown.state, row.shown);
  }
}

TEST(StatusPicture, NamesHoldersByPodOrClaimOrReference) {
  const struct {
    json holder;
    const char* text;
  } kRows[] = {
      {{{"pod", "default/vm"}, {"ref", "7f3a"}, {"since", "2026-11-23T10:42:07Z"}},
       "default/vm since 2026-11-23 10:42"},
      {{{"claim", "ns/c"}, {"pod", "default/vm"}, {"since", "T"}}, "claim ns/c since T"},
      {{{"ref", "7f3a"}, {"since", "T"}}, "a pod not named yet, ref=7f3a since T"},
  };
  for (const auto& row : kRows) {
    json held = device("0000:65:00.0", "allocated", "ready", "offered");
    held["holders"] = json::array({row.holder});
    EXPECT_EQ(topologyOf(statusOf(json::array({held}))).nodes[0].devices[0].holder, row.text);
  }
}

TEST(StatusPicture, SortsByNumaNodeAndGroup) {
  json devices = json::array();
  for (const char* address : {"0000:67:00.0", "0000:66:00.0", "0000:65:00.0"}) {
    devices.push_back(device(address, "free", "ready", "offered"));
  }
  devices[0].erase("numaNode");
  devices[1]["group"] = 9;
  devices[2]["group"] = nullptr;
  const Topology topology = topologyOf(statusOf(devices));
  ASSERT_EQ(topology.nodes.size(), 2U);
  EXPECT_EQ(topology.nodes[0].devices[1].address, "0000:66:00.0");
  EXPECT_EQ(topology.nodes[1].title, "NUMA node not known");
  EXPECT_EQ(topology.summary, "1 resource, 3 devices, 3 free at 2026-11-23 10:42");
}

TEST(StatusPicture, TellsWhatItCannotDraw) {
  json status = statusOf(json::array());
  status["gone"] = {
      {{"members", {"0000:65:00.0"}}, {"holders", {{{"pod", "default/vm"}, {"since", "T"}}}}}};
  status["leftOut"] = {{{"address", "0000:66:00.0"}}};
  EXPECT_THAT(topologyOf(status).remarks,
              ElementsAre("gone while allocated: [\"0000:65:00.0\"], default/vm since T",
                          "1 device falls into no resource: plugind explain ADDRESS says why"));
}

}  // namespace
}  // namespace vfiogate
