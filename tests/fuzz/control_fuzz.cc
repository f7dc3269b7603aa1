// Whatever bytes a visitor sends plugind's control service, one of its own user or netd: plugind
// outlives them, and whom it attached has a node's name.
//
// The input: a byte that says who visits, then its bytes.

#include "ipc/base/kube_names.h"
#include "plugind/control/control_server.h"
#include "tests/fuzz/fuzz_input.h"
#include "tests/support/played/raw_peer.h"

#include <kj/async-io.h>
#include <kj/debug.h>

#include <sys/socket.h>

#include <random>

namespace vfiogate {
namespace {

class Source final : public ControlSource {
public:
  kj::Promise<std::string> statusJson() override { return std::string("{}"); }
  std::string explainJson(const UnitId& address) const override { return address.str(); }
  kj::Promise<std::string> metricsText() override { return std::string("vfiogate_up 1\n"); }
  PluginReadiness readiness() const override { return {.ready = true, .why = "ready"}; }
};

class Listener final : public ApiListener {
public:
  const std::string& driver() const override { return driver_; }
  std::shared_ptr<void> attach(schema::ApiServer::Client, std::string node) override {
    require(isDnsSubdomain(node));
    return std::make_shared<int>(0);
  }

private:
  const std::string driver_ = "vfio.vfiogate.dev";
};

class Plugind {
public:
  void takeFrom(Visitor who, kj::ArrayPtr<const kj::byte> bytes) {
    int pair[2];
    KJ_SYSCALL(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair));
    ControlServer control(source_, &listener_, deps_);
    RawPeer peer{kj::AutoCloseFd(pair[0])};
    control.admit(kj::AutoCloseFd(pair[1]), who);
    peer.sendBytes(bytes);
    io_.waitScope.poll();
    peer.drain();
    io_.waitScope.poll();
  }

private:
  kj::AsyncIoContext io_ = kj::setupAsyncIo();
  std::mt19937 random_;
  Source source_;
  Listener listener_;
  LoopDeps deps_{io_.unixEventPort, *io_.lowLevelProvider, io_.provider->getTimer(),
                 std::make_shared<TaskQueue>(), random_};
};

}  // namespace
}  // namespace vfiogate

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace vfiogate;
  static Plugind plugind;
  if (size == 0) return 0;
  const auto who = data[0] % 2 == 0 ? Visitor::kNetd : Visitor::kOwnUser;
  plugind.takeFrom(who, kj::arrayPtr(data + 1, size - 1));
  return 0;
}
