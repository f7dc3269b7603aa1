#pragma once
// How much of the heap is in use.

#include <cstddef>

namespace vfiogate {

/// Bytes that this process has allocated and not freed. Unlike resident memory, blind to what an
/// allocator or a sanitizer keeps back, so that a bound on it holds in every build. Without a
/// sanitizer it is exact with GLIBC_TUNABLES=glibc.malloc.tcache_count=0 only, as CTest sets it.
std::size_t liveHeapBytes();

}  // namespace vfiogate
