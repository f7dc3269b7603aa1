#include "tests/bench/bare_server.h"

#include <kj/io.h>

#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <condition_variable>
#include <csignal>
#include <deque>
#include <functional>
#include <iostream>
#include <mutex>

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

/// A process that sends back what it is sent.
class Echo {
public:
  Echo() {
    std::array<int, 2> ends{};
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0)
      giveUp("no socket");
    const pid_t child = fork();
    if (child < 0) giveUp("no process");
    if (child == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      for (Packet packet{}; read(ends[1], packet.data(), packet.size()) > 0;) {
        if (write(ends[1], packet.data(), packet.size()) < 0) break;
      }
      _exit(0);
    }
    end_ = kj::AutoCloseFd(ends[0]);
    close(ends[1]);
  }

  void ask() const {
    Packet packet{};
    const bool there = write(end_.get(), packet.data(), packet.size()) > 0 &&
                       read(end_.get(), packet.data(), packet.size()) > 0;
    if (!there) giveUp("an echo is gone");
  }

private:
  using Packet = std::array<char, 256>;
  kj::AutoCloseFd end_;
};

class BareService final : public v1beta1::DevicePlugin::CallbackService {
public:
  /// Who is asked, one after the other, was started before gRPC's threads.
  BareService(OneThread& thread, const std::deque<Echo>& asked) : thread_(thread), asked_(asked) {}

  grpc::ServerUnaryReactor* GetDevicePluginOptions(
      grpc::CallbackServerContext* context, const v1beta1::Empty* /*request*/,
      v1beta1::DevicePluginOptions* /*answer*/) override {
    auto* reactor = context->DefaultReactor();
    thread_.post([reactor]() { reactor->Finish(grpc::Status::OK); });
    return reactor;
  }

  grpc::ServerUnaryReactor* Allocate(grpc::CallbackServerContext* context,
                                     const v1beta1::AllocateRequest* /*request*/,
                                     v1beta1::AllocateResponse* /*answer*/) override {
    auto* reactor = context->DefaultReactor();
    thread_.post([this, reactor]() {
      for (const Echo& each : asked_) each.ask();
      reactor->Finish(grpc::Status::OK);
    });
    return reactor;
  }

private:
  OneThread& thread_;
  const std::deque<Echo>& asked_;
};

}  // namespace

int serveBare(const std::string& socket, Behind behind) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);  // it serves nobody else
  const std::deque<Echo> asked(behind == Behind::kTwoProcesses ? 2 : 0);
  OneThread thread;
  BareService service(thread, asked);
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
  return timeCall("the bare server", [&](grpc::ClientContext& context) {
    return stub_->GetDevicePluginOptions(&context, {}, &options);
  });
}

Took BareServer::callRelayed() {
  v1beta1::AllocateResponse response;
  return timeCall("the bare server", [&](grpc::ClientContext& context) {
    return stub_->Allocate(&context, {}, &response);
  });
}

}  // namespace vfiogate::bench
