#pragma once
// Follows an audit log's chain through text that other writers added.

#include "privd/audit/audit_entry.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace vfiogate {

/// Is given a file's text piece by piece, from its beginning or from behind a record that is known.
/// A record continues the chain where it names the last one as its predecessor, or where another
/// writer that met damage says with a higher number that it went on.
class ChainFollower {
public:
  explicit ChainFollower(AuditHead head) : head_(std::move(head)) {}

  /// What follows is the text of a younger file.
  void beginFile();
  void take(std::string_view piece);
  /// The file's end: a record may lack only its newline.
  void end();

  /// The last record of the chain.
  const AuditHead& head() const { return head_; }
  /// The record that was known, or one that continues it, stands in this file.
  bool met() const { return met_; }
  /// Bytes behind it, without empty lines; of all of the file where it was not met.
  std::uint64_t bytesBehind() const { return bytesBehind_; }
  /// These are at most beginnings of records, as writers leave that end in the middle.
  bool isTorn() const;
  /// The file does not end with a newline.
  bool lacksNewline() const { return lacksNewline_; }

private:
  bool continues(std::string_view line);
  void judge(std::string_view line, std::size_t bytes);

  AuditHead head_;
  bool met_ = false;
  bool lacksNewline_ = false;
  std::uint64_t bytesBehind_ = 0;
  std::string behind_;  ///< of these, as much as a tear may have
  std::string line_;    ///< has no end yet
};

}  // namespace vfiogate
