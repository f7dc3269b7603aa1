#include "privd/state/allocation_records.h"

#include "privd/base/instance_lock.h"
#include "privd/base/open_file.h"
#include "privd/state/allocation_text.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

namespace vfiogate {
namespace {

/// The boot since whose adoption the record is complete.
constexpr const char* kComplete = "complete";
constexpr mode_t kOthersWrite = S_IWGRP | S_IWOTH;

/// Of a file that was just opened. Empty: it cannot be read. At most one byte more than a file may
/// have.
std::string textOf(int fd) {
  std::string text(kLargestAllocation + 1, '\0');
  const ssize_t size = ::read(fd, text.data(), text.size());
  text.resize(size < 0 ? 0 : static_cast<std::size_t>(size));
  return text;
}

Result<kj::AutoCloseFd, ReadError> openDirectory(const std::string& path) {
  const bool made = mkdir(path.c_str(), 0700) == 0 || errno == EEXIST;
  const bool madeAbove = made || mkdir(splitPath(path).directory.c_str(), 0755) == 0;
  if (!made && (!madeAbove || mkdir(path.c_str(), 0700) != 0)) return Failure{ReadError{errno}};
  return openAt(AT_FDCWD, path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);
}

}  // namespace

Result<AllocationRecords, StateFailure> AllocationRecords::open(const std::string& directory,
                                                                std::string bootId) {
  const auto failed = [&directory](int error) { return Failure{StateFailure{error, directory}}; };
  auto opened = openDirectory(directory);
  if (!opened) return failed(opened.error().error);
  AllocationRecords records;
  records.directory_ = kj::mv(opened).value();
  records.bootId_ = std::move(bootId);
  struct stat status = {};
  if (fstat(records.directory_, &status) != 0) return failed(errno);
  if ((status.st_mode & kOthersWrite) != 0) return failed(EPERM);
  records.owner_ = status.st_uid;
  auto again = openAt(records.directory_, ".", O_RDONLY | O_DIRECTORY, RESOLVE_BENEATH);
  if (!again) return failed(again.error().error);
  auto names = directoryNames(kj::mv(again).value());
  if (!names) return failed(names.error().error);
  std::vector<std::string> sorted = std::move(names).value();
  std::ranges::sort(sorted);
  const auto mark = openRegular(records.directory_, kComplete, O_NOFOLLOW, RESOLVE_BENEATH);
  records.complete_ = mark && textOf(mark->fd) == records.bootId_;
  for (const std::string& name : sorted) {
    const auto address = Bdf::parse(name);
    if (!address || address->str() != name) continue;
    if (++records.files_ > kMostDevices) return failed(EOVERFLOW);
    auto entry = records.read(*address);
    if (!entry) continue;
    if (!entry->onFile) {
      records.complete_ = false;
      records.problems_.push_back(directory + "/" + name + ": makes no sense");
    }
    records.entries_.insert_or_assign(*address, *std::move(entry));
  }
  return records;
}

Result<kj::AutoCloseFd, ReadError> AllocationRecords::fileOf(const Bdf& member) const {
  auto opened = openRegular(directory_, member.str().c_str(), O_RDWR | O_NOFOLLOW, RESOLVE_BENEATH);
  if (!opened) return Failure{opened.error()};
  RegularFile file = kj::mv(opened).value();
  const struct stat& is = file.status;
  const bool ours = is.st_uid == owner_ && is.st_nlink == 1 && (is.st_mode & kOthersWrite) == 0;
  if (!ours) return Failure{ReadError{EPERM}};
  return kj::mv(file.fd);
}

/// Null: the device is free.
std::optional<AllocationRecords::Entry> AllocationRecords::read(const Bdf& member) const {
  const auto file = fileOf(member);
  if (!file && file.error().error == ENOENT) return std::nullopt;
  struct stat status = {};
  const bool empty = file && fstat(*file, &status) == 0 && status.st_size == 0;
  if (empty) return std::nullopt;
  auto text = file ? readAllocation(textOf(*file)) : std::nullopt;
  if (text && text->bootId != bootId_) return std::nullopt;  // its holder ended with that boot
  if (text && std::ranges::binary_search(text->group.members, member)) {
    return Entry{std::move(text->group), 0, true};
  }
  return Entry{{{member}, {}}, 0, false};
}

Result<DeviceLocks, int> AllocationRecords::lock(const std::vector<Bdf>& members) {
  DeviceLocks locks;
  for (const Bdf& member : members) {
    auto file = fileOf(member);
    if (!file && file.error().error == ENOENT) {
      if (files_ >= kMostDevices) return Failure{EOVERFLOW};
      const auto made = createAt(directory_, member.str().c_str(), 0600);
      if (!made && made.error().error != EEXIST) return Failure{made.error().error};
      ++files_;
      file = fileOf(member);
    }
    if (!file) return Failure{file.error().error};
    if (!lockIfFree(*file)) return Failure{EWOULDBLOCK};
    locks.emplace(member, kj::mv(file).value());
  }
  return locks;
}

bool AllocationRecords::allocate(const std::vector<Bdf>& members, const std::string& note,
                                 Session by) {
  const AllocatedGroup group{members, note};
  const std::string text = allocationText(bootId_, group);
  const bool fits = isNote(note) && text.size() <= kLargestAllocation;
  // What is ours already nobody else takes.
  const bool renewed = isOnFile(members);
  const auto locks = renewed ? DeviceLocks() : lock(members);
  if (!locks) lastError_ = locks.error();
  if (!fits) lastError_ = EINVAL;
  bool all = true;
  for (const Bdf& member : members) {
    Entry& entry = entries_[member];
    const bool written = entry.onFile && entry.group == group;
    entry = {group, by, written};
    if (!written && fits && locks) {
      const auto file = fileOf(member);
      entry.onFile = file && write(*file, text);
      if (!file) lastError_ = file.error().error;
    }
    all = all && entry.onFile;
  }
  return all;
}

void AllocationRecords::release(const std::vector<Bdf>& members) {
  for (const Bdf& member : members) {
    if (entries_.erase(member) == 0) continue;
    const auto file = fileOf(member);
    // What is in the file's place nobody can lock. Where it stays it is one allocation too many.
    const bool freed = file ? ftruncate(*file, 0) == 0
                            : unlinkat(directory_, member.str().c_str(), 0) == 0 || errno == ENOENT;
    if (!freed) lastError_ = errno;
  }
}

void AllocationRecords::keepOnly(Session by) {
  std::vector<Bdf> others;
  for (const auto& [member, entry] : entries_) {
    if (entry.by != by) others.push_back(member);
  }
  release(others);
  if (complete_) return;
  const auto marked = replaceFile(directory_, std::string(".") + kComplete, kComplete, bootId_,
                                  0600, Synced::kNever);
  complete_ = marked.has_value();
  if (!marked) lastError_ = marked.error().error;
}

std::optional<AllocatedGroup> AllocationRecords::standing(const std::vector<Bdf>& members) const {
  for (const Bdf& member : members) {
    if (const auto told = entries_.find(member); told != entries_.end()) return told->second.group;
    if (auto entry = read(member)) return std::move(entry->group);
  }
  return std::nullopt;
}

bool AllocationRecords::isOnFile(const std::vector<Bdf>& members) const {
  return std::ranges::all_of(members, [this](const Bdf& member) {
    const auto entry = entries_.find(member);
    return entry != entries_.end() && entry->second.onFile;
  });
}

std::vector<AllocatedGroup> AllocationRecords::groups() const {
  std::vector<AllocatedGroup> groups;
  for (const auto& [member, entry] : entries_) {
    const auto first = entries_.find(entry.group.members.front());
    const bool told =
        first != entries_.end() && first->first < member && first->second.group == entry.group;
    if (!told) groups.push_back(entry.group);
  }
  return groups;
}

/// In place: the lock is the file's. Before its end is there the text makes no sense.
bool AllocationRecords::write(int fd, const std::string& text) {
  struct stat before = {};
  const bool wasFree = fstat(fd, &before) == 0 && before.st_size == 0;
  int error = writeWhole(fd, text);
  if (error == 0 && ftruncate(fd, static_cast<off_t>(text.size())) != 0) error = errno;
  if (error == 0) return true;
  lastError_ = error;
  if (wasFree && ftruncate(fd, 0) != 0) lastError_ = errno;
  return false;
}

}  // namespace vfiogate
