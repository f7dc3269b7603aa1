#pragma once
// What plugind may ask of privd's gate: the closed table of requests, each of a fixed form.
//
// One packet is one request or one answer. plugind has one request in flight: what it sends
// meanwhile waits in the socket, and in no memory of the gate's. Nothing else is understood, and
// whoever sends something else is hung up on.

#include "ipc/base/result.h"
#include "ipc/gate/spec_nodes.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace vfiogate::gate {

/// Raised with every change that an older peer would misread.
inline constexpr std::uint16_t kProtocol = 2;
/// Bytes of a packet: the static spec of 4,096 devices in groups of their own, by both ways.
inline constexpr std::size_t kLargestRequest = 167'936;
/// Members of one IOMMU group.
inline constexpr std::size_t kMostMembers = 4096;
/// Bytes of a note about an allocation: printable ASCII and newlines.
inline constexpr std::size_t kLongestNote = 8192;
inline constexpr std::size_t kLongestName = 512;
/// A claim's, and a cursor.
inline constexpr std::size_t kLongestUid = 36;

/// The first request, repeatable: the node's lease, which one plugind has at a time.
struct Enter {
  std::uint16_t protocol = kProtocol;
  std::uint64_t lease = 0;  ///< the one that was given to this plugind before; 0: none
  friend bool operator==(const Enter&, const Enter&) = default;
};

/// All that is allocated is known and told: what earlier connections allocated, and this one did
/// not, is released.
struct Adopted {
  friend bool operator==(const Adopted&, const Adopted&) = default;
};

/// The last Changed was taken: the next one may come. The one request that has no answer.
struct Seen {
  friend bool operator==(const Seen&, const Seen&) = default;
};

/// A listening socket. Again for the same: a new one in its place.
struct Listen {
  enum class Kind : std::uint8_t { kResource, kDraService, kDraRegistration };
  Kind kind = Kind::kResource;
  std::string name;  ///< of the resource, or of the DRA driver
  friend bool operator==(const Listen&, const Listen&) = default;
};

/// A connection to one of the kubelet's sockets.
struct Dial {
  enum class Socket : std::uint8_t { kRegistration, kPodResources };
  Socket socket = Socket::kRegistration;
  friend bool operator==(const Dial&, const Dial&) = default;
};

/// A file, open for reading.
struct Open {
  enum class File : std::uint8_t { kCheckpoint, kConfiguration, kClaimSpec };
  File file = File::kCheckpoint;
  std::string uid;  ///< of the claim; of nothing else
  friend bool operator==(const Open&, const Open&) = default;
};

/// The group is allocated, or about to be; nobody changes its drivers by hand. Again: the same
/// allocation with another note, now this connection's.
struct Allocate {
  std::vector<UnitId> members;  ///< ascending
  std::string note;             ///< to whom
  friend bool operator==(const Allocate&, const Allocate&) = default;
};

/// The group is nobody's any more. Repeatable.
struct Release {
  std::vector<UnitId> members;  ///< ascending
  friend bool operator==(const Release&, const Release&) = default;
};

/// A CDI spec on disk. A claim's is durable when this is answered, a static one after the Remove
/// that ends the declaration. What is in place is not written again.
struct Put {
  std::variant<StaticSpecText, ClaimSpecText> spec;
  friend bool operator==(const Put&, const Put&) = default;
};

/// Takes specs away, durably.
struct Remove {
  enum class What : std::uint8_t {
    kOtherStatic,  ///< all static specs but those put since the last such request
    kClaim,        ///< with what came with it
  };
  What what = What::kClaim;
  std::string uid;  ///< of the claim
  friend bool operator==(const Remove&, const Remove&) = default;
};

/// A part of what there is, in order.
struct List {
  enum class What : std::uint8_t { kClaimSpecs, kAllocations, kExclusions };
  What what = What::kClaimSpecs;
  /// The last one of the part before: a claim's uid, a first member's address, a device's address.
  std::string after;
  friend bool operator==(const List&, const List&) = default;
};

/// In the order of their numbers on the wire, which begin with 1.
using Request =
    std::variant<Enter, Adopted, Seen, Listen, Dial, Open, Allocate, Release, Put, Remove, List>;

inline constexpr std::size_t kRequests = std::variant_size_v<Request>;

/// As one packet.
std::string encode(const Request& request);

/// Error: in words, without a byte of the packet.
Result<Request, std::string> decodeRequest(std::string_view packet);

}  // namespace vfiogate::gate
