#pragma once
// Tells when something comes into some directories, changes in them, or leaves.

#include <kj/io.h>

#include <string>
#include <vector>

namespace vfiogate {

/// Uses inotify, one descriptor for all. A directory that is missing, or goes away, is looked for
/// again by retry(), and counts as a change when it is back; so does an overflow of the queue: one
/// change too many costs a reread, one too few an outage. So does each retry() where inotify has
/// nothing left for this user.
class DirectoryWatch {
public:
  /// Logs which of them are not watched.
  explicit DirectoryWatch(const std::vector<std::string>& directories);

  /// Becomes readable when there is something for drain(). Below 0: it never does.
  int fd() const { return inotify_; }
  /// Reads what has happened, without waiting; of very much a part. True: something did.
  bool drain();

  /// Looks for those that are not watched; from time to time. True: one may have changed.
  bool retry();

private:
  struct Directory {
    std::string path;
    int watch = -1;  ///< inotify's number; below 0: missing
  };

  bool arm(Directory& directory);
  /// The directory of that watch has another name now, or none.
  void lose(int watch);

  kj::AutoCloseFd inotify_;
  std::vector<Directory> directories_;
};

}  // namespace vfiogate
