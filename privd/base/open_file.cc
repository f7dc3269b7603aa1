#include "privd/base/open_file.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <dirent.h>
#include <cerrno>
#include <cstring>
#include <string_view>

namespace vfiogate {
namespace {

constexpr std::size_t kMostNames = 65536;
constexpr int kMostTries = 1000;
constexpr off_t kLargestForPeer = 1 << 20;

Result<kj::AutoCloseFd, ReadError> openHow(int directory, const char* path, open_how how) {
  how.flags |= O_CLOEXEC;
  how.resolve |= RESOLVE_NO_MAGICLINKS;
  long fd = -1;
  // EAGAIN: something was renamed or mounted, anywhere on the machine, while the path went up.
  for (int tries = 0; fd < 0 && tries < kMostTries; ++tries) {
    fd = syscall(SYS_openat2, directory, path, &how, sizeof(how));
    if (fd < 0 && errno != EAGAIN) break;
  }
  if (fd < 0) return Failure{ReadError{errno}};
  return kj::AutoCloseFd(static_cast<int>(fd));
}

}  // namespace

std::string why(int error) {
  return std::string(": ") + strerror(error);
}

Result<kj::AutoCloseFd, ReadError> openAt(int directory, const char* path, int flags,
                                          std::uint64_t resolve) {
  open_how how = {};
  how.flags = static_cast<std::uint64_t>(flags);
  how.resolve = resolve;
  return openHow(directory, path, how);
}

Result<kj::AutoCloseFd, ReadError> createAt(int directory, const char* name, mode_t mode) {
  open_how how = {};
  how.flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW;
  how.mode = mode;
  how.resolve = RESOLVE_BENEATH;
  return openHow(directory, name, how);
}

Result<RegularFile, ReadError> openRegular(int directory, const char* path, int flags,
                                           std::uint64_t resolve) {
  auto opened = openAt(directory, path, flags | O_RDONLY | O_NONBLOCK | O_NOCTTY, resolve);
  if (!opened) return Failure{opened.error()};
  RegularFile file{kj::mv(opened).value(), {}};
  if (fstat(file.fd.get(), &file.status) != 0) return Failure{ReadError{errno}};
  if (!S_ISREG(file.status.st_mode)) return Failure{ReadError{EINVAL}};
  return file;
}

Result<RegularFile, ReadError> openForPeer(const char* path, int flags) {
  auto opened = openRegular(AT_FDCWD, path, flags, 0);
  if (opened && opened->status.st_size > kLargestForPeer) return Failure{ReadError{EFBIG}};
  return opened;
}

std::string readText(int fd, std::size_t most) {
  std::string text(most, '\0');
  const ssize_t size = read(fd, text.data(), text.size());
  text.resize(size < 0 ? 0 : static_cast<std::size_t>(size));
  return text;
}

std::optional<FileIdentity> identityAt(const char* path) {
  std::optional<FileIdentity> seen;
  for (int times = 0; times < 3; ++times) {
    struct stat status = {};
    if (lstat(path, &status) != 0 || status.st_nlink == 0) return std::nullopt;
    if (seen == identityOf(status)) break;
    seen = identityOf(status);
  }
  return seen;
}

Result<std::vector<std::string>, ReadError> directoryNames(kj::AutoCloseFd directory) {
  const int fd = directory.release();
  DIR* stream = fdopendir(fd);
  if (stream == nullptr) {
    const int error = errno;
    close(fd);
    return Failure{ReadError{error}};
  }
  std::vector<std::string> names;
  int error = 0;
  while (error == 0) {
    errno = 0;
    const dirent* entry = readdir(stream);
    if (entry == nullptr) {
      error = errno;
      break;
    }
    const std::string_view name = entry->d_name;
    if (name == "." || name == "..") continue;
    if (names.size() == kMostNames) error = EOVERFLOW;
    names.emplace_back(name);
  }
  closedir(stream);
  if (error != 0) return Failure{ReadError{error}};
  return names;
}

}  // namespace vfiogate
