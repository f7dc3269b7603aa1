#include "tests/support/played/control_stand_in.h"

#include "ipc/api/api_codec.h"
#include "ipc/socket/stream_flags.h"
#include "ipc/socket/unix_socket.h"

#include <kj/debug.h>

#include <utility>

namespace vfiogate::test {
namespace {

constexpr auto kStandInPatience = 30 * kj::SECONDS;

}  // namespace

class ControlStandIn::Control final : public schema::Control::Server {
public:
  explicit Control(ControlStandIn& owner) : owner_(owner) {}

  kj::Promise<void> attach(AttachContext context) override {
    auto answer = context.getResults().initAnswer();
    ++owner_.attached_;
    if (owner_.driver_.empty()) {
      answer.setOff();
      return kj::READY_NOW;
    }
    owner_.api_ = context.getParams().getApi();
    owner_.node_ = context.getParams().getNode();
    answer.setDriver(owner_.driver_.c_str());
    return kj::READY_NOW;
  }

private:
  ControlStandIn& owner_;
};

struct ControlStandIn::Connection {
  Connection(kj::Own<kj::AsyncIoStream> accepted, capnp::Capability::Client control)
      : stream(kj::mv(accepted)),
        network(*stream, capnp::rpc::twoparty::Side::SERVER),
        rpc(capnp::makeRpcServer(network, kj::mv(control))) {}

  kj::Own<kj::AsyncIoStream> stream;
  capnp::TwoPartyVatNetwork network;
  capnp::RpcSystem<capnp::rpc::twoparty::VatId> rpc;
};

ControlStandIn::ControlStandIn(kj::AsyncIoContext& io, const std::string& directory,
                               std::string driver)
    : io_(io), driver_(std::move(driver)) {
  auto made = listenAt(directory.c_str(), "plugind.sock", WhoMayConnect::kEverybody);
  KJ_REQUIRE(made.has_value(), "cannot listen");
  listener_ = io.lowLevelProvider->wrapListenSocketFd(std::move(made).value(), kStreamFlags);
  accepting_ = acceptNext().eagerlyEvaluate(nullptr);
}

ControlStandIn::~ControlStandIn() = default;

void ControlStandIn::hangUp() {
  connection_ = nullptr;
}

kj::Promise<void> ControlStandIn::acceptNext() {
  return listener_->accept().then([this](kj::Own<kj::AsyncIoStream> stream) {
    api_ = nullptr;
    connection_ = kj::heap<Connection>(kj::mv(stream), kj::heap<Control>(*this));
    return acceptNext();
  });
}

void ControlStandIn::awaitAttached() {
  ++awaited_;
  const auto end = io_.provider->getTimer().now() + kStandInPatience;
  while (attached_ < awaited_) {
    KJ_REQUIRE(io_.provider->getTimer().now() < end, "netd does not attach");
    io_.provider->getTimer().afterDelay(10 * kj::MILLISECONDS).wait(io_.waitScope);
  }
  // The answer goes out with the next turns of the loop.
  io_.provider->getTimer().afterDelay(10 * kj::MILLISECONDS).wait(io_.waitScope);
}

ClaimAnswer ControlStandIn::claim(const std::string& driver, const std::string& name) {
  auto request = api().claimRequest();
  request.setDriver(driver.c_str());
  request.setClaimNamespace("default");
  request.setName(name.c_str());
  const auto response = request.send().wait(io_.waitScope);
  const auto answer = decode(response.getAnswer());
  KJ_REQUIRE(answer.has_value(), answer.error().c_str());
  return *answer;
}

KeptFields ControlStandIn::publish(const DevicePool& pool) {
  auto request = api().publishRequest();
  encode(pool, request.initPool());
  return decode(request.send().wait(io_.waitScope).getKept());
}

std::string ControlStandIn::report(const ClaimReport& report) {
  auto request = api().reportRequest();
  encode(report, request.initReport());
  return request.send().wait(io_.waitScope).getFailure().cStr();
}

}  // namespace vfiogate::test
