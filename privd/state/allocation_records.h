#pragma once
// The record of allocations: which groups plugind has allocated, and to whom, on file for whoever
// comes after plugind, the kubelet's memory and this privd.

#include "ipc/base/result.h"
#include "ipc/types/bdf.h"
#include "privd/state/state_directory.h"

#include <kj/io.h>

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace vfiogate {

/// A group that is allocated, or about to be.
struct AllocatedGroup {
  std::vector<Bdf> members;  ///< ascending
  std::string note;          ///< plugind's words: printable ASCII and newlines; empty: unreadable

  friend bool operator==(const AllocatedGroup&, const AllocatedGroup&) = default;
};

/// Bytes of a note.
constexpr std::size_t kLargestNote = 8192;

/// One file a member below `<state-dir>/devices`, all members of a group with the same text. Of
/// this boot only: at a reboot the holders are gone, and the files of before are removed. So
/// nothing is synced to disk. Kept by address, since groups are formed anew under numbers that
/// others had. No peer can name more than the addresses of the groups that it was given.
class AllocationRecords {
public:
  /// One connection of plugind's. 0: none, it is from before this privd.
  using Session = std::uint64_t;

  /// Makes the directory that is missing below `stateDir`, which exists. A file that makes no sense
  /// stays, as an allocation to somebody unknown, and is named in problems().
  static Result<AllocationRecords, StateFailure> open(const std::string& stateDir,
                                                      std::string bootId);

  Session newSession() { return ++lastSession_; }

  /// Allocates the group of `members` for `by`, in place of what stood for them. False: not all of
  /// it is on file (errno in lastError()), or the note is none; in memory it is allocated all the
  /// same. What is on file already is not written again.
  bool allocate(const std::vector<Bdf>& members, const std::string& note, Session by);
  /// Repeatable, whoever allocated them.
  void release(const std::vector<Bdf>& members);
  /// `by` knows all that is allocated: what other sessions allocated is released, and from now on
  /// the record is complete.
  void keepOnly(Session by);

  /// True if one of these must not be bound or unbound without `--override held`.
  bool anyOf(const std::vector<Bdf>& members) const;
  /// True if what allocate() was last told of all of these is on file.
  bool isOnFile(const std::vector<Bdf>& members) const;
  std::vector<AllocatedGroup> groups() const;
  /// True if whatever was allocated in this boot, and not released, is here.
  bool complete() const { return complete_; }
  const std::vector<std::string>& problems() const { return problems_; }
  int lastError() const { return lastError_; }

private:
  struct Entry {
    AllocatedGroup group;
    Session by = 0;
    bool onFile = false;
  };

  AllocationRecords() = default;
  void readEntry(const std::string& name);
  bool write(const std::string& name, const std::string& text);
  void unlink(const std::string& name);

  kj::AutoCloseFd directory_;
  std::string bootId_;
  std::map<Bdf, Entry> entries_;
  std::vector<std::string> problems_;
  Session lastSession_ = 0;
  bool complete_ = false;
  int lastError_ = 0;
};

}  // namespace vfiogate
