#include "privd/audit/audit_log.h"

#include "privd/audit/record_end.h"
#include "privd/base/log_line.h"
#include "privd/base/open_file.h"

#include <kj/debug.h>

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/statfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ctime>

namespace vfiogate {
namespace {

constexpr int kForLog = O_RDWR | O_APPEND | O_NOFOLLOW;

AuditFailure failedAt(const char* step) {
  return {errno, step};
}

AuditFailure noLog(const std::string& why) {
  return {EINVAL, why};
}

std::int64_t now(clockid_t clock) {
  timespec time = {};
  clock_gettime(clock, &time);
  return nanosecondsOf(time);
}

bool othersMayWrite(const struct stat& status, uid_t owner) {
  return status.st_uid != owner || (status.st_mode & 0022U) != 0;
}

/// The file's last bytes, enough for a record and what may be left of another.
Result<std::string, AuditFailure> readTail(const RegularFile& file) {
  const auto size = static_cast<std::size_t>(file.status.st_size);
  std::string text(std::min(size, 2 * AuditLog::kLongestRecord), '\0');
  std::size_t filled = 0;
  while (filled < text.size()) {
    const auto at = static_cast<off_t>(size - text.size() + filled);
    const ssize_t more = pread(file.fd, text.data() + filled, text.size() - filled, at);
    if (more <= 0) return Failure{failedAt("read")};
    filled += static_cast<std::size_t>(more);
  }
  return text;
}

}  // namespace

AuditLog::AuditLog(kj::AutoCloseFd directory, std::string name, std::string bootId,
                   AuditSettings settings)
    : directory_(kj::mv(directory)),
      name_(std::move(name)),
      bootId_(std::move(bootId)),
      settings_(std::move(settings)),
      owner_(geteuid()),
      head_{0, std::string(kNoHash)} {}

Result<AuditLog, AuditFailure> AuditLog::open(const std::string& path, const std::string& bootId,
                                              AuditSettings settings) {
  const SplitPath split = splitPath(path);
  if (mkdir(split.directory.c_str(), 0700) != 0 && errno != EEXIST) {
    return Failure{failedAt("make its directory")};
  }
  auto directory = openAt(AT_FDCWD, split.directory.c_str(), O_RDONLY | O_DIRECTORY, 0);
  if (!directory) return Failure{AuditFailure{directory.error().error, "open its directory"}};
  struct stat status = {};
  if (fstat(*directory, &status) != 0) return Failure{failedAt("fstat")};
  if (othersMayWrite(status, geteuid()) && (status.st_mode & S_ISVTX) == 0) {
    return Failure{noLog("others than root may write in its directory")};
  }
  AuditLog log(kj::mv(directory).value(), split.name, bootId, std::move(settings));
  if (auto trouble = log.readHead()) return Failure{*trouble};
  if (auto trouble = log.openFile(); trouble && trouble->error != ENOSPC) return Failure{*trouble};
  [[maybe_unused]] const auto triedAgain = log.settle();
  return log;
}

/// The chain goes on behind the last good record, be it in a file that was just rotated away.
AuditLog::Trouble AuditLog::readHead() {
  for (const std::string& name : {name_, nameOfRotated(1)}) {
    const auto file = openRegular(directory_, name.c_str(), O_NOFOLLOW, RESOLVE_BENEATH);
    if (!file && file.error().error == ENOENT) continue;
    if (!file) return AuditFailure{file.error().error, "open " + name};
    if (othersMayWrite(file->status, owner_))
      return noLog(name + ": others than root may write it");
    const auto tail = readTail(*file);
    if (!tail) return tail.error();
    const auto last = lastRecordOf(*tail);
    const auto begin = tail->substr(0, std::min(tail->find('\n'), kRecordBegin.size()));
    if (!last && !kRecordBegin.starts_with(begin) && tail->size() < 2 * kLongestRecord) {
      return noLog(name + " is no audit log");
    }
    const std::size_t rest = last ? last->bytesAfter : tail->size();
    if (name == name_ && !tail->empty() && (rest > 0 || !tail->ends_with('\n'))) {
      newline_ = !tail->ends_with('\n');
      const bool isTorn = isTear(std::string_view(*tail).substr(tail->size() - rest));
      owed_ = recoveredFields(isTorn ? Damage::kTorn : Damage::kDamaged, rest);
    }
    if (!last) continue;
    head_ = {last->end.sequence, std::string(last->end.hash)};
    if (name != name_ && owed_.empty()) owed_ = rotatedFields(head_);
    break;
  }
  return std::nullopt;
}

AuditLog::Trouble AuditLog::openFile() {
  auto made = createAt(directory_, name_.c_str(), 0600);
  if (!made && made.error().error != EEXIST) return AuditFailure{made.error().error, "make"};
  auto file = openRegular(directory_, name_.c_str(), kForLog, RESOLVE_BENEATH);
  if (!file) return AuditFailure{file.error().error, "open"};
  if (othersMayWrite(file->status, owner_)) return noLog("others than root may write it");
  size_ = static_cast<std::uint64_t>(file->status.st_size);
  if (size_ == 0 && fsync(directory_) != 0) return failedAt("fsync of its directory");
  file_ = kj::mv(file).value().fd;
  return std::nullopt;
}

/// Whether the file is the one that we know. If not, what comes next is written as what it is: the
/// chain goes on behind the last record that we wrote, wherever that is now.
AuditLog::Trouble AuditLog::findChange() {
  struct stat own = {};
  struct stat named = {};
  KJ_IF_MAYBE (file, file_) {
    if (fstat(*file, &own) != 0) return failedAt("fstat");
  } else {
    return std::nullopt;
  }
  const bool isThere = fstatat(directory_, name_.c_str(), &named, AT_SYMLINK_NOFOLLOW) == 0;
  const auto size = static_cast<std::uint64_t>(own.st_size);
  Damage damage = Damage::kReplaced;
  if (isThere && named.st_dev == own.st_dev && named.st_ino == own.st_ino) {
    if (size == size_) return std::nullopt;
    damage = size < size_ ? Damage::kCut : Damage::kGrown;
  }
  file_ = nullptr;
  newline_ = true;
  owed_ = recoveredFields(damage, size < size_ ? size_ - size : size - size_);
  return AuditFailure{0, "somebody changed it: " + std::string(nameOf(damage))};
}

AuditLog::Trouble AuditLog::settle() {
  KJ_IF_MAYBE (file, file_) {
    if (cutOwed_ && ftruncate(*file, static_cast<off_t>(size_)) != 0) return failedAt("ftruncate");
    cutOwed_ = false;
  }
  if (auto trouble = findChange()) return trouble;
  if (file_ == nullptr) {
    if (auto trouble = openFile()) return trouble;
  }
  if (owed_.empty()) return std::nullopt;
  if (auto trouble = write(owed_, newline_ && size_ > 0 ? "\n" : "")) return trouble;
  owed_.clear();
  newline_ = false;
  return std::nullopt;
}

AuditLog::Trouble AuditLog::write(const std::string& fields, const char* before) {
  const std::uint64_t sequence = head_.sequence + 1;
  const std::string line = recordLine(
      {sequence, now(CLOCK_REALTIME), now(CLOCK_MONOTONIC), bootId_, head_.hash}, fields);
  if (line.size() > kLongestRecord) return AuditFailure{EMSGSIZE, "record"};
  const int fd = KJ_ASSERT_NONNULL(file_);
  AuditFailure failure = {writeWhole(fd, before + line), "write"};
  if (failure.error == 0 && fsync(fd) != 0) failure = failedAt("fsync");
  if (failure.error != 0) {
    // What is there of the record was never acted upon.
    cutOwed_ = ftruncate(fd, static_cast<off_t>(size_)) != 0;
    return failure;
  }
  size_ += std::strlen(before) + line.size();
  head_ = {sequence,
           line.substr(line.size() - kRecordEnd.size() - kNoHash.size() - 1, kNoHash.size())};
  return std::nullopt;
}

AuditLog::Trouble AuditLog::rotate() {
  for (unsigned number = kKept; number > 0; --number) {
    const std::string from = number == 1 ? name_ : nameOfRotated(number - 1);
    if (renameat(directory_, from.c_str(), directory_, nameOfRotated(number).c_str()) != 0 &&
        errno != ENOENT) {
      return failedAt("rename");
    }
  }
  const AuditHead last = head_;
  file_ = nullptr;
  owed_ = rotatedFields(last);
  if (settings_.rotated) settings_.rotated(last);
  return settle();
}

Result<std::uint64_t, AuditFailure> AuditLog::add(const std::string& fields) {
  if (auto trouble = settle()) return Failure{*trouble};
  const bool isFull = size_ + fields.size() > settings_.rotateAt;
  if (auto trouble = isFull ? rotate() : std::nullopt) return Failure{*trouble};
  if (auto trouble = write(fields)) return Failure{*trouble};
  return head_.sequence;
}

Result<std::uint64_t, AuditFailure> AuditLog::append(const AuditIntent& entry) {
  return add(fieldsOf(entry));
}

Result<std::uint64_t, AuditFailure> AuditLog::append(const AuditOutcome& entry) {
  return add(fieldsOf(entry));
}

Result<std::uint64_t, AuditFailure> AuditLog::append(const AuditNote& entry) {
  return add(fieldsOf(entry));
}

bool AuditLog::roomForPeers() const {
  struct statfs status = {};
  if (fstatfs(directory_, &status) != 0) return false;
  return status.f_bavail * static_cast<std::uint64_t>(status.f_bsize) >= settings_.reserve;
}

std::string AuditLog::nameOfRotated(unsigned number) const {
  return name_ + "." + std::to_string(number);
}

void tellHead(const AuditHead& head) {
  logLine(LogEvent::kAuditHead, {{"head", kj::str(head.sequence, ":", head.hash.c_str())}});
}

void tellFailure(const AuditFailure& failure) {
  const bool isErrno = failure.error != 0;
  logLine(LogEvent::kAuditFailed,
          {{"step", kj::str(failure.step.c_str())},
           {"error", kj::str(isErrno ? strerror(failure.error) : "not what it was")}});
}

kj::Promise<void> tellHeads(const AuditLog& log, kj::Timer& timer) {
  tellHead(log.head());
  return timer.afterDelay(60 * kj::SECONDS).then([&log, &timer]() {
    return tellHeads(log, timer);
  });
}

}  // namespace vfiogate
