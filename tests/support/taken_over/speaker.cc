#include "tests/support/taken_over/speaker.h"

#include "ipc/codec/limits.h"
#include "ipc/socket/stream_flags.h"

#include <capnp/message.h>
#include <kj/debug.h>

namespace vfiogate::test {
namespace {

schema::Handshake::Client handshakeOf(capnp::RpcSystem<capnp::rpc::twoparty::VatId>& rpc) {
  capnp::MallocMessageBuilder message;
  auto vat = message.initRoot<capnp::rpc::twoparty::VatId>();
  vat.setSide(capnp::rpc::twoparty::Side::SERVER);
  return rpc.bootstrap(vat).castAs<schema::Handshake>();
}

}  // namespace

/// Keeps the control of each group.
class Speaker::Watcher final : public schema::Observer::Server {
public:
  explicit Watcher(Speaker& speaker) : speaker_(speaker) {}

protected:
  kj::Promise<void> changed(ChangedContext context) override {
    const auto update = context.getParams().getUpdate();
    const auto groups =
        update.isFull() ? update.getFull().getGroups() : update.getDelta().getChangedGroups();
    for (const auto group : groups) {
      speaker_.left_.erase(group.getId());
      speaker_.controls.erase(group.getId());
      if (group.hasControl()) speaker_.controls.emplace(group.getId(), group.getControl());
    }
    if (update.isDelta()) {
      for (const auto group : update.getDelta().getRemovedGroups()) speaker_.left_.insert(group);
    }
    return kj::READY_NOW;
  }

private:
  Speaker& speaker_;
};

Speaker::Speaker(Captive& captive)
    : captive_(captive),
      stream_(captive.io.lowLevelProvider->wrapSocketFd(captive.next(PrivdRole::kHardware),
                                                        kStreamFlags)),
      network_(*stream_, capnp::rpc::twoparty::Side::CLIENT, kFromPrivd),
      rpc_(capnp::makeRpcClient(network_)) {
  auto request = handshakeOf(rpc_).enterRequest();
  request.setProtocol(schema::PROTOCOL);
  auto answered = await(request);
  session_ = answered.getAnswer().getSession();
}

void Speaker::watch() {
  subscriptions_.clear();
  watchBeside();
}

void Speaker::watchBeside() {
  controls.clear();
  auto request = session().watchRequest();
  request.setObserver(kj::heap<Watcher>(*this));
  auto answered = await(request);
  subscriptions_.push_back(answered.getSubscription());
  while (controls.empty()) captive_.pause(1 * kj::MILLISECONDS);
}

schema::GroupControl::Client Speaker::controlOf(std::uint32_t group) {
  while (!controls.contains(group)) captive_.pause(1 * kj::MILLISECONDS);
  return controls.at(group);
}

void Speaker::awaitLeft(std::uint32_t group) {
  while (!left_.contains(group)) captive_.pause(1 * kj::MILLISECONDS);
}

std::string memberOf(capnp::DynamicStruct::Reader answer) {
  KJ_IF_MAYBE (field, answer.which()) {
    const auto name = field->getProto().getName();
    return {name.begin(), name.size()};
  }
  return "unknown";
}

}  // namespace vfiogate::test
