#include "netd/dra/slice_json.h"

#include <gmock/gmock.h>

namespace vfiogate {
namespace {

using nlohmann::json;

Slice wholeSlice() {
  Slice slice;
  slice.name = "n1-d.example-000";
  slice.uid = "u";
  slice.resourceVersion = "7";
  slice.owner = SliceOwner{"n1", "node-uid"};
  slice.otherMetadata = R"({"labels":{"a":"b"}})";
  slice.spec = {
      .driver = "d.example", .node = "n1", .pool = "n1", .generation = 3, .sliceCount = 2};
  PoolDevice device;
  device.attributes = {{"model", std::string("T4")},
                       {"numaNode", std::int64_t{0}},
                       {"sriov", false},
                       {"d.example/api", VersionText{"1.2.3"}}};
  device.consumes = CounterName{"groups-0", "group-7"};
  device.taints = {
      {"d.example/held", "plugin", std::chrono::sys_seconds(std::chrono::seconds(1795339376))},
      {"d.example/bad", "", {}}};
  slice.spec.devices["0000-01-00-0"] = device;
  slice.spec.devices["0000-01-00-1"] = {};
  slice.spec.counterSets["groups-0"] = {"group-7", "group-8"};
  return slice;
}

TEST(SliceJson, SaysEachKindOfValueInItsForm) {
  const json object = jsonOf(wholeSlice());
  EXPECT_EQ(object.at("apiVersion"), "resource.k8s.io/v1");
  EXPECT_EQ(object.at("kind"), "ResourceSlice");
  EXPECT_EQ(object.at("metadata"), json::parse(R"({"name": "n1-d.example-000", "uid": "u",
    "resourceVersion": "7", "labels": {"a": "b"}, "ownerReferences": [{"apiVersion": "v1",
    "kind": "Node", "name": "n1", "uid": "node-uid", "controller": true}]})"));
  EXPECT_EQ(object.at("spec"), json::parse(R"({
    "driver": "d.example", "nodeName": "n1",
    "pool": {"name": "n1", "generation": 3, "resourceSliceCount": 2},
    "devices": [
      {"name": "0000-01-00-0",
       "attributes": {"model": {"string": "T4"}, "numaNode": {"int": 0}, "sriov": {"bool": false},
                      "d.example/api": {"version": "1.2.3"}},
       "consumesCounters": [{"counterSet": "groups-0", "counters": {"group-7": {"value": "1"}}}],
       "taints": [{"key": "d.example/held", "value": "plugin", "effect": "NoSchedule",
                   "timeAdded": "2026-11-22T09:22:56Z"},
                  {"key": "d.example/bad", "effect": "NoSchedule",
                   "timeAdded": "1970-01-01T00:00:00Z"}]},
      {"name": "0000-01-00-1"}],
    "sharedCounters": [{"name": "groups-0",
                        "counters": {"group-7": {"value": "1"}, "group-8": {"value": "1"}}}]})"));
}

TEST(SliceJson, ReadsWhatItWrote) {
  const auto read = sliceFrom(jsonOf(wholeSlice()));
  ASSERT_TRUE(read);
  EXPECT_EQ(*read, wholeSlice());
}

TEST(SliceJson, WhatOthersAddBesideTheSpecIsNoDifference) {
  json object = jsonOf(wholeSlice());
  object["metadata"]["managedFields"] = json::array({"x"});
  object["metadata"]["creationTimestamp"] = "2026-01-01T00:00:00Z";
  object["metadata"]["generation"] = 4;
  object["status"] = {{"seen", true}};
  const auto read = sliceFrom(object);
  ASSERT_TRUE(read);
  EXPECT_EQ(*read, wholeSlice());
}

TEST(SliceJson, WhatWeNeverWriteInTheSpecIsStrange) {
  const std::vector<std::pair<const char*, json>> rows = {
      {"/allNodes", true},
      {"/devices/0/capacity", {{"memory", {{"value", "1Gi"}}}}},
      {"/devices/0/taints/0/effect", "NoExecute"},
      {"/devices/0/taints/0/timeAdded", "yesterday"},
      {"/devices/0/attributes/model", {{"string", "T4"}, {"int", 1}}},
      {"/devices/0/attributes/model", "T4"},
      {"/devices/0/consumesCounters/0/counters/group-7/value", "2"},
      {"/devices/1/name", "0000-01-00-0"},
      {"/devices/1", 7},
      {"/devices", "none"},
      {"/pool", json::array({1, 2})},
      {"/pool/generation", "3"},
      {"/sharedCounters/0/counters/group-7/value", "4"},
      {"/driver", json::object()},
  };
  for (const auto& [path, value] : rows) {
    json object = jsonOf(wholeSlice());
    object["spec"][json::json_pointer(path)] = value;
    const auto read = sliceFrom(object);
    ASSERT_TRUE(read) << path;
    EXPECT_NE(read->spec.strange, "") << path << " is " << value;
  }
}

TEST(SliceJson, OnlyTheNodeAsControllerIsItsOwner) {
  json object = jsonOf(wholeSlice());
  object["metadata"]["ownerReferences"][0]["controller"] = false;
  object["metadata"]["ownerReferences"].push_back({{"kind", "Pod"}, {"name", "p"}});
  auto read = sliceFrom(object);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->owner, std::nullopt);
  Slice kept = std::move(read).value();
  kept.owner = SliceOwner{"n1", "node-uid"};
  EXPECT_EQ(jsonOf(kept).at("metadata").at("ownerReferences").size(), 2U)
      << "somebody else's owner stays";
}

TEST(SliceJson, WhatIsNoStoredObjectIsAnError) {
  for (const char* text : {"{}", "[]", "7", R"({"metadata": {"name": "n", "uid": "u"}})",
                           R"({"metadata": {"name": 7, "uid": "u", "resourceVersion": "1"}})"}) {
    EXPECT_FALSE(sliceFrom(json::parse(text))) << text;
  }
  EXPECT_TRUE(sliceFrom(json::parse(
      R"({"metadata": {"name": "n", "uid": "u", "resourceVersion": "1"}, "spec": null})")));
}

}  // namespace
}  // namespace vfiogate
