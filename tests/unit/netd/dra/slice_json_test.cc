#include "netd/dra/slices/slice.h"

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
  device.consumes = {{"groups-0", "group-7"}};
  device.taints = {
      {"d.example/held", "plugin", std::chrono::sys_seconds(std::chrono::seconds(1795339376))},
      {"d.example/bad", "", {}}};
  slice.spec.devices["0000-01-00-0"] = device;
  slice.spec.devices["0000-01-00-1"] = {};
  slice.spec.counterSets["groups-0"] = {"group-7", "group-8"};
  return slice;
}

class SliceJson : public testing::TestWithParam<ResourceApi> {
protected:
  static json written(const Slice& slice) { return jsonOf(slice, GetParam()); }
  static auto read(const json& object) { return sliceFrom(object, GetParam()); }
};
INSTANTIATE_TEST_SUITE_P(As, SliceJson, testing::ValuesIn(kResourceApis),
                         [](const auto& api) { return std::string(nameOf(api.param)); });

TEST(SliceJsonForms, SayEachKindOfValue) {
  const json object = jsonOf(wholeSlice(), ResourceApi::kV1);
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

TEST(SliceJsonForms, DifferInTheVersionAndInWhereADeviceHasWhatItIs) {
  const json newest = jsonOf(wholeSlice(), ResourceApi::kV1);
  json second = jsonOf(wholeSlice(), ResourceApi::kV1beta2);
  EXPECT_EQ(second.at("apiVersion"), "resource.k8s.io/v1beta2");
  second["apiVersion"] = newest.at("apiVersion");
  EXPECT_EQ(second, newest);
  json first = jsonOf(wholeSlice(), ResourceApi::kV1beta1);
  EXPECT_EQ(first.at("apiVersion"), "resource.k8s.io/v1beta1");
  EXPECT_EQ(first.at("spec").at("devices").at(1),
            json::parse(R"({"name": "0000-01-00-1", "basic": {}})"))
      << "a device without it is refused";
  for (json& device : first["spec"]["devices"]) {
    json aspects = device.at("basic");
    aspects["name"] = device.at("name");
    device = aspects;
  }
  first["apiVersion"] = newest.at("apiVersion");
  EXPECT_EQ(first, newest);
}

TEST_P(SliceJson, ReadsWhatItWrote) {
  const auto again = read(written(wholeSlice()));
  ASSERT_TRUE(again);
  EXPECT_EQ(*again, wholeSlice());
}

TEST_P(SliceJson, WhatOthersAddBesideTheSpecIsNoDifference) {
  json object = written(wholeSlice());
  object["metadata"]["managedFields"] = json::array({"x"});
  object["metadata"]["creationTimestamp"] = "2026-01-01T00:00:00Z";
  object["metadata"]["generation"] = 4;
  object["status"] = {{"seen", true}};
  const auto again = read(object);
  ASSERT_TRUE(again);
  EXPECT_EQ(*again, wholeSlice());
}

TEST_P(SliceJson, WhatWeNeverWriteInTheSpecIsStrange) {
  const std::string of = GetParam() == ResourceApi::kV1beta1 ? "/devices/0/basic" : "/devices/0";
  const std::vector<std::pair<std::string, json>> rows = {
      {"/allNodes", true},
      {of + "/capacity", {{"memory", {{"value", "1Gi"}}}}},
      {of + "/taints/0/effect", "NoExecute"},
      {of + "/taints/0/timeAdded", "yesterday"},
      {of + "/attributes/model", {{"string", "T4"}, {"int", 1}}},
      {of + "/attributes/model", "T4"},
      {of + "/consumesCounters/0/counters/group-7/value", "2"},
      {"/devices/1/name", "0000-01-00-0"},
      {"/devices/1", 7},
      {"/devices/1/composite", json::object()},
      {"/devices", "none"},
      {"/pool", json::array({1, 2})},
      {"/pool/generation", "3"},
      {"/sharedCounters/0/counters/group-7/value", "4"},
      {"/driver", json::object()},
  };
  for (const auto& [path, value] : rows) {
    json object = written(wholeSlice());
    object["spec"][json::json_pointer(path)] = value;
    const auto strange = read(object);
    ASSERT_TRUE(strange) << path;
    EXPECT_NE(strange->spec.strange, "") << path << " is " << value;
  }
}

TEST_P(SliceJson, OnlyTheNodeAsControllerIsItsOwner) {
  json object = written(wholeSlice());
  object["metadata"]["ownerReferences"][0]["controller"] = false;
  object["metadata"]["ownerReferences"].push_back({{"kind", "Pod"}, {"name", "p"}});
  auto orphan = read(object);
  ASSERT_TRUE(orphan);
  EXPECT_EQ(orphan->owner, std::nullopt);
  Slice kept = std::move(orphan).value();
  kept.owner = SliceOwner{"n1", "node-uid"};
  EXPECT_EQ(written(kept).at("metadata").at("ownerReferences").size(), 2U)
      << "somebody else's owner stays";
}

TEST_P(SliceJson, WhatIsNoStoredObjectIsAnError) {
  for (const char* text : {"{}", "[]", "7", R"({"metadata": {"name": "n", "uid": "u"}})",
                           R"({"metadata": {"name": 7, "uid": "u", "resourceVersion": "1"}})"}) {
    EXPECT_FALSE(read(json::parse(text))) << text;
  }
  EXPECT_TRUE(read(json::parse(
      R"({"metadata": {"name": "n", "uid": "u", "resourceVersion": "1"}, "spec": null})")));
}

}  // namespace
}  // namespace vfiogate
