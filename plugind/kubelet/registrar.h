#pragma once
// Keeps one resource registered with the kubelet: serve first, then register.

#include "plugind/base/alarm.h"
#include "plugind/core/status/registration.h"
#include "plugind/kubelet/kubelet_sockets.h"
#include "plugind/kubelet/plugin_server.h"

#include <kj/async.h>

#include <map>
#include <string>

namespace vfiogate {

/// Carries out what Registration decides. Each attempt dials the kubelet, makes the plugin's socket
/// anew, serves it, then calls Register. In that order a socket is never made before a starting
/// kubelet sweeps its directory: who can be dialled has swept. The loop's thread only.
class Registrar {
public:
  /// Borrows everything; `server` is told of each new socket.
  Registrar(const ResourceName& resource, KubeletSockets& sockets, PluginServer& server,
            const LoopDeps& loop);
  KJ_DISALLOW_COPY(Registrar);

  void start();
  /// Another kubelet is there.
  void kubeletCame();
  /// privd is back.
  void socketsCame();
  /// The kubelet opened ListAndWatch.
  void streamOpened();
  /// The newest stream ended.
  void streamEnded();

  RegistrationState state() const { return registration_.state(); }
  /// How often each turn was taken.
  const std::map<RegistrationTurn, std::uint64_t>& turns() const { return turns_; }
  /// Why the last attempt failed, for people; empty: it did not.
  const std::string& trouble() const { return lastComplaint_; }

private:
  void carryOut(Registration::Step step);
  void note(RegistrationTurn turn);
  /// How an attempt ended; `why` for people, empty if the kubelet took it.
  struct Outcome {
    RegistrationTurn turn;
    std::string why;
  };
  kj::Promise<void> attempt();
  kj::Promise<Outcome> dialAndRegister();
  kj::Promise<Outcome> registerOver(kj::AutoCloseFd connection);
  void complain(RegistrationTurn turn, const std::string& why);
  Instant now() const;
  double draw();

  const ResourceName& resource_;
  KubeletSockets& sockets_;
  PluginServer& server_;
  const LoopDeps loop_;
  Registration registration_;
  std::map<RegistrationTurn, std::uint64_t> turns_;
  std::string lastComplaint_;
  kj::Promise<void> attempt_ = nullptr;
  Alarm alarm_;
};

}  // namespace vfiogate
