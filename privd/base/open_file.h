#pragma once
// How privd opens what it reads: never waiting, never a pipe or a device in a file's place.
// A file that is replaced whole.

#include "ipc/base/result.h"

#include <kj/io.h>

#include <sys/stat.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace vfiogate {

/// Why something could not be read: ENOENT means that it is not there.
struct ReadError {
  int error;
};
/// The end of a sentence about what failed: a colon, and the system's words for `error`, an errno.
std::string why(int error);

/// openat2, close-on-exec. `directory` is borrowed and may be AT_FDCWD; `resolve` is of RESOLVE_*,
/// to which RESOLVE_NO_MAGICLINKS is added.
Result<kj::AutoCloseFd, ReadError> openAt(int directory, const char* path, int flags,
                                          std::uint64_t resolve);

/// A new file for writing, close-on-exec, of `mode` less the umask. EEXIST: the name is taken,
/// whatever by; a link of that name is not followed.
Result<kj::AutoCloseFd, ReadError> createAt(int directory, const char* name, mode_t mode);

struct RegularFile {
  kj::AutoCloseFd fd;
  struct stat status;
};

/// The same, for reading. EINVAL: not a regular file.
Result<RegularFile, ReadError> openRegular(int directory, const char* path, int flags,
                                           std::uint64_t resolve);

/// A file that is handed to a peer: of at most 1 MiB, or EFBIG.
Result<RegularFile, ReadError> openForPeer(const char* path, int flags);

/// What is in the file from where it stands, in one read, of at most `most` bytes. Empty: nothing
/// is, or it cannot be read.
std::string readText(int fd, std::size_t most);

/// Since 1970.
constexpr std::int64_t nanosecondsOf(const timespec& time) {
  return time.tv_sec * std::int64_t{1'000'000'000} + time.tv_nsec;
}

/// Tells one file from the next under the same name.
struct FileIdentity {
  std::uint64_t inode;
  std::int64_t changedNs;  ///< change time, since 1970

  friend bool operator==(const FileIdentity&, const FileIdentity&) = default;
};

inline FileIdentity identityOf(const struct stat& status) {
  return {status.st_ino, nanosecondsOf(status.st_ctim)};
}

/// Of what is at `path` itself, a link not followed. Null: nothing that can be seen. Read until two
/// readings agree: unlink() sets the change time of a file before its name is gone, so that one
/// reading alone may tell of a file that there never was.
std::optional<FileIdentity> identityAt(const char* path);

/// The names in a directory that is open for reading, without "." and "..", in no order. EOVERFLOW:
/// more than 65,536.
Result<std::vector<std::string>, ReadError> directoryNames(kj::AutoCloseFd directory);

/// A path's directory and last part.
struct SplitPath {
  std::string directory;
  std::string name;
};

inline SplitPath splitPath(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos) return {".", path};
  return {slash == 0 ? "/" : path.substr(0, slash), path.substr(slash + 1)};
}

/// Whether the text is on disk before it has its name. Not, for what a reboot ends anyway.
enum class Synced : std::uint8_t { kFirst, kNever };

/// Gives `text` to the file `name`, new or not: whoever opens it has the old text or the new one.
/// It is written, and as `synced` says on disk, under the name `temporary` first, where anything
/// that lies there is taken away. Both are names in `directory` (borrowed), which is the caller's
/// to sync. No link is followed. Error: ENOSPC, EROFS, ...; what was there before is unchanged.
Result<Done, ReadError> replaceFile(int directory, const std::string& temporary,
                                    const std::string& name, const std::string& text, mode_t mode,
                                    Synced synced = Synced::kFirst);

/// 0, or an errno: then nobody knows how much of it is there. `fd` is borrowed, and blocks.
int writeWhole(int fd, std::string_view text);

}  // namespace vfiogate
