#include "privd/cli/audit/log_files.h"

#include "privd/audit/audit_log.h"
#include "privd/base/open_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

namespace vfiogate {
namespace {

constexpr std::size_t kLongestLine = 2 * AuditLog::kLongestRecord;
constexpr std::size_t kPiece = 65'536;

constexpr unsigned kTries = 16;

using FileId = std::pair<dev_t, ino_t>;
constexpr FileId kNoFile{0, 0};

FileId idOf(const struct stat& status) {
  return {status.st_dev, status.st_ino};
}

/// What has the name now.
FileId idNamed(const std::string& name) {
  struct stat status = {};
  return lstat(name.c_str(), &status) == 0 ? idOf(status) : kNoFile;
}

std::string whyNot(int error) {
  if (error == ELOOP) return "it is a link; name the file itself";
  if (error == EINVAL) return "it is no regular file";
  return strerror(error);
}

/// Puts lines together from what is read.
class LineSplitter {
public:
  explicit LineSplitter(const TakeLine& take) : take_(take) {}

  void add(std::string_view piece) {
    for (std::size_t newline = piece.find('\n'); newline != std::string_view::npos;
         newline = piece.find('\n')) {
      keep(piece.substr(0, newline));
      end();
      piece.remove_prefix(newline + 1);
    }
    keep(piece);
  }

  void end() {
    ++number_;
    if (!line_.empty()) take_(number_, line_);
    line_.clear();
  }

private:
  void keep(std::string_view part) {
    line_ += part.substr(0, kLongestLine - std::min(kLongestLine, line_.size()));
  }

  const TakeLine& take_;
  std::string line_;
  std::uint64_t number_ = 0;
};

}  // namespace

Result<RegularFile, ReadError> openLogFile(const std::string& path) {
  return openRegular(AT_FDCWD, path.c_str(), O_NOFOLLOW, 0);
}

Result<std::vector<LogFile>, std::string> openLog(const std::string& path,
                                                  const OpenLogFile& open) {
  for (unsigned tries = 0; tries < kTries; ++tries) {
    std::vector<LogFile> files;
    std::vector<std::pair<std::string, FileId>> seen;
    for (unsigned number = AuditLog::kKept + 1; number-- > 0;) {
      std::string name = number == 0 ? path : path + "." + std::to_string(number);
      auto file = open(name);
      if (!file && file.error().error != ENOENT) {
        return Failure{name + ": " + whyNot(file.error().error)};
      }
      seen.emplace_back(name, file ? idOf(file->status) : kNoFile);
      if (file) files.push_back({std::move(name), kj::mv(file).value().fd});
    }
    // A file only ever goes on to the next name, so at a moment between they all had theirs.
    const auto isStill = [](const auto& one) { return idNamed(one.first) == one.second; };
    if (!std::ranges::all_of(seen, isStill)) continue;
    if (files.empty()) return Failure{path + ": " + strerror(ENOENT)};
    return files;
  }
  return Failure{path + ": it was rotated each time that its files were opened: try again"};
}

Result<Done, std::string> readLines(const LogFile& file, const TakeLine& take) {
  LineSplitter lines(take);
  std::string piece(kPiece, '\0');
  for (;;) {
    const ssize_t size = read(file.fd, piece.data(), piece.size());
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) return Failure{file.path + ": " + strerror(errno)};
    if (size == 0) break;
    lines.add(std::string_view(piece).substr(0, static_cast<std::size_t>(size)));
  }
  lines.end();
  return Done{};
}

}  // namespace vfiogate
