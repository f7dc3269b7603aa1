#include "tests/support/seen/live_heap.h"

#ifdef VFIOGATE_SANITIZED
// From <sanitizer/allocator_interface.h>, which g++ does not install.
// NOLINTNEXTLINE(bugprone-reserved-identifier)
extern "C" std::size_t __sanitizer_get_current_allocated_bytes();
#else
#include <malloc.h>
#endif

namespace vfiogate {

std::size_t liveHeapBytes() {
#ifdef VFIOGATE_SANITIZED
  return __sanitizer_get_current_allocated_bytes();
#else
  const struct mallinfo2 info = mallinfo2();
  return info.uordblks + info.hblkhd;
#endif
}

}  // namespace vfiogate
