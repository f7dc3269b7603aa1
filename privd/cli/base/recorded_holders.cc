#include "privd/cli/base/recorded_holders.h"

#include "cli/table.h"
#include "privd/base/open_file.h"
#include "privd/state/allocation_text.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>

namespace vfiogate {
namespace {

constexpr const char* kUnknown = "unknown: its record makes no sense";

/// The part before `mark`, which is taken off with it; the whole where there is none.
std::string_view takeWord(std::string_view& text, char mark) {
  const std::string_view word = text.substr(0, text.find(mark));
  text.remove_prefix(std::min(text.size(), word.size() + 1));
  return word;
}

RecordedHolder holderInLine(std::string_view line) {
  std::map<std::string_view, std::string_view> fields;
  while (!line.empty()) {
    std::string_view word = takeWord(line, ' ');
    const std::string_view key = takeWord(word, '=');
    fields.emplace(key, word);
  }
  RecordedHolder holder{.who = {},
                        .resource = std::string(fields["resource"]),
                        .since = std::string(fields["since"])};
  if (!fields["pod"].empty()) {
    holder.who = fields["pod"];
  } else if (!fields["claim"].empty()) {
    holder.who = "claim " + std::string(fields["claim"]);
  } else {
    holder.who = "a pod not named yet, ref=" + std::string(fields["ref"]);
  }
  return holder;
}

/// At most one byte more than a file may have. Empty: a free device's.
std::string contentOf(int fd) {
  std::string text(kLargestAllocation + 1, '\0');
  const ssize_t size = ::read(fd, text.data(), text.size());
  text.resize(size < 0 ? 0 : static_cast<std::size_t>(size));
  return text;
}

}  // namespace

RecordedHolder holderInNote(std::string_view note) {
  RecordedHolder latest;
  while (!note.empty()) {
    RecordedHolder holder = holderInLine(takeWord(note, '\n'));
    if (latest.who.empty() || holder.since >= latest.since) latest = std::move(holder);
  }
  if (latest.who.empty()) latest.who = kUnknown;
  return latest;
}

RecordedHolders readRecordedHolders(const std::string& directory) {
  std::string bootId;
  std::getline(std::ifstream("/proc/sys/kernel/random/boot_id"), bootId);
  RecordedHolders record;
  auto opened = openAt(AT_FDCWD, directory.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);
  if (!opened && opened.error().error == ENOENT) return record;  // nothing was ever allocated
  if (!opened) {
    record.problem = directory + ": " + strerror(opened.error().error);
    return record;
  }
  const kj::AutoCloseFd root = kj::mv(opened).value();
  auto again = openAt(root, ".", O_RDONLY | O_DIRECTORY, RESOLVE_BENEATH);
  if (!again) return record;
  const auto names = directoryNames(kj::mv(again).value());
  if (!names) return record;
  for (const std::string& name : *names) {
    const auto device = UnitId::parse(name);
    if (!device || device->str() != name) continue;
    const auto file = openRegular(root, name.c_str(), O_RDONLY | O_NOFOLLOW, RESOLVE_BENEATH);
    if (file && file->status.st_size == 0) continue;
    const auto text = file ? readAllocation(contentOf(file->fd)) : std::nullopt;
    if (text && text->bootId != bootId) continue;
    const bool isWhole = text && std::ranges::binary_search(text->group.members, *device);
    record.devices.emplace(*device, holderInNote(isWhole ? text->group.note : std::string()));
  }
  return record;
}

std::string wordsFor(const RecordedHolder& holder) {
  return holder.since.empty() ? holder.who : holder.who + " since " + datedText(holder.since);
}

}  // namespace vfiogate
