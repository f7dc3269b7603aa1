#include "privd/rpc/servers.h"

#include "privd/base/log_line.h"

#include <cerrno>
#include <cstring>
#include <optional>

namespace vfiogate {
namespace {

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
    return hand(gate_.listen(*resource), {"resource", kj::str(resource->str().c_str())}, ticket,
                answer);
  }

  kj::Promise<void> listenDra(ListenDraContext context) override {
    const auto params = context.getParams();
    auto answer = context.getResults().initAnswer();
    const kj::StringPtr driver = gate_.draDriver();
    if (driver.size() == 0 || params.getDriver() != driver) {
      logLine(LogEvent::kSocketRefused,
              {{"driver", kj::str(params.getDriver())}, {"reason", kj::str("not --dra-driver")}});
      answer.setForeignPrefix();
      return kj::READY_NOW;
    }
    return hand(gate_.listenDra(params.getSocket() == schema::DraSocket::SERVICE
                                    ? KubeletGate::DraSocket::kService
                                    : KubeletGate::DraSocket::kRegistration),
                {"driver", kj::str(driver)}, params.getTicket(), answer);
  }

  kj::Promise<void> dial(DialContext context) override {
    const auto ticket = context.getParams().getTicket();
    auto answer = context.getResults().initAnswer();
    auto made = gate_.dial(context.getParams().getSocket() == schema::KubeletSocket::POD_RESOURCES
                               ? KubeletGate::Socket::kPodResources
                               : KubeletGate::Socket::kRegistration);
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
    return deliver(channel_, timer_, {ticket, DescriptorKind::kConnection, kj::mv(made).value()})
        .then([answer](bool taken) mutable {
          if (!taken) return answer.setTooMany();
          answer.setConnected();
        });
  }

  kj::Promise<void> watch(WatchContext context) override {
    watching_ = tell(context.getParams().getObserver(), {}).eagerlyEvaluate(nullptr);
    return kj::READY_NOW;
  }

  kj::Promise<void> checkpoint(CheckpointContext context) override {
    auto answer = context.getResults().initAnswer();
    auto opened = gate_.openCheckpoint();
    if (!opened) {
      const int error = opened.error().error;
      if (error == ENOENT) {
        answer.setAbsent();
      } else {
        answer.setFailed(static_cast<std::uint16_t>(error));
      }
      return kj::READY_NOW;
    }
    RegularFile file = kj::mv(opened).value();
    // After the file was opened: a kubelet that starts in between makes the file one of an earlier
    // kubelet's, which it is.
    const auto kubelet = gate_.readFiles().registration;
    return deliver(channel_, timer_,
                   {context.getParams().getTicket(), DescriptorKind::kFile, kj::mv(file.fd)})
        .then([answer, status = file.status, kubelet](bool taken) mutable {
          if (!taken) return answer.setTooMany();
          auto told = answer.initFile();
          told.setSize(static_cast<std::uint32_t>(status.st_size));
          told.setWritten(nanosecondsOf(status.st_mtim));
          if (kubelet) encode(*kubelet, told.initKubelet());
        });
  }

private:
  /// Gives the peer the listener of `whose`, or says why there is none.
  kj::Promise<void> hand(Result<KubeletGate::Listener, SocketError> made, LogField whose,
                         std::uint32_t ticket, schema::ListenAnswer::Builder answer) {
    if (!made) {
      logLine(LogEvent::kSocketFailed, {{whose.key, kj::mv(whose.value)},
                                        {"step", kj::str(made.error().step)},
                                        {"error", kj::str(strerror(made.error().error))}});
      answer.setFailed(static_cast<std::uint16_t>(made.error().error));
      return kj::READY_NOW;
    }
    KubeletGate::Listener listener = kj::mv(made).value();
    logLine(LogEvent::kSocketMade,
            {{whose.key, kj::mv(whose.value)}, {"name", kj::str(listener.endpoint)}});
    return deliver(channel_, timer_, {ticket, DescriptorKind::kListener, kj::mv(listener.fd)})
        .then([answer, endpoint = kj::mv(listener.endpoint)](bool taken) mutable {
          if (!taken) return answer.setTooMany();
          answer.setEndpoint(endpoint);
        });
  }

  static kj::Promise<void> refuse(KubeletGate::Refusal refusal, const ResourceName& resource,
                                  schema::ListenAnswer::Builder answer) {
    const bool foreign = refusal == KubeletGate::Refusal::kForeignPrefix;
    logLine(LogEvent::kSocketRefused,
            {{"resource", kj::str(resource.str().c_str())},
             {"reason", kj::str(foreign ? "no --resource-prefix covers it" : "64 are served")}});
    if (foreign) {
      answer.setForeignPrefix();
    } else {
      answer.setTooMany();
    }
    return kj::READY_NOW;
  }

  kj::Promise<void> tell(schema::KubeletObserver::Client observer,
                         std::optional<KubeletFiles> told) {
    const auto seen = gate_.changes();
    const KubeletFiles now = gate_.readFiles();
    kj::Promise<void> taken = kj::READY_NOW;
    if (told != now) {
      if (told && now.registration && told->registration != now.registration) {
        logLine(LogEvent::kKubeletAppeared);
      }
      auto request = observer.changedRequest();
      auto files = request.initFiles();
      if (now.registration) encode(*now.registration, files.initRegistration());
      if (now.podResources) encode(*now.podResources, files.initPodResources());
      if (now.checkpoint) encode(*now.checkpoint, files.initCheckpoint());
      taken = request.send().ignoreResult();
    }
    return taken.then([this, seen]() { return gate_.changedSince(seen); })
        .then([this, observer = kj::mv(observer), now]() mutable {
          return tell(kj::mv(observer), now);
        });
  }

  KubeletGate& gate_;
  DescriptorSender& channel_;
  kj::Timer& timer_;
  kj::Own<kj::Refcounted> keepsAlive_;
  kj::Promise<void> watching_ = nullptr;  // last: it uses all of the above
};

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

}  // namespace

void withdrawDra(const KubeletGate& gate) {
  const auto withdrawn = gate.withdrawDra();
  if (withdrawn && !*withdrawn) return;
  logLine(LogEvent::kSocketWithdrawn,
          {{"driver", kj::str(gate.draDriver())},
           {"error", kj::str(withdrawn ? "none" : strerror(withdrawn.error().error))}});
}

void encode(const FileIdentity& identity, schema::FileIdentity::Builder to) {
  to.setInode(identity.inode);
  to.setChanged(identity.changedNs);
}

schema::KubeletGate::Client makeGate(KubeletGate& gate, DescriptorSender& channel, kj::Timer& timer,
                                     kj::Own<kj::Refcounted> keepsAlive) {
  return kj::heap<GateServer>(gate, channel, timer, kj::mv(keepsAlive));
}

kj::Promise<bool> deliver(DescriptorSender& channel, kj::Timer& timer, DescriptorParcel parcel) {
  return sendPatiently(channel, timer, kj::mv(parcel), kRetries)
      .then([](DescriptorSender::Sent sent) {
        if (sent == DescriptorSender::Sent::kSent) return true;
        const bool refs = sent == DescriptorSender::Sent::kTooManyRefs;
        logLine(LogEvent::kDescriptorNotSent,
                {{"reason", kj::str(refs ? "the kernel says too many references for 2 s"
                                         : "the peer does not take its descriptors")}});
        return false;
      });
}

}  // namespace vfiogate
