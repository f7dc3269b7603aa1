#include "privd/gate/plugind_config.h"

#include "privd/base/open_file.h"

#include <cerrno>

namespace vfiogate {
namespace {

using Opened = Result<RegularFile, ReadError>;

}  // namespace

PlugindConfig::PlugindConfig(kj::UnixEventPort& port, kj::Timer& timer, kj::StringPtr path)
    : path_(kj::heapString(path)),
      directory_(port, timer, splitPath(path.cStr()).directory.c_str(), "") {}

kj::Promise<Opened> PlugindConfig::other(std::optional<FileIdentity> known) {
  const auto seen = directory_.count();
  Opened opened = openForPeer(path_.cStr(), 0);
  const bool same = opened ? identityOf(opened->status) == known : opened.error().error == ENOENT;
  if (!same) return kj::mv(opened);
  return directory_.next(seen).then([this, known](std::uint64_t) { return other(known); });
}

}  // namespace vfiogate
