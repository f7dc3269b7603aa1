#pragma once
// What waitpid() reports for a stop at a system call, with PTRACE_O_TRACESYSGOOD.

#include <csignal>

namespace vfiogate::test {

inline constexpr int kSyscallStop = SIGTRAP | 0x80;

}  // namespace vfiogate::test
