#include "privd/state/state_directory.h"

#include "privd/base/instance_lock.h"
#include "privd/base/open_file.h"
#include "privd/state/state_text.h"

#include <kj/common.h>

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace vfiogate {
namespace {

constexpr std::size_t kMostFiles = 4096;
constexpr const char* kBrokenFile = "its file makes no sense: release it, and exclude it again";

using Written = Result<Done, StateFailure>;

/// What stands for a file that makes no sense. An exclusion fails closed: somebody wanted it.
template <typename Entry>
std::optional<Entry> standIn(const NamedAfter<Entry>& /*device*/) {
  return std::nullopt;
}
template <>
std::optional<Exclusion> standIn<Exclusion>(const UnitId& device) {
  return Exclusion{device, kBrokenFile, 0};
}

const Bdf& deviceOf(const BoundDevice& entry) {
  return entry.device.address;
}
const UnitId& deviceOf(const Exclusion& entry) {
  return entry.device;
}
const Bdf& deviceOf(const DeviceIdentity& entry) {
  return entry.address;
}

/// At most one byte more than a file may have.
Result<std::string, ReadError> readFile(int directory, const std::string& name) {
  const auto file = openRegular(directory, name.c_str(), O_NOFOLLOW, RESOLVE_BENEATH);
  if (!file) return Failure{file.error()};
  std::string text(kLargestState + 1, '\0');
  const ssize_t size = ::read(file->fd, text.data(), text.size());
  if (size < 0) return Failure{ReadError{errno}};
  text.resize(static_cast<std::size_t>(size));
  return text;
}

/// Null: nothing is there that makes sense.
template <typename Entry>
std::optional<Entry> entryAt(const StateShelf& shelf, const NamedAfter<Entry>& device) {
  const auto text = readFile(shelf.directory, device.str());
  if (!text && text.error().error == ENOENT) return std::nullopt;
  auto entry = text ? stateFrom<Entry>(device, *text) : std::nullopt;
  return entry ? entry : standIn<Entry>(device);
}

Result<std::vector<std::string>, ReadError> namesIn(const StateShelf& shelf) {
  auto again = openAt(shelf.directory, ".", O_RDONLY | O_DIRECTORY, RESOLVE_BENEATH);
  if (!again) return Failure{again.error()};
  auto listed = directoryNames(kj::mv(again).value());
  if (!listed) return listed;
  std::vector<std::string> names = std::move(listed).value();
  std::ranges::sort(names);
  return names;
}

template <typename Entry>
Result<std::vector<Entry>, StateFailure> entriesOf(const StateShelf& shelf) {
  std::vector<Entry> entries;
  const auto names = namesIn(shelf);
  if (!names) return Failure{StateFailure{names.error().error, shelf.name}};
  for (const std::string& name : *names) {
    const auto device = NamedAfter<Entry>::parse(name);
    if (!device || device->str() != name) continue;
    if (auto entry = entryAt<Entry>(shelf, *device)) entries.push_back(*std::move(entry));
  }
  std::ranges::sort(entries, {}, [](const Entry& entry) { return deviceOf(entry); });
  return entries;
}

template <typename Entry>
void noteProblem(const StateShelf& shelf, const std::string& name,
                 std::vector<std::string>& problems) {
  const auto device = NamedAfter<Entry>::parse(name);
  const auto note = [&](const char* what) { problems.push_back(shelf.name + "/" + name + what); };
  if (!device || device->str() != name) return note(": is named like no device");
  const auto text = readFile(shelf.directory, name);
  if (!text) return note(": cannot be read");
  if (!stateFrom<Entry>(*device, *text)) note(": makes no sense");
}

template <typename Entry>
Written fillShelf(StateShelf& shelf, kj::AutoCloseFd directory,
                  std::vector<std::string>& problems) {
  const auto failed = [&shelf](int error) { return Failure{StateFailure{error, shelf.name}}; };
  shelf.directory = kj::mv(directory);
  if (!lockSoon(shelf.directory)) return failed(EWOULDBLOCK);
  KJ_DEFER(unlock(shelf.directory));
  const auto names = namesIn(shelf);
  if (!names) return failed(names.error().error);
  if (names->size() > kMostFiles) return failed(EOVERFLOW);
  for (const std::string& name : *names) {
    // What a privd that died was writing. Nobody was told that it was written.
    if (name.starts_with('.') && unlinkat(shelf.directory, name.c_str(), 0) == 0) continue;
    noteProblem<Entry>(shelf, name, problems);
  }
  return Done{};
}

template <typename Entry>
Written openShelf(int parent, StateShelf& shelf, std::vector<std::string>& problems) {
  const auto failed = [&shelf](int error) { return Failure{StateFailure{error, shelf.name}}; };
  const bool made = mkdirat(parent, shelf.name.c_str(), 0700) == 0;
  if ((!made && errno != EEXIST) || (made && fsync(parent) != 0)) return failed(errno);
  constexpr int kDirectory = O_RDONLY | O_DIRECTORY;
  auto opened = openAt(parent, shelf.name.c_str(), kDirectory | O_NOFOLLOW, RESOLVE_BENEATH);
  if (!opened) return failed(opened.error().error);
  return fillShelf<Entry>(shelf, kj::mv(opened).value(), problems);
}

/// Where the directory is there, its parent is not opened.
template <typename Entry>
Written openAlone(const std::string& parent, StateShelf& shelf,
                  std::vector<std::string>& problems) {
  constexpr int kDirectory = O_RDONLY | O_DIRECTORY;
  auto there = openAt(AT_FDCWD, (parent + "/" + shelf.name).c_str(), kDirectory | O_NOFOLLOW, 0);
  if (there) return fillShelf<Entry>(shelf, kj::mv(there).value(), problems);
  if (there.error().error != ENOENT) return Failure{StateFailure{there.error().error, shelf.name}};
  const auto above = openAt(AT_FDCWD, parent.c_str(), kDirectory, 0);
  if (!above) return Failure{StateFailure{above.error().error, parent}};
  return openShelf<Entry>(*above, shelf, problems);
}

/// One more file may be made.
bool hasRoom(const StateShelf& shelf, const std::string& name) {
  if (openRegular(shelf.directory, name.c_str(), O_NOFOLLOW, RESOLVE_BENEATH)) return true;
  const auto names = namesIn(shelf);
  return names && names->size() < kMostFiles;
}

template <typename Entry>
Written putEntry(const StateShelf& shelf, const Entry& entry) {
  const std::string name = deviceOf(entry).str();
  const auto failed = [&](int error) {
    return Failure{StateFailure{error, shelf.name + "/" + name}};
  };
  const std::string text = textOf(entry);
  // What could not be read back is not written.
  if (stateFrom<Entry>(deviceOf(entry), text) != entry) return failed(EINVAL);
  if (!lockSoon(shelf.directory)) return failed(EWOULDBLOCK);
  KJ_DEFER(unlock(shelf.directory));
  if (!hasRoom(shelf, name)) return failed(EOVERFLOW);
  const auto replaced = replaceFile(shelf.directory, "." + name, name, text, 0600);
  if (!replaced) return failed(replaced.error().error);
  if (fsync(shelf.directory) != 0) return failed(errno);
  return Done{};
}

Written dropEntry(const StateShelf& shelf, const std::string& name) {
  const auto failed = [&](int error) {
    return Failure{StateFailure{error, shelf.name + "/" + name}};
  };
  if (!lockSoon(shelf.directory)) return failed(EWOULDBLOCK);
  KJ_DEFER(unlock(shelf.directory));
  const bool gone = unlinkat(shelf.directory, name.c_str(), 0) == 0 || errno == ENOENT;
  if (!gone || fsync(shelf.directory) != 0) return failed(errno);
  return Done{};
}

}  // namespace

std::string StateFailure::str() const {
  if (error == EWOULDBLOCK) return file + ": another process is writing there: try again";
  return file + ": " + strerror(error);
}

Result<StateDirectory, StateFailure> StateDirectory::open(const std::string& path) {
  auto opened = openAt(AT_FDCWD, path.c_str(), O_RDONLY | O_DIRECTORY, 0);
  if (!opened) return Failure{StateFailure{opened.error().error, path}};
  const kj::AutoCloseFd parent = kj::mv(opened).value();
  StateDirectory state;
  for (const Written& shelf :
       {openShelf<BoundDevice>(parent, state.bound_, state.problems_),
        openShelf<Exclusion>(parent, state.exclusions_, state.problems_),
        openShelf<DeviceIdentity>(parent, state.declared_, state.problems_)}) {
    if (!shelf) return Failure{shelf.error()};
  }
  return state;
}

Result<StateDirectory, StateFailure> StateDirectory::openOnly(const std::string& path,
                                                              StateKind kind) {
  StateDirectory state;
  const auto opened = [&]() -> Written {
    switch (kind) {
      case StateKind::kBound:
        return openAlone<BoundDevice>(path, state.bound_, state.problems_);
      case StateKind::kExclusions:
        return openAlone<Exclusion>(path, state.exclusions_, state.problems_);
      case StateKind::kDeclared:
        break;
    }
    return openAlone<DeviceIdentity>(path, state.declared_, state.problems_);
  }();
  if (!opened) return Failure{opened.error()};
  return state;
}

Result<std::vector<BoundDevice>, StateFailure> StateDirectory::bound() const {
  return entriesOf<BoundDevice>(bound_);
}
Result<std::vector<Exclusion>, StateFailure> StateDirectory::exclusions() const {
  return entriesOf<Exclusion>(exclusions_);
}
Result<std::vector<DeviceIdentity>, StateFailure> StateDirectory::declared() const {
  return entriesOf<DeviceIdentity>(declared_);
}

std::optional<BoundDevice> StateDirectory::boundAt(const Bdf& address) const {
  return entryAt<BoundDevice>(bound_, address);
}
std::optional<DeviceIdentity> StateDirectory::declaredAt(const Bdf& address) const {
  return entryAt<DeviceIdentity>(declared_, address);
}
bool StateDirectory::isExcluded(const UnitId& device) const {
  return entryAt<Exclusion>(exclusions_, device).has_value();
}

Written StateDirectory::put(const BoundDevice& device) {
  return putEntry(bound_, device);
}
Written StateDirectory::put(const Exclusion& exclusion) {
  return putEntry(exclusions_, exclusion);
}
Written StateDirectory::put(const DeviceIdentity& declared) {
  return putEntry(declared_, declared);
}
Written StateDirectory::dropBound(const Bdf& address) {
  return dropEntry(bound_, address.str());
}
Written StateDirectory::dropExclusion(const UnitId& device) {
  return dropEntry(exclusions_, device.str());
}
Written StateDirectory::dropDeclared(const Bdf& address) {
  return dropEntry(declared_, address.str());
}

}  // namespace vfiogate
