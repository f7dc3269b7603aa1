#pragma once
// One process of a kind a node.

#include "privd/base/open_file.h"

#include <kj/io.h>

#include <string>

namespace vfiogate {

/// Locks a file (flock). False: it is locked already. Never waits. The lock is that of
/// the open file: whoever is handed the descriptor has it, and it ends with the last of them.
bool lockIfFree(int fd);
/// The same for a lock that is only ever held for a moment: waits for it, at most a second.
bool lockSoon(int fd);
/// Ends the lock, whoever has the descriptor still.
void unlock(int fd);

/// A file in the state directory, in which whoever has it locked says who it is: `lock`, or that of
/// another role of privd's.
class InstanceLock {
public:
  /// Makes the directory (mode 0700) if only that is missing.
  static Result<InstanceLock, ReadError> open(const std::string& stateDir,
                                              const std::string& name = "lock");

  /// True: this process has the lock for as long as this lives. False: another process has it.
  bool tryTake();

  /// Its owner, for people: "pid=7 host=node-1". A pid of another container means little.
  std::string holder() const;

private:
  explicit InstanceLock(kj::AutoCloseFd file) : file_(kj::mv(file)) {}
  kj::AutoCloseFd file_;
};

}  // namespace vfiogate
