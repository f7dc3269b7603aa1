#include "privd/state/allocation_files.h"

#include "privd/base/instance_lock.h"
#include "privd/state/allocation_text.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <functional>
#include <utility>

namespace vfiogate {
namespace {

/// The boot since whose adoption the record is complete.
constexpr const char* kComplete = "complete";
constexpr mode_t kOthersWrite = S_IWGRP | S_IWOTH;

/// Of a file that was just opened. At most one byte more than a file may have.
std::string textOf(int fd) {
  return readText(fd, kLargestAllocation + 1);
}

bool hasName(int fd) {
  struct stat status = {};
  return fstat(fd, &status) == 0 && status.st_nlink != 0;
}

/// True for what fileOf() finds in a file's place, and nobody can lock.
bool isNoFile(int error) {
  return error == EPERM || error == ELOOP || error == EINVAL;
}

Result<kj::AutoCloseFd, ReadError> openDirectory(const std::string& path) {
  const bool made = mkdir(path.c_str(), 0700) == 0 || errno == EEXIST;
  const bool madeAbove = made || mkdir(splitPath(path).directory.c_str(), 0755) == 0;
  if (!made && (!madeAbove || mkdir(path.c_str(), 0700) != 0)) return Failure{ReadError{errno}};
  return openAt(AT_FDCWD, path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);
}

}  // namespace

Result<std::vector<UnitId>, ReadError> devicesNamedIn(int directory, const char* path) {
  auto opened = openAt(directory, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);
  if (!opened) return Failure{opened.error()};
  const auto names = directoryNames(kj::mv(opened).value());
  if (!names) return Failure{names.error()};
  std::vector<UnitId> devices;
  for (const std::string& name : *names) {
    const auto address = UnitId::parse(name);
    if (address && address->str() == name) devices.push_back(*address);
  }
  std::ranges::sort(devices);
  return devices;
}

Result<AllocationFiles, StateFailure> AllocationFiles::open(const std::string& directory,
                                                            std::string bootId) {
  const auto failed = [&directory](int error) { return Failure{StateFailure{error, directory}}; };
  auto opened = openDirectory(directory);
  if (!opened) return failed(opened.error().error);
  AllocationFiles files;
  files.directory_ = kj::mv(opened).value();
  files.bootId_ = std::move(bootId);
  struct stat status = {};
  if (fstat(files.directory_, &status) != 0) return failed(errno);
  if ((status.st_mode & kOthersWrite) != 0) return failed(EPERM);
  files.owner_ = status.st_uid;
  return files;
}

Result<std::vector<UnitId>, ReadError> AllocationFiles::devices() const {
  return devicesNamedIn(directory_, ".");
}

Result<kj::AutoCloseFd, ReadError> AllocationFiles::fileOf(const UnitId& member) const {
  auto opened = openRegular(directory_, member.str().c_str(), O_RDWR | O_NOFOLLOW, RESOLVE_BENEATH);
  if (!opened) return Failure{opened.error()};
  RegularFile file = kj::mv(opened).value();
  const struct stat& is = file.status;
  const bool ours = is.st_uid == owner_ && is.st_nlink == 1 && (is.st_mode & kOthersWrite) == 0;
  if (!ours) return Failure{ReadError{EPERM}};
  return kj::mv(file.fd);
}

std::optional<AllocatedGroup> AllocationFiles::at(const UnitId& member) const {
  const auto file = fileOf(member);
  if (!file && file.error().error == ENOENT) return std::nullopt;
  struct stat status = {};
  const bool empty = file && fstat(*file, &status) == 0 && status.st_size == 0;
  if (empty) return std::nullopt;
  auto text = file ? readAllocation(textOf(*file)) : std::nullopt;
  if (text && text->bootId != bootId_) return std::nullopt;  // its holder ended with that boot
  if (text && std::ranges::binary_search(text->group.members, member)) {
    return std::move(text->group);
  }
  return AllocatedGroup{{member}, {}};
}

std::optional<AllocatedGroup> AllocationFiles::standing(const std::vector<UnitId>& members) const {
  for (const UnitId& member : members) {
    if (auto group = at(member)) return group;
  }
  return std::nullopt;
}

bool AllocationFiles::isAllocated(const std::vector<UnitId>& members) const {
  return std::ranges::all_of(members, [this, &members](const UnitId& member) {
    const auto group = at(member);
    return group && !group->note.empty() && group->members == members;
  });
}

Result<DeviceLocks, int> AllocationFiles::lock(const std::vector<UnitId>& members) const {
  DeviceLocks locks;
  std::optional<Known> known;
  for (const UnitId& member : members) {
    auto file = fileOf(member);
    if (!file && file.error().error == ENOENT) {
      if (!known) {
        auto listed = list(members.size());
        if (!listed) return Failure{listed.error().error};
        known = kj::mv(listed).value();
      }
      if (const int error = makeFile(member, *known); error != 0) return Failure{error};
      file = fileOf(member);
    }
    // Taken away before it was opened, or before it was locked: somebody makes room.
    if (!file) return Failure{file.error().error == ENOENT ? EWOULDBLOCK : file.error().error};
    if (!lockIfFree(*file) || !hasName(*file)) return Failure{EWOULDBLOCK};
    locks.emplace(member, kj::mv(file).value());
  }
  return locks;
}

Result<AllocationFiles::Known, ReadError> AllocationFiles::list(std::size_t more) const {
  auto listed = devices();
  if (!listed) return Failure{listed.error()};
  Known known{0, kj::mv(listed).value()};
  if (known.others.size() < kMostFiles) known.room = kMostFiles - known.others.size();
  // The empty ones last: those need not be read.
  const auto isEmpty = [this](const UnitId& device) {
    struct stat status = {};
    return fstatat(directory_, device.str().c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0 &&
           status.st_size == 0;
  };
  if (known.room < more) {
    std::partition(known.others.begin(), known.others.end(), std::not_fn(isEmpty));
  }
  return known;
}

int AllocationFiles::makeFile(const UnitId& member, Known& known) const {
  if (known.room == 0 && !takeFreeAway(known.others)) return EOVERFLOW;
  const auto made = createAt(directory_, member.str().c_str(), 0600);
  if (!made && made.error().error != EEXIST) return made.error().error;
  if (known.room != 0) --known.room;
  return 0;
}

bool AllocationFiles::takeFreeAway(std::vector<UnitId>& others) const {
  while (!others.empty()) {
    const UnitId device = others.back();
    others.pop_back();
    const auto file = fileOf(device);
    const bool isFree = file && lockIfFree(*file) && hasName(*file) && !at(device);
    if (isFree && unlinkat(directory_, device.str().c_str(), 0) == 0) return true;
  }
  return false;
}

Result<DeviceLocks, int> AllocationFiles::unlocked(const std::vector<UnitId>& members) const {
  DeviceLocks files;
  for (const UnitId& member : members) {
    auto file = fileOf(member);
    if (!file) return Failure{file.error().error};
    files.emplace(member, kj::mv(file).value());
  }
  return files;
}

bool AllocationFiles::complete() const {
  const auto mark = openRegular(directory_, kComplete, O_NOFOLLOW, RESOLVE_BENEATH);
  return mark && textOf(mark->fd) == bootId_;
}

Result<Done, ReadError> AllocationFiles::markComplete() const {
  return replaceFile(directory_, std::string(".") + kComplete, kComplete, bootId_, 0600,
                     Synced::kNever);
}

Result<Done, ReadError> AllocationFiles::empty(const UnitId& member) const {
  const auto file = fileOf(member);
  if (!file && file.error().error == ENOENT) return Done{};
  if (!file && !isNoFile(file.error().error)) return Failure{file.error()};
  // Where it stays it is one allocation too many.
  const bool freed =
      file ? ftruncate(*file, 0) == 0 : unlinkat(directory_, member.str().c_str(), 0) == 0;
  if (!freed) return Failure{ReadError{errno}};
  return Done{};
}

}  // namespace vfiogate
