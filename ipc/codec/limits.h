#pragma once
// The bounds of the privilege line, each with the attack that it stops.

#include "ipc/gate/opening.h"
#include "ipc/schema/helper.capnp.h"

#include <capnp/message.h>

#include <cstddef>
#include <cstdint>

namespace vfiogate {

static_assert(kChannelVersion == schema::PROTOCOL);

/// What privd reads of a peer: a message above 64 KiB is refused before it is allocated. The
/// deepest is a hand of a device of a claim's spec.
constexpr capnp::ReaderOptions kFromPeer{.traversalLimitInWords = 8192, .nestingLimit = 10};
/// What the command line reads of privd: a full snapshot of 4,096 devices fits.
constexpr capnp::ReaderOptions kFromPrivd{.traversalLimitInWords = 4U << 20U, .nestingLimit = 16};
/// What plugind reads of the hardware process, which is a stranger to it: what a message says is
/// held several times over, and plugind has 184 MiB in all. 2 KiB for each of 4,096 devices.
constexpr capnp::ReaderOptions kFromHardware{.traversalLimitInWords = 1U << 20U,
                                             .nestingLimit = 16};
/// Words of calls in flight that Cap'n Proto itself holds for a peer.
constexpr std::size_t kFlowLimitWords = 8192;

/// Questions that a peer may have open: floods of calls, bootstraps, calls that never return. A
/// client of Cap'n Proto's keeps a question open for as long as it keeps the answer's Response.
constexpr std::size_t kMaxOpenQuestions = 16;
/// Messages of one peer that are read before all else has its turn.
constexpr unsigned kMessagesInARow = 64;
/// Outgoing messages that may wait for a peer that does not read.
constexpr std::size_t kMaxQueuedMessages = 32;
/// Capabilities that one message of a peer may carry: an observer is all that we ever take.
constexpr std::size_t kMaxCapabilities = 4;
/// Capabilities of ours that one peer may hold at once: the control of every group of a large node,
/// twice where all of them are just being made anew. Stops hoarding what calls mint.
constexpr std::uint32_t kMaxHeldCapabilities = 8192;

/// Bytes of one text. sysfs never shows more than a page of an attribute.
constexpr std::uint32_t kMaxText = 4096;
/// Devices, groups, members of a group: a quarter of the functions of one PCI segment.
constexpr std::uint32_t kMaxFunctions = 16'384;
/// Mediated devices of the node.
constexpr std::uint32_t kMaxMediated = 1024;
/// Regions of GPUs' extended memory: one a socket.
constexpr std::uint32_t kMaxEgmRegions = 64;
constexpr std::uint32_t kMaxProblems = 64;

}  // namespace vfiogate
