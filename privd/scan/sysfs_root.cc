#include "privd/scan/sysfs_root.h"

#include "privd/base/open_file.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <string_view>

namespace vfiogate {
namespace {

constexpr std::size_t kLongestAttribute = 4096;

Result<kj::AutoCloseFd, ReadError> openRoot(const std::string& path) {
  const int fd = ::open(path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return Failure{ReadError{errno}};
  return kj::AutoCloseFd(fd);
}

/// Opens `path` below `rootFd` (borrowed). sysfs is full of links that go up and down again: they
/// resolve as long as they stay below the root.
Result<kj::AutoCloseFd, ReadError> openBeneath(int rootFd, const std::string& path, int flags) {
  return openAt(rootFd, path.c_str(), flags, RESOLVE_BENEATH);
}

}  // namespace

Result<SysfsRoot, ReadError> SysfsRoot::open(const std::string& path) {
  auto root = openRoot(path);
  if (!root) return Failure{root.error()};
  return SysfsRoot(kj::mv(root).value());
}

Result<std::string, ReadError> SysfsRoot::readBytes(const std::string& path,
                                                    std::size_t bytes) const {
  const auto file = openRegular(root_.get(), path.c_str(), 0, RESOLVE_BENEATH);
  if (!file) return Failure{file.error()};
  std::string text(bytes, '\0');
  std::size_t filled = 0;
  while (filled < bytes) {
    const ssize_t got = ::read(file->fd.get(), text.data() + filled, bytes - filled);
    if (got < 0) return Failure{ReadError{errno}};
    if (got == 0) break;
    filled += static_cast<std::size_t>(got);
  }
  text.resize(filled);
  return text;
}

Result<std::string, ReadError> SysfsRoot::read(const std::string& path) const {
  const auto file = openRegular(root_.get(), path.c_str(), 0, RESOLVE_BENEATH);
  if (!file) return Failure{file.error()};
  // The kernel gives all of an attribute with the first read.
  std::array<char, kLongestAttribute> text;
  const ssize_t got = ::read(file->fd.get(), text.data(), text.size());
  if (got < 0) return Failure{ReadError{errno}};
  std::string_view trimmed(text.data(), static_cast<std::size_t>(got));
  while (trimmed.ends_with('\n') || trimmed.ends_with(' ')) trimmed.remove_suffix(1);
  return std::string(trimmed);
}

Result<kj::AutoCloseFd, ReadError> SysfsRoot::openForReading(const std::string& path) const {
  auto opened = openRegular(root_.get(), path.c_str(), 0, RESOLVE_BENEATH);
  if (!opened) return Failure{opened.error()};
  RegularFile file = kj::mv(opened).value();
  return kj::mv(file.fd);
}

Result<kj::AutoCloseFd, ReadError> SysfsRoot::openForWriting(const std::string& path) const {
  auto opened = openBeneath(root_.get(), path, O_WRONLY | O_NONBLOCK | O_NOCTTY);
  if (!opened) return Failure{opened.error()};
  struct stat status = {};
  if (fstat(opened->get(), &status) != 0) return Failure{ReadError{errno}};
  if (!S_ISREG(status.st_mode)) return Failure{ReadError{EINVAL}};
  return opened;
}

Result<std::string, ReadError> SysfsRoot::link(const std::string& path) const {
  const std::size_t slash = path.rfind('/');
  if (slash != std::string::npos) {
    const auto directory = below(path.substr(0, slash));
    if (!directory) return Failure{directory.error()};
    return directory->link(path.substr(slash + 1));
  }
  // Of a single name readlinkat() follows nothing.
  std::string target(kLongestAttribute, '\0');
  const ssize_t length = readlinkat(root_.get(), path.c_str(), target.data(), target.size());
  if (length < 0) return Failure{ReadError{errno}};
  target.resize(static_cast<std::size_t>(length));
  return target;
}

std::string SysfsRoot::linkName(const std::string& path) const {
  const auto target = link(path);
  return target ? target->substr(target->rfind('/') + 1) : std::string();
}

Result<std::vector<std::string>, ReadError> SysfsRoot::names(const std::string& path) const {
  auto opened = openBeneath(root_.get(), path, O_RDONLY | O_DIRECTORY | O_NONBLOCK);
  if (!opened) return Failure{opened.error()};
  auto listed = directoryNames(kj::mv(opened).value());
  if (!listed) return listed;
  std::vector<std::string> names = std::move(listed).value();
  std::erase_if(names, [](const std::string& name) { return name.starts_with('.'); });
  std::ranges::sort(names);
  return names;
}

Result<SysfsRoot, ReadError> SysfsRoot::below(const std::string& path) const {
  auto directory = openBeneath(root_.get(), path, O_PATH | O_DIRECTORY);
  if (!directory) return Failure{directory.error()};
  return SysfsRoot(kj::mv(directory).value());
}

bool SysfsRoot::exists(const std::string& path) const {
  const auto opened = openBeneath(root_.get(), path, O_PATH);
  if (opened) return true;
  const int error = opened.error().error;
  return error == EMFILE || error == ENFILE || error == ENOMEM;
}

Result<DevRoot, ReadError> DevRoot::open(const std::string& path) {
  auto root = openRoot(path);
  if (!root) return Failure{root.error()};
  return DevRoot(kj::mv(root).value());
}

Result<kj::AutoCloseFd, ReadError> DevRoot::openNode(const std::string& path, int flags) const {
  // Looked at first: opening a pipe or a file in a node's place could do something.
  const auto seen = openBeneath(root_.get(), path, O_PATH);
  if (!seen) return Failure{seen.error()};
  struct stat status = {};
  if (fstat(seen->get(), &status) != 0) return Failure{ReadError{errno}};
  if (!S_ISCHR(status.st_mode) && !S_ISBLK(status.st_mode)) return Failure{ReadError{EINVAL}};
  return openBeneath(root_.get(), path, flags | O_NOCTTY);
}

bool DevRoot::hasCharacterDevice(const std::string& path) const {
  const auto opened = openBeneath(root_.get(), path, O_PATH);
  if (!opened) return false;
  struct stat status = {};
  return fstat(opened->get(), &status) == 0 && S_ISCHR(status.st_mode);
}

SysfsWriting sysfsWriting(const SysfsRoot& sysfs) {
  const auto opened = sysfs.openForWriting("bus/pci/drivers_probe");
  if (opened) return SysfsWriting::kPossible;
  switch (opened.error().error) {
    case EROFS:
      return SysfsWriting::kReadOnly;
    case EACCES:
    case EPERM:
      // Its owner is root, as we are: only a security module refuses that.
      return SysfsWriting::kDenied;
    default:
      return SysfsWriting::kUnknown;
  }
}

}  // namespace vfiogate
