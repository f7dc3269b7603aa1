// What no sandbox can stop: a device plugin is believed.

#include "plugind/base/task_queue.h"
#include "plugind/kubelet/calls_to_kubelet.h"
#include "plugind/kubelet/handed_server.h"
#include "plugind/kubelet/list_watch_stream.h"
#include "tests/support/taken_over/attacks.h"
#include "tests/support/taken_over/gate_speaker.h"

#include <kj/debug.h>

#include <array>
#include <cstdio>
#include <variant>

namespace vfiogate::test {
namespace {

/// Has one healthy device, and hands the host's root over with it.
class HostileService final : public v1beta1::DevicePlugin::CallbackService {
public:
  grpc::ServerUnaryReactor* GetDevicePluginOptions(
      grpc::CallbackServerContext* context, const v1beta1::Empty* /*request*/,
      v1beta1::DevicePluginOptions* /*answer*/) override {
    return done(context);
  }
  grpc::ServerWriteReactor<v1beta1::ListAndWatchResponse>* ListAndWatch(
      grpc::CallbackServerContext* /*context*/, const v1beta1::Empty* /*request*/) override {
    const auto stream = ListWatchStream::open([](const ListWatchStream&) {});
    stream->show(toMessage(Frame{{{"false-0", true, std::nullopt}}}));
    return stream.get();
  }
  grpc::ServerUnaryReactor* Allocate(grpc::CallbackServerContext* context,
                                     const v1beta1::AllocateRequest* /*request*/,
                                     v1beta1::AllocateResponse* answer) override {
    auto* container = answer->add_container_responses();
    auto* mount = container->add_mounts();
    mount->set_host_path("/");
    mount->set_container_path("/host");
    mount->set_read_only(false);
    auto* node = container->add_devices();
    node->set_host_path("/dev/sda");
    node->set_container_path("/dev/sda");
    node->set_permissions("rwm");
    (*container->mutable_envs())["LD_PRELOAD"] = "/host/tmp/x.so";
    container->add_cdi_devices()->set_name("nvidia.com/gpu=all");
    return done(context);
  }

private:
  static grpc::ServerUnaryReactor* done(grpc::CallbackServerContext* context) {
    grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
    reactor->Finish(grpc::Status::OK);
    return reactor;
  }
};

/// Serves for ever on a socket of our own resource, registered under `resource`.
[[noreturn]] void serveAs(Captive& captive, const char* resource) {
  GateSpeaker gate(captive);
  KJ_REQUIRE(gate.ask(gate::Listen{.name = "vfiogate.dev/10de_2684"}) == "done");
  const std::string endpoint = std::get<gate::Endpoint>(gate.answer.outcome).path;

  std::mt19937 random(4711);
  const LoopDeps loop{captive.io.unixEventPort, *captive.io.lowLevelProvider,
                      captive.io.provider->getTimer(), std::make_shared<TaskQueue>(), random};
  HostileService service;
  HandedServer server("false plugin", {&service}, loop, 0);
  server.listenOn(kj::mv(KJ_REQUIRE_NONNULL(gate.fd)));

  KJ_REQUIRE(gate.ask(gate::Dial{}) == "done");
  const auto registered = registerWithKubelet(kj::mv(KJ_REQUIRE_NONNULL(gate.fd)),
                                              *ResourceName::parse(resource), endpoint)
                              .wait(captive.io.waitScope);
  std::printf("registered: %s\n", registered.ok() ? "yes" : registered.error_message().c_str());
  kj::Promise<void>(kj::NEVER_DONE).wait(captive.io.waitScope);
  KJ_UNREACHABLE;
}

std::string asItself(Captive& captive) {
  serveAs(captive, "vfiogate.dev/10de_2684");
}

std::string asAnotherVendor(Captive& captive) {
  serveAs(captive, "nvidia.com/gpu");
}

constexpr std::array kAttacks{
    WireAttack{"ServesAsItself", asItself},
    WireAttack{"ServesAsAnotherVendor", asAnotherVendor},
};

}  // namespace

std::span<const WireAttack> falsePlugins() {
  return kAttacks;
}

}  // namespace vfiogate::test
