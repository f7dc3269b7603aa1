#include "plugind/control/control_server.h"

#include "ipc/base/kube_names.h"
#include "ipc/codec/limits.h"
#include "ipc/codec/metered_stream.h"
#include "ipc/schema/plugind.capnp.h"
#include "ipc/socket/stream_flags.h"
#include "plugind/base/log_line.h"

#include <capnp/rpc-twoparty.h>
#include <kj/debug.h>

#include <utility>

namespace vfiogate {
namespace {

constexpr unsigned kMostVisitors = 8;  // of a kind
constexpr auto kLongestVisit = 10 * kj::SECONDS;

/// An answer may be long: the status of 4,096 devices is about 1 MiB. What netd answers is a claim.
constexpr capnp::ReaderOptions kAnswers{.traversalLimitInWords = 4U << 20U, .nestingLimit = 16};

/// For netd: whatever is not overridden here answers "unimplemented".
class NetdControl : public schema::Control::Server {
public:
  explicit NetdControl(ControlSource& source) : source_(source) {}

protected:
  kj::Promise<void> metrics(MetricsContext context) override {
    return source_.metricsText().then(
        [context](const std::string& text) mutable { context.getResults().setText(text); });
  }

  kj::Promise<void> ready(ReadyContext context) override {
    const PluginReadiness readiness = source_.readiness();
    context.getResults().setReady(readiness.ready);
    context.getResults().setWhy(readiness.why);
    return kj::READY_NOW;
  }

  ControlSource& source_;
};

/// For netd, which alone has an API server to offer.
class ApiControl final : public NetdControl {
public:
  ApiControl(ControlSource& source, ApiListener* listener,
             kj::Own<kj::PromiseFulfiller<void>> attached)
      : NetdControl(source), listener_(listener), attached_(kj::mv(attached)) {}

protected:
  kj::Promise<void> attach(AttachContext context) override {
    if (listener_ == nullptr) {
      context.getResults().initAnswer().setOff();
      return kj::READY_NOW;
    }
    const auto named = context.getParams().getNode();
    std::string node(named.begin(), named.end());
    KJ_REQUIRE(isDnsSubdomain(node), "not a node's name");
    token_.reset();
    token_ = listener_->attach(context.getParams().getApi(), std::move(node));
    attached_->fulfill();
    context.getResults().initAnswer().setDriver(listener_->driver());
    return kj::READY_NOW;
  }

private:
  ApiListener* listener_;
  kj::Own<kj::PromiseFulfiller<void>> attached_;
  std::shared_ptr<void> token_;
};

class OwnControl final : public NetdControl {
public:
  using NetdControl::NetdControl;

protected:
  kj::Promise<void> status(StatusContext context) override {
    return source_.statusJson().then(
        [context](const std::string& json) mutable { context.getResults().setJson(json); });
  }

  kj::Promise<void> explain(ExplainContext context) override {
    const auto address = UnitId::parse(context.getParams().getAddress().cStr());
    KJ_REQUIRE(address.has_value(), "not an address in the kernel's form");
    context.getResults().setJson(source_.explainJson(*address));
    return kj::READY_NOW;
  }
};

struct OwnVisit {
  OwnVisit(kj::Own<kj::AsyncIoStream> io, ControlSource& source)
      : stream(kj::mv(io)),
        network(*stream, capnp::rpc::twoparty::Side::SERVER, kAnswers),
        rpc(capnp::makeRpcServer(network, kj::heap<OwnControl>(source))) {}

  kj::Own<kj::AsyncIoStream> stream;
  capnp::TwoPartyVatNetwork network;
  capnp::RpcSystem<capnp::rpc::twoparty::VatId> rpc;
};

struct NetdVisit {
  NetdVisit(kj::Own<kj::AsyncIoStream> io, kj::Own<ApiControl> control, kj::Timer& timer)
      : stream(kj::mv(io)),
        metered(*stream, timer),
        network(metered, capnp::rpc::twoparty::Side::SERVER, kAnswers),
        rpc(capnp::makeRpcServer(network, kj::mv(control))) {
    rpc.setFlowLimit(kFlowLimitWords);
    metered.countQueueWith([this]() { return network.getCurrentQueueCount(); });
  }

  kj::Own<kj::AsyncIoStream> stream;
  MeteredStream metered;
  capnp::TwoPartyVatNetwork network;
  capnp::RpcSystem<capnp::rpc::twoparty::VatId> rpc;
};

}  // namespace

ControlServer::ControlServer(ControlSource& source, ApiListener* api, const LoopDeps& loop)
    : source_(source), api_(api), loop_(loop), visits_(*this) {}

void ControlServer::admit(kj::AutoCloseFd connection, Visitor who) {
  if (visitors_[who] >= kMostVisitors) return;
  auto stream = loop_.streams.wrapSocketFd(kj::mv(connection), kStreamFlags);
  if (who == Visitor::kNetd) {
    auto attached = kj::newPromiseAndFulfiller<void>();
    auto visit = kj::heap<NetdVisit>(
        kj::mv(stream), kj::heap<ApiControl>(source_, api_, kj::mv(attached.fulfiller)),
        loop_.timer);
    auto offended = visit->metered.offended().then([](Offence offence) {
      logWarning(LogEvent::kPeerRefused,
                 {{"where", "control"}, {"peer", "netd"}, {"why", reasonOf(offence).cStr()}});
    });
    auto left = visit->network.onDisconnect().exclusiveJoin(kj::mv(offended));
    auto stays = attached.promise.then([]() { return true; });
    auto leaves = loop_.timer.afterDelay(kLongestVisit).then([]() { return false; });
    auto timeOver = stays.exclusiveJoin(kj::mv(leaves)).then([this](bool attachedOne) {
      return attachedOne ? untilReplaced() : kj::Promise<void>(kj::READY_NOW);
    });
    return keep(left.attach(kj::mv(visit)), kj::mv(timeOver), who);
  }
  auto visit = kj::heap<OwnVisit>(kj::mv(stream), source_);
  auto left = visit->network.onDisconnect();
  keep(left.attach(kj::mv(visit)), loop_.timer.afterDelay(kLongestVisit), who);
}

void ControlServer::keep(kj::Promise<void> visit, kj::Promise<void> timeOver, Visitor who) {
  ++visitors_[who];
  visits_.add(
      visit.exclusiveJoin(kj::mv(timeOver)).attach(kj::defer([this, who]() { --visitors_[who]; })));
}

kj::Promise<void> ControlServer::untilReplaced() {
  if (replaced_.get() != nullptr) replaced_->fulfill();
  auto next = kj::newPromiseAndFulfiller<void>();
  replaced_ = kj::mv(next.fulfiller);
  return kj::mv(next.promise);
}

void ControlServer::taskFailed(kj::Exception&& exception) {
  logError(LogEvent::kTaskFailed,
           {{"task", "control"}, {"why", exception.getDescription().cStr()}});
}

}  // namespace vfiogate
