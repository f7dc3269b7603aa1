#pragma once
// The bounds of the privilege line, each with the attack that it stops.

#include "ipc/schema/helper.capnp.h"

#include <capnp/message.h>

#include <cstddef>
#include <cstdint>

namespace vfiogate {

/// Version byte that opens a connection which privd dialled.
constexpr std::uint8_t kChannelVersion = schema::PROTOCOL;

/// What privd reads of a peer: a message above 64 KiB is refused before it is allocated. The
/// deepest is a hand of a device of a claim's spec.
constexpr capnp::ReaderOptions kFromPeer{.traversalLimitInWords = 8192, .nestingLimit = 10};
/// What plugind and the command line read of privd: a full snapshot of 4,096 devices fits.
constexpr capnp::ReaderOptions kFromPrivd{.traversalLimitInWords = 4U << 20U, .nestingLimit = 16};
/// Words of calls in flight that Cap'n Proto itself holds for a peer.
constexpr std::size_t kFlowLimitWords = 8192;

/// Questions that a peer may have open: floods of calls, bootstraps, calls that never return. A
/// client of Cap'n Proto's keeps a question open for as long as it keeps the answer's Response.
constexpr std::size_t kMaxOpenQuestions = 16;
/// Outgoing messages that may wait for a peer that does not read.
constexpr std::size_t kMaxQueuedMessages = 32;
/// Capabilities that one message of a peer may carry: an observer is all that we ever take.
constexpr std::size_t kMaxCapabilities = 4;
/// Capabilities of ours that one peer may hold at once: the control of every group of a large node,
/// twice where all of them are just being made anew. Stops hoarding what calls mint.
constexpr std::uint32_t kMaxHeldCapabilities = 8192;

/// Bytes of one text. sysfs never shows more than a page of an attribute.
constexpr std::uint32_t kMaxText = 4096;
/// Devices, groups, members of a group: the functions of one PCI segment.
constexpr std::uint32_t kMaxFunctions = 65'536;
constexpr std::uint32_t kMaxMediated = 1024;
constexpr std::uint32_t kMaxProblems = 64;

}  // namespace vfiogate
