#pragma once
// A record of the audit log as text: one line of JSON, whose order of fields never changes.

#include "privd/audit/audit_entry.h"

#include <string>
#include <string_view>

namespace vfiogate {

/// What stands before the fields of a record's kind, and its predecessor's hash after them.
struct AuditStamp {
  std::uint64_t sequence = 0;
  std::int64_t utcNs = 0;        ///< since 1970
  std::int64_t monotonicNs = 0;  ///< since boot
  std::string bootId;
  std::string previous;  ///< 64 hex digits
};

/// Why the record before a `recovered` one is not the line before it.
enum class Damage : std::uint8_t {
  kTorn,      ///< a record had no end: the process or machine ended in the middle of it
  kDamaged,   ///< other lines at the end were no good records
  kCut,       ///< the file had become shorter
  kGrown,     ///< somebody else had added to it
  kReplaced,  ///< another file, or none, had its name
};
/// "torn", "damaged", "cut", "grown", "replaced".
std::string_view nameOf(Damage damage);

/// RFC 3339 in UTC with all nine digits, so that it sorts as text. `utcNs` is since 1970.
std::string utcText(std::int64_t utcNs);

/// The fields that only this kind of record has. Text from outside has everything that is not
/// printable ASCII as \u00XX, byte by byte, and is cut after 4,096 bytes; lists of texts for people
/// are cut after 256 KiB.
std::string fieldsOf(const AuditIntent& intent);
std::string fieldsOf(const AuditOutcome& outcome);
std::string fieldsOf(const AuditNote& note);
/// `bytes` of the file are not part of the chain, or are missing.
std::string recoveredFields(Damage damage, std::uint64_t bytes);
/// `last` stands at the end of the file that was rotated away.
std::string rotatedFields(const AuditHead& last);

/// The whole line with its end; its hash is that of all bytes before `,"hash":`.
std::string recordLine(const AuditStamp& stamp, std::string_view fields);

}  // namespace vfiogate
