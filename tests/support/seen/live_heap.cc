#include "tests/support/seen/live_heap.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define VFIOGATE_SANITIZED_HEAP
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define VFIOGATE_SANITIZED_HEAP
#endif
#endif

#ifdef VFIOGATE_SANITIZED_HEAP
// From <sanitizer/allocator_interface.h>, which g++ does not install.
// NOLINTNEXTLINE(bugprone-reserved-identifier)
extern "C" std::size_t __sanitizer_get_current_allocated_bytes();
#else
#include <malloc.h>
#endif

namespace vfiogate {

std::size_t liveHeapBytes() {
#ifdef VFIOGATE_SANITIZED_HEAP
  return __sanitizer_get_current_allocated_bytes();
#else
  const struct mallinfo2 info = mallinfo2();
  return info.uordblks + info.hblkhd;
#endif
}

}  // namespace vfiogate
