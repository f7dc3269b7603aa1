#include "plugind/dra/api/api_link.h"

#include "ipc/api/api_codec.h"
#include "plugind/base/log_line.h"

#include <utility>

namespace vfiogate {
namespace {

/// A netd that restarts is back by then. Both together are a part of the ledger's 40 s for a
/// Prepare, which count from the kubelet's call.
constexpr auto kLongestAbsence = 4 * kj::SECONDS;
/// netd says after 8 s that the API server does not answer.
constexpr auto kLongestApiAnswer = 9 * kj::SECONDS;
constexpr const char* kAbsent =
    "netd dra is not connected: see its log, and that its --plugind names plugind's socket";

std::string wordsOf(const kj::Exception& failure) {
  return std::string("netd dra: ") + failure.getDescription().cStr();
}

}  // namespace

ApiLink::ApiLink(std::string driver, kj::Timer& timer, kj::Function<void()> came)
    : driver_(std::move(driver)), timer_(timer), came_(kj::mv(came)) {
  awaitNext();
}

void ApiLink::awaitNext() {
  auto next = kj::newPromiseAndFulfiller<void>();
  arrival_ = kj::mv(next.fulfiller);
  arrived_ = next.promise.fork();
}

std::shared_ptr<void> ApiLink::attach(schema::ApiServer::Client api, std::string node) {
  auto attached = std::make_shared<Attached>(Attached{kj::mv(api)});
  attached_ = attached;
  node_ = std::move(node);
  logInfo(LogEvent::kApiCame, {{"node", *node_}});
  arrival_->fulfill();
  awaitNext();
  came_();
  // Whoever holds the token keeps the attachment; when it is dropped this one is not asked again.
  const auto gone = [this, attached](void* /*token*/) {
    if (attached_ != attached) return;
    attached_ = nullptr;
    logWarning(LogEvent::kApiWent, {{"then", "claims wait, slices stay as they are"}});
  };
  return {attached.get(), gone};
}

kj::Promise<void> ApiLink::there() {
  if (attached_) return kj::READY_NOW;
  return arrived_.addBranch().exclusiveJoin(timer_.afterDelay(kLongestAbsence));
}

kj::Promise<ClaimAnswer> ApiLink::claim(const std::string& claimNamespace,
                                        const std::string& name) {
  return there().then([this, claimNamespace, name]() -> kj::Promise<ClaimAnswer> {
    if (!attached_) return ClaimAnswer(ClaimUnread{kAbsent});
    return ask(claimNamespace, name);
  });
}

kj::Promise<ClaimAnswer> ApiLink::ask(const std::string& claimNamespace, const std::string& name) {
  auto request = attached_->api.claimRequest();
  request.setDriver(driver_);
  request.setClaimNamespace(claimNamespace);
  request.setName(name);
  auto answer = request.send().then([](auto&& response) {
    auto decoded = decode(response.getAnswer());
    if (decoded) return *std::move(decoded);
    return ClaimAnswer(ClaimUnread{"netd dra answers what is not understood: " + decoded.error()});
  });
  auto said = answer.catch_(
      [](kj::Exception&& failure) { return ClaimAnswer(ClaimUnread{wordsOf(failure)}); });
  auto silent = timer_.afterDelay(kLongestApiAnswer).then([]() {
    return ClaimAnswer(ClaimUnread{"netd dra does not answer within 9 s"});
  });
  return said.exclusiveJoin(kj::mv(silent));
}

kj::Promise<std::optional<KeptFields>> ApiLink::publish(const DevicePool& pool) {
  if (!attached_) return std::optional<KeptFields>();
  auto request = attached_->api.publishRequest();
  encode(pool, request.initPool());
  return request.send()
      .then([](auto&& response) { return std::optional(decode(response.getKept())); })
      .catch_([](kj::Exception&& failure) {
        logWarning(LogEvent::kPoolUnpublished, {{"why", wordsOf(failure)}});
        return std::optional<KeptFields>();
      });
}

kj::Promise<std::string> ApiLink::report(const ClaimReport& report) {
  if (!attached_) return std::string(kAbsent);
  auto request = attached_->api.reportRequest();
  encode(report, request.initReport());
  return request.send()
      .then([](auto&& response) { return std::string(response.getFailure().cStr()); })
      .catch_([](kj::Exception&& failure) { return wordsOf(failure); });
}

}  // namespace vfiogate
