#include "privd/rpc/gate_process.h"

#include "ipc/gate/packet_socket.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <csignal>
#include <cstring>

namespace vfiogate {
namespace {

constexpr const char* kProgram = "privd-gate";
constexpr int kControl = 3;

/// Empty: /proc does not say.
std::string besideThis(const char* name) {
  char path[PATH_MAX];
  const ssize_t size = readlinkat(AT_FDCWD, "/proc/self/exe", path, sizeof(path));
  const std::string own(path, size < 0 ? 0 : static_cast<std::size_t>(size));
  const std::size_t slash = own.rfind('/');
  return slash == std::string::npos ? std::string() : own.substr(0, slash + 1) + name;
}

[[noreturn]] void become(const std::string& program, std::vector<std::string> arguments,
                         int control) {
  arguments.insert(arguments.begin(), kProgram);
  arguments.push_back("--control-fd");
  arguments.push_back(std::to_string(kControl));
  std::vector<char*> argv;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  // What has another number is closed by the exec, but for standard input, which ends.
  const bool input = fcntl(STDIN_FILENO, F_SETFD, 0) == 0;
  if (input && (control == kControl || dup3(control, kControl, 0) == kControl)) {
    execv(program.c_str(), argv.data());
  }
  const std::string why = std::string("privd: ") + program + ": " + strerror(errno) + "\n";
  [[maybe_unused]] const ssize_t told = write(STDERR_FILENO, why.data(), why.size());
  _exit(1);
}

}  // namespace

Result<GateProcess, std::string> GateProcess::start(const std::vector<std::string>& arguments) {
  const std::string program = besideThis(kProgram);
  if (program.empty()) return Failure{std::string("/proc/self/exe cannot be read")};
  int pair[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0) {
    return Failure{std::string("privd-gate's socket: ") + strerror(errno)};
  }
  kj::AutoCloseFd ours(pair[0]);
  kj::AutoCloseFd theirs(pair[1]);
  // fork() as the filter of privd's container knows it: glibc's has further flags.
  const long child = syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
  if (child < 0) return Failure{std::string("privd-gate: fork: ") + strerror(errno)};
  if (child == 0) become(program, arguments, theirs);
  theirs = nullptr;
  char ready = 0;
  if (read(ours, &ready, 1) != 1) {
    return Failure{std::string("privd-gate ended at its start: it says why above")};
  }
  return GateProcess(kj::mv(ours));
}

bool GateProcess::serve(kj::AutoCloseFd channel) const {
  const char word = 0;
  return sendPacket(control_, {&word, 1}, channel) == PacketSent::kSent;
}

void GateProcess::end() const {
  shutdown(control_, SHUT_WR);
}

kj::Promise<void> GateProcess::ended(kj::UnixEventPort& port) const {
  auto observer = kj::heap<kj::UnixEventPort::FdObserver>(
      port, control_.get(), kj::UnixEventPort::FdObserver::OBSERVE_READ);
  auto end = untilEnd(*observer, control_.get());
  return end.attach(kj::mv(observer));
}

/// It says nothing after its start: what can be read is its end.
kj::Promise<void> GateProcess::untilEnd(kj::UnixEventPort::FdObserver& observer, int control) {
  if (!receivePacket(control, 1)) return kj::READY_NOW;
  return observer.whenBecomesReadable().then(
      [&observer, control]() { return untilEnd(observer, control); });
}

}  // namespace vfiogate
