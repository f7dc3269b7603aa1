#pragma once
// The stand-in kubelet with DRA drivers whose every answer the test decides.

#include "sim/base/temp_dir.h"
#include "sim/kubelet/dra/claim_book.h"
#include "sim/kubelet/dra/claim_record.h"
#include "sim/kubelet/dra/kept_file.h"
#include "sim/kubelet/kubelet_sim.h"
#include "tests/integration/kubelet/tiny_dra.h"
#include "tests/integration/kubelet/tiny_registration.h"

#include <gtest/gtest.h>

#include <condition_variable>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace vfiogate::sim {

inline const std::string kDriver = "vfio.example.com";

/// An API server that has slices taken away.
class WipedSlices final : public SliceWiper {
public:
  using Clock = std::chrono::steady_clock;

  /// So many of the next tries fail.
  void fail(int tries) {
    const std::lock_guard lock(mutex_);
    failures_ = tries;
  }
  bool wipeNode() override { return wiped("*"); }
  bool wipeDriver(const std::string& driver) override { return wiped(driver); }
  /// When the driver's, or "*", the node's, were wiped.
  std::vector<Clock::time_point> of(const std::string& driver) {
    const std::lock_guard lock(mutex_);
    return wiped_[driver];
  }
  bool await(const std::string& driver, std::size_t count) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, kPatience, [&]() { return wiped_[driver].size() >= count; });
  }

private:
  bool wiped(const std::string& what) {
    const std::lock_guard lock(mutex_);
    if (failures_ > 0) {
      --failures_;
      return false;
    }
    wiped_[what].push_back(Clock::now());
    changed_.notify_all();
    return true;
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  int failures_ = 0;
  std::map<std::string, std::vector<Clock::time_point>> wiped_;
};

/// One instance of a driver: what it serves, and that it says so.
struct DraDriver {
  std::optional<TinyDra> service;
  std::optional<TinyRegistration> registration;
};

/// Times are the real ones, which no test lives to see, unless it shortens them before start().
class KubeletDra : public testing::Test {
protected:
  using Milliseconds = std::chrono::milliseconds;

  KubeletDra() {
    std::filesystem::create_directory(dir_ / "device-plugins");
    std::filesystem::create_directory(dir_ / "plugins_registry");
    options_.watch = {.every = Milliseconds(20),
                      .firstRetry = Milliseconds(50),
                      .longestRetry = Milliseconds(100)};
    options_.dra.claims = claims_;
    options_.dra.slices = slices_;
    options_.dra.times.reconnect = Milliseconds(50);
    options_.dra.times.reconnectAtMost = Milliseconds(100);
  }
  DraTimes& times() { return options_.dra.times; }
  void start(StartOptions options = {}) {
    kubelet_.emplace(dir_.path(), options_);
    kubelet_->start(options);
  }
  /// As at the beginning, but for the files of state.
  void clear() {
    kubelet_.reset();
    for (const auto& [instance, driver] : drivers_) std::filesystem::remove(registryOf(instance));
    drivers_.clear();
  }

  std::string socketOf(const std::string& instance) const { return dir_ / (instance + ".sock"); }
  std::string registryOf(const std::string& instance) const {
    return dir_ / ("plugins_registry/" + instance + "-reg.sock");
  }
  /// Announces the instance, whose service need not be there.
  TinyRegistration& announce(const std::string& instance, const std::string& driver = kDriver,
                             const std::vector<std::string>& versions = {"v1.DRAPlugin"},
                             const std::string& type = "DRAPlugin") {
    auto& registration = drivers_[instance].registration;
    registration.reset();
    std::filesystem::remove(registryOf(instance));
    return registration.emplace(registryOf(instance), type, driver, versions, socketOf(instance));
  }
  /// An instance that is registered, and connected as the only new one.
  TinyDra& serve(const std::string& driver = kDriver, const std::string& instance = "one",
                 const std::vector<std::string>& versions = {"v1.DRAPlugin"}, bool health = true) {
    auto& service = drivers_[instance].service;
    service.emplace(socketOf(instance), health);
    EXPECT_TRUE(announce(instance, driver, versions).awaitNotices(1));
    EXPECT_TRUE(kubelet_->awaitDra(driver, [&](const std::vector<DraInstance>& instances) {
      return std::ranges::any_of(instances, [&](const DraInstance& one) {
        return one.endpoint == socketOf(instance) && one.connected;
      });
    }));
    return *service;
  }

  /// A claim, UID "uid-NAME", of one device for each of `drivers`, that `pods` may use.
  ResourceClaim allocate(const std::string& name, const std::set<std::string>& pods,
                         const std::vector<std::string>& drivers = {kDriver}) {
    ResourceClaim claim{.name = name, .uid = "uid-" + name, .reservedFor = pods};
    for (const std::string& driver : drivers) {
      claim.results.push_back({.request = "main", .driver = driver, .pool = "pool", .device = "d"});
    }
    claims_->put(claim);
    return claim;
  }
  /// One container "c" with all of the claims.
  static PodSpec pod(const std::string& uid, const std::vector<std::string>& claims) {
    PodSpec pod{.uid = uid, .initContainers = {}, .containers = {{"c", {}}}};
    for (const std::string& claim : claims) {
      pod.claims.push_back({.name = "my-" + claim, .claim = claim});
      pod.containers[0].claims.push_back({.name = "my-" + claim});
    }
    return pod;
  }
  PodStart run(const PodSpec& pod) {
    EXPECT_TRUE(kubelet_->admit(pod).admitted);
    return kubelet_->startPod(pod.uid);
  }
  /// A pod "p" that runs with claim "a".
  void runOne() {
    start();
    serve();
    allocate("a", {"p"});
    ASSERT_TRUE(run(pod("p", {"a"})).started);
  }
  ClaimRecords file() const {
    ClaimRecords claims;
    EXPECT_TRUE(parseClaims(keptText(dir_ / "dra_manager_state"), claims));
    return claims;
  }
  TinyDra& service(const std::string& instance = "one") { return *drivers_.at(instance).service; }

  TempDir dir_;
  const std::shared_ptr<ClaimBook> claims_ = std::make_shared<ClaimBook>();
  const std::shared_ptr<WipedSlices> slices_ = std::make_shared<WipedSlices>();
  KubeletOptions options_;
  std::map<std::string, DraDriver> drivers_;
  std::optional<KubeletSim> kubelet_;
};

}  // namespace vfiogate::sim
