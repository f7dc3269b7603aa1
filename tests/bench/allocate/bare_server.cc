#include "tests/bench/allocate/bare_server.h"

#include <sys/prctl.h>

#include <condition_variable>
#include <csignal>
#include <functional>
#include <iostream>
#include <mutex>
#include <thread>

namespace vfiogate::bench {
namespace {

/// Carries out what is posted, on its thread: the loop of plugind without the loop.
class OneThread {
public:
  void post(std::function<void()> letter) {
    {
      const std::lock_guard lock(mutex_);
      letters_.push_back(std::move(letter));
    }
    posted_.notify_one();
  }
  void runForever() {
    for (;;) {
      std::unique_lock lock(mutex_);
      posted_.wait(lock, [this]() { return !letters_.empty(); });
      const auto letter = std::move(letters_.front());
      letters_.pop_front();
      lock.unlock();
      letter();
    }
  }

private:
  std::mutex mutex_;
  std::condition_variable posted_;
  std::deque<std::function<void()>> letters_;
};

class BareService final : public v1beta1::DevicePlugin::CallbackService {
public:
  explicit BareService(OneThread& thread) : thread_(thread) {}

  grpc::ServerUnaryReactor* GetDevicePluginOptions(
      grpc::CallbackServerContext* context, const v1beta1::Empty* /*request*/,
      v1beta1::DevicePluginOptions* /*answer*/) override {
    auto* reactor = context->DefaultReactor();
    thread_.post([reactor]() { reactor->Finish(grpc::Status::OK); });
    return reactor;
  }

private:
  OneThread& thread_;
};

}  // namespace

int serveBare(const std::string& socket) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);  // it serves nobody else
  OneThread thread;
  BareService service(thread);
  grpc::ServerBuilder builder;
  builder.AddListeningPort("unix:" + socket, grpc::InsecureServerCredentials());
  builder.RegisterService(&service);
  const auto server = builder.BuildAndStart();
  if (!server) giveUp("no server on " + socket);
  std::cout << "serving" << std::endl;
  thread.runForever();
  return 0;
}

BareServer::BareServer(const std::string& program)
    : server_({program, "--serve-bare", dir_ / "bare.sock"}) {
  if (!server_.says("serving")) giveUp("the bare server: " + server_.output());
  const auto channel =
      grpc::CreateChannel("unix:" + (dir_ / "bare.sock"), grpc::InsecureChannelCredentials());
  if (!channel->WaitForConnected(std::chrono::system_clock::now() + test::kPatience)) {
    giveUp("the bare server is not there");
  }
  stub_ = v1beta1::DevicePlugin::NewStub(channel);
  callEmpty();
}

Took BareServer::callEmpty() {
  v1beta1::DevicePluginOptions options;
  grpc::ClientContext context;
  const auto began = Clock::now();
  const grpc::Status status = stub_->GetDevicePluginOptions(&context, {}, &options);
  const Took took = Clock::now() - began;
  if (!status.ok()) giveUp("the bare server: " + status.error_message());
  return took;
}

}  // namespace vfiogate::bench
