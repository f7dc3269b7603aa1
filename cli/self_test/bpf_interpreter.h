#pragma once
// Evaluates a seccomp filter as data, the way the kernel would: no process has to die for it.

#include "seccomp/rule.h"

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>

#include <cstdint>
#include <span>
#include <vector>

namespace vfiogate {

/// As the kernel names the architecture that this was compiled for.
#if defined(__aarch64__)
inline constexpr std::uint32_t kNativeArch = AUDIT_ARCH_AARCH64;
#else
inline constexpr std::uint32_t kNativeArch = AUDIT_ARCH_X86_64;
#endif

/// The program that loadFilter would load. Throws std::runtime_error if it cannot be had.
std::vector<sock_filter> exportedFilter(std::span<const Rule> table);

/// The filter's verdict on `call`: SECCOMP_RET_ALLOW, SECCOMP_RET_ERRNO | errno, ...
/// Throws std::runtime_error on an instruction that seccomp does not know, or a runaway program.
std::uint32_t evaluate(std::span<const sock_filter> program, const seccomp_data& call);

/// A call of the architecture that this was compiled for.
seccomp_data nativeCall(int number, std::span<const std::uint64_t> args);

}  // namespace vfiogate
