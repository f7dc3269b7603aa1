#pragma once
// The record of every write into sysfs: JSON lines, appended and fsynced, each with its
// predecessor's hash.
// The audit log's head on stderr: the cluster's log store is its anchor outside.

#include "ipc/base/result.h"
#include "privd/audit/audit_entry.h"
#include "privd/audit/audit_record.h"
#include "privd/audit/chain_follower.h"

#include <kj/io.h>
#include <kj/timer.h>

#include <sys/types.h>

#include <functional>

namespace vfiogate {

struct AuditFailure {
  /// errno; 0: the log is no longer what it was (somebody cut or replaced it); EWOULDBLOCK: another
  /// process has it locked.
  int error;
  std::string step;  ///< for people, such as "fsync"
};

struct AuditSettings {
  std::uint64_t rotateAt = std::uint64_t{64} << 20U;  ///< bytes
  std::uint64_t reserve = std::uint64_t{64} << 20U;   ///< bytes that peers' writes leave free
  /// Called with the last record of a file that was rotated away.
  std::function<void(const AuditHead&)> rotated;
};

/// Daemon and commands write it at the same time: each append locks the file (flock), takes in what
/// others added, which must continue the chain, and closes what one left that ended in the middle.
/// After a failure each later append tries again from the last good record; until one succeeds,
/// nothing may be written into sysfs. All that an append does is allowed after lock-down: the
/// directory is held open, and what is read is read from the descriptor's place on, which a write
/// leaves at its end.
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

  /// As this process knows it.
  const AuditHead& head() const { return head_; }
  /// As it is now, whoever wrote last.
  Result<AuditHead, AuditFailure> reread();

private:
  /// What went wrong; null: nothing did.
  using Trouble = std::optional<AuditFailure>;

  AuditLog(kj::AutoCloseFd directory, std::string name, std::string bootId, AuditSettings settings);

  Trouble adopt();
  Trouble readHead();
  Result<kj::AutoCloseFd, AuditFailure> openFile() const;
  Result<kj::AutoCloseFd, AuditFailure> lockNamed() const;
  bool isNamed(int fd, const std::string& name) const;
  Trouble takeTurn();
  Trouble follow();
  Trouble catchUp(kj::AutoCloseFd current);
  Trouble judge(const ChainFollower& chain, Damage damage, std::uint64_t bytes);
  Trouble settle();
  Trouble tellOwed();
  Trouble write(const std::string& fields);
  Trouble rotate();
  void endTurn();
  Result<std::uint64_t, AuditFailure> add(const std::string& fields);
  std::string nameOfRotated(unsigned number) const;

  kj::AutoCloseFd directory_;
  std::string name_;
  std::string bootId_;
  AuditSettings settings_;
  uid_t owner_;  ///< this process's; not to be asked for after lock-down
  /// None: to be opened by name before the next record. It stands at size_.
  kj::Maybe<kj::AutoCloseFd> file_;
  std::uint64_t size_ = 0;  ///< of the file, as far as it was read and written
  AuditHead head_;
  std::optional<Damage> damage_;  ///< to be told by a record before the next
  std::uint64_t damaged_ = 0;     ///< its bytes
  bool newline_ = false;          ///< the file does not end in one
};

/// Logs `audit_head`.
void tellHead(const AuditHead& head);

/// The step that failed, and errno in words.
std::string wordsOf(const AuditFailure& failure);

/// Logs `audit_failed`.
void tellFailure(const AuditFailure& failure);

/// Tells the head now and every 60 s, also where only commands write, for as long as the promise is
/// held. `log` outlives it.
kj::Promise<void> tellHeads(AuditLog& log, kj::Timer& timer);

}  // namespace vfiogate
