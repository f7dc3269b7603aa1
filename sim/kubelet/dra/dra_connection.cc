#include "sim/kubelet/dra/dra_connection.h"

#include <utility>

namespace vfiogate::sim {
namespace {

namespace dra_old = k8s::io::kubelet::pkg::apis::dra::v1beta1;

std::shared_ptr<grpc::Channel> draChannel(const std::string& socketPath, const DraTimes& times) {
  grpc::ChannelArguments arguments;
  arguments.SetString(GRPC_ARG_DEFAULT_AUTHORITY, "localhost");
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetInt(GRPC_ARG_MAX_RECEIVE_MESSAGE_LENGTH, 4 << 20);
  const auto pause = static_cast<int>(times.reconnect.count());
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, pause);
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, pause);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS,
                   static_cast<int>(times.reconnectAtMost.count()));
  return grpc::CreateCustomChannel("unix:" + socketPath, grpc::InsecureChannelCredentials(),
                                   arguments);
}

/// The two versions have the same fields under the same numbers, but for the newer's share id.
template <typename To, typename From>
void rewrite(const From& from, To& to) {
  to.ParseFromString(from.SerializeAsString());
}

}  // namespace

/// One call under way, which close() can cancel.
class DraConnection::Call {
public:
  explicit Call(DraConnection& connection) : connection_(connection) {
    const std::lock_guard lock(connection_.mutex_);
    connection_.calls_.insert(&context_);
    if (connection_.closed_) context_.TryCancel();
  }
  ~Call() {
    const std::lock_guard lock(connection_.mutex_);
    connection_.calls_.erase(&context_);
  }
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

  grpc::ClientContext* within(std::chrono::milliseconds limit) {
    context_.set_deadline(std::chrono::system_clock::now() + limit);
    return &context_;
  }
  grpc::ClientContext* context() { return &context_; }

private:
  DraConnection& connection_;
  grpc::ClientContext context_;
};

DraConnection::DraConnection(const std::string& socketPath, const std::string& version,
                             const DraTimes& times, Listener listener)
    : times_(times),
      listener_(std::move(listener)),
      old_(version == "v1beta1.DRAPlugin"),
      channel_(draChannel(socketPath, times)),
      polling_([this]() { poll(); }),
      watching_([this]() { watchHealth(); }) {}

DraConnection::~DraConnection() {
  close();
  polling_.join();
  watching_.join();
}

void DraConnection::close() {
  const std::lock_guard lock(mutex_);
  closed_ = true;
  for (auto* call : calls_) call->TryCancel();
  changed_.notify_all();
}

void DraConnection::poll() {
  bool connected = false;
  while (true) {
    {
      const std::lock_guard lock(mutex_);
      if (closed_) return;
    }
    const grpc_connectivity_state state = channel_->GetState(true);
    if (connected != (state == GRPC_CHANNEL_READY)) {
      connected = !connected;
      listener_.connection(connected);
    }
    // Nothing wakes who waits for another state: look for close() now and then.
    channel_->WaitForStateChange(state,
                                 std::chrono::system_clock::now() + std::chrono::milliseconds(20));
  }
}

void DraConnection::watchHealth() {
  const auto stub = v1alpha1::DRAResourceHealth::NewStub(channel_);
  while (true) {
    {
      Call call(*this);
      const auto stream = stub->NodeWatchResources(call.context(), {});
      Health frame;
      while (stream->Read(&frame)) listener_.health(frame);
      static_cast<void>(stream->Finish());
    }
    listener_.healthEnded();
    std::unique_lock lock(mutex_);
    if (changed_.wait_for(lock, times_.watchAgain, [this]() { return closed_; })) return;
  }
}

grpc::Status DraConnection::prepare(const dra_v1::NodePrepareResourcesRequest& request,
                                    dra_v1::NodePrepareResourcesResponse& response) {
  Call call(*this);
  grpc::ClientContext* context = call.within(times_.call);
  if (!old_) {
    return dra_v1::DRAPlugin::NewStub(channel_)->NodePrepareResources(context, request, &response);
  }
  dra_old::NodePrepareResourcesRequest asked;
  dra_old::NodePrepareResourcesResponse answer;
  rewrite(request, asked);
  const grpc::Status status =
      dra_old::DRAPlugin::NewStub(channel_)->NodePrepareResources(context, asked, &answer);
  answer.DiscardUnknownFields();  // what v1 would take for a share id
  rewrite(answer, response);
  return status;
}

grpc::Status DraConnection::unprepare(const dra_v1::NodeUnprepareResourcesRequest& request,
                                      dra_v1::NodeUnprepareResourcesResponse& response) {
  Call call(*this);
  grpc::ClientContext* context = call.within(times_.call);
  if (!old_) {
    return dra_v1::DRAPlugin::NewStub(channel_)->NodeUnprepareResources(context, request,
                                                                        &response);
  }
  dra_old::NodeUnprepareResourcesRequest asked;
  dra_old::NodeUnprepareResourcesResponse answer;
  rewrite(request, asked);
  const grpc::Status status =
      dra_old::DRAPlugin::NewStub(channel_)->NodeUnprepareResources(context, asked, &answer);
  rewrite(answer, response);
  return status;
}

}  // namespace vfiogate::sim
