#pragma once
// Makes a running process carry out one system call from outside, as a taken-over one would.

#include <sys/types.h>
#include <sys/user.h>

#include <array>
#include <cstdint>
#include <string>
#include <variant>

namespace vfiogate::test {

/// Which entry into the kernel: the native one, or the one for i386 programs.
enum class Entry { kSyscall, kInt80 };

/// A call to be made by somebody else. int 0x80 takes no arguments here.
struct ForeignCall {
  std::uint64_t number;
  std::array<std::uint64_t, 6> args{};
  Entry entry = Entry::kSyscall;
};

/// The call came back with `value`; errors are negative errnos.
struct Returned {
  std::int64_t value;
  friend bool operator==(const Returned&, const Returned&) = default;
};
/// The process died of `signal`, before the call came back.
struct Killed {
  int signal;
  friend bool operator==(const Killed&, const Killed&) = default;
};
/// The processor or kernel does not have this entry at all (`signal` was held back).
struct NoSuchEntry {
  int signal;
  friend bool operator==(const NoSuchEntry&, const NoSuchEntry&) = default;
};
using CallOutcome = std::variant<Returned, Killed, NoSuchEntry>;

/// "returned -13", "killed by signal 31".
std::string str(const CallOutcome& outcome);

/// Holds one thread of a running process by ptrace. What the thread was doing is taken up again
/// when this is destroyed. Nothing is written into the process: a system call instruction that is
/// there already is used. Needs CAP_SYS_PTRACE for a process that is not dumpable.
/// Throws std::system_error or std::runtime_error when the thread cannot be held.
class SyscallInjector {
public:
  explicit SyscallInjector(pid_t thread);
  // Lets the thread go on where it was.
  ~SyscallInjector();
  SyscallInjector(const SyscallInjector&) = delete;
  SyscallInjector& operator=(const SyscallInjector&) = delete;

  /// Makes the thread do `call`. After Killed no other may follow; the process has been waited
  /// for, if its main thread is the one held.
  CallOutcome inject(const ForeignCall& call);

private:
  void rememberPlace();
  CallOutcome afterStop(int status);
  int nextStop(int request);

  pid_t thread_;
  bool held_ = false;
  user_regs_struct place_{};
  std::uint64_t syscallAddress_ = 0;
  std::uint64_t int80Address_ = 0;
};

}  // namespace vfiogate::test
