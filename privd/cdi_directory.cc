#include "privd/cdi_directory.h"

#include "privd/cdi_spec.h"
#include "privd/directory_names.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

namespace vfiogate {
namespace {

/// 0, or an errno.
int writeAll(int fd, const std::string& text) {
  std::size_t written = 0;
  while (written < text.size()) {
    const ssize_t more = write(fd, text.data() + written, text.size() - written);
    if (more < 0 && errno != EINTR) return errno;
    if (more > 0) written += static_cast<std::size_t>(more);
  }
  return fsync(fd) == 0 ? 0 : errno;
}

}  // namespace

Result<Done, ReadError> CdiDirectory::make(const std::string& path) {
  if (mkdir(path.c_str(), 0755) != 0 && errno != EEXIST) return Failure{ReadError{errno}};
  return Done{};
}

Result<CdiDirectory, ReadError> CdiDirectory::open(const std::string& path) {
  auto opened = openAt(AT_FDCWD, path.c_str(), O_RDONLY | O_DIRECTORY, 0);
  if (!opened) return Failure{opened.error()};
  return CdiDirectory(kj::mv(opened).value());
}

bool CdiDirectory::says(const std::string& name, const std::string& text) const {
  const auto file = openRegular(directory_, name.c_str(), O_NOFOLLOW, RESOLVE_BENEATH);
  if (!file || file->status.st_size != static_cast<off_t>(text.size())) return false;
  std::string found(text.size(), '\0');
  std::size_t filled = 0;
  while (filled < found.size()) {
    const ssize_t more = read(file->fd, found.data() + filled, found.size() - filled);
    if (more <= 0) return false;
    filled += static_cast<std::size_t>(more);
  }
  return found == text;
}

Result<bool, ReadError> CdiDirectory::put(const std::string& name, const std::string& text) const {
  if (says(name, text)) return false;
  const std::string temporary = temporaryNameOf(name);
  auto created = createAt(directory_, temporary.c_str());
  if (!created && created.error().error == EEXIST) {  // of a privd that died meanwhile
    const auto gone = remove(temporary);
    if (!gone) return Failure{gone.error()};
    created = createAt(directory_, temporary.c_str());
  }
  if (!created) return Failure{created.error()};
  int error = writeAll(kj::mv(created).value(), text);
  if (error == 0 && renameat(directory_, temporary.c_str(), directory_, name.c_str()) != 0) {
    error = errno;
  }
  if (error == 0) return true;
  // It says nothing to anybody, whether it can be taken away or not.
  [[maybe_unused]] const int ignored = unlinkat(directory_, temporary.c_str(), 0);
  return Failure{ReadError{error}};
}

Result<bool, ReadError> CdiDirectory::remove(const std::string& name) const {
  if (unlinkat(directory_, name.c_str(), 0) == 0) return true;
  if (errno == ENOENT) return false;
  return Failure{ReadError{errno}};
}

Result<std::vector<std::string>, ReadError> CdiDirectory::names() const {
  auto opened = openAt(directory_, ".", O_RDONLY | O_DIRECTORY, RESOLVE_BENEATH);
  if (!opened) return Failure{opened.error()};
  return directoryNames(kj::mv(opened).value());
}

Result<Done, ReadError> CdiDirectory::sync() const {
  if (fsync(directory_) != 0) return Failure{ReadError{errno}};
  return Done{};
}

}  // namespace vfiogate
