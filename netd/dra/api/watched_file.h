#pragma once
// A small file that others replace: the token, the certificates.

#include "ipc/base/result.h"

#include <sys/stat.h>

#include <cstddef>
#include <optional>
#include <string>

namespace vfiogate {

/// Its text, read again where another file has the name: a projected volume changes what a link
/// points to. Each question costs one stat.
class WatchedFile {
public:
  /// Nothing is read yet. A file of more than `most` bytes is an error.
  WatchedFile(std::string path, std::size_t most) : path_(std::move(path)), most_(most) {}

  /// While the file is away, or makes no sense, what it said last. Error: for people; it never said
  /// anything.
  Result<std::string, std::string> text();

private:
  Result<std::string, std::string> read() const;

  const std::string path_;
  const std::size_t most_;
  std::optional<std::string> last_;
  struct stat seen_ = {};
};

}  // namespace vfiogate
