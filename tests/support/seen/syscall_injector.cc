#include "tests/support/seen/syscall_injector.h"

#include "tests/support/seen/syscall_stop.h"

#include <fcntl.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string_view>
#include <system_error>

namespace vfiogate::test {
namespace {

using namespace std::string_view_literals;

constexpr std::uint64_t kInstructionLength = 2;

[[noreturn]] void fail(const std::string& what) {
  throw std::system_error(errno, std::generic_category(), what);
}

void demandTrace(__ptrace_request request, pid_t thread, std::uintptr_t data) {
  if (ptrace(request, thread, nullptr, data) != 0) fail("ptrace " + std::to_string(request));
}

/// Address of the first `bytes` in the executable mappings of `pid`; 0 if there are none.
std::uint64_t findInstruction(pid_t pid, std::string_view bytes) {
  const std::string process = "/proc/" + std::to_string(pid);
  const int memory = open((process + "/mem").c_str(), O_RDONLY | O_CLOEXEC);
  if (memory < 0) fail("opening " + process + "/mem");
  std::uint64_t found = 0;
  std::ifstream maps(process + "/maps");
  for (std::string line; found == 0 && std::getline(maps, line);) {
    if (line.find(" r-xp ") == std::string::npos) continue;
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
    char dash = 0;
    std::istringstream(line) >> std::hex >> begin >> dash >> end;
    std::string text(end - begin, '\0');
    const ssize_t length = pread(memory, text.data(), text.size(), static_cast<off_t>(begin));
    if (length <= 0) continue;  // [vsyscall] cannot be read
    const auto at = std::string_view(text).substr(0, static_cast<std::size_t>(length)).find(bytes);
    if (at != std::string_view::npos) found = begin + at;
  }
  close(memory);
  return found;
}

/// True if the filter has condemned the thread: the call was skipped, and the signal waits.
bool isCondemned(pid_t thread) {
  __ptrace_peeksiginfo_args first{.off = 0, .flags = 0, .nr = 1};
  siginfo_t pending{};
  return ptrace(PTRACE_PEEKSIGINFO, thread, &first, &pending) == 1 && pending.si_signo == SIGSYS;
}

bool wasInterrupted(const user_regs_struct& registers) {
  constexpr std::int64_t kErestartSys = 512;
  constexpr std::int64_t kErestartBlock = 516;
  const auto result = static_cast<std::int64_t>(registers.rax);
  const bool inCall = static_cast<std::int64_t>(registers.orig_rax) >= 0;
  return inCall && (result == -EINTR || (-result >= kErestartSys && -result <= kErestartBlock));
}

}  // namespace

std::string str(const CallOutcome& outcome) {
  if (const auto* back = std::get_if<Returned>(&outcome)) {
    return "returned " + std::to_string(back->value);
  }
  if (const auto* killed = std::get_if<Killed>(&outcome)) {
    return "killed by signal " + std::to_string(killed->signal);
  }
  return "no such entry, signal " + std::to_string(std::get<NoSuchEntry>(outcome).signal);
}

SyscallInjector::SyscallInjector(pid_t thread) : thread_(thread) {
  syscallAddress_ = findInstruction(thread, "\x0f\x05"sv);
  int80Address_ = findInstruction(thread, "\xcd\x80"sv);
  if (syscallAddress_ == 0) throw std::runtime_error("no syscall instruction in the process");
  demandTrace(PTRACE_SEIZE, thread, PTRACE_O_TRACESYSGOOD);
  held_ = true;
  demandTrace(PTRACE_INTERRUPT, thread, 0);
  int status = 0;
  if (waitpid(thread, &status, __WALL) != thread || !WIFSTOPPED(status)) {
    throw std::runtime_error("thread ended while being held");
  }
  rememberPlace();
}

SyscallInjector::~SyscallInjector() {
  if (held_) ptrace(PTRACE_DETACH, thread_, nullptr, nullptr);
}

void SyscallInjector::rememberPlace() {
  if (ptrace(PTRACE_GETREGS, thread_, nullptr, &place_) != 0) fail("reading registers");
  if (!wasInterrupted(place_)) return;
  // The kernel would restart the interrupted call on its way out, which is not our way: go back to
  // the instruction, with the call's number where it expects it.
  place_.rip -= kInstructionLength;
  place_.rax = place_.orig_rax;
  place_.orig_rax = ~0ULL;
  if (ptrace(PTRACE_SETREGS, thread_, nullptr, &place_) != 0) fail("writing registers");
}

int SyscallInjector::nextStop(int request) {
  demandTrace(static_cast<__ptrace_request>(request), thread_, 0);
  int status = 0;
  if (waitpid(thread_, &status, __WALL) != thread_) fail("waiting for the thread");
  if (WIFSTOPPED(status) && WSTOPSIG(status) == SIGSYS) {
    // Kernels before 5.16 show the deadly signal to the tracer first.
    demandTrace(PTRACE_CONT, thread_, SIGSYS);
    if (waitpid(thread_, &status, __WALL) != thread_) fail("waiting for the thread");
  }
  return status;
}

CallOutcome SyscallInjector::inject(const ForeignCall& call) {
  user_regs_struct registers = place_;
  registers.rip = call.entry == Entry::kInt80 ? int80Address_ : syscallAddress_;
  if (registers.rip == 0) throw std::runtime_error("no int 0x80 instruction in the process");
  registers.rax = call.number;
  registers.orig_rax = ~0ULL;
  registers.rdi = call.args[0];
  registers.rsi = call.args[1];
  registers.rdx = call.args[2];
  registers.r10 = call.args[3];
  registers.r8 = call.args[4];
  registers.r9 = call.args[5];
  if (ptrace(PTRACE_SETREGS, thread_, nullptr, &registers) != 0) fail("writing registers");

  const int atEntry = nextStop(PTRACE_SYSCALL);
  if (!WIFSTOPPED(atEntry)) return afterStop(atEntry);
  if (WSTOPSIG(atEntry) == kSyscallStop) return afterStop(nextStop(PTRACE_SYSCALL));
  if (WSTOPSIG(atEntry) != SIGSEGV && WSTOPSIG(atEntry) != SIGILL) {
    throw std::runtime_error("unexpected stop by signal " + std::to_string(WSTOPSIG(atEntry)));
  }
  if (ptrace(PTRACE_SETREGS, thread_, nullptr, &place_) != 0) fail("writing registers");
  return NoSuchEntry{WSTOPSIG(atEntry)};
}

CallOutcome SyscallInjector::afterStop(int status) {
  if (WIFSTOPPED(status) && isCondemned(thread_)) status = nextStop(PTRACE_CONT);
  if (WIFSIGNALED(status)) {
    held_ = false;
    return Killed{WTERMSIG(status)};
  }
  if (!WIFSTOPPED(status)) {
    held_ = false;
    throw std::runtime_error("the process exited during the call");
  }
  user_regs_struct after{};
  if (ptrace(PTRACE_GETREGS, thread_, nullptr, &after) != 0) fail("reading registers");
  if (ptrace(PTRACE_SETREGS, thread_, nullptr, &place_) != 0) fail("writing registers");
  return Returned{static_cast<std::int64_t>(after.rax)};
}

}  // namespace vfiogate::test
