#include "privd/state/allocation_records.h"

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

constexpr const char* kDevices = "devices";
/// The boot since whose adoption the record is complete.
constexpr const char* kComplete = "complete";

/// Empty: it cannot be read. At most one byte more than a file may have.
std::string textOf(int directory, const std::string& name) {
  const auto file = openRegular(directory, name.c_str(), O_NOFOLLOW, RESOLVE_BENEATH);
  if (!file) return {};
  std::string text(kLargestAllocation + 1, '\0');
  const ssize_t size = pread(file->fd, text.data(), text.size(), 0);
  text.resize(size < 0 ? 0 : static_cast<std::size_t>(size));
  return text;
}

}  // namespace

Result<AllocationRecords, StateFailure> AllocationRecords::open(const std::string& stateDir,
                                                                std::string bootId) {
  const auto failed = [](int error) { return Failure{StateFailure{error, kDevices}}; };
  auto parent = openAt(AT_FDCWD, stateDir.c_str(), O_RDONLY | O_DIRECTORY, 0);
  if (!parent) return failed(parent.error().error);
  if (mkdirat(*parent, kDevices, 0700) != 0 && errno != EEXIST) return failed(errno);
  auto directory = openAt(*parent, kDevices, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, RESOLVE_BENEATH);
  if (!directory) return failed(directory.error().error);
  AllocationRecords records;
  records.directory_ = kj::mv(directory).value();
  records.bootId_ = std::move(bootId);
  auto again = openAt(records.directory_, ".", O_RDONLY | O_DIRECTORY, RESOLVE_BENEATH);
  if (!again) return failed(again.error().error);
  auto names = directoryNames(kj::mv(again).value());
  if (!names) return failed(names.error().error);
  std::vector<std::string> sorted = std::move(names).value();
  std::ranges::sort(sorted);
  records.complete_ = textOf(records.directory_, kComplete) == records.bootId_;
  for (const std::string& name : sorted) records.readEntry(name);
  return records;
}

void AllocationRecords::readEntry(const std::string& name) {
  if (name == kComplete) return;
  if (name.starts_with('.')) return unlink(name);  // what a privd that died was writing
  const auto address = Bdf::parse(name);
  if (!address || address->str() != name) {
    problems_.push_back(std::string(kDevices) + "/" + name + ": is named like no device");
    return;
  }
  auto read = readAllocation(textOf(directory_, name));
  if (read && read->bootId != bootId_) return unlink(name);  // its holder ended with that boot
  if (read && std::ranges::binary_search(read->group.members, *address)) {
    entries_.insert_or_assign(*address, Entry{std::move(read->group), 0, true});
    return;
  }
  complete_ = false;
  problems_.push_back(std::string(kDevices) + "/" + name + ": makes no sense");
  entries_.insert_or_assign(*address, Entry{{{*address}, {}}, 0, false});
}

bool AllocationRecords::allocate(const std::vector<Bdf>& members, const std::string& note,
                                 Session by) {
  const AllocatedGroup group{members, note};
  const std::string text = allocationText(bootId_, group);
  const bool fits = isNote(note) && text.size() <= kLargestAllocation;
  if (!fits) lastError_ = EINVAL;
  bool all = true;
  for (const Bdf& member : members) {
    Entry& entry = entries_[member];
    const bool written = entry.onFile && entry.group == group;
    entry = {group, by, fits && (written || write(member.str(), text))};
    all = all && entry.onFile;
  }
  return all;
}

void AllocationRecords::release(const std::vector<Bdf>& members) {
  for (const Bdf& member : members) {
    if (entries_.erase(member) > 0) unlink(member.str());
  }
}

void AllocationRecords::keepOnly(Session by) {
  std::vector<Bdf> others;
  for (const auto& [member, entry] : entries_) {
    if (entry.by != by) others.push_back(member);
  }
  release(others);
  if (!complete_) complete_ = write(kComplete, bootId_);
}

bool AllocationRecords::anyOf(const std::vector<Bdf>& members) const {
  return std::ranges::any_of(members, [this](const Bdf& m) { return entries_.contains(m); });
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

bool AllocationRecords::write(const std::string& name, const std::string& text) {
  const auto written = replaceFile(directory_, "." + name, name, text, 0600, Synced::kNever);
  if (!written) lastError_ = written.error().error;
  return written.has_value();
}

void AllocationRecords::unlink(const std::string& name) {
  // Where it stays it is one allocation too many, which adoption ends again.
  if (unlinkat(directory_, name.c_str(), 0) != 0 && errno != ENOENT) lastError_ = errno;
}

}  // namespace vfiogate
