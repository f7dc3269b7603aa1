#include "tests/support/seen/wire_sight.h"

#include <capnp/rpc.capnp.h>
#include <capnp/serialize.h>
#include <kj/io.h>

#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <system_error>

namespace vfiogate::test {
namespace {

constexpr std::size_t kMostBytes = 64 << 10;
constexpr std::size_t kMostPieces = 64;

/// Reads another process's memory; shorter if not all is there.
std::string memoryOf(pid_t process, std::uint64_t address, std::size_t size) {
  std::string bytes(std::min(size, kMostBytes), '\0');
  const iovec here{bytes.data(), bytes.size()};
  // An address of another process is a number here.
  const iovec there{reinterpret_cast<void*>(address), bytes.size()};  // NOLINT
  const ssize_t got = process_vm_readv(process, &here, 1, &there, 1, 0);
  bytes.resize(got < 0 ? 0 : static_cast<std::size_t>(got));
  return bytes;
}

template <typename Value>
Value valueAt(pid_t process, std::uint64_t address) {
  Value value{};
  const std::string bytes = memoryOf(process, address, sizeof(value));
  if (bytes.size() == sizeof(value)) std::memcpy(&value, bytes.data(), sizeof(value));
  return value;
}

std::string gathered(pid_t process, std::uint64_t pieces, std::size_t count, std::size_t most) {
  std::string bytes;
  for (std::size_t i = 0; i < std::min(count, kMostPieces) && bytes.size() < most; ++i) {
    const auto piece = valueAt<iovec>(process, pieces + i * sizeof(iovec));
    const auto address = reinterpret_cast<std::uint64_t>(piece.iov_base);
    bytes += memoryOf(process, address, std::min(piece.iov_len, most - bytes.size()));
  }
  return bytes;
}

std::string nameOf(const sockaddr_un& address, socklen_t length) {
  constexpr auto kBefore = offsetof(sockaddr_un, sun_path);
  if (address.sun_family != AF_UNIX || length <= kBefore) return "";
  return std::string(address.sun_path, strnlen(address.sun_path, length - kBefore));
}

/// A name by way of a descriptor that the process holds is that of the descriptor.
std::string namedBy(pid_t process, const std::string& path) {
  constexpr std::string_view kHeld = "/proc/self/fd/";
  if (!path.starts_with(kHeld)) return path;
  std::error_code gone;
  return std::filesystem::read_symlink(
      "/proc/" + std::to_string(process) + "/fd/" + path.substr(kHeld.size()), gone);
}

/// 0: it is no socket.
int typeOf(int socket) {
  int type = 0;
  socklen_t size = sizeof(type);
  return getsockopt(socket, SOL_SOCKET, SO_TYPE, &type, &size) == 0 ? type : 0;
}

/// The names of both ends, with a blank in between.
std::string endsOf(int socket) {
  std::string ends;
  for (const auto ask : {getsockname, getpeername}) {
    sockaddr_un address{};
    socklen_t length = sizeof(address);
    if (ask(socket, reinterpret_cast<sockaddr*>(&address), &length) == 0) {
      ends += nameOf(address, length);
    }
    ends += ' ';
  }
  return ends;
}

Channel channelOf(pid_t process, int fd) {
  const kj::AutoCloseFd copy(copyOf(process, fd));
  const int type = copy.get() < 0 ? 0 : typeOf(copy);
  if (type == SOCK_SEQPACKET) return Channel::kGate;
  if (type != SOCK_STREAM) return Channel::kOther;
  const std::string ends = endsOf(copy);
  // Listeners are bound under a temporary name, which connections keep.
  if (ends.find("/device-plugins/.vfiogate-") != std::string::npos) return Channel::kPlugin;
  if (ends.find("/device-plugins/kubelet.sock") != std::string::npos) return Channel::kRegistration;
  if (ends.find("/.plugind.sock.") != std::string::npos) return Channel::kPrivilege;
  return Channel::kOther;
}

bool isSending(std::int64_t number) {
  return number == SYS_sendmsg || number == SYS_write || number == SYS_writev;
}

bool isReceiving(std::int64_t number) {
  return number == SYS_recvmsg || number == SYS_read;
}

std::string bytesOf(const SeenCall& call) {
  const std::size_t most =
      call.returned ? std::min(static_cast<std::size_t>(call.result), kMostBytes) : kMostBytes;
  switch (call.number) {
    case SYS_sendmsg:
    case SYS_recvmsg: {
      const auto message = valueAt<msghdr>(call.process, call.args[1]);
      return gathered(call.process, reinterpret_cast<std::uint64_t>(message.msg_iov),
                      message.msg_iovlen, most);
    }
    case SYS_writev:
      return gathered(call.process, call.args[1], call.args[2], most);
    default:
      return memoryOf(call.process, call.args[1], std::min<std::size_t>(call.args[2], most));
  }
}

RpcMessage described(kj::ArrayPtr<const capnp::word> words) {
  capnp::FlatArrayMessageReader reader(words);
  const auto message = reader.getRoot<capnp::rpc::Message>();
  if (message.isCall()) {
    const auto call = message.getCall();
    return {RpcMessage::Kind::kCall, call.getQuestionId(), call.getInterfaceId(),
            call.getMethodId()};
  }
  if (message.isReturn()) {
    return {RpcMessage::Kind::kReturn, message.getReturn().getAnswerId(), 0, 0};
  }
  return {};
}

}  // namespace

int copyOf(pid_t process, int fd) {
  const auto handle = static_cast<int>(syscall(SYS_pidfd_open, process, 0));
  if (handle < 0) return -1;
  const auto copy = static_cast<int>(syscall(SYS_pidfd_getfd, handle, fd, 0));
  close(handle);
  return copy;
}

std::optional<Passing> passing(const SeenCall& call) {
  const bool sends = isSending(call.number);
  if (!sends && !(isReceiving(call.number) && call.returned)) return std::nullopt;
  if (call.returned && call.result < 0) return std::nullopt;
  const Channel channel = channelOf(call.process, static_cast<int>(call.args[0]));
  if (channel == Channel::kOther) return std::nullopt;
  return Passing{channel, sends, bytesOf(call)};
}

std::string pathOf(const SeenCall& call) {
  if (call.number == SYS_connect) {
    const auto length = std::min<std::size_t>(call.args[2], sizeof(sockaddr_un));
    const std::string bytes = memoryOf(call.process, call.args[1], length);
    sockaddr_un address{};
    std::memcpy(&address, bytes.data(), bytes.size());
    return namedBy(call.process, nameOf(address, static_cast<socklen_t>(bytes.size())));
  }
  if (call.number == SYS_renameat || call.number == SYS_unlinkat) {
    const std::uint64_t name = call.number == SYS_renameat ? call.args[3] : call.args[1];
    const std::string bytes = memoryOf(call.process, name, sizeof(sockaddr_un::sun_path));
    return bytes.substr(0, bytes.find('\0'));
  }
  return "";
}

std::vector<HttpFrame> framesIn(std::string_view bytes) {
  constexpr std::string_view kPreface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
  constexpr std::size_t kHead = 9;
  if (bytes.starts_with(kPreface)) bytes.remove_prefix(kPreface.size());
  const auto at = [&bytes](std::size_t index) {
    return static_cast<std::uint32_t>(static_cast<unsigned char>(bytes[index]));
  };
  std::vector<HttpFrame> frames;
  while (bytes.size() >= kHead) {
    const std::size_t length = at(0) << 16 | at(1) << 8 | at(2);
    const std::uint32_t stream = (at(5) & 0x7f) << 24 | at(6) << 16 | at(7) << 8 | at(8);
    frames.push_back({static_cast<std::uint8_t>(at(3)), stream});
    bytes.remove_prefix(std::min(bytes.size(), kHead + length));
  }
  return frames;
}

std::vector<RpcMessage> messagesIn(std::string_view bytes) {
  std::vector<capnp::word> words(bytes.size() / sizeof(capnp::word));
  if (words.empty()) return {};
  std::memcpy(words.data(), bytes.data(), words.size() * sizeof(capnp::word));
  kj::ArrayPtr<const capnp::word> left(words.data(), words.size());
  std::vector<RpcMessage> messages;
  while (left.size() > 0) {
    const std::size_t size = capnp::expectedSizeInWordsFromPrefix(left);
    if (size == 0 || size > left.size()) break;
    messages.push_back(described(left.slice(0, size)));
    left = left.slice(size, left.size());
  }
  return messages;
}

}  // namespace vfiogate::test
