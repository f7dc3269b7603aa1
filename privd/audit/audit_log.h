#pragma once
// The record of every write into sysfs: JSON lines, appended and fsynced, each with its
// predecessor's hash.
// The audit log's head on stderr: the cluster's log store is its anchor outside.

#include "ipc/base/result.h"
#include "privd/audit/audit_entry.h"
#include "privd/audit/audit_record.h"

#include <kj/io.h>
#include <kj/timer.h>

#include <sys/types.h>

#include <functional>

namespace vfiogate {

struct AuditFailure {
  int error;         ///< errno; 0: the log is no longer what it was (somebody cut or replaced it)
  std::string step;  ///< for people, such as "fsync"
};

struct AuditSettings {
  std::uint64_t rotateAt = std::uint64_t{64} << 20U;  ///< bytes
  std::uint64_t reserve = std::uint64_t{64} << 20U;   ///< bytes that peers' writes leave free
  /// Called with the last record of a file that was rotated away.
  std::function<void(const AuditHead&)> rotated;
};

/// One process writes it (the node's lock says which). After a failure each later append tries
/// again from the last good record; until one succeeds, nothing may be written into sysfs. All that
/// an append does is allowed after lock-down: the directory is held open, and nothing is read.
class AuditLog {
public:
  /// Rotated files are `audit.jsonl.1` (the newest) to `.8`.
  static constexpr unsigned kKept = 8;
  /// No longer record is written (EMSGSIZE).
  static constexpr std::size_t kLongestRecord = std::size_t{1} << 20U;

  /// Makes the file (0600) and its directory (0700) where only those are missing; a link or
  /// anything but a regular file is an error, as is one that others may write or that is no audit
  /// log. A torn last record is closed by a `recovered` record; where the disk is too full for
  /// that, the first append tries again.
  static Result<AuditLog, AuditFailure> open(const std::string& path, const std::string& bootId,
                                             AuditSettings settings = {});

  /// The record's sequence number, once it is durable.
  Result<std::uint64_t, AuditFailure> append(const AuditIntent& entry);
  Result<std::uint64_t, AuditFailure> append(const AuditOutcome& entry);
  Result<std::uint64_t, AuditFailure> append(const AuditNote& entry);

  /// False: less than 64 MiB are free where the log is; peers' writes are refused, root's go on.
  bool roomForPeers() const;

  const AuditHead& head() const { return head_; }

private:
  /// What went wrong; null: nothing did.
  using Trouble = std::optional<AuditFailure>;

  AuditLog(kj::AutoCloseFd directory, std::string name, std::string bootId, AuditSettings settings);

  Trouble readHead();
  Trouble openFile();
  Trouble findChange();
  Trouble settle();
  Trouble write(const std::string& fields, const char* before = "");
  Trouble rotate();
  Result<std::uint64_t, AuditFailure> add(const std::string& fields);
  std::string nameOfRotated(unsigned number) const;

  kj::AutoCloseFd directory_;
  std::string name_;
  std::string bootId_;
  AuditSettings settings_;
  uid_t owner_;                      ///< this process's; not to be asked for after lock-down
  kj::Maybe<kj::AutoCloseFd> file_;  ///< none: to be opened by name before the next record
  std::uint64_t size_ = 0;           ///< of the file up to the head's end
  AuditHead head_;
  std::string owed_;      ///< fields of a record that comes before the next; empty: none does
  bool newline_ = false;  ///< the file may not end in one
  bool cutOwed_ = false;  ///< behind size_ there may be a part of a record that failed
};

/// Logs `audit_head`.
void tellHead(const AuditHead& head);

/// Logs `audit_failed`.
void tellFailure(const AuditFailure& failure);

/// Tells the head now and every 60 s, for as long as the promise is held. `log` outlives it.
kj::Promise<void> tellHeads(const AuditLog& log, kj::Timer& timer);

}  // namespace vfiogate
