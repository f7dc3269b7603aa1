#pragma once
// What privd's gate answers to each request, and what it tells unasked.

#include "ipc/base/result.h"
#include "ipc/gate/gate_requests.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace vfiogate::gate {

/// Bytes of an answer: a part of a list, no file.
inline constexpr std::size_t kLargestAnswer = 65'536;
/// The endpoint's path; a path of the kernel's has no more.
inline constexpr std::size_t kLongestEndpoint = 4096;
/// Devices of one part of the list of exclusions.
inline constexpr std::size_t kMostExclusions = 1600;

/// How a request ended that is not simply done. One with a descriptor has it in the same packet.
enum class Code : std::uint8_t {
  kDone,
  kFailed,         ///< with the errno
  kNotYet,         ///< with the errno: what is asked for is not there; ask again later
  kBusy,           ///< somebody else changes drivers of the group at this moment: ask again
  kDenied,         ///< privd was started without this right: --plugind-rights
  kBadName,        ///< not an extended resource name, or no CDI kind
  kForeign,        ///< outside --resource-prefix, or not --dra-driver
  kTooMany,        ///< 64 sockets
  kBad,            ///< with words: a part of what was sent is not written
  kWrongProtocol,  ///< with privd's own
  kLeased,         ///< to another plugind, for as long as that lives: ask again later
};

/// Tells one file from the next under the same name. Times: ns since 1970.
struct FileIdentity {
  std::uint64_t inode = 0;
  std::int64_t changed = 0;
  friend bool operator==(const FileIdentity&, const FileIdentity&) = default;
};

/// What there is of the files that privd watches for plugind; null: not there.
struct WatchedFiles {
  std::optional<FileIdentity> registration;  ///< the kubelet's socket: which kubelet runs
  std::optional<FileIdentity> podResources;
  std::optional<FileIdentity> checkpoint;
  std::optional<FileIdentity> configuration;  ///< plugind's
  /// Another number where other devices are excluded: List tells which.
  std::uint64_t exclusions = 0;
  friend bool operator==(const WatchedFiles&, const WatchedFiles&) = default;
};

struct Entered {
  std::uint64_t lease = 0;  ///< another one than was shown: with the descriptor of its lock
  bool complete = false;    ///< List of allocations lacks none of this boot
  friend bool operator==(const Entered&, const Entered&) = default;
};

struct Endpoint {
  std::string path;  ///< the socket's name in the kubelet's directory; of a DRA socket its path
  friend bool operator==(const Endpoint&, const Endpoint&) = default;
};

struct OpenedFile {
  std::uint32_t size = 0;
  std::int64_t written = 0;  ///< modification time, ns since 1970
  FileIdentity identity;
  /// Of the registration socket, looked at after the file was opened; null: not there.
  std::optional<FileIdentity> kubelet;
  friend bool operator==(const OpenedFile&, const OpenedFile&) = default;
};

/// A part of a list.
struct ClaimUids {
  std::vector<std::string> uids;  ///< ascending
  bool more = false;
  friend bool operator==(const ClaimUids&, const ClaimUids&) = default;
};

struct Allocation {
  std::vector<UnitId> members;  ///< ascending
  std::string note;             ///< empty: it cannot be read any more
  friend bool operator==(const Allocation&, const Allocation&) = default;
};

struct Allocations {
  std::vector<Allocation> groups;  ///< ascending by their first members
  bool more = false;
  friend bool operator==(const Allocations&, const Allocations&) = default;
};

/// Devices that an operator has excluded from allocation.
struct Exclusions {
  std::vector<UnitId> devices;  ///< ascending
  bool more = false;
  friend bool operator==(const Exclusions&, const Exclusions&) = default;
};

/// What a request that is done brings besides; of most requests nothing.
using Outcome =
    std::variant<std::monostate, Entered, Endpoint, OpenedFile, ClaimUids, Allocations, Exclusions>;

struct Answer {
  Code code = Code::kDone;
  std::uint16_t detail = 0;  ///< an errno, or a protocol
  std::string words;         ///< of kBad, for people
  Outcome outcome;
  friend bool operator==(const Answer&, const Answer&) = default;
};

/// Told unasked, first after Enter, then when one of the files is another one. After each it waits
/// for Seen.
struct Changed {
  WatchedFiles files;
  friend bool operator==(const Changed&, const Changed&) = default;
};

using FromGate = std::variant<Answer, Changed>;

/// As one packet.
std::string encode(const FromGate& message);
/// Error: in words.
Result<FromGate, std::string> decodeFromGate(std::string_view packet);

/// Bytes that `allocation` adds to an answer.
std::size_t sizeOf(const Allocation& allocation);

}  // namespace vfiogate::gate
