#include "privd/audit/audit_log.h"

#include "privd/audit/record_end.h"
#include "privd/base/instance_lock.h"
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
constexpr std::size_t kPiece = std::size_t{64} << 10U;

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

AuditFailure busy() {
  return {EWOULDBLOCK, "lock: another process has been writing it for a second"};
}

/// From where the descriptor stands to the end.
bool readTo(ChainFollower& chain, int fd) {
  std::string piece(kPiece, '\0');
  ssize_t got = 0;
  while ((got = ::read(fd, piece.data(), piece.size())) > 0) {
    chain.take(std::string_view(piece).substr(0, static_cast<std::size_t>(got)));
  }
  chain.end();
  return got == 0;
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
  if (auto trouble = log.adopt()) return Failure{*trouble};
  return log;
}

/// Under the lock: who is in the middle of a record has not ended there.
AuditLog::Trouble AuditLog::adopt() {
  KJ_DEFER(endTurn());
  auto file = lockNamed();
  if (!file && file.error().error != ENOSPC) return file.error();
  if (file) file_ = kj::mv(file).value();
  if (auto trouble = readHead()) return trouble;
  KJ_IF_MAYBE (open, file_) {
    const off_t end = lseek(*open, 0, SEEK_END);
    if (end < 0) return failedAt("lseek");
    size_ = static_cast<std::uint64_t>(end);
    [[maybe_unused]] const auto triedAgain = tellOwed();
  }
  return std::nullopt;
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
      damage_ = isTorn ? Damage::kTorn : Damage::kDamaged;
      damaged_ = rest;
    }
    if (!last) continue;
    head_ = {last->end.sequence, std::string(last->end.hash)};
    break;
  }
  return std::nullopt;
}

Result<kj::AutoCloseFd, AuditFailure> AuditLog::openFile() const {
  auto made = createAt(directory_, name_.c_str(), 0600);
  if (!made && made.error().error != EEXIST) {
    return Failure{AuditFailure{made.error().error, "make"}};
  }
  auto file = openRegular(directory_, name_.c_str(), kForLog, RESOLVE_BENEATH);
  if (!file) return Failure{AuditFailure{file.error().error, "open"}};
  if (othersMayWrite(file->status, owner_)) {
    return Failure{noLog("others than root may write it")};
  }
  if (file->status.st_size == 0 && fsync(directory_) != 0) {
    return Failure{failedAt("fsync of its directory")};
  }
  return kj::mv(file).value().fd;
}

bool AuditLog::isNamed(int fd, const std::string& name) const {
  struct stat own = {};
  struct stat named = {};
  return fstat(fd, &own) == 0 &&
         fstatat(directory_, name.c_str(), &named, AT_SYMLINK_NOFOLLOW) == 0 &&
         named.st_dev == own.st_dev && named.st_ino == own.st_ino;
}

/// The file that has the name, locked: from now on nobody else writes or rotates.
Result<kj::AutoCloseFd, AuditFailure> AuditLog::lockNamed() const {
  for (unsigned tries = 0; tries < kKept; ++tries) {
    auto opened = openFile();
    if (!opened) return opened;
    if (!lockSoon(*opened)) break;
    if (isNamed(*opened, name_)) return opened;
  }
  return Failure{busy()};
}

/// Afterwards nobody else writes, and what others wrote is known.
AuditLog::Trouble AuditLog::takeTurn() {
  KJ_IF_MAYBE (file, file_) {
    if (!lockSoon(*file)) return busy();
    if (isNamed(*file, name_)) return follow();
    unlock(*file);
  }
  auto current = lockNamed();
  if (!current) return current.error();
  return catchUp(kj::mv(current).value());
}

/// What others added to the file that is open.
AuditLog::Trouble AuditLog::follow() {
  const int fd = KJ_ASSERT_NONNULL(file_);
  struct stat status = {};
  if (fstat(fd, &status) != 0) return failedAt("fstat");
  const auto size = static_cast<std::uint64_t>(status.st_size);
  if (size == size_) return std::nullopt;
  ChainFollower chain(head_);
  if (size < size_) {
    const std::uint64_t missing = size_ - size;
    file_ = nullptr;  // it stands behind the end
    return judge(chain, Damage::kCut, missing);
  }
  if (!readTo(chain, fd)) return failedAt("read");
  size_ = size;
  newline_ = chain.lacksNewline();
  if (chain.met()) damage_.reset();
  head_ = chain.head();
  if (chain.bytesBehind() == 0) return std::nullopt;
  return judge(chain, Damage::kGrown, chain.bytesBehind());
}

/// Our file was rotated away by another writer, or replaced; or there is none yet. `current` is
/// locked, so all of them stay what they are.
AuditLog::Trouble AuditLog::catchUp(kj::AutoCloseFd current) {
  ChainFollower chain(head_);
  unsigned oldest = 1;
  bool isLinked = head_.sequence == 0;
  KJ_IF_MAYBE (file, file_) {
    while (oldest <= kKept && !isNamed(*file, nameOfRotated(oldest))) ++oldest;
    isLinked = isLinked || oldest <= kKept;
    if (!readTo(chain, *file)) return failedAt("read");
    chain.beginFile();
    oldest = oldest <= kKept ? oldest - 1 : 0;
  }
  for (unsigned number = oldest; number > 0; --number) {
    const auto older =
        openRegular(directory_, nameOfRotated(number).c_str(), O_NOFOLLOW, RESOLVE_BENEATH);
    if (!older) continue;
    if (!readTo(chain, older->fd)) return failedAt("read");
    isLinked = isLinked || chain.met();
    chain.beginFile();
  }
  struct stat status = {};
  if (fstat(current, &status) != 0) return failedAt("fstat");
  if (!readTo(chain, current)) return failedAt("read");
  file_ = kj::mv(current);
  size_ = static_cast<std::uint64_t>(status.st_size);
  newline_ = chain.lacksNewline();
  head_ = chain.head();
  if (!chain.met() && !isLinked) return judge(chain, Damage::kReplaced, chain.bytesBehind());
  damage_.reset();
  if (chain.bytesBehind() == 0) return std::nullopt;
  return judge(chain, Damage::kGrown, chain.bytesBehind());
}

/// A tear is closed at once. Anything else refuses once; then it is written as what it is, and the
/// chain goes on behind the last record that is known.
AuditLog::Trouble AuditLog::judge(const ChainFollower& chain, Damage damage, std::uint64_t bytes) {
  const bool isTold = damage_ && damage_ != Damage::kTorn;
  const bool isTorn = damage == Damage::kGrown && chain.isTorn();
  if (isTold) return std::nullopt;
  damage_ = isTorn ? Damage::kTorn : damage;
  damaged_ = bytes;
  if (isTorn) return std::nullopt;
  return AuditFailure{0, "somebody changed it: " + std::string(nameOf(damage)) + ": " +
                             std::to_string(bytes) + " bytes behind record " +
                             std::to_string(chain.head().sequence) +
                             (damage == Damage::kCut ? " are missing" : " do not continue it")};
}

AuditLog::Trouble AuditLog::settle() {
  if (auto trouble = takeTurn()) return trouble;
  if (file_ == nullptr) return settle();
  return tellOwed();
}

/// What comes before the next record: that there was damage, or what file this one continues.
AuditLog::Trouble AuditLog::tellOwed() {
  const bool begins = size_ == 0 && head_.sequence > 0;
  if (!damage_ && !begins) return std::nullopt;
  if (auto trouble = write(damage_ ? recoveredFields(*damage_, damaged_) : rotatedFields(head_))) {
    return trouble;
  }
  damage_.reset();
  return std::nullopt;
}

AuditLog::Trouble AuditLog::write(const std::string& fields) {
  const std::uint64_t sequence = head_.sequence + 1;
  const std::string line = recordLine(
      {sequence, now(CLOCK_REALTIME), now(CLOCK_MONOTONIC), bootId_, head_.hash}, fields);
  if (line.size() > kLongestRecord) return AuditFailure{EMSGSIZE, "record"};
  const std::string text = (newline_ ? "\n" : "") + line;
  const int fd = KJ_ASSERT_NONNULL(file_);
  AuditFailure failure = {writeWhole(fd, text), "write"};
  if (failure.error == 0 && fsync(fd) != 0) failure = failedAt("fsync");
  if (failure.error != 0) {
    // What is there of the record was never acted upon. Where it cannot be taken back it is closed
    // as a tear is.
    [[maybe_unused]] const int stays = ftruncate(fd, static_cast<off_t>(size_));
    file_ = nullptr;  // it stands behind the end
    return failure;
  }
  size_ += text.size();
  newline_ = false;
  head_ = {sequence,
           line.substr(line.size() - kRecordEnd.size() - kNoHash.size() - 1, kNoHash.size())};
  return std::nullopt;
}

/// From the first number that is free: a rotation that failed at its end, and is tried again,
/// shifts the kept files no further.
AuditLog::Trouble AuditLog::rotate() {
  unsigned to = 1;
  struct stat kept = {};
  while (to < kKept && fstatat(directory_, nameOfRotated(to).c_str(), &kept, 0) == 0) ++to;
  for (; to > 0; --to) {
    const std::string from = to == 1 ? name_ : nameOfRotated(to - 1);
    if (renameat(directory_, from.c_str(), directory_, nameOfRotated(to).c_str()) != 0 &&
        errno != ENOENT) {
      return failedAt("rename");
    }
  }
  if (settings_.rotated) settings_.rotated(head_);
  return settle();
}

void AuditLog::endTurn() {
  KJ_IF_MAYBE (file, file_) unlock(*file);
}

Result<std::uint64_t, AuditFailure> AuditLog::add(const std::string& fields) {
  KJ_DEFER(endTurn());
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

Result<AuditHead, AuditFailure> AuditLog::reread() {
  KJ_DEFER(endTurn());
  if (auto trouble = takeTurn()) return Failure{*trouble};
  return head_;
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

std::string wordsOf(const AuditFailure& failure) {
  return failure.step + (failure.error == 0 ? "" : std::string(": ") + strerror(failure.error));
}

void tellFailure(const AuditFailure& failure) {
  logLine(LogEvent::kAuditFailed,
          {{"step", kj::str(failure.step.c_str())},
           {"error", kj::str(failure.error != 0 ? strerror(failure.error) : "not what it was")}});
}

kj::Promise<void> tellHeads(AuditLog& log, kj::Timer& timer) {
  const auto head = log.reread();
  if (head) {
    tellHead(*head);
  } else {
    tellFailure(head.error());
  }
  return timer.afterDelay(60 * kj::SECONDS).then([&log, &timer]() {
    return tellHeads(log, timer);
  });
}

}  // namespace vfiogate
