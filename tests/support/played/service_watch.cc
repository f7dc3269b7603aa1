#include "tests/support/played/service_watch.h"

#include "ipc/codec/limits.h"
#include "ipc/schema/helper.capnp.h"
#include "ipc/socket/unix_socket.h"

#include <capnp/rpc-twoparty.h>
#include <kj/async-io.h>

#include <algorithm>
#include <chrono>
#include <utility>

namespace vfiogate::test {
namespace {

constexpr auto kPatience = 20 * kj::SECONDS;
constexpr std::chrono::milliseconds kBetweenClients{5};

kj::Promise<void> ask(schema::Handshake::Client handshake) {
  auto enter = handshake.enterRequest();
  enter.setProtocol(schema::PROTOCOL);
  return enter.send().then([](capnp::Response<schema::Handshake::EnterResults> entered) {
    return entered.getAnswer().getSession().discoveryRequest().send().ignoreResult();
  });
}

/// With as few descriptors as it comes to have: a client that left is closed a moment later.
ProcessSize atRest(pid_t pid) {
  ProcessSize least = sizeOf(pid);
  for (int i = 0; i < 10; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    const ProcessSize now = sizeOf(pid);
    if (now.descriptors <= least.descriptors) least = now;
  }
  return least;
}

}  // namespace

ServiceWatch::ServiceWatch(pid_t privd, std::string socket)
    : privd_(privd), socket_(std::move(socket)) {
  serves();  // what a first client costs
  seen_.before = atRest(privd_);
  seen_.peak = seen_.before;
  thread_ = std::thread([this] { watch(); });
}

ServiceWatch::~ServiceWatch() {
  if (thread_.joinable()) end();
}

ServiceWatch::Seen ServiceWatch::end() {
  ending_ = true;
  thread_.join();
  seen_.after = atRest(privd_);
  std::ranges::sort(waits_);
  if (!waits_.empty()) {
    seen_.medianMs = waits_[waits_.size() / 2];
    seen_.longestMs = waits_.back();
  }
  return seen_;
}

bool ServiceWatch::serves() const {
  try {
    auto io = kj::setupAsyncIo();
    auto dialled = dialAt(socket_.c_str());
    if (!dialled) return false;
    auto stream = io.lowLevelProvider->wrapSocketFd(kj::mv(dialled).value(), kStreamFlags);
    capnp::TwoPartyClient client(*stream);
    auto asked = ask(client.bootstrap().castAs<schema::Handshake>());
    io.provider->getTimer().timeoutAfter(kPatience, kj::mv(asked)).wait(io.waitScope);
    return true;
  } catch (const kj::Exception&) {
    return false;
  }
}

void ServiceWatch::watch() {
  while (!ending_) {
    const auto began = std::chrono::steady_clock::now();
    if (!serves()) ++seen_.notServed;
    const std::chrono::duration<double, std::milli> waited =
        std::chrono::steady_clock::now() - began;
    waits_.push_back(waited.count());
    measure();
    std::this_thread::sleep_for(kBetweenClients);
  }
}

void ServiceWatch::measure() {
  const ProcessSize now = sizeOf(privd_);
  seen_.peak.residentKib = std::max(seen_.peak.residentKib, now.residentKib);
  seen_.peak.descriptors = std::max(seen_.peak.descriptors, now.descriptors);
}

}  // namespace vfiogate::test
