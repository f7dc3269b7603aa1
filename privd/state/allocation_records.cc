#include "privd/state/allocation_records.h"

#include "privd/state/allocation_text.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

namespace vfiogate {
namespace {

std::size_t sizeOf(const AllocatedGroup& group) {
  constexpr std::size_t kAddress = sizeof("0000:00:00.0");
  return group.note.size() + group.members.size() * kAddress;
}

}  // namespace

Result<AllocationRecords, StateFailure> AllocationRecords::open(const std::string& directory,
                                                                std::string bootId) {
  auto files = AllocationFiles::open(directory, std::move(bootId));
  if (!files) return Failure{files.error()};
  AllocationRecords records(kj::mv(files).value());
  const auto devices = records.files_.devices();
  if (!devices) return Failure{StateFailure{devices.error().error, directory}};
  records.complete_ = records.files_.complete();
  for (const UnitId& device : *devices) {
    auto group = records.files_.at(device);
    if (!group) continue;
    const bool makesSense = !group->note.empty();
    if (!makesSense) {
      records.complete_ = false;
      records.problems_.push_back(directory + "/" + device.str() + ": makes no sense");
    }
    records.entries_.insert_or_assign(
        device, Entry{std::make_shared<const AllocatedGroup>(*std::move(group)), 0, makesSense});
    if (records.entries_.size() > AllocationFiles::kMostDevices) {
      return Failure{StateFailure{EOVERFLOW, directory}};
    }
  }
  return records;
}

bool AllocationRecords::allocate(const std::vector<UnitId>& members, const std::string& note,
                                 Session by) {
  const auto group = std::make_shared<const AllocatedGroup>(AllocatedGroup{members, note});
  const std::string text = allocationText(files_.bootId(), *group);
  const bool fits = isNote(note) && text.size() <= kLargestAllocation;
  if (!fits || !hasRoom(*group)) {
    lastError_ = fits ? EOVERFLOW : EINVAL;
    return false;
  }
  // What is ours already nobody else takes.
  const auto files = isOnFile(members) ? files_.unlocked(members) : files_.lock(members);
  if (!files) lastError_ = files.error();
  bool all = true;
  for (const UnitId& member : members) {
    Entry& entry = entries_[member];
    const bool written = entry.onFile && *entry.group == *group;
    entry = {group, by, written || (files && write(files->at(member), text))};
    all = all && entry.onFile;
  }
  return all;
}

bool AllocationRecords::hasRoom(const AllocatedGroup& group) const {
  std::size_t devices = group.members.size();
  std::size_t bytes = devices * sizeOf(group);
  for (const auto& [member, entry] : entries_) {
    if (std::ranges::binary_search(group.members, member)) continue;
    ++devices;
    bytes += sizeOf(*entry.group);
  }
  return devices <= AllocationFiles::kMostDevices && bytes <= kLargestRecord;
}

void AllocationRecords::release(const std::vector<UnitId>& members) {
  for (const UnitId& member : members) {
    if (entries_.erase(member) == 0) continue;
    if (const auto freed = files_.empty(member); !freed) lastError_ = freed.error().error;
  }
}

void AllocationRecords::keepOnly(Session by) {
  std::vector<UnitId> others;
  for (const auto& [member, entry] : entries_) {
    if (entry.by != by) others.push_back(member);
  }
  release(others);
  if (complete_) return;
  const auto marked = files_.markComplete();
  complete_ = marked.has_value();
  if (!marked) lastError_ = marked.error().error;
}

bool AllocationRecords::isOnFile(const std::vector<UnitId>& members) const {
  return std::ranges::all_of(members, [this](const UnitId& member) {
    const auto entry = entries_.find(member);
    return entry != entries_.end() && entry->second.onFile;
  });
}

std::vector<AllocatedGroup> AllocationRecords::groups() const {
  std::vector<AllocatedGroup> groups;
  for (const auto& [member, entry] : entries_) {
    const auto first = entries_.find(entry.group->members.front());
    const bool told =
        first != entries_.end() && first->first < member && *first->second.group == *entry.group;
    if (!told) groups.push_back(*entry.group);
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
