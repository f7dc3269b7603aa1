#pragma once
// What plugind and privd's binder say to each other: the closed table of requests, each of a fixed
// form, their answers, and what the binder tells unasked.
//
// One packet is one message. plugind has at most kMostInFlight requests in flight, one a group or
// card; an answer bears its request's number. Nothing else is understood, and whoever sends
// something else is hung up on. No descriptor travels here.

#include "ipc/base/result.h"
#include "ipc/types/selector.h"
#include "ipc/types/snapshot.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace vfiogate::binder {

/// Bytes of a request: a group of as many members as there may be.
inline constexpr std::size_t kLargestRequest = 65'536;
/// Bytes of a message of the binder's.
inline constexpr std::size_t kLargestMessage = 65'536;
/// Members of one IOMMU group.
inline constexpr std::size_t kMostMembers = 4096;
/// Bytes of what is for people.
inline constexpr std::size_t kLongestWords = 1024;
/// Requests that wait for their answers.
inline constexpr std::size_t kMostInFlight = 8;
/// Groups have numbers below this: a node has no larger one, as that is the kernel's MINORMASK + 1.
inline constexpr std::uint32_t kMostGroups = 1U << 20U;
/// An errno is below this.
inline constexpr std::uint16_t kMostErrors = 4096;

/// Every endpoint of the group ends on a VFIO driver or on none, or all are put back. For an
/// allocation that is on record: policy and guards decide. Repeatable.
struct Bind {
  std::uint32_t number = 0;
  std::vector<Bdf> members;  ///< ascending, all of the group
  friend bool operator==(const Bind&, const Bind&) = default;
};

/// What was bound for an allocation goes back to its host driver, nothing else does. Repeatable.
struct GiveBack {
  std::uint32_t number = 0;
  std::vector<Bdf> members;  ///< ascending, all of the group
  friend bool operator==(const GiveBack&, const GiveBack&) = default;
};

/// The last Changed was taken: the next one may come. The one request that has no answer.
struct Seen {
  friend bool operator==(const Seen&, const Seen&) = default;
};

/// Has somebody the group open? Its node, /dev/vfio/N, is opened and closed at once, and nothing
/// else is done with it; one group's at most once a second, what comes sooner waits. Repeatable.
struct Probe {
  std::uint32_t number = 0;
  IommuGroupId group{0};  ///< below kMostGroups; of whatever devices, mediated ones, too
  friend bool operator==(const Probe&, const Probe&) = default;
};

/// Which serial number does the card tell in its vital product data, which only root may read? The
/// card is asked, which may take a minute; one at most once a second, what comes sooner waits.
/// Repeatable.
struct ReadSerial {
  std::uint32_t number = 0;
  Bdf device;
  friend bool operator==(const ReadSerial&, const ReadSerial&) = default;
};

/// In the order of their numbers on the wire, which begin with 1.
using Request = std::variant<Bind, GiveBack, Seen, Probe, ReadSerial>;

inline constexpr std::size_t kRequests = std::variant_size_v<Request>;

struct Answer {
  enum class Outcome : std::uint8_t {
    kDone,
    kRefused,   ///< a guard or the policy; nothing was written
    kFailed,    ///< the kernel
    kStuck,     ///< a write has not come back
    kVanished,  ///< no such group any more, or its members are others
    kDenied,    ///< without the right to bind
  };
  std::uint32_t number = 0;
  Outcome outcome = Outcome::kDone;
  std::string why;  ///< for people; empty: there is nothing to say
  friend bool operator==(const Answer&, const Answer&) = default;
};

/// The answer to a Probe.
struct Probed {
  enum class Found : std::uint8_t {
    kIdle,    ///< it could be opened: nobody has it
    kOpen,    ///< somebody has it, by the group's node or by a device's
    kCannot,  ///< `error` says why it could not be opened
    kDenied,  ///< without the right to probe
  };
  std::uint32_t number = 0;
  Found found = Found::kIdle;
  std::uint16_t error = 0;  ///< errno where `found` is kCannot, else 0
  friend bool operator==(const Probed&, const Probed&) = default;
};

/// The answer to a ReadSerial.
struct SerialTold {
  enum class Found : std::uint8_t {
    kSerial,  ///< `serial`
    kNone,    ///< there is no such device, or it tells none
    kCannot,  ///< `error` says why it could not be read
    kDenied,  ///< without the right to serial numbers
  };
  std::uint32_t number = 0;
  Found found = Found::kNone;
  std::uint16_t error = 0;  ///< errno where `found` is kCannot, else 0
  std::string serial;       ///< isSerialNumber() where `found` is kSerial, else empty
  friend bool operator==(const SerialTold&, const SerialTold&) = default;
};

/// Where one group stands with the binder. It speaks for a group of exactly these members.
struct GroupState {
  IommuGroupId id{0};
  std::vector<Bdf> members;  ///< ascending
  GroupBinding binding;      ///< without `excluded`, which the gate tells; all false: as if untold
  friend bool operator==(const GroupState&, const GroupState&) = default;
};

/// Told unasked, first at once, then when something is another than plugind was told. After each it
/// waits for Seen. What does not fit into one packet comes in the next.
struct Changed {
  bool mayBind = false;  ///< it binds for allocations
  SysfsWriting sysfsWriting = SysfsWriting::kUnknown;
  bool more = false;  ///< further groups follow at once
  std::vector<GroupState>
      groups;  ///< those that are others than before; at first all that are told
  friend bool operator==(const Changed&, const Changed&) = default;
};

using FromBinder = std::variant<Answer, Changed, Probed, SerialTold>;

/// As one packet.
std::string encode(const Request& request);
std::string encode(const FromBinder& message);

/// Error: in words, without a byte of the packet.
Result<Request, std::string> decodeRequest(std::string_view packet);
Result<FromBinder, std::string> decodeFromBinder(std::string_view packet);

/// Bytes that `group` adds to a Changed, whose other fields take less than 16.
std::size_t sizeOf(const GroupState& group);

}  // namespace vfiogate::binder
