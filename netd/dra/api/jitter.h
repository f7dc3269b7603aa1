#pragma once
// How waits are drawn, so that many nodes that met the same trouble do not come back together.
// Pure.

#include <kj/time.h>

namespace vfiogate {

// Of each, `unit` is random, in [0, 1).

kj::Duration within(kj::Duration least, kj::Duration most, double unit);

/// `first` doubled `times` times, but at most `most`.
kj::Duration doubled(kj::Duration first, unsigned times, kj::Duration most);

/// After `failures` in a row, at least one: between half and all of what `first` has doubled to.
kj::Duration backoffAfter(unsigned failures, kj::Duration first, kj::Duration most, double unit);

}  // namespace vfiogate
