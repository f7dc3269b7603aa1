#include "plugind/privd/gate_client.h"

#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <utility>
#include <variant>

namespace vfiogate {
namespace {

using gate::Code;

constexpr std::uint32_t kLargest = 1U << 20U;

using Dialled = Result<kj::AutoCloseFd, SocketRefusal>;
using Listening = Result<PluginSocket, SocketRefusal>;
using Checkpoint = Result<CheckpointFile, SocketRefusal>;
using Configuration = Result<ConfigurationFile, SocketRefusal>;
using Nanoseconds = std::chrono::sys_time<std::chrono::nanoseconds>;

constexpr const char* kDenied =
    "privd gives no right to the kubelet's sockets: see privd's --plugind-rights";
constexpr const char* kNonsense = "its gate answered without what was asked for";

/// `what`: "privd could not ...".
SocketRefusal refusalOf(const gate::Answer& answer, const char* what) {
  switch (answer.code) {
    case Code::kDenied:
      return {kDenied};
    case Code::kTooMany:
      return {"privd holds 64 sockets for us already"};
    case Code::kFailed:
      return {withErrno(what, answer.detail)};
    default:
      return {"privd gave an answer that is unknown here"};
  }
}

Nanoseconds timeOf(std::int64_t nanoseconds) {
  return Nanoseconds(std::chrono::nanoseconds(nanoseconds));
}

}  // namespace

KubeletIdentity identityOf(const gate::FileIdentity& identity) {
  return {identity.inode, timeOf(identity.changed)};
}

std::string withErrno(const char* what, std::uint16_t error) {
  return std::string(what) + ": " + strerror(error);
}

kj::Promise<Dialled> GateClient::dialKubelet() {
  return dial(gate::Dial::Socket::kRegistration);
}

kj::Promise<Dialled> GateClient::dialPodResources() {
  return dial(gate::Dial::Socket::kPodResources);
}

kj::Promise<Dialled> GateClient::dial(gate::Dial::Socket socket) {
  return gate_.ask(gate::Dial{socket}).then([this](GateReply reply) {
    const gate::Answer& answer = reply.answer;
    if (answer.code == Code::kNotYet) {
      return Dialled(
          Failure{SocketRefusal{withErrno("the kubelet is not there yet", answer.detail), true}});
    }
    if (answer.code != Code::kDone) {
      return Dialled(Failure{refusalOf(answer, "privd could not dial the kubelet")});
    }
    KJ_IF_MAYBE (fd, reply.fd) return Dialled(kj::mv(*fd));
    calls_.hangUp(kNonsense);
    return Dialled(Failure{SocketRefusal{kNonsense}});
  });
}

kj::Promise<Listening> GateClient::listenFor(const ResourceName& resource) {
  return listen({gate::Listen::Kind::kResource, resource.str()},
                "its prefix is not among privd's --resource-prefix: add it there");
}

kj::Promise<Listening> GateClient::listenForDra(const std::string& driver, DraSocket socket) {
  const bool service = socket == DraSocket::kService;
  return listen(
      {service ? gate::Listen::Kind::kDraService : gate::Listen::Kind::kDraRegistration, driver},
      "it is not the DRA driver that privd was started for: name it with privd's "
      "--dra-driver");
}

kj::Promise<Listening> GateClient::listen(gate::Listen listener, const char* foreign) {
  return gate_.ask(listener).then([this, foreign](GateReply reply) {
    const gate::Answer& answer = reply.answer;
    if (answer.code == Code::kForeign) return Listening(Failure{SocketRefusal{foreign}});
    if (answer.code == Code::kBadName) {
      return Listening(Failure{SocketRefusal{"privd does not take it for a resource name"}});
    }
    if (answer.code != Code::kDone) {
      return Listening(Failure{refusalOf(answer, "privd could not make the plugin's socket")});
    }
    const auto* endpoint = std::get_if<gate::Endpoint>(&answer.outcome);
    KJ_IF_MAYBE (fd, reply.fd) {
      if (endpoint != nullptr) return Listening(PluginSocket{kj::mv(*fd), endpoint->path});
    }
    calls_.hangUp(kNonsense);
    return Listening(Failure{SocketRefusal{kNonsense}});
  });
}

template <typename T, typename Take>
kj::Promise<Result<T, SocketRefusal>> GateClient::open(gate::Open::File file, const char* what,
                                                       Take take) {
  using Opened = Result<T, SocketRefusal>;
  return gate_.ask(gate::Open{file, {}}).then([this, what, take](GateReply reply) {
    const gate::Answer& answer = reply.answer;
    if (answer.code == Code::kNotYet) {
      return Opened(Failure{SocketRefusal{withErrno(what, answer.detail), true}});
    }
    if (answer.code != Code::kDone) return Opened(Failure{refusalOf(answer, what)});
    const auto* opened = std::get_if<gate::OpenedFile>(&answer.outcome);
    KJ_IF_MAYBE (fd, reply.fd) {
      if (opened != nullptr) {
        auto text = readPosted(fd->get(), opened->size);
        if (!text) return Opened(Failure{SocketRefusal{text.error()}});
        return Opened(take(std::move(text).value(), *opened));
      }
    }
    calls_.hangUp(kNonsense);
    return Opened(Failure{SocketRefusal{kNonsense}});
  });
}

kj::Promise<Checkpoint> GateClient::checkpoint() {
  return open<CheckpointFile>(gate::Open::File::kCheckpoint,
                              "privd could not open the kubelet's checkpoint",
                              [](std::string text, const gate::OpenedFile& opened) {
                                CheckpointFile file{std::move(text), timeOf(opened.written), {}};
                                if (opened.kubelet) file.kubelet = identityOf(*opened.kubelet);
                                return file;
                              });
}

kj::Promise<Configuration> GateClient::configuration() {
  return open<ConfigurationFile>(gate::Open::File::kConfiguration, "privd cannot open it",
                                 [](std::string text, const gate::OpenedFile& opened) {
                                   return ConfigurationFile{std::move(text), opened.identity};
                                 });
}

Result<std::string, std::string> readPosted(int fd, std::uint32_t size) {
  if (size > kLargest) return Failure{std::string("the file is above 1 MiB")};
  std::string text(size, '\0');
  for (std::size_t filled = 0; filled < size;) {
    const ssize_t got = read(fd, text.data() + filled, size - filled);
    if (got < 0) return Failure{std::string("read: ") + strerror(errno)};
    if (got == 0) return Failure{std::string("the file is shorter than privd says")};
    filled += static_cast<std::size_t>(got);
  }
  return text;
}

}  // namespace vfiogate
