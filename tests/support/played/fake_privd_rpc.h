#pragma once
// One connection of a played privd's hardware process: the servers of the privilege peer.

#include "ipc/gate/spec_nodes.h"
#include "ipc/schema/helper.capnp.h"
#include "tests/support/played/fake_privd.h"

#include <atomic>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace vfiogate::test {

/// What plays privd: used by its own thread only, but for the counts.
struct Play {
  explicit Play(FakePrivd::Setup how)
      : setup(std::move(how)), hardware(setup.hardware), leased(setup.leased) {}

  const FakePrivd::Setup setup;
  Snapshot hardware;
  std::uint64_t generation = 1;
  bool rereadsStall = false;
  bool discoveryStalls = false;
  bool probesStall = false;
  FakePrivd::Binding binding = FakePrivd::Binding::kSucceeds;
  binder::Probed probe;                                      ///< without its number
  binder::SerialTold serial;                                 ///< without its number
  std::vector<kj::Own<kj::PromiseFulfiller<void>>> waiting;  ///< changes that run
  unsigned changing = 0;
  bool deltaDue = false;                     ///< a change left one to be told
  std::map<Bdf, std::string> formerDrivers;  ///< of what was bound
  std::set<UnitId> excluded;                 ///< as the gate told last
  std::uint64_t exclusions = 1;              ///< another one with each change of them
  bool leased;                               ///< to another plugind
  /// Kept while no plugind is there, as the real one does.
  std::map<IommuGroupId, std::set<UnitId>> held;
  std::map<std::string, ClaimSpecText> claimSpecs;  ///< by UID
  std::vector<std::string> claimTexts;
  int claimError = 0;
  unsigned busy = 0;  ///< how often yet a group cannot be recorded, for now
  bool recordsFail = false;
  std::atomic<unsigned> sessions = 0;
  std::atomic<unsigned> wholes = 0;
  std::atomic<unsigned> rereads = 0;
  std::atomic<unsigned> discoveries = 0;
  std::atomic<unsigned> adoptions = 0;
  std::atomic<unsigned> checkpoints = 0;
  std::atomic<unsigned> turnedAway = 0;
  std::atomic<unsigned> binds = 0;
  std::atomic<unsigned> returns = 0;
  std::atomic<unsigned> probes = 0;
  std::atomic<unsigned> serials = 0;
  std::atomic<unsigned> hangUps = 0;
};

/// One connection: what it subscribed to.
struct PeerConnection {
  /// All that the observer does not have yet, from the whole or from the difference to the last.
  void tellWhole();
  void tellDelta();
  /// The delta that a change left to be told.
  void tellDueDelta();

  Play& play;
  kj::Maybe<schema::Observer::Client> observer;
  Snapshot told;
  std::uint64_t toldGeneration = 0;
};

/// The first capability of the connection. Borrows `peer`.
schema::Handshake::Client makeHandshake(PeerConnection& peer);

}  // namespace vfiogate::test
