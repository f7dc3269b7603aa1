#include "plugind/loop/kubelet_reader.h"

#include "plugind/checkpoint/checkpoint_reader.h"
#include "plugind/kubelet/calls_to_kubelet.h"

namespace vfiogate {
namespace {

using Version = Result<CheckpointVersion, SocketRefusal>;
using List = Result<PodList, std::string>;

}  // namespace

kj::Promise<Version> KubeletReader::version() {
  return source_.checkpoint().then([](Result<CheckpointFile, SocketRefusal> file) {
    if (!file) return Version(Failure{file.error()});
    auto read = readCheckpoint(file->text, file->written);
    if (!read) return Version(Failure{SocketRefusal{read.error()}});
    return Version(*std::move(read));
  });
}

kj::Promise<List> KubeletReader::list() {
  return source_.dialPodResources().then(
      [](Result<kj::AutoCloseFd, SocketRefusal> dialled) -> kj::Promise<List> {
        if (!dialled) return List(Failure{dialled.error().why});
        return listPods(kj::mv(dialled).value());
      });
}

}  // namespace vfiogate
