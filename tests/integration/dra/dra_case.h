#pragma once
// The gRPC side of the DRA driver on passed descriptors, in one process with its client.

#include "plugind/dra/serve/dra_server.h"
#include "plugind/dra/serve/dra_service.h"
#include "proto/dra_health_v1alpha1.grpc.pb.h"
#include "proto/dra_v1.grpc.pb.h"
#include "proto/dra_v1beta1.grpc.pb.h"
#include "proto/pluginregistration.grpc.pb.h"
#include "tests/integration/loop_stage.h"

#include <gmock/gmock.h>
#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>
#include <grpcpp/create_channel_posix.h>
#include <gtest/gtest.h>

#include <unistd.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace vfiogate::test {

/// The words of a version with what calls it.
struct ClientWordsV1 : DraWordsV1 {
  using Plugin = k8s::io::kubelet::pkg::apis::dra::v1::DRAPlugin;
};
struct ClientWordsV1beta1 : DraWordsV1beta1 {
  using Plugin = k8s::io::kubelet::pkg::apis::dra::v1beta1::DRAPlugin;
};

inline const std::string kDraDriver = "vfio.vfiogate.dev";
inline const std::string kDraEndpoint = "/var/lib/kubelet/plugins/vfio.vfiogate.dev/dra.sock";

/// Keeps what the server told, and wakes whoever waits for it.
class DraRecorder final : public DraEvents, public Wakes {
public:
  void claimsAsked(std::shared_ptr<ClaimsCall> call) override {
    calls.push_back(std::move(call));
    wake();
  }
  void claimsCancelled(const std::shared_ptr<ClaimsCall>& call) override {
    cancelled.push_back(call);
    wake();
  }
  void healthOpened(std::shared_ptr<HealthStream> stream) override {
    streams.push_back(std::move(stream));
    wake();
  }
  void healthEnded(const HealthStream& stream) override {
    ended.push_back(&stream);
    wake();
  }
  void registrationTold(bool registered, const std::string& error) override {
    told.emplace_back(registered, error);
    if (onTold) onTold(registered, error);
    wake();
  }

  std::vector<std::shared_ptr<ClaimsCall>> calls;
  std::vector<std::shared_ptr<ClaimsCall>> cancelled;
  std::vector<std::shared_ptr<HealthStream>> streams;
  std::vector<const HealthStream*> ended;
  std::vector<std::pair<bool, std::string>> told;
  std::function<void(bool, const std::string&)> onTold;
};

/// The loop and one driver on it. Apart from the fixture, whose destructor must not throw.
struct DraStage : LoopStage {
  DraStage() { start(getuid()); }
  ~DraStage() noexcept(false) { taskQueue->close(); }

  void start(uid_t kubeletUid) {
    server.emplace(kDraDriver, recorder, loop, kubeletUid);
    server->serveOn(listenAs("dra.sock"));
    server->registerOn(listenAs("reg.sock"), kDraEndpoint);
  }

  DraRecorder recorder;
  std::optional<DraServer> server;
};

class DraCase : public LoopCase<DraStage> {
protected:
  kj::AutoCloseFd dial(const char* name) const { return stage_->dial(name); }
  static std::shared_ptr<grpc::Channel> channelOn(kj::AutoCloseFd connection) {
    return grpc::CreateCustomInsecureChannelFromFd("dra", connection.release(), {});
  }
  std::shared_ptr<grpc::Channel> channel(const char* name = "dra.sock") const {
    return channelOn(dial(name));
  }

  DraRecorder& recorder_ = stage_->recorder;
};

template <typename Request>
void addClaim(Request& request, const std::string& uid, const std::string& claimNamespace = "vms",
              const std::string& name = "gpu") {
  auto& claim = *request.add_claims();
  claim.set_uid(uid);
  claim.set_namespace_(claimNamespace);
  claim.set_name(name);
}

/// A call of the kubelet under way, whose answer is not there yet. Ends with it.
template <typename Words>
class Preparing {
public:
  Preparing(typename Words::Plugin::Stub& stub, const std::vector<std::string>& uids) {
    for (const std::string& uid : uids) addClaim(request_, uid);
    stub.async()->NodePrepareResources(&context_, &request_, &answer_, [this](grpc::Status status) {
      done_.set_value(std::move(status));
    });
  }
  KJ_DISALLOW_COPY(Preparing);

  void cancel() { context_.TryCancel(); }
  /// Blocks until the call is over. Once.
  grpc::Status status() { return done_.get_future().get(); }
  const typename Words::Prepared& answer() const { return answer_; }

private:
  grpc::ClientContext context_;
  typename Words::Prepare request_;
  typename Words::Prepared answer_;
  std::promise<grpc::Status> done_;
};

}  // namespace vfiogate::test
