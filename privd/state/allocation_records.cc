#include "privd/state/allocation_records.h"

#include "privd/state/allocation_text.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <map>
#include <set>
#include <utility>

namespace vfiogate {
namespace {

AllocationRecords::Sizes sizesOf(const AllocatedGroup& group) {
  constexpr std::size_t kAroundText = 136;   // format, boot, digest
  constexpr std::size_t kAroundGroup = 128;  // with the heap's own words
  constexpr std::size_t kWordsOfUuid = 48;
  AllocationRecords::Sizes sizes{kAroundText + group.note.size(), kAroundGroup + group.note.size()};
  for (const UnitId& member : group.members) {
    sizes.text += member.str().size() + 1;
    sizes.memory += sizeof(UnitId) + (member.uuid() != nullptr ? kWordsOfUuid : 0);
  }
  return sizes;
}

std::size_t inPages(std::size_t bytes) {
  constexpr std::size_t kPage = 4096;
  return (bytes + kPage - 1) / kPage * kPage;
}

}  // namespace

AllocationRecords::Kept::Kept(AllocatedGroup group)
    : AllocatedGroup(std::move(group)), sizes(sizesOf(*this)) {}

Result<AllocationRecords, StateFailure> AllocationRecords::open(const std::string& directory,
                                                                std::string bootId) {
  auto files = AllocationFiles::open(directory, std::move(bootId));
  if (!files) return Failure{files.error()};
  AllocationRecords records(kj::mv(files).value());
  const auto devices = records.files_.devices();
  if (!devices) return Failure{StateFailure{devices.error().error, directory}};
  records.complete_ = records.files_.complete();
  const auto isBefore = [](const Group& a, const Group& b) { return *a < *b; };
  std::set<Group, decltype(isBefore)> known;
  std::size_t memory = 0;
  std::map<UnitId, std::size_t> ofOneFirst;
  const auto hasRoom = [&](const Kept& group) {
    std::size_t& text = ofOneFirst[group.members.front()];
    if (memory + group.sizes.memory > kLargestRecord) return false;
    if (text + group.sizes.text > kLargestOfOneFirst) return false;
    memory += group.sizes.memory;
    text += group.sizes.text;
    return true;
  };
  for (const UnitId& device : *devices) {
    auto read = records.files_.at(device);
    if (!read) continue;
    const auto found = known.insert(std::make_shared<const Kept>(*std::move(read)));
    Group group = *found.first;
    const bool fits = !found.second || hasRoom(*group);
    const bool makesSense = fits && !group->note.empty();
    if (!fits) {
      known.erase(found.first);
      group = std::make_shared<const Kept>(AllocatedGroup{{device}, {}});
    }
    if (!makesSense) {
      records.complete_ = false;
      records.problems_.push_back(directory + "/" + device.str() + ": makes no sense");
    }
    records.entries_.insert_or_assign(device, Entry{kj::mv(group), 0, makesSense});
    if (records.entries_.size() > AllocationFiles::kMostDevices) {
      return Failure{StateFailure{EOVERFLOW, directory}};
    }
  }
  return records;
}

bool AllocationRecords::allocate(const std::vector<UnitId>& members, const std::string& note,
                                 Session by) {
  const auto group = std::make_shared<const Kept>(AllocatedGroup{members, note});
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
    const bool same = entry.onFile && *entry.group == *group;
    // A file that cannot be written stays as it is, and is counted so.
    if (same || !entry.onFile || files) {
      entry = {group, by, same || (files && write(files->at(member), text))};
    }
    entry.by = by;
    all = all && entry.onFile && entry.group == group;
  }
  return all;
}

bool AllocationRecords::hasRoom(const Kept& group) const {
  std::map<const Kept*, std::size_t> files{{&group, group.members.size()}};
  for (const auto& [member, entry] : entries_) {
    if (!std::ranges::binary_search(group.members, member)) ++files[entry.group.get()];
  }
  std::size_t devices = 0;
  std::size_t written = 0;
  std::size_t memory = 0;
  std::size_t ofOneFirst = 0;
  for (const auto& [one, count] : files) {
    devices += count;
    written += count * inPages(one->sizes.text);
    memory += one->sizes.memory;
    if (one->members.front() == group.members.front()) ofOneFirst += one->sizes.text;
  }
  return devices <= AllocationFiles::kMostDevices && written <= kLargestFiles &&
         memory <= kLargestRecord && ofOneFirst <= kLargestOfOneFirst;
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

std::vector<AllocationRecords::Group> AllocationRecords::groups() const {
  std::vector<Group> groups;
  std::set<Group> told;
  for (const auto& [member, entry] : entries_) {
    if (told.insert(entry.group).second) groups.push_back(entry.group);
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
