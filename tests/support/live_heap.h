#pragma once
// How much of the heap is in use.

#include <cstddef>

namespace vfiogate {

/// Bytes that this process has allocated and not freed. Unlike resident memory, blind to what an
/// allocator or a sanitizer keeps back, so that a bound on it holds in every build.
std::size_t liveHeapBytes();

}  // namespace vfiogate
