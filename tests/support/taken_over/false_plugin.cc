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
#include <memory>
#include <string>
#include <variant>

namespace vfiogate::test {
namespace {

using Answering = const std::shared_ptr<Responder>&;
using Opened = std::shared_ptr<CallObserver>;

Opened showFalseDevice(Answering responder) {
  const auto stream = std::make_shared<ListWatchStream>(responder, [](const ListWatchStream&) {});
  stream->show(toMessage(Frame{{{"false-0", true, std::nullopt}}}));
  return stream;
}

Opened allocateTheHost(Answering responder) {
  v1beta1::AllocateResponse answer;
  auto* container = answer.add_container_responses();
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
  responder->finish(answer);
  return nullptr;
}

/// Has one healthy device, and hands the host's root over with it.
Methods hostileMethods() {
  const std::string start = "/v1beta1.DevicePlugin/";
  Methods methods;
  methods[start + "GetDevicePluginOptions"] =
      methodOf<v1beta1::Empty>([](Answering responder, const auto&) {
        responder->finish(v1beta1::DevicePluginOptions());
        return Opened();
      });
  methods[start + "ListAndWatch"] = methodOf<v1beta1::Empty>(
      [](Answering responder, const auto&) { return showFalseDevice(responder); });
  methods[start + "Allocate"] = methodOf<v1beta1::AllocateRequest>(
      [](Answering responder, const auto&) { return allocateTheHost(responder); });
  return methods;
}

/// Serves for ever on a socket of our own resource, registered under `resource`.
[[noreturn]] void serveAs(Captive& captive, const char* resource) {
  GateSpeaker gate(captive);
  KJ_REQUIRE(gate.ask(gate::Listen{.name = "vfiogate.dev/10de_2684"}) == "done");
  const std::string endpoint = std::get<gate::Endpoint>(gate.answer.outcome).path;

  std::mt19937 random(4711);
  const LoopDeps loop{captive.io.unixEventPort, *captive.io.lowLevelProvider,
                      captive.io.provider->getTimer(), std::make_shared<TaskQueue>(), random};
  HandedServer server("false plugin", hostileMethods(), loop, 0);
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
