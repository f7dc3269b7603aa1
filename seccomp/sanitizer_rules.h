#pragma once
// What the sanitizers' runtimes ask of the kernel beside the program they watch. Empty in every
// build without sanitizers, so in what is shipped; a test holds that. They are those of x86-64.
// They stand behind the table: a call that it names keeps its meaning.

#include "seccomp/rule.h"

#include <sys/single_threaded.h>

#include <array>

#ifdef VFIOGATE_SANITIZED
#include <dlfcn.h>
#include <malloc.h>
#include <pthread.h>
#include <sanitizer/common_interface_defs.h>
#include <seccomp.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#endif

namespace vfiogate {

#ifdef VFIOGATE_SANITIZED

inline constexpr std::array kSanitizerRules{
    Rule{SCMP_SYS(sigaltstack), kAnyArgs, "AddressSanitizer, before a throw or a noreturn call"},
    Rule{SCMP_SYS(pipe2), kAnyArgs, "UndefinedBehaviorSanitizer probes memory through a pipe"},
    Rule{SCMP_SYS(nanosleep), kAnyArgs, "ThreadSanitizer's own thread, and the end of a process"},
    Rule{SCMP_SYS(gettimeofday), kAnyArgs, "ThreadSanitizer's own thread"},
    Rule{SCMP_SYS(mmap), without(2, PROT_EXEC, "prot without PROT_EXEC"),
         "AddressSanitizer's own memory, where the table has no heap"},
    Rule{SCMP_SYS(munmap), kAnyArgs, "the same, given back"},
    Rule{SCMP_SYS(madvise), kAnyArgs, "the same, unused"},
    Rule{SCMP_SYS(ioctl),
         {intIs(0, STDERR_FILENO, "fd is 2"), intIs(1, TCGETS, "cmd is TCGETS")},
         "a report asks whether it may use colours"},
    Rule{SCMP_SYS(readlink), AnswerErrno{EACCES}, "a report looks for the program's own file"},
    Rule{SCMP_SYS(open), AnswerErrno{EACCES}, "a report tries /proc/self/maps, then what it kept"},
};

/// Has the runtime read what its reports need while it still may: mappings, names of functions.
/// (UndefinedBehaviorSanitizer's reports carry file and line themselves.)
inline void prepareSanitizers() {
  __sanitizer_sandbox_on_notify(nullptr);
  std::array<char, 64> ignored{};
  __sanitizer_symbolize_pc(__builtin_return_address(0), "%f", ignored.data(), ignored.size());
  // The C library's own heap draws a random number at its first use: here that is when metrics ask
  // how large it is.
  static_cast<void>(mallinfo2());
}

#else

inline constexpr std::array<Rule, 0> kSanitizerRules{};
inline void prepareSanitizers() {}

#endif

/// Whether no thread runs beside the caller's. By the C library's own word, which takes no system
/// call: unshare(CLONE_THREAD) would tell as well, but the default seccomp profiles of container
/// runtimes refuse it. ThreadSanitizer has a thread of its own, which is ended first, and the
/// library keeps that there was one: then the kernel is asked.
#ifdef VFIOGATE_WATCHES_THREADS
/// It ends in children, too, where one was started and ended before: else a child waits for the end
/// of its parent's. By the library, beside a pthread_create() of the program's own.
inline const bool kRuntimesThreadEnds = [] {
  using Body = void* (*)(void*);
  using Create = int (*)(pthread_t*, const pthread_attr_t*, Body, void*);
  pthread_t thread{};
  const auto create = reinterpret_cast<Create>(dlsym(RTLD_NEXT, "pthread_create"));
  const Body nothing = [](void* none) { return none; };
  const bool was =
      create(&thread, nullptr, nothing, nullptr) == 0 && pthread_join(thread, nullptr) == 0;
  __sanitizer_sandbox_on_notify(nullptr);
  return was;
}();
inline bool isSingleThreaded() {
  __sanitizer_sandbox_on_notify(nullptr);
  // Whoever was waited for is counted until the kernel has taken it away.
  for (int tries = 0; kRuntimesThreadEnds && tries < 1000; ++tries) {
    struct stat tasks {};
    const bool read = stat("/proc/self/task", &tasks) == 0;
    if (read && tasks.st_nlink == 3) return true;  // ".", ".." and one task
    usleep(1000);
  }
  return false;
}
#else
inline bool isSingleThreaded() {
  return __libc_single_threaded != 0;
}
#endif

}  // namespace vfiogate
