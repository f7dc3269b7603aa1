#include "netd/dra/plugind_attachment.h"

#include "ipc/base/backoff.h"
#include "ipc/schema/plugind.capnp.h"
#include "ipc/socket/unix_socket.h"
#include "netd/base/log_line.h"
#include "netd/base/plugind_trouble.h"

#include <capnp/message.h>
#include <capnp/rpc-twoparty.h>
#include <kj/debug.h>

#include <optional>
#include <utility>

namespace vfiogate {
namespace {

constexpr auto kPatience = 2 * kj::SECONDS;
constexpr BackoffRange<kj::Duration> kPauses{50 * kj::MILLISECONDS, 2 * kj::SECONDS};
/// A pool of 4,096 devices fits several times; a message above it is refused before it is stored.
constexpr capnp::ReaderOptions kFromAttached{.traversalLimitInWords = 4U << 20U,
                                             .nestingLimit = 16};

constexpr QuestionWords kAttachWords{"it restarts, or takes another user for netd (--netd-uid)",
                                     "DRA"};

/// The driver that plugind is; absent: none.
std::optional<std::string> driverIn(schema::AttachAnswer::Reader answer) {
  if (answer.isOff()) return std::nullopt;
  KJ_REQUIRE(answer.isDriver(), "unknown answer");
  return std::string(answer.getDriver().cStr());
}

/// One connection, for as long as it lasts.
class Attached {
public:
  explicit Attached(kj::Own<kj::AsyncIoStream> stream)
      : stream_(kj::mv(stream)),
        network_(*stream_, capnp::rpc::twoparty::Side::CLIENT, kFromAttached),
        rpc_(capnp::makeRpcClient(network_)) {}

  /// The driver that plugind is; absent: none.
  kj::Promise<std::optional<std::string>> attach(schema::ApiServer::Client apiServer,
                                                 const std::string& node) {
    capnp::MallocMessageBuilder message;
    auto server = message.initRoot<capnp::rpc::twoparty::VatId>();
    server.setSide(capnp::rpc::twoparty::Side::SERVER);
    auto request = rpc_.bootstrap(server).castAs<schema::Control>().attachRequest();
    request.setApi(kj::mv(apiServer));
    request.setNode(node.c_str());
    return request.send().then([](auto response) { return driverIn(response.getAnswer()); });
  }
  kj::Promise<void> ended() { return network_.onDisconnect(); }

private:
  kj::Own<kj::AsyncIoStream> stream_;
  capnp::TwoPartyVatNetwork network_;
  capnp::RpcSystem<capnp::rpc::twoparty::VatId> rpc_;
};

}  // namespace

kj::Promise<void> PlugindAttachment::run() {
  return attachOnce().then([this]() { return deps_.timer.afterDelay(pause()); }).then([this]() {
    return run();
  });
}

kj::Promise<void> PlugindAttachment::attachOnce() {
  auto dialled = dialAt(deps_.socket.c_str());
  if (!dialled) {
    away(whyNotDialled(deps_.socket, dialled.error().error));
    return kj::READY_NOW;
  }
  auto attached =
      kj::heap<Attached>(deps_.streams.wrapSocketFd(kj::mv(dialled).value(), kStreamFlags));
  auto answered =
      deps_.timer.timeoutAfter(kPatience, attached->attach(deps_.apiServer(), deps_.node));
  return answered
      .then([this,
             &attached = *attached](const std::optional<std::string>& driver) -> kj::Promise<void> {
        if (!driver) {
          if (!toldOff_) netdLog(NetdEvent::kDraOff, {{"socket", deps_.socket}});
          toldOff_ = true;
          failures_ = 16;
          return kj::READY_NOW;
        }
        netdLog(NetdEvent::kAttached, {{"driver", *driver}, {"node", deps_.node}});
        toldAway_.clear();
        toldOff_ = false;
        failures_ = 0;
        return attached.ended().then([this]() { away("plugind hung up"); });
      })
      .catch_([this](kj::Exception&& failure) { away(whyNoAnswer(failure, kAttachWords)); })
      .attach(kj::mv(attached));
}

void PlugindAttachment::away(const std::string& why) {
  if (why != toldAway_) netdLog(NetdEvent::kPlugindAway, {{"why", why}});
  toldAway_ = why;
  ++failures_;
}

kj::Duration PlugindAttachment::pause() {
  return backoffAfter(failures_, kPauses, deps_.draw());
}

}  // namespace vfiogate
