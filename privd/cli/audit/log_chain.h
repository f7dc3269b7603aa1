#pragma once
// Whether the records of an audit log are those that were written, as far as the log itself and an
// anchor can show it.

#include "privd/audit/audit_entry.h"

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace vfiogate {

/// One line of a log, as far as the chain cares.
struct ChainLine {
  enum class Kind : std::uint8_t {
    kForeign,    ///< does not begin as a record does
    kBroken,     ///< does not end as a record does
    kForged,     ///< its hash is not its own
    kRecord,     ///< any other
    kRecovered,  ///< closes damage that privd met
    kRotated,    ///< begins the file after a full one
  };
  using Hash = std::array<char, 64>;

  Kind kind = Kind::kForeign;
  bool closesTorn = false;  ///< of a recovered one: what was before it was torn, no more
  std::uint32_t file = 0;   ///< which of the log's files, for the reader
  std::uint64_t line = 0;   ///< from 1
  std::uint64_t sequence = 0;
  Hash previous = {};
  Hash hash = {};

  bool isRecord() const { return kind != Kind::kForeign && kind != Kind::kBroken; }
  bool isGood() const { return isRecord() && kind != Kind::kForged; }
};

/// `text` without its newline. `file` and `line` are the caller's to set.
ChainLine examine(std::string_view text);

enum class ChainFault : std::uint8_t { kEdited, kRemoved, kInserted, kReordered, kTorn };
/// "edited", "removed", "inserted", "reordered", "torn".
std::string_view nameOf(ChainFault fault);

/// The first bad record.
struct ChainFinding {
  ChainFault fault;
  std::size_t at;          ///< index of its line, or of the one where it is missing
  std::uint64_t sequence;  ///< the bad or missing record's
  std::string why;
};

struct ChainReport {
  std::uint64_t good = 0;   ///< records before the first bad one
  std::uint64_t first = 0;  ///< sequence number of the first record; 0: there is none
  std::uint64_t last = 0;   ///< of the last good one
  std::optional<ChainFinding> bad;
  bool anchored = false;             ///< the anchor's record is there and is the same
  std::vector<std::string> remarks;  ///< what was met, and is no fault
};

/// `lines` of all files, the oldest first, without empty ones.
ChainReport verifyChain(const std::vector<ChainLine>& lines,
                        const std::optional<AuditHead>& anchor);

/// "SEQ:HASH"; null: it is none.
std::optional<AuditHead> parseAnchor(std::string_view text);

}  // namespace vfiogate
