#pragma once
// A publisher before an API server in memory, and a clock that is turned by hand.

#include "netd/dra/slices/publish_pacing.h"
#include "netd/dra/slices/slice_publisher.h"
#include "tests/support/played/model_api.h"

#include <gmock/gmock.h>

#include <string>
#include <utility>
#include <vector>

namespace vfiogate::test {

inline const std::string kGroup = "/apis/resource.k8s.io/v1";
inline const std::string kPath = kGroup + "/resourceslices";

/// One slice of counters, and so many of devices as 64 each need.
inline DevicePool publishedPool(int devices = 1) {
  DevicePool pool{.driver = "d.example", .name = "n1", .devices = {}, .counterSets = {}};
  pool.counterSets["groups"] = {"group-1"};
  for (int i = 0; i < devices; ++i) pool.devices["dev-" + std::to_string(1000 + i)] = {};
  pool.devices.begin()->second.consumes = {{"groups", "group-1"}};
  return pool;
}

struct KeptNews final : PublisherNews {
  void poolStored(std::size_t slices, std::size_t writes) override {
    stored.push_back(std::to_string(slices) + "/" + std::to_string(writes));
  }
  void poolTroubled(const std::string& why) override { troubles.push_back(why); }

  std::vector<std::string> stored;
  std::vector<std::string> troubles;
};

class SlicePublisherTest : public testing::Test {
protected:
  ~SlicePublisherTest() noexcept override = default;

  /// Everything happens that needs no time.
  void settle() { kj::Promise<void>(kj::NEVER_DONE).poll(scope_); }
  void pass(kj::Duration time) {
    settle();
    timer_.advanceTo(timer_.now() + time);
    settle();
  }
  /// Second by second.
  void passAll(int seconds) {
    for (int i = 0; i < seconds; ++i) pass(1 * kj::SECONDS);
  }
  void publishAtOnce(DevicePool pool) {
    promises_.push_back(publisher_.publish(std::move(pool)));
    pass(kStartSpread);
  }
  std::vector<std::string> since(std::size_t entries) const {
    return {api_.journal.begin() + static_cast<std::ptrdiff_t>(entries), api_.journal.end()};
  }
  std::int64_t generation() const {
    return api_.slices.begin()->second["spec"]["pool"]["generation"].get<std::int64_t>();
  }

  kj::EventLoop loop_;
  kj::WaitScope scope_{loop_};
  kj::TimerImpl timer_{kj::origin<kj::TimePoint>()};
  ModelApi api_;
  std::vector<ResourceApi> told_;
  ApiVersions versions_{[this](ResourceApi api) { told_.push_back(api); }};
  KeptNews news_;
  double unit_ = 0.5;
  SlicePublisher publisher_{{.client = api_,
                             .versions = versions_,
                             .timer = timer_,
                             .news = news_,
                             .node = "n1",
                             .draw = [this]() { return unit_; }}};
  std::vector<kj::Promise<KeptFields>> promises_;
};

}  // namespace vfiogate::test
