// When the kubelet's checkpoint is read.

#include "plugind/loop/memory_readings.h"

#include <gtest/gtest.h>

#include <kj/async-io.h>

#include <string>
#include <vector>

namespace vfiogate {
namespace {

using Version = Result<CheckpointFile, SocketRefusal>;

/// Answers when the test says so.
class PlayedSource final : public KubeletMemorySource {
public:
  kj::Promise<Version> checkpoint() override {
    auto pair = kj::newPromiseAndFulfiller<Version>();
    asked.push_back(kj::mv(pair.fulfiller));
    return kj::mv(pair.promise);
  }
  kj::Promise<Result<kj::AutoCloseFd, SocketRefusal>> dialPodResources() override {
    return Result<kj::AutoCloseFd, SocketRefusal>(Failure{SocketRefusal{"none here"}});
  }

  void answer(std::size_t which) { asked.at(which)->fulfill(Failure{SocketRefusal{"nothing"}}); }

  std::vector<kj::Own<kj::PromiseFulfiller<Version>>> asked;
};

class MemoryReadingsTest : public testing::Test {
protected:
  ~MemoryReadingsTest() noexcept override = default;

  kj::AsyncIoContext io_ = kj::setupAsyncIo();
  PlayedSource source_;
  MemoryReadings readings_{source_,
                           io_.provider->getTimer(),
                           {.listRead = [](const auto&, auto) {},
                            .versionRead = [](const auto&, bool, auto) {},
                            .reconcileEnded = [](bool) {}},
                           [] { return false; }};
};

TEST_F(MemoryReadingsTest, VersionsThatAreReplacedMeanwhileAreReadOnce) {
  readings_.readVersion();
  readings_.readVersion();
  readings_.readVersion();
  EXPECT_EQ(source_.asked.size(), 1U);
  source_.answer(0);
  io_.waitScope.poll();
  EXPECT_EQ(source_.asked.size(), 2U);
  source_.answer(1);
  io_.waitScope.poll();
  EXPECT_EQ(source_.asked.size(), 2U);
}

// Once we have registered with it, it writes its checkpoint anew, without those that it let go.
TEST_F(MemoryReadingsTest, I1_WhatAKubeletBeginsWithIsAskedForAtOnce) {
  readings_.readVersion();
  readings_.readBeginning();
  EXPECT_EQ(source_.asked.size(), 2U);
}

}  // namespace
}  // namespace vfiogate
