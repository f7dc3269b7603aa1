#include "privd/cdi/cdi_directory.h"

#include "privd/base/log_line.h"
#include "privd/base/open_file.h"
#include "privd/cdi/cdi_spec.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace vfiogate {

Result<Done, ReadError> CdiDirectory::make(const std::string& path, mode_t mode) {
  if (mkdir(path.c_str(), mode) != 0 && errno != EEXIST) return Failure{ReadError{errno}};
  return Done{};
}

Result<CdiDirectory, ReadError> CdiDirectory::open(const std::string& path) {
  auto opened = openAt(AT_FDCWD, path.c_str(), O_RDONLY | O_DIRECTORY, 0);
  if (!opened) return Failure{opened.error()};
  return CdiDirectory(kj::mv(opened).value());
}

Result<RegularFile, ReadError> CdiDirectory::file(const std::string& name,
                                                  std::size_t longest) const {
  auto file = openRegular(directory_, name.c_str(), O_NOFOLLOW, RESOLVE_BENEATH);
  if (file && static_cast<std::size_t>(file->status.st_size) > longest) {
    return Failure{ReadError{EFBIG}};
  }
  return file;
}

Result<bool, ReadError> CdiDirectory::put(const std::string& name, const std::string& text) const {
  const auto there = file(name, text.size());
  if (there && readText(there->fd, text.size()) == text) return false;
  const auto replaced = replaceFile(directory_, temporaryNameOf(name), name, text, 0644);
  if (!replaced) return Failure{replaced.error()};
  return true;
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

std::size_t CdiDirectory::sizeOf(const std::string& name) const {
  struct stat status = {};
  fstatat(directory_, name.c_str(), &status, AT_SYMLINK_NOFOLLOW);
  return static_cast<std::size_t>(status.st_size);
}

Result<Done, ReadError> CdiDirectory::sync() const {
  if (fsync(directory_) != 0) return Failure{ReadError{errno}};
  return Done{};
}

ReadError toldOf(const std::string& what, ReadError error) {
  logLine(LogEvent::kSpecFailed, {{"what", what}, {"error", strerror(error.error)}});
  return error;
}

Failure<SpecRefused> failedAt(const std::string& what, ReadError error) {
  return {{.code = gate::Code::kFailed,
           .detail = static_cast<std::uint16_t>(toldOf(what, error).error),
           .words = {},
           .outcome = {}}};
}

}  // namespace vfiogate
