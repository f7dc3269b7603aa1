#include "privd/writer/fork_server.h"

#include "ipc/types/selector.h"
#include "ipc/types/vital_data.h"
#include "seccomp/fork_server_rules.h"
#include "seccomp/landlock.h"
#include "seccomp/load_filter.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <optional>

namespace vfiogate {
namespace {

/// Room for the descriptors of a request, and no more: the kernel drops what is beyond.
union Descriptors {
  cmsghdr header;
  char room[CMSG_LEN(3 * sizeof(int))];
};

struct WriteRequest {
  std::array<char, ForkServer::kLongestText> text;
  std::size_t size;
  std::array<int, 3> fds;  ///< attribute, answer, lock; -1: none came
};

enum class Received { kRequest, kNonsense, kEnd };

msghdr messageOf(iovec& part, Descriptors& control) {
  msghdr message = {};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = &control;
  message.msg_controllen = sizeof(control.room);
  return message;
}

Received receive(int socketFd, WriteRequest& request) {
  Descriptors control = {};
  iovec part = {request.text.data(), request.text.size()};
  msghdr message = messageOf(part, control);
  request.fds = {-1, -1, -1};
  const ssize_t size = recvmsg(socketFd, &message, 0);
  if (size < 0) return Received::kEnd;
  request.size = static_cast<std::size_t>(size);
  const cmsghdr* first = CMSG_FIRSTHDR(&message);
  if (first == nullptr) return size == 0 ? Received::kEnd : Received::kNonsense;
  memcpy(request.fds.data(), CMSG_DATA(first), first->cmsg_len - CMSG_LEN(0));
  const bool whole = (message.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) == 0;
  return whole && request.fds[1] >= 0 ? Received::kRequest : Received::kNonsense;
}

/// fork() as this filter and privd's container know it: glibc's has further flags.
long forkPlainly() {
  return syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
}

void answerWith(int error, int answerFd) {
  [[maybe_unused]] const ssize_t nobodyMindsIfPrivdLeft = write(answerFd, &error, sizeof(error));
}

void writeOnce(const WriteRequest& request) {
  const ssize_t written = write(request.fds[0], request.text.data(), request.size);
  const bool whole = written == static_cast<ssize_t>(request.size);
  answerWith(whole ? 0 : (written < 0 ? errno : EIO), request.fds[1]);
}

/// What the card says is looked at here, where nothing else is within reach.
void readOnce(const WriteRequest& request) {
  std::array<char, kMostVitalData> vpd;
  const ssize_t size = read(request.fds[0], vpd.data(), vpd.size());
  if (size < 0) return answerWith(errno, request.fds[1]);
  const std::string_view serial = serialIn({vpd.data(), static_cast<std::size_t>(size)});
  std::array<char, sizeof(int) + kLongestSerial> answer = {};
  serial.copy(answer.data() + sizeof(int), serial.size());
  [[maybe_unused]] const ssize_t nobodyMindsIfPrivdLeft =
      write(request.fds[1], answer.data(), sizeof(int) + serial.size());
}

/// The child. A blocked child must not keep the server's descriptors: its socket, privd's stderr.
[[noreturn]] void doOnce(int socketFd, const WriteRequest& request) {
  close(socketFd);
  close(STDOUT_FILENO);
  close(STDERR_FILENO);
  if (request.size > 0) {
    writeOnce(request);
  } else {
    readOnce(request);
  }
  _exit(0);
}

/// The socket becomes 0. 1 and 2 stay taken, both by stderr: what a runtime writes to them shall
/// never reach an attribute.
bool keepOnly(int socketFd) {
  return dup3(socketFd, STDIN_FILENO, O_CLOEXEC) == STDIN_FILENO &&
         dup3(STDERR_FILENO, STDOUT_FILENO, O_CLOEXEC) == STDOUT_FILENO &&
         close_range(STDERR_FILENO + 1, ~0U, 0) == 0;
}

std::optional<StepFailure> lockServerDown() {
  sigset_t all;
  sigfillset(&all);
  // Who ends privd by signalling its whole group does not end this before privd has.
  if (sigprocmask(SIG_SETMASK, &all, nullptr) != 0) return StepFailure{"blocking signals", errno};
  // Nobody waits for the children, so they leave nothing to wait for.
  if (signal(SIGCHLD, SIG_IGN) == SIG_ERR) return StepFailure{"ignoring SIGCHLD", errno};
  // It opens nothing: all that it writes to was opened by privd.
  if (auto confined = confine({}); confined.failure) return confined.failure;
  return loadFilter(kForkServerRules);
}

[[noreturn]] void liveAsServer(int socketFd) {
  if (!keepOnly(socketFd)) _exit(1);
  const auto failed = lockServerDown();
  const std::string said = failed ? failed->str() : std::string(1, '\0');
  const ssize_t told = write(STDIN_FILENO, said.data(), said.size());
  if (failed || told < 0) _exit(1);
  serveWrites(STDIN_FILENO);
}

}  // namespace

void serveWrites(int socketFd) {
  WriteRequest request = {};
  for (;;) {
    const Received received = receive(socketFd, request);
    if (received == Received::kEnd) _exit(0);
    if (received == Received::kRequest) {
      const long child = forkPlainly();
      if (child == 0) doOnce(socketFd, request);
      if (child < 0) answerWith(-errno, request.fds[1]);
    }
    for (const int fd : request.fds) {
      if (fd >= 0) close(fd);
    }
  }
}

Result<ForkServer, std::string> ForkServer::start() {
  int pair[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0) {
    return Failure{std::string("the fork server's socket: ") + strerror(errno)};
  }
  kj::AutoCloseFd ours(pair[0]);
  kj::AutoCloseFd theirs(pair[1]);
  const long child = forkPlainly();
  if (child == 0) liveAsServer(theirs.get());
  if (child < 0) return Failure{std::string("the fork server: ") + strerror(errno)};
  theirs = nullptr;
  std::array<char, 256> said{};
  const ssize_t size = read(ours.get(), said.data(), said.size());
  if (size == 1 && said[0] == '\0') return ForkServer(kj::mv(ours));
  const std::string why(said.data(), size > 0 ? static_cast<std::size_t>(size) : 0);
  return Failure{"the fork server: " + (why.empty() ? "it ended at its start" : why)};
}

int ForkServer::ask(std::string_view text, int attributeFd, int answerFd, int lockFd) const {
  if (text.empty() || text.size() > kLongestText) return EMSGSIZE;
  return send(text, attributeFd, answerFd, lockFd);
}

int ForkServer::askSerial(int attributeFd, int answerFd) const {
  return send({}, attributeFd, answerFd, -1);
}

int ForkServer::send(std::string_view text, int attributeFd, int answerFd, int lockFd) const {
  Descriptors control = {};
  iovec part = {const_cast<char*>(text.data()), text.size()};
  msghdr message = messageOf(part, control);
  const std::size_t count = lockFd >= 0 ? 3 : 2;
  message.msg_controllen = CMSG_LEN(count * sizeof(int));
  control.header.cmsg_level = SOL_SOCKET;
  control.header.cmsg_type = SCM_RIGHTS;
  control.header.cmsg_len = message.msg_controllen;
  const std::array<int, 3> fds{attributeFd, answerFd, lockFd};
  memcpy(CMSG_DATA(&control.header), fds.data(), count * sizeof(int));
  return sendmsg(socket_.get(), &message, MSG_DONTWAIT | MSG_NOSIGNAL) < 0 ? errno : 0;
}

}  // namespace vfiogate
