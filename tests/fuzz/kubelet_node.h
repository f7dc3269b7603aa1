#pragma once
// A node for the kubelet's words: two groups of one resource, and gRPC's calls without gRPC.

#include "plugind/base/task_queue.h"
#include "plugind/rpc/served_call.h"
#include "tests/fuzz/fuzz_input.h"
#include "tests/support/ledger_node.h"

#include <kj/async-io.h>

#include <memory>
#include <utility>

namespace vfiogate {

constexpr const char* kFuzzedDriver = "vfio.vfiogate.dev";

/// 0000:01:00.0 and .1 are one group, 0000:02:00.0 another; all are vfiogate.dev/gpu.
inline std::unique_ptr<test::LedgerNode> kubeletNode() {
  GTEST_FLAG_SET(break_on_failure, true);  // what the node expects has to hold here, too
  auto node = std::make_unique<test::LedgerNode>();
  node->hardware.add("0000:01:00.0", 1);
  node->hardware.add("0000:01:00.1", 1);
  node->hardware.add("0000:02:00.0", 2).numaNode = 1;
  node->offer("vendor=10de", "gpu").allocation.groupUnit = GroupUnit::kAll;
  node->settings.dra.driver = kFuzzedDriver;
  node->start();
  return node;
}

/// Carries out what a service posted.
class PostedLetters {
public:
  PostedLetters() : running_(box_->run(loop().unixEventPort).eagerlyEvaluate(nullptr)) {}

  const std::shared_ptr<TaskQueue>& box() const { return box_; }
  void carryOut() { loop().waitScope.poll(); }

private:
  static kj::AsyncIoContext& loop() {
    static kj::AsyncIoContext io = kj::setupAsyncIo();
    return io;
  }

  std::shared_ptr<TaskQueue> box_ = (loop(), std::make_shared<TaskQueue>());
  kj::Promise<void> running_;
};

/// Keeps what a call is answered.
class KeptAnswer final : public Responder {
public:
  void write(const google::protobuf::MessageLite&) override { require(false); }
  void finish(const google::protobuf::MessageLite& answer) override {
    end();
    message_.reset(answer.New());
    message_->CheckTypeAndMergeFrom(answer);
  }
  void finish(const grpc::Status& status) override {
    end();
    require(!status.ok());
  }

  /// Null: the call was refused, or waits.
  const google::protobuf::MessageLite* message() const { return message_.get(); }

private:
  void end() { require(!std::exchange(ended_, true)); }

  bool ended_ = false;
  std::unique_ptr<google::protobuf::MessageLite> message_;
};

}  // namespace vfiogate
