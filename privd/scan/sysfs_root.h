#pragma once
// The only code that opens sysfs, and the only code that looks into /dev.

#include "ipc/base/result.h"
#include "ipc/types/snapshot.h"
#include "privd/base/open_file.h"

#include <kj/io.h>
#include <kj/string.h>

#include <optional>
#include <string>
#include <vector>

namespace vfiogate {

/// A directory that is taken for /sys. Everything is found below it, links included: a link that
/// leads out is an error (EXDEV), not a way out. Nothing here blocks: what is no regular file, such
/// as a pipe put in an attribute's place, is refused (EINVAL).
class SysfsRoot {
public:
  /// Error: the errno of opening `path`.
  static Result<SysfsRoot, ReadError> open(const std::string& path);

  /// The attribute's text without the line's end. `path` is relative to the root; at most 4,096
  /// bytes are read.
  Result<std::string, ReadError> read(const std::string& path) const;

  /// The first `bytes` of a binary attribute, fewer where it is shorter.
  Result<std::string, ReadError> readBytes(const std::string& path, std::size_t bytes) const;

  /// Nothing is read by this alone. EINVAL: not a regular file.
  Result<kj::AutoCloseFd, ReadError> openForReading(const std::string& path) const;
  /// Nothing is written by this alone. EINVAL: not a regular file.
  Result<kj::AutoCloseFd, ReadError> openForWriting(const std::string& path) const;

  /// Where the link points, as the link says it.
  Result<std::string, ReadError> link(const std::string& path) const;

  /// The last part of where it points; empty: it cannot be told.
  std::string linkName(const std::string& path) const;

  /// The names in a directory, ascending, without dot names. EOVERFLOW: more than 65,536.
  Result<std::vector<std::string>, ReadError> names(const std::string& path) const;

  /// False if it is not there. True if that cannot be told, for want of descriptors or memory.
  bool exists(const std::string& path) const;

  /// A directory below, taken for a root of its own: what is read of it by short paths, nothing
  /// above it.
  Result<SysfsRoot, ReadError> below(const std::string& path) const;

  /// For those who keep descriptors over the lock-down (borrowed).
  int fd() const { return root_.get(); }

private:
  explicit SysfsRoot(kj::AutoCloseFd root) : root_(kj::mv(root)) {}
  kj::AutoCloseFd root_;
};

/// A directory that is taken for /dev. What is opened below it is opened to keep others out.
class DevRoot {
public:
  static Result<DevRoot, ReadError> open(const std::string& path);

  /// True if `path`, relative to the root, is a character device.
  bool hasCharacterDevice(const std::string& path) const;

  /// Opens a character or block device. EINVAL: it is neither.
  Result<kj::AutoCloseFd, ReadError> openNode(const std::string& path, int flags) const;

  int fd() const { return root_.get(); }

private:
  explicit DevRoot(kj::AutoCloseFd root) : root_(kj::mv(root)) {}
  kj::AutoCloseFd root_;
};

/// Opens an attribute that binding needs, and writes nothing.
SysfsWriting sysfsWriting(const SysfsRoot& sysfs);

}  // namespace vfiogate
