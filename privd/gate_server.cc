#include "privd/gate_server.h"

#include "privd/log_line.h"

#include <cerrno>
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
    const bool pods = context.getParams().getSocket() == schema::KubeletSocket::POD_RESOURCES;
    auto made =
        gate_.dial(pods ? KubeletGate::Socket::kPodResources : KubeletGate::Socket::kRegistration);
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
    watching_ = tell(context.getParams().getObserver()).eagerlyEvaluate(nullptr);
    return kj::READY_NOW;
  }

  kj::Promise<void> checkpoint(CheckpointContext context) override {
    auto answer = context.getResults().initAnswer();
    auto opened = gate_.checkpoint();
    if (!opened) {
      if (opened.error() == ENOENT) {
        answer.setAbsent();
      } else if (opened.error() == EFBIG) {
        answer.setUnfit();
      } else {
        answer.setFailed(static_cast<std::uint16_t>(opened.error()));
      }
      return kj::READY_NOW;
    }
    auto version = kj::mv(opened).value();
    const auto modified = version.modified;
    return sendPatiently(
               channel_, timer_,
               {context.getParams().getTicket(), DescriptorKind::kFile, kj::mv(version.fd)},
               kRetries)
        .then([this, answer, modified](DescriptorSender::Sent sent) mutable {
          if (sent != DescriptorSender::Sent::kSent) {
            notSent(sent);
            return answer.setTooMany();
          }
          auto file = answer.initOpened();
          file.setModified(modified);
          describe(file.initKubelet());
        });
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

  void describe(schema::SocketIdentity::Builder identity) const {
    KJ_IF_MAYBE (kubelet, gate_.kubelet()) {
      identity.setThere(true);
      identity.setInode(kubelet->inode);
      identity.setChanged(kubelet->changed);
    }
  }

  kj::Promise<void> tell(schema::KubeletObserver::Client observer) {
    NameWatch& registration = gate_.registrationSocket();
    NameWatch& pods = gate_.podResourcesSocket();
    NameWatch& memory = gate_.checkpointFile();
    const auto sockets = registration.count();
    auto request = observer.changedRequest();
    auto state = request.initState();
    describe(state.initKubelet());
    state.setRegistrationSockets(sockets);
    state.setPodResourcesSockets(pods.count());
    state.setCheckpoints(memory.count());
    auto changed = registration.next(sockets)
                       .exclusiveJoin(pods.next(pods.count()))
                       .exclusiveJoin(memory.next(memory.count()))
                       .ignoreResult();
    return request.send().ignoreResult().then(
        [this, observer = kj::mv(observer), changed = kj::mv(changed), sockets]() mutable {
          return changed.then([this, observer = kj::mv(observer), sockets]() mutable {
            if (gate_.registrationSocket().count() != sockets) logLine(LogEvent::kKubeletAppeared);
            return tell(kj::mv(observer));
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
