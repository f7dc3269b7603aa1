#include "plugind/kubelet_reader.h"

#include "plugind/checkpoint/checkpoint_reader.h"
#include "plugind/kubelet/pod_list_call.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace vfiogate {
namespace {

using Version = Result<CheckpointVersion, std::string>;
using List = Result<PodList, std::string>;

/// A regular file: reading does not wait for anybody. One byte more than is taken tells too long.
Result<std::string, std::string> readWhole(int fd) {
  std::string text(kLongestCheckpoint + 1, '\0');
  std::size_t filled = 0;
  while (filled < text.size()) {
    const ssize_t got = read(fd, text.data() + filled, text.size() - filled);
    if (got < 0) return Failure{std::string("it cannot be read: ") + strerror(errno)};
    if (got == 0) break;
    filled += static_cast<std::size_t>(got);
  }
  text.resize(filled);
  return text;
}

}  // namespace

kj::Promise<Version> KubeletReader::version() {
  return sockets_.openCheckpoint().then([](Result<CheckpointFile, SocketRefusal> opened) {
    if (!opened) return Version(Failure{opened.error().why});
    const CheckpointFile file = kj::mv(opened).value();
    const auto text = readWhole(file.fd.get());
    return text ? readCheckpoint(*text, file.modified) : Version(Failure{text.error()});
  });
}

kj::Promise<List> KubeletReader::list() {
  return sockets_.dialKubelet(KubeletSocket::kPodResources)
      .then([](Result<kj::AutoCloseFd, SocketRefusal> dialled) -> kj::Promise<List> {
        if (!dialled) return List(Failure{dialled.error().why});
        return listPods(kj::mv(dialled).value());
      });
}

}  // namespace vfiogate
