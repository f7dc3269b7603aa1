#include "tests/support/played/fake_privd_gate.h"

#include "ipc/socket/unix_socket.h"
#include "tests/support/played/fake_privd_dra.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <string>
#include <utility>

namespace vfiogate::test {
namespace {

constexpr const char* kSocket = "/kubelet.sock";
constexpr const char* kPodResources = "/../pod-resources/kubelet.sock";
constexpr const char* kCheckpoint = "/kubelet_internal_checkpoint";

std::int64_t nanoseconds(const timespec& time) {
  return time.tv_sec * std::int64_t{1'000'000'000} + time.tv_nsec;
}

FileState stateOf(const std::string& path) {
  struct stat status = {};
  if (lstat(path.c_str(), &status) != 0) return std::nullopt;
  return std::pair{status.st_ino, nanoseconds(status.st_ctim)};
}

void encode(const FileState& state, schema::FileIdentity::Builder to) {
  to.setInode(state->first);
  to.setChanged(state->second);
}

KubeletFiles filesOf(const std::string& directory) {
  return {stateOf(directory + kSocket), stateOf(directory + kPodResources),
          stateOf(directory + kCheckpoint)};
}

class GateServer final : public schema::KubeletGate::Server {
public:
  explicit GateServer(PeerConnection& peer) : peer_(peer) {}

protected:
  kj::Promise<void> listen(ListenContext context) override {
    const auto params = context.getParams();
    // One name a resource, made otherwise than the real one's.
    std::string name = "fake-" + std::string(params.getResource()) + ".sock";
    for (char& c : name) c = c == '/' ? '_' : c;
    auto made = listenAt(peer_.play.setup.kubeletDir.c_str(), name.c_str(), WhoMayConnect::kOwner);
    auto answer = context.getResults().initAnswer();
    if (!made) {
      answer.setFailed(static_cast<std::uint16_t>(made.error().error));
      return kj::READY_NOW;
    }
    const kj::AutoCloseFd listener = kj::mv(made).value();
    peer_.channel.send(params.getTicket(), DescriptorKind::kListener, listener.get());
    answer.setEndpoint(name);
    return kj::READY_NOW;
  }

  kj::Promise<void> dial(DialContext context) override {
    auto answer = context.getResults().initAnswer();
    const bool pods = context.getParams().getSocket() == schema::KubeletSocket::POD_RESOURCES;
    auto made = dialAt((peer_.play.setup.kubeletDir + (pods ? kPodResources : kSocket)).c_str());
    if (!made) {
      answer.setAbsent(static_cast<std::uint16_t>(made.error().error));
      return kj::READY_NOW;
    }
    const kj::AutoCloseFd connection = kj::mv(made).value();
    peer_.channel.send(context.getParams().getTicket(), DescriptorKind::kConnection,
                       connection.get());
    answer.setConnected();
    return kj::READY_NOW;
  }

  kj::Promise<void> listenDra(ListenDraContext context) override {
    const auto params = context.getParams();
    auto answer = context.getResults().initAnswer();
    listenForDra(peer_, params.getTicket(), params.getDriver(), params.getSocket(), answer);
    return kj::READY_NOW;
  }

  kj::Promise<void> watch(WatchContext context) override {
    peer_.kubeletObserver = context.getParams().getObserver();
    peer_.tellFiles();
    return kj::READY_NOW;
  }

  kj::Promise<void> checkpoint(CheckpointContext context) override {
    ++peer_.play.checkpoints;
    auto answer = context.getResults().initAnswer();
    const std::string path = peer_.play.setup.kubeletDir + kCheckpoint;
    const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
      answer.setAbsent();
      return kj::READY_NOW;
    }
    const kj::AutoCloseFd file(fd);
    struct stat status = {};
    fstat(fd, &status);
    peer_.channel.send(context.getParams().getTicket(), DescriptorKind::kFile, fd);
    auto told = answer.initFile();
    told.setSize(static_cast<std::uint32_t>(status.st_size));
    told.setWritten(nanoseconds(status.st_mtim));
    const auto kubelet = stateOf(peer_.play.setup.kubeletDir + kSocket);
    if (kubelet) encode(kubelet, told.initKubelet());
    return kj::READY_NOW;
  }

private:
  PeerConnection& peer_;
};

}  // namespace

void PeerConnection::tellFiles() {
  toldFiles = filesOf(play.setup.kubeletDir);
  KJ_IF_MAYBE (watching, kubeletObserver) {
    auto request = watching->changedRequest();
    auto files = request.initFiles();
    if (toldFiles.registration) encode(toldFiles.registration, files.initRegistration());
    if (toldFiles.podResources) encode(toldFiles.podResources, files.initPodResources());
    if (toldFiles.checkpoint) encode(toldFiles.checkpoint, files.initCheckpoint());
    request.send().ignoreResult().detach([](kj::Exception&&) {});
  }
}

void PeerConnection::tellNewFiles() {
  if (kubeletObserver != nullptr && filesOf(play.setup.kubeletDir) != toldFiles) tellFiles();
}

schema::KubeletGate::Client makeGate(PeerConnection& peer) {
  return kj::heap<GateServer>(peer);
}

}  // namespace vfiogate::test
