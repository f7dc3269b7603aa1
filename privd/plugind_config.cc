#include "privd/plugind_config.h"

#include <fcntl.h>

#include <cerrno>

namespace vfiogate {
namespace {

using Opened = Result<RegularFile, ReadError>;

constexpr off_t kLargest = 1 << 20;

kj::String directoryOf(kj::StringPtr path) {
  KJ_IF_MAYBE (slash, path.findLast('/')) {
    return *slash == 0 ? kj::str("/") : kj::heapString(path.slice(0, *slash));
  }
  return kj::str(".");
}

}  // namespace

PlugindConfig::PlugindConfig(kj::UnixEventPort& port, kj::Timer& timer, kj::StringPtr path)
    : path_(kj::heapString(path)), directory_(port, timer, directoryOf(path), "") {}

kj::Promise<Opened> PlugindConfig::other(std::optional<FileIdentity> known) {
  const auto seen = directory_.count();
  Opened opened = openRegular(AT_FDCWD, path_.cStr(), 0, 0);
  if (opened && opened->status.st_size > kLargest) return Opened(Failure{ReadError{EFBIG}});
  const bool same = opened ? identityOf(opened->status) == known : opened.error().error == ENOENT;
  if (!same) return kj::mv(opened);
  return directory_.next(seen).then([this, known](std::uint64_t) { return other(known); });
}

}  // namespace vfiogate
