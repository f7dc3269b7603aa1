#include "plugind/kubelet_reader.h"

#include "plugind/checkpoint/checkpoint_reader.h"
#include "plugind/kubelet/pod_list_call.h"

namespace vfiogate {
namespace {

using Version = Result<CheckpointVersion, std::string>;
using List = Result<PodList, std::string>;

}  // namespace

kj::Promise<Version> KubeletReader::version() {
  return source_.checkpoint().then([](Result<CheckpointFile, SocketRefusal> file) {
    return file ? readCheckpoint(file->text, file->written) : Version(Failure{file.error().why});
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
