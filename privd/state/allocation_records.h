#pragma once
// The record of allocations: which groups plugind has allocated, and to whom, on file for whoever
// comes after plugind, the kubelet's memory and this privd, and for every command.

#include "ipc/base/result.h"
#include "ipc/types/bdf.h"
#include "privd/base/open_file.h"
#include "privd/state/state_directory.h"

#include <kj/io.h>

#include <cstdint>
#include <map>
#include <optional>
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

/// The files of some devices, each locked (flock). Whoever is handed one of the descriptors has the
/// lock of that device as well; it ends with the last of them.
using DeviceLocks = std::map<Bdf, kj::AutoCloseFd>;

/// One file a device below the record's directory; all members of a group have the same text. An
/// empty file, or none, is that of a free device; one that is unreadable, torn, too large, a link,
/// or another user's is that of a device of which nobody knows.
///
/// Whoever changes drivers of a group, or allocates it, locks the files of all its members,
/// in order, and then reads them. So no file is ever unlinked or replaced. privd alone writes them;
/// what it allocated already it writes, and releases, without the lock: nobody can take that group
/// meanwhile, since a text that is half written makes no sense.
///
/// Of this boot only: at a reboot the holders are gone, and what was written before says nothing.
/// So nothing is synced to disk. Kept by address, since groups are formed anew under numbers that
/// others had. No peer can name more than the addresses of the groups that it was given.
class AllocationRecords {
public:
  /// One connection of plugind's. 0: none, it is from before this privd.
  using Session = std::uint64_t;

  /// At most so many files.
  static constexpr std::size_t kMostDevices = 4096;

  /// Makes the directory that is missing, and the one above it. A file that makes no sense stays,
  /// and is named in problems(). EPERM: others than its owner may write into it.
  static Result<AllocationRecords, StateFailure> open(const std::string& directory,
                                                      std::string bootId);

  Session newSession() { return ++lastSession_; }

  /// Allocates the group of `members` for `by`, in place of what stood for them. False: not all of
  /// it is on file (errno in lastError(); EWOULDBLOCK: somebody changes its drivers), or the note
  /// is none; in memory it is allocated all the same. What is on file already is not written again.
  bool allocate(const std::vector<Bdf>& members, const std::string& note, Session by);
  /// Repeatable, whoever allocated them.
  void release(const std::vector<Bdf>& members);
  /// `by` knows all that is allocated: what other sessions allocated is released, and from now on
  /// the record is complete.
  void keepOnly(Session by);

  /// Locks the files of `members`, which are ascending, and makes those that are missing. Error:
  /// errno, EWOULDBLOCK where somebody else has one locked. Never waits.
  Result<DeviceLocks, int> lock(const std::vector<Bdf>& members);

  /// The first of `members` that is not free, as its file says now and as this privd was told.
  /// Null: all are free. Where the note is empty nobody knows.
  std::optional<AllocatedGroup> standing(const std::vector<Bdf>& members) const;
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
  Result<kj::AutoCloseFd, ReadError> fileOf(const Bdf& member) const;
  std::optional<Entry> read(const Bdf& member) const;
  bool write(int fd, const std::string& text);

  kj::AutoCloseFd directory_;
  uid_t owner_ = 0;
  std::string bootId_;
  std::map<Bdf, Entry> entries_;
  std::vector<std::string> problems_;
  std::size_t files_ = 0;
  Session lastSession_ = 0;
  bool complete_ = false;
  int lastError_ = 0;
};

}  // namespace vfiogate
