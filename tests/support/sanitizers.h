#pragma once
// What a test must know of the sanitizer that it is built with.

namespace vfiogate::test {

#ifdef VFIOGATE_SANITIZED
inline constexpr bool kOwnAllocator = false;
#else
/// False: a sanitizer keeps what was freed, so that sizes grow.
inline constexpr bool kOwnAllocator = true;
#endif

#ifdef VFIOGATE_WATCHES_THREADS
inline constexpr bool kWatchesThreads = true;
#else
/// True: ThreadSanitizer makes system calls of its own, and each read or write of memory slow.
inline constexpr bool kWatchesThreads = false;
#endif

}  // namespace vfiogate::test
