// The node's slices whatever others do to them, and on servers that drop fields.

#include "tests/integration/dra/claim_case.h"

namespace vfiogate::test {
namespace {

using testing::HasSubstr;
using testing::SizeIs;

const std::string kSlices = "/apis/resource.k8s.io/v1/resourceslices";

class DraSlices : public ClaimCase {
protected:
  /// The slice of the devices.
  nlohmann::json deviceSlice() {
    for (auto& slice : api_->slices()) {
      if (slice.at("spec").contains("devices")) return slice;
    }
    return {};
  }
  void deleteSlice(const nlohmann::json& slice) {
    api_->ask("DELETE", kSlices + "/" + slice.at("metadata").at("name").get<std::string>());
  }
  /// One whole pool, as a scheduler sees it.
  bool isWhole() {
    const auto pools = api_->pools();
    return pools.size() == 1 && pools[0].value("complete", false) &&
           pools[0].value("devices", nlohmann::json::array()).size() == 3;
  }
};

TEST_F(DraSlices, ADeletedSliceComesBack) {
  startAll();
  const Devices before = devices();
  deleteSlice(deviceSlice());
  ASSERT_NE(devices(), before);
  EXPECT_TRUE(devicesUntil([&](const Devices& now) { return now == before; })) << node_->said();
  EXPECT_TRUE(until([this]() { return isWhole(); })) << api_->pools().dump(1);
}

TEST_F(DraSlices, ASliceThatSomebodyEditedIsPutRight) {
  startAll();
  const Devices before = devices();
  auto slice = deviceSlice();
  slice["spec"]["devices"][0]["attributes"] = nlohmann::json::object();
  api_->ask("PUT", kSlices + "/" + slice.at("metadata").at("name").get<std::string>(),
            slice.dump());
  ASSERT_NE(devices(), before);
  EXPECT_TRUE(devicesUntil([&](const Devices& now) { return now == before; })) << node_->said();
}

// After the 410 it lists again, and sees what it missed.
TEST_F(DraSlices, AWatchThatExpiredIsBegunAnew) {
  startAll();
  const Devices before = devices();
  const std::string watches = "GET " + kSlices + "?";
  const std::size_t asked = api_->asked(watches);
  api_->control({{"expireWatches", true}});
  ASSERT_TRUE(until([&]() { return api_->asked(watches) >= asked + 2; })) << "a list and a watch";
  deleteSlice(deviceSlice());
  EXPECT_TRUE(devicesUntil([&](const Devices& now) { return now == before; })) << node_->said();
}

// While the server refuses every write, and after.
TEST_F(DraSlices, AServerThatRefusesWritesIsTriedAgain) {
  startAll();
  const Devices before = devices();
  api_->control({{"fail",
                  {{{"match", "POST " + kSlices}, {"status", 429}, {"retryAfter", 1}, {"times", 1}},
                   {{"match", "POST " + kSlices}, {"drop", "mid-body"}, {"times", 1}}}}});
  deleteSlice(deviceSlice());
  EXPECT_TRUE(devicesUntil([&](const Devices& now) { return now == before; })) << node_->said();
}

/// A server whose objects outlive it.
class DraRestartedServer : public DraSlices {
protected:
  ApiServerOptions apiOptions() const override {
    ApiServerOptions options;
    options.store = stored_.path() / "store";
    return options;
  }

private:
  TempDir stored_;
};

TEST_F(DraRestartedServer, AServerThatWasRestartedHasAllAgain) {
  startAll();
  const std::string uid = claimFor("c1", "p1", {kC});
  ASSERT_TRUE(run(podWith("p1", "c1")).started);
  const Devices before = devices();
  ApiServerOptions options = apiOptions();
  options.port = api_->port();
  api_.reset();
  EXPECT_TRUE(node_->netdDra->says("event=pool_troubled"));
  EXPECT_TRUE(specIsThere(uid)) << "what runs, runs on";
  api_.emplace(options);
  // Before netd watches again, from a version that the new process does not know.
  deleteSlice(deviceSlice());
  EXPECT_TRUE(devicesUntil([&](const Devices& now) { return now == before; })) << node_->said();
  claimFor("c2", "p2", {kA});
  EXPECT_TRUE(run(podWith("p2", "c2")).started) << node_->said();
  node_->kubelet.end("p1");
  EXPECT_TRUE(node_->kubelet.awaitEnded("p1"));
}

/// The gate of shared counters is off.
class DraNoCounters : public ClaimCase {
  ApiServerOptions apiOptions() const override {
    ApiServerOptions options;
    options.drop = "counters";
    return options;
  }
};

// I1, T33: the scheduler cannot split what it sees once, and the ledger does not in any case.
TEST_F(DraNoCounters, I1_T33_OneDeviceOfEachGroupIsPublished) {
  startAll(2);
  const Devices pool = devices();
  EXPECT_TRUE(pool.contains(nameOf(kC)));
  EXPECT_NE(pool.contains(nameOf(kA)), pool.contains(nameOf(kB)));
  EXPECT_FALSE(pool.at(nameOf(kC)).contains("consumesCounters"));
  EXPECT_TRUE(plugindSays("event=fields_dropped")) << node_->said();
  claimFor("c1", "p1", {kA});
  ASSERT_TRUE(run(podWith("p1", "c1")).started) << node_->said();
  claimFor("c2", "p2", {kB});
  EXPECT_THAT(run(podWith("p2", "c2")).error, HasSubstr("group-allocated"));
  EXPECT_TRUE(devicesUntil([](const Devices& now) { return now.contains(nameOf(kA)); }))
      << "what is allocated stays published";
}

/// The gate of device taints is off.
class DraNoTaints : public ClaimCase {
  ApiServerOptions apiOptions() const override {
    ApiServerOptions options;
    options.drop = "taints";
    return options;
  }
  std::string keys() const override { return "serve: both"; }
};

// T33, T39.
TEST_F(DraNoTaints, T33_WhatThePluginAllocatedIsLeftOut) {
  startAll();
  ASSERT_TRUE(node_->kubelet.await(
      kGpus, [](const auto& devices) { return devices.healthy().contains(kA); }));
  std::string error;
  node_->kubelet.offer(kGpus, {kA}, error);
  ASSERT_EQ(error, "") << node_->said();
  EXPECT_TRUE(devicesUntil([](const Devices& now) {
    return now.size() == 1 && now.contains(nameOf(kC));
  })) << node_->said();
}

TEST_F(DraNoTaints, T39_WhatAClaimHasStaysPublishedWhenItVanishes) {
  startAll();
  claimFor("c1", "p1", {kC});
  ASSERT_TRUE(run(podWith("p1", "c1")).started);
  node_->hardware.remove(kC);
  node_->hardware.remove(kA);
  EXPECT_TRUE(devicesUntil([](const Devices& now) { return !now.contains(nameOf(kA)); }));
  EXPECT_THAT(devices(), SizeIs(2));
  EXPECT_TRUE(devices().contains(nameOf(kC)));
}

}  // namespace
}  // namespace vfiogate::test
