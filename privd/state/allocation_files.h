#pragma once
// The files of the record of allocations: which groups plugind has allocated, and to whom, for
// whoever comes after plugind, the kubelet's memory and this privd, and for every command.

#include "ipc/base/result.h"
#include "ipc/types/unit_id.h"
#include "privd/base/open_file.h"
#include "privd/state/state_directory.h"

#include <kj/io.h>

#include <compare>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace vfiogate {

/// A group that is allocated, or about to be.
struct AllocatedGroup {
  std::vector<UnitId> members;  ///< ascending
  std::string note;  ///< plugind's words: printable ASCII and newlines; empty: unreadable

  friend auto operator<=>(const AllocatedGroup&, const AllocatedGroup&) = default;
};

/// The devices after which files in the directory `path`, from `directory` on (borrowed), are
/// named, ascending. Other names are left out.
Result<std::vector<UnitId>, ReadError> devicesNamedIn(int directory, const char* path);

/// The files of some devices, each locked (flock). Whoever is handed one of the descriptors has the
/// lock of that device as well; it ends with the last of them.
using DeviceLocks = std::map<UnitId, kj::AutoCloseFd>;

/// One file a device below the record's directory; all members of a group have the same text. An
/// empty file, or none, is that of a free device; one that is unreadable, torn, too large, a link,
/// or another user's is that of a device of which nobody knows.
///
/// Whoever changes drivers of a group, or allocates it, locks the files of all its members,
/// in order, and then reads them. So no file is replaced, and one is unlinked only under its lock,
/// where there are too many; whoever locks one that lost its name has nothing. AllocationRecords
/// alone writes them; what it allocated already it writes, and releases, without the lock: nobody
/// can take that group meanwhile, since a text that is half written makes no sense.
///
/// Of this boot only: at a reboot the holders are gone, and what was written before says nothing.
/// So nothing is synced to disk. Kept by address, since groups are formed anew under numbers that
/// others had. Nothing of the files is remembered here: each question reads them.
class AllocationFiles {
public:
  /// Of devices that are allocated: AllocationRecords keeps to it.
  static constexpr std::size_t kMostDevices = 4096;
  /// At most so many files, but for those that several processes make at one moment. So whoever
  /// fills the record of allocations keeps nobody from locking another device.
  static constexpr std::size_t kMostFiles = kMostDevices + 512;

  /// Makes the directory that is missing, and the one above it. EPERM: others than its owner may
  /// write into it.
  static Result<AllocationFiles, StateFailure> open(const std::string& directory,
                                                    std::string bootId);

  /// Locks the files of `members`, which are ascending, and makes those that are missing. Error:
  /// errno, EWOULDBLOCK where somebody else has one locked, or just took it away. Never waits.
  Result<DeviceLocks, int> lock(const std::vector<UnitId>& members) const;
  /// The same files, open for writing, without their locks; none is made.
  Result<DeviceLocks, int> unlocked(const std::vector<UnitId>& members) const;

  /// Null: the device is free.
  std::optional<AllocatedGroup> at(const UnitId& member) const;
  /// The first of `members` that is not free, as its file says now. Null: all are free. Where the
  /// note is empty nobody knows.
  std::optional<AllocatedGroup> standing(const std::vector<UnitId>& members) const;
  /// True if the files of all of `members` say that this very group is allocated.
  bool isAllocated(const std::vector<UnitId>& members) const;

  /// The devices that have a file, ascending.
  Result<std::vector<UnitId>, ReadError> devices() const;

  /// True if whatever was allocated in this boot, and not released, is here.
  bool complete() const;
  /// It is from now on.
  Result<Done, ReadError> markComplete() const;

  /// The device is free. What is in its file's place and nobody can lock is taken away.
  Result<Done, ReadError> empty(const UnitId& member) const;

  /// The boot of which the record is.
  const std::string& bootId() const { return bootId_; }

private:
  AllocationFiles() = default;
  Result<kj::AutoCloseFd, ReadError> fileOf(const UnitId& member) const;
  /// What lock() knows of files beside those that it locks.
  struct Known {
    std::size_t room;            ///< files that may be made
    std::vector<UnitId> others;  ///< of which those of free devices are taken away, from the end on
  };
  /// Where up to `more` files may be made.
  Result<Known, ReadError> list(std::size_t more) const;
  /// 0, or errno.
  int makeFile(const UnitId& member, Known& known) const;
  /// One file of `others`, under its lock, of a free device. False: there is none.
  bool takeFreeAway(std::vector<UnitId>& others) const;

  kj::AutoCloseFd directory_;
  uid_t owner_ = 0;
  std::string bootId_;
};

}  // namespace vfiogate
