#include "plugind/desk/desk_server.h"

#include "ipc/socket/stream_flags.h"
#include "plugind/desk/desk.capnp.h"
#include "plugind/log_line.h"

#include <capnp/rpc-twoparty.h>
#include <kj/debug.h>

namespace vfiogate {
namespace {

constexpr unsigned kMostVisitors = 8;
constexpr auto kLongestVisit = 10 * kj::SECONDS;

/// An answer may be long: the status of 4,096 devices is about 1 MiB. A visitor is our own user.
constexpr capnp::ReaderOptions kAnswers{.traversalLimitInWords = 4U << 20U, .nestingLimit = 8};

class Desk final : public schema::Desk::Server {
public:
  explicit Desk(const DeskSource& source) : source_(source) {}

protected:
  kj::Promise<void> status(StatusContext context) override {
    context.getResults().setJson(source_.statusJson());
    return kj::READY_NOW;
  }

  kj::Promise<void> explain(ExplainContext context) override {
    const auto address = Bdf::parse(context.getParams().getAddress().cStr());
    KJ_REQUIRE(address.has_value(), "not an address in the kernel's form");
    context.getResults().setJson(source_.explainJson(*address));
    return kj::READY_NOW;
  }

  kj::Promise<void> metrics(MetricsContext context) override {
    return source_.metricsText().then(
        [context](const std::string& text) mutable { context.getResults().setText(text); });
  }

private:
  const DeskSource& source_;
};

struct Visit {
  Visit(kj::Own<kj::AsyncIoStream> io, const DeskSource& source)
      : stream(kj::mv(io)),
        network(*stream, capnp::rpc::twoparty::Side::SERVER, kAnswers),
        rpc(capnp::makeRpcServer(network, kj::heap<Desk>(source))) {}

  kj::Own<kj::AsyncIoStream> stream;
  capnp::TwoPartyVatNetwork network;
  capnp::RpcSystem<capnp::rpc::twoparty::VatId> rpc;
};

}  // namespace

DeskServer::DeskServer(const DeskSource& source, const LoopParts& loop)
    : source_(source), loop_(loop), visits_(*this) {}

void DeskServer::admit(kj::AutoCloseFd connection) {
  if (visitors_ >= kMostVisitors) return;
  ++visitors_;
  auto visit =
      kj::heap<Visit>(loop_.streams.wrapSocketFd(kj::mv(connection), kStreamFlags), source_);
  auto over = visit->network.onDisconnect().exclusiveJoin(loop_.timer.afterDelay(kLongestVisit));
  visits_.add(over.attach(kj::mv(visit), kj::defer([this]() { --visitors_; })));
}

void DeskServer::taskFailed(kj::Exception&& exception) {
  logError(LogEvent::kTaskFailed, {{"task", "desk"}, {"why", exception.getDescription().cStr()}});
}

}  // namespace vfiogate
