#pragma once
// Asks privd's gate for CDI specs: the static ones, and those of claims.

#include "ipc/base/result.h"
#include "ipc/gate/spec_nodes.h"
#include "plugind/privd/gate_channel.h"
#include "plugind/privd/privd_view.h"

#include <kj/async.h>

#include <string>
#include <vector>

namespace vfiogate {

/// `spec` with the nodes of each device that `hardware` reaches; the others are left out.
StaticSpecText textOf(const StaticSpec& spec, const Snapshot& hardware);

/// `spec` with the nodes of its devices. Error: a device that has none now.
Result<ClaimSpecText, UnitId> textOf(const ClaimSpec& spec, const Snapshot& hardware);

/// What became of a static spec, by the gate's answer to it.
SpecState stateOf(const StaticSpecText& text, const gate::Answer& answer);

/// PrivdLink says what each is. Fails where the connection does. `hardware`: as it is now.
class SpecClient {
public:
  /// Borrows both.
  SpecClient(ChannelToGate& gate, SessionCalls& calls) : gate_(gate), calls_(calls) {}

  kj::Promise<SpecAnswer> declareSpecs(const std::vector<StaticSpec>& specs,
                                       const Snapshot& hardware);
  kj::Promise<Result<std::vector<std::string>, SpecTrouble>> writeClaimSpec(
      const ClaimSpec& spec, const Snapshot& hardware);
  kj::Promise<Result<Done, SpecTrouble>> unlinkClaimSpec(const std::string& uid);
  kj::Promise<Result<std::vector<std::string>, SpecTrouble>> claimSpecTexts();

private:
  using Texts = Result<std::vector<std::string>, SpecTrouble>;

  kj::Promise<SpecAnswer> endDeclaration(SpecAnswer answer);
  kj::Promise<Texts> readOn(std::vector<std::string> texts, const std::string& after);
  kj::Promise<Texts> readEach(std::vector<std::string> texts, gate::ClaimUids part,
                              std::size_t next);

  ChannelToGate& gate_;
  SessionCalls& calls_;
};

}  // namespace vfiogate
