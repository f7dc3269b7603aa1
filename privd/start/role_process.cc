#include "privd/start/role_process.h"

#include <fcntl.h>
#include <grp.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <csignal>
#include <cstring>
#include <string_view>

namespace vfiogate {
namespace {

constexpr int kReady = 3;

/// Empty: /proc does not say.
std::string besideThis(const std::string& name) {
  char path[PATH_MAX];
  const ssize_t size = readlinkat(AT_FDCWD, "/proc/self/exe", path, sizeof(path));
  const std::string own(path, size < 0 ? 0 : static_cast<std::size_t>(size));
  const std::size_t slash = own.rfind('/');
  return slash == std::string::npos ? std::string() : own.substr(0, slash + 1) + name;
}

[[noreturn]] void failAsChild(const std::string& what) {
  const std::string why = "privd: " + what + "\n";
  [[maybe_unused]] const ssize_t told = write(STDERR_FILENO, why.data(), why.size());
  _exit(1);
}

/// For good: it has no other power to give up, and could not empty the bounding set itself.
void becomeUser(uid_t uid, const std::string& program) {
  for (unsigned long capability = 0; capability < 64; ++capability) {
    prctl(PR_CAPBSET_DROP, capability, 0, 0, 0);
  }
  if (setgroups(0, nullptr) == 0 && setresgid(uid, uid, uid) == 0 && setresuid(uid, uid, uid) == 0)
    return;
  failAsChild(program + " cannot become uid " + std::to_string(uid) + ": " + strerror(errno) +
              "; where nobody may change users, " + kSideBySide);
}

[[noreturn]] void become(const std::string& path, const RolePlan& plan, int socket, uid_t uid) {
  std::vector<std::string> words{programOf(plan.role)};
  words.insert(words.end(), plan.arguments.begin(), plan.arguments.end());
  words.push_back("--ready-fd=" + std::to_string(kReady));
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  if (uid != 0) becomeUser(uid, words.front());
  // The daemon reads its signals, and what is blocked stays so over an exec.
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  // What has another number is closed by the exec.
  if (socket == kReady ? fcntl(socket, F_SETFD, 0) == 0 : dup3(socket, kReady, 0) == kReady) {
    execv(path.c_str(), argv.data());
  }
  failAsChild(path + ": " + strerror(errno));
}

}  // namespace

Result<RoleProcess, std::string> RoleProcess::start(const RolePlan& plan, uid_t uid) {
  const std::string name = programOf(plan.role);
  const std::string path = besideThis(name);
  if (path.empty()) return Failure{std::string("/proc/self/exe cannot be read")};
  int pair[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) != 0) {
    return Failure{name + "'s socket: " + strerror(errno)};
  }
  kj::AutoCloseFd ours(pair[0]);
  const kj::AutoCloseFd theirs(pair[1]);
  const pid_t child = fork();
  if (child < 0) return Failure{name + ": fork: " + strerror(errno)};
  if (child == 0) become(path, plan, theirs, uid);
  return RoleProcess(plan.role, kj::mv(ours));
}

RoleProcess::State RoleProcess::state() {
  char byte = 0;
  const ssize_t size = state_ == State::kEnded ? 0 : read(socket_, &byte, 1);
  if (size > 0) state_ = State::kServing;
  if (size == 0 || (size < 0 && errno != EAGAIN)) state_ = State::kEnded;
  return state_;
}

void RoleProcess::end() const {
  shutdown(socket_, SHUT_WR);
}

}  // namespace vfiogate
