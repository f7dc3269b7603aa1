#include "netd/dra/api/watched_file.h"

#include <kj/io.h>

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

namespace vfiogate {
namespace {

bool isSameFile(const struct stat& one, const struct stat& other) {
  return one.st_dev == other.st_dev && one.st_ino == other.st_ino && one.st_size == other.st_size &&
         one.st_mtim.tv_sec == other.st_mtim.tv_sec && one.st_mtim.tv_nsec == other.st_mtim.tv_nsec;
}

Failure<std::string> fileFailure(const std::string& path, const std::string& why) {
  return Failure{path + ": " + why};
}

}  // namespace

Result<std::string, std::string> WatchedFile::text() {
  struct stat now {};
  std::string why;
  if (stat(path_.c_str(), &now) != 0) {
    why = strerrordesc_np(errno);
  } else if (!S_ISREG(now.st_mode)) {
    why = "is no file";
  }
  if (!why.empty())
    return last_ ? Result<std::string, std::string>(*last_) : fileFailure(path_, why);
  if (last_ && isSameFile(now, seen_)) return *last_;
  auto fresh = read();
  if (!fresh) return last_ ? Result<std::string, std::string>(*last_) : fresh;
  seen_ = now;
  last_ = *fresh;
  return fresh;
}

Result<std::string, std::string> WatchedFile::read() const {
  // NONBLOCK only matters where the name has become a pipe's since.
  const int fd = open(path_.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  if (fd < 0) return fileFailure(path_, strerrordesc_np(errno));
  const kj::AutoCloseFd owned(fd);
  std::string text;
  std::array<char, 4096> piece{};
  for (;;) {
    const ssize_t size = ::read(fd, piece.data(), piece.size());
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) return fileFailure(path_, strerrordesc_np(errno));
    if (size == 0) break;
    text.append(piece.data(), static_cast<std::size_t>(size));
    if (text.size() > most_) {
      return fileFailure(path_, "has more than " + std::to_string(most_) + " bytes");
    }
  }
  if (text.empty()) return fileFailure(path_, "is empty");
  return text;
}

}  // namespace vfiogate
