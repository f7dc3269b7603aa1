#include "privd/state/state_directory.h"

#include "privd/base/open_file.h"
#include "privd/state/state_text.h"

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
std::optional<Entry> standIn(const Bdf& /*address*/) {
  return std::nullopt;
}
template <>
std::optional<Exclusion> standIn(const Bdf& address) {
  return Exclusion{address, kBrokenFile, 0};
}

const Bdf& addressOf(const BoundDevice& entry) {
  return entry.device.address;
}
const Bdf& addressOf(const Exclusion& entry) {
  return entry.address;
}
const Bdf& addressOf(const DeviceIdentity& entry) {
  return entry.address;
}

/// Where the address's entry is, or would be.
template <typename Entries>
auto placeOf(Entries& entries, const Bdf& address) {
  return std::ranges::lower_bound(entries, address, {},
                                  [](const auto& entry) { return addressOf(entry); });
}
template <typename Entries>
auto find(Entries& entries, const Bdf& address) {
  const auto place = placeOf(entries, address);
  return place != entries.end() && addressOf(*place) == address ? place : entries.end();
}

/// At most one byte more than a file may have.
Result<std::string, ReadError> readFile(int directory, const std::string& name) {
  const auto file = openRegular(directory, name.c_str(), O_NOFOLLOW, RESOLVE_BENEATH);
  if (!file) return Failure{file.error()};
  std::string text(kLargestState + 1, '\0');
  const ssize_t size = pread(file->fd, text.data(), text.size(), 0);
  if (size < 0) return Failure{ReadError{errno}};
  text.resize(static_cast<std::size_t>(size));
  return text;
}

template <typename Entry>
void readEntry(StateShelf<Entry>& shelf, const std::string& name,
               std::vector<std::string>& problems) {
  const auto address = Bdf::parse(name);
  if (!address || address->str() != name) {
    problems.push_back(shelf.name + "/" + name + ": is named like no device");
    return;
  }
  const auto text = readFile(shelf.directory, name);
  auto entry = text ? stateFrom<Entry>(*address, *text) : std::nullopt;
  if (!entry) {
    problems.push_back(shelf.name + "/" + name + (text ? ": makes no sense" : ": cannot be read"));
    entry = standIn<Entry>(*address);
  }
  if (entry) shelf.entries.push_back(*std::move(entry));
}

template <typename Entry>
Written openShelf(int parent, StateShelf<Entry>& shelf, std::vector<std::string>& problems) {
  const auto failed = [&shelf](int error) { return Failure{StateFailure{error, shelf.name}}; };
  const bool made = mkdirat(parent, shelf.name.c_str(), 0700) == 0;
  if ((!made && errno != EEXIST) || (made && fsync(parent) != 0)) return failed(errno);
  constexpr int kDirectory = O_RDONLY | O_DIRECTORY;
  auto opened = openAt(parent, shelf.name.c_str(), kDirectory | O_NOFOLLOW, RESOLVE_BENEATH);
  if (!opened) return failed(opened.error().error);
  shelf.directory = kj::mv(opened).value();
  auto again = openAt(shelf.directory, ".", kDirectory, RESOLVE_BENEATH);
  if (!again) return failed(again.error().error);
  auto listed = directoryNames(kj::mv(again).value());
  if (!listed) return failed(listed.error().error);
  std::vector<std::string> names = std::move(listed).value();
  if (names.size() > kMostFiles) return failed(EOVERFLOW);
  std::ranges::sort(names);
  for (const std::string& name : names) {
    // What a privd that died was writing. Nobody was told that it was written.
    if (name.starts_with('.') && unlinkat(shelf.directory, name.c_str(), 0) == 0) continue;
    readEntry(shelf, name, problems);
  }
  std::ranges::sort(shelf.entries, {}, [](const Entry& entry) { return addressOf(entry); });
  return Done{};
}

template <typename Entry>
Written putEntry(StateShelf<Entry>& shelf, const Entry& entry) {
  const std::string name = addressOf(entry).str();
  const auto failed = [&](int error) {
    return Failure{StateFailure{error, shelf.name + "/" + name}};
  };
  const std::string text = textOf(entry);
  // What could not be read back is not written.
  if (stateFrom<Entry>(addressOf(entry), text) != entry) return failed(EINVAL);
  const auto known = find(shelf.entries, addressOf(entry));
  const bool fresh = known == shelf.entries.end();
  if (fresh && shelf.entries.size() >= kMostFiles) return failed(EOVERFLOW);
  const auto replaced = replaceFile(shelf.directory, "." + name, name, text, 0600);
  if (!replaced) return failed(replaced.error().error);
  if (fsync(shelf.directory) != 0) return failed(errno);
  if (fresh) {
    shelf.entries.insert(placeOf(shelf.entries, addressOf(entry)), entry);
  } else {
    *known = entry;
  }
  return Done{};
}

template <typename Entry>
Written dropEntry(StateShelf<Entry>& shelf, const Bdf& address) {
  const std::string name = address.str();
  const bool gone = unlinkat(shelf.directory, name.c_str(), 0) == 0 || errno == ENOENT;
  if (!gone || fsync(shelf.directory) != 0) {
    return Failure{StateFailure{errno, shelf.name + "/" + name}};
  }
  std::erase_if(shelf.entries, [&](const Entry& entry) { return addressOf(entry) == address; });
  return Done{};
}

}  // namespace

std::string StateFailure::str() const {
  return file + ": " + strerror(error);
}

Result<StateDirectory, StateFailure> StateDirectory::open(const std::string& path) {
  auto opened = openAt(AT_FDCWD, path.c_str(), O_RDONLY | O_DIRECTORY, 0);
  if (!opened) return Failure{StateFailure{opened.error().error, path}};
  const kj::AutoCloseFd parent = kj::mv(opened).value();
  StateDirectory state;
  for (const Written& shelf : {openShelf(parent, state.bound_, state.problems_),
                               openShelf(parent, state.exclusions_, state.problems_),
                               openShelf(parent, state.declared_, state.problems_)}) {
    if (!shelf) return Failure{shelf.error()};
  }
  return state;
}

const BoundDevice* StateDirectory::boundAt(const Bdf& address) const {
  const auto found = find(bound_.entries, address);
  return found == bound_.entries.end() ? nullptr : &*found;
}

bool StateDirectory::isExcluded(const Bdf& address) const {
  return find(exclusions_.entries, address) != exclusions_.entries.end();
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
  return dropEntry(bound_, address);
}
Written StateDirectory::dropExclusion(const Bdf& address) {
  return dropEntry(exclusions_, address);
}
Written StateDirectory::dropDeclared(const Bdf& address) {
  return dropEntry(declared_, address);
}

}  // namespace vfiogate
