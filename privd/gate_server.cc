#include "privd/gate_server.h"

#include "privd/log_line.h"

#include <cstring>

namespace vfiogate {
namespace {

constexpr auto kRetryPause = 50 * kj::MILLISECONDS;
constexpr int kRetries = 40;  // 2 s: any process of root's can make the kernel say ETOOMANYREFS

/// Owns `fd` until it went over the channel or was given up.
kj::Promise<DescriptorSender::Sent> sendPatiently(DescriptorSender& channel, kj::Timer& timer,
                                                  DescriptorParcel parcel, int retries) {
  const auto sent = channel.send(parcel.ticket, parcel.kind, parcel.fd.get());
  if (sent != DescriptorSender::Sent::kTooManyRefs || retries == 0) return sent;
  return timer.afterDelay(kRetryPause)
      .then([&channel, &timer, parcel = kj::mv(parcel), retries]() mutable {
        return sendPatiently(channel, timer, kj::mv(parcel), retries - 1);
      });
}

class GateServer final : public schema::KubeletGate::Server {
public:
  GateServer(KubeletGate& gate, DescriptorSender& channel, kj::Timer& timer,
             kj::Own<kj::Refcounted> keepsAlive)
      : gate_(gate), channel_(channel), timer_(timer), keepsAlive_(kj::mv(keepsAlive)) {}

protected:
  kj::Promise<void> listen(ListenContext context) override {
    const auto text = context.getParams().getResource();
    const auto ticket = context.getParams().getTicket();
    auto answer = context.getResults().initAnswer();
    const auto resource = ResourceName::parse(std::string_view(text.begin(), text.size()));
    if (!resource) {
      answer.setBadName();
      return kj::READY_NOW;
    }
    KJ_IF_MAYBE (refusal, gate_.refuse(*resource)) {
      return refuse(*refusal, *resource, answer);
    }
    auto made = gate_.listen(*resource);
    if (!made) {
      logLine(LogEvent::kSocketFailed, {{"resource", kj::str(resource->str().c_str())},
                                        {"step", kj::str(made.error().step)},
                                        {"error", kj::str(strerror(made.error().error))}});
      answer.setFailed(static_cast<std::uint16_t>(made.error().error));
      return kj::READY_NOW;
    }
    KubeletGate::Listener listener = kj::mv(made).value();
    logLine(LogEvent::kSocketMade,
            {{"resource", kj::str(resource->str().c_str())}, {"name", kj::str(listener.endpoint)}});
    return sendPatiently(channel_, timer_, {ticket, DescriptorKind::kListener, kj::mv(listener.fd)},
                         kRetries)
        .then([answer, endpoint = kj::mv(listener.endpoint)](DescriptorSender::Sent sent) mutable {
          if (sent == DescriptorSender::Sent::kSent) {
            answer.setEndpoint(endpoint);
          } else {
            notSent(sent);
            answer.setTooMany();
          }
        });
  }

  kj::Promise<void> dial(DialContext context) override {
    const auto ticket = context.getParams().getTicket();
    auto answer = context.getResults().initAnswer();
    auto made = gate_.dial();
    if (!made) {
      const int error = made.error().error;
      if (meansNotYet(error)) {
        answer.setAbsent(static_cast<std::uint16_t>(error));
      } else {
        answer.setFailed(static_cast<std::uint16_t>(error));
      }
      logLine(LogEvent::kKubeletAbsent, {{"error", kj::str(strerror(error))}});
      return kj::READY_NOW;
    }
    return sendPatiently(channel_, timer_,
                         {ticket, DescriptorKind::kConnection, kj::mv(made).value()}, kRetries)
        .then([answer](DescriptorSender::Sent sent) mutable {
          if (sent == DescriptorSender::Sent::kSent) {
            answer.setConnected();
          } else {
            notSent(sent);
            answer.setTooMany();
          }
        });
  }

  kj::Promise<void> watch(WatchContext context) override {
    NameWatch& watched = gate_.registrationSocket();
    watching_ = tell(context.getParams().getObserver(), watched.count()).eagerlyEvaluate(nullptr);
    return kj::READY_NOW;
  }

private:
  static kj::Promise<void> refuse(KubeletGate::Refusal refusal, const ResourceName& resource,
                                  schema::ListenAnswer::Builder answer) {
    const bool foreign = refusal == KubeletGate::Refusal::kForeignPrefix;
    logLine(LogEvent::kSocketRefused,
            {{"resource", kj::str(resource.str().c_str())},
             {"reason", kj::str(foreign ? "no --resource-prefix covers it" : "64 sockets made")}});
    if (foreign) {
      answer.setForeignPrefix();
    } else {
      answer.setTooMany();
    }
    return kj::READY_NOW;
  }

  static void notSent(DescriptorSender::Sent sent) {
    const bool refs = sent == DescriptorSender::Sent::kTooManyRefs;
    logLine(LogEvent::kDescriptorNotSent,
            {{"reason", kj::str(refs ? "the kernel says too many references for 2 s"
                                     : "the peer does not take its descriptors")}});
  }

  kj::Promise<void> tell(schema::KubeletObserver::Client observer, std::uint64_t seen) {
    return gate_.registrationSocket().next(seen).then(
        [this, observer = kj::mv(observer)](std::uint64_t count) mutable {
          logLine(LogEvent::kKubeletAppeared);
          auto call = observer.appearedRequest().send().ignoreResult();
          return call.then([this, observer = kj::mv(observer), count]() mutable {
            return tell(kj::mv(observer), count);
          });
        });
  }

  KubeletGate& gate_;
  DescriptorSender& channel_;
  kj::Timer& timer_;
  kj::Own<kj::Refcounted> keepsAlive_;
  kj::Promise<void> watching_ = nullptr;  // last: it uses all of the above
};

}  // namespace

schema::KubeletGate::Client makeGate(KubeletGate& gate, DescriptorSender& channel, kj::Timer& timer,
                                     kj::Own<kj::Refcounted> keepsAlive) {
  return kj::heap<GateServer>(gate, channel, timer, kj::mv(keepsAlive));
}

}  // namespace vfiogate
