#pragma once
// The record of allocations as the daemon keeps it for plugind.

#include "privd/state/allocation_files.h"

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace vfiogate {

/// Bytes of a note.
constexpr std::size_t kLargestNote = 8192;
/// Bytes of memory of all groups: 2 KiB for each of as many devices as there may be.
constexpr std::size_t kLargestRecord = std::size_t{8} << 20U;
/// Bytes of all files, in whole pages: on a tmpfs they are memory, too.
constexpr std::size_t kLargestFiles = std::size_t{18} << 20U;
/// Bytes of text of groups with one first member, which are told in one answer.
constexpr std::size_t kLargestOfOneFirst = std::size_t{48} << 10U;

/// Writes the files of the record, alone: what plugind tells of each group, and over which
/// connection.
class AllocationRecords {
public:
  /// One connection of plugind's. 0: none, it is from before this privd.
  using Session = std::uint64_t;
  /// What a group takes, in bytes: reckoned once, as each Allocate adds all up.
  struct Sizes {
    std::size_t text;    ///< of one file
    std::size_t memory;  ///< some more than it has
  };
  struct Kept : AllocatedGroup {
    explicit Kept(AllocatedGroup group);
    Sizes sizes;
  };
  /// One for all of its members that are still in it.
  using Group = std::shared_ptr<const Kept>;

  /// A file that makes no sense, or is of more than there may be, stays, and is named in
  /// problems(): nobody knows whose device it is. EOVERFLOW: more devices are not free than there
  /// may be.
  static Result<AllocationRecords, StateFailure> open(const std::string& directory,
                                                      std::string bootId);

  Session newSession() { return ++lastSession_; }

  /// Allocates the group of `members` for `by`, in place of what stood for them. False: not all of
  /// it is on file (errno in lastError(); EWOULDBLOCK: somebody changes its drivers); in memory it
  /// is allocated all the same, but for members whose files say another group: those have that one
  /// still. What is on file already is not written again.
  /// EINVAL: the note is none, or makes a file too large; EOVERFLOW: more devices, or more bytes,
  /// than there may be. Then in memory it is not, either.
  bool allocate(const std::vector<UnitId>& members, const std::string& note, Session by);
  /// Repeatable, whoever allocated them.
  void release(const std::vector<UnitId>& members);
  /// `by` knows all that is allocated: what other sessions allocated is released, and from now on
  /// the record is complete.
  void keepOnly(Session by);

  /// True if each of these has a file that says its group.
  bool isOnFile(const std::vector<UnitId>& members) const;
  std::vector<Group> groups() const;
  /// True if whatever was allocated in this boot, and not released, is here.
  bool complete() const { return complete_; }
  const std::vector<std::string>& problems() const { return problems_; }
  int lastError() const { return lastError_; }

private:
  struct Entry {
    Group group;
    Session by = 0;
    bool onFile = false;
  };

  explicit AllocationRecords(AllocationFiles files) : files_(kj::mv(files)) {}
  /// With `group` in place of what stands for its members.
  bool hasRoom(const Kept& group) const;
  bool write(int fd, const std::string& text);

  AllocationFiles files_;
  std::map<UnitId, Entry> entries_;
  std::vector<std::string> problems_;
  Session lastSession_ = 0;
  bool complete_ = false;
  int lastError_ = 0;
};

}  // namespace vfiogate
