#include "netd/dra/plugind_attachment.h"

#include "ipc/base/backoff.h"
#include "ipc/schema/plugind.capnp.h"
#include "ipc/socket/limited_client.h"
#include "ipc/socket/unix_socket.h"
#include "netd/base/log_line.h"
#include "netd/base/plugind_trouble.h"

#include <kj/debug.h>

#include <optional>
#include <utility>

namespace vfiogate {
namespace {

constexpr auto kPatience = 2 * kj::SECONDS;
constexpr BackoffRange<kj::Duration> kPauses{50 * kj::MILLISECONDS, 2 * kj::SECONDS};
/// What ends sooner counts as a failure: of two netds on one node each would end the other's.
constexpr auto kStands = 10 * kj::SECONDS;
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

/// The driver that plugind is; absent: none.
kj::Promise<std::optional<std::string>> attach(schema::Control::Client plugind,
                                               schema::ApiServer::Client apiServer,
                                               const std::string& node) {
  auto request = plugind.attachRequest();
  request.setApi(kj::mv(apiServer));
  request.setNode(node.c_str());
  return request.send().then([](auto response) { return driverIn(response.getAnswer()); });
}

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
  auto plugind = kj::heap<LimitedClient>(deps_.streams, kj::mv(dialled).value(), kFromAttached);
  auto answered = deps_.timer.timeoutAfter(
      kPatience, attach(plugind->bootstrap<schema::Control>(), deps_.apiServer(), deps_.node));
  return answered
      .then([this,
             &plugind = *plugind](const std::optional<std::string>& driver) -> kj::Promise<void> {
        if (!driver) {
          if (!toldOff_) netdLog(NetdEvent::kDraOff, {{"socket", deps_.socket}});
          toldOff_ = true;
          failures_ = 16;
          return kj::READY_NOW;
        }
        netdLog(NetdEvent::kAttached, {{"driver", *driver}, {"node", deps_.node}});
        toldAway_.clear();
        toldOff_ = false;
        auto stood = deps_.timer.afterDelay(kStands).then([this]() -> kj::Promise<void> {
          failures_ = 0;
          return kj::NEVER_DONE;
        });
        return plugind.ended().exclusiveJoin(kj::mv(stood)).then([this]() {
          away("plugind hung up");
        });
      })
      .catch_([this](kj::Exception&& failure) { away(whyNoAnswer(failure, kAttachWords)); })
      .attach(kj::mv(plugind));
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
