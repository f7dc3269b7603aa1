#pragma once
// One connection of a played privd: the servers of the privilege peer.

#include "ipc/codec/descriptor_channel.h"
#include "ipc/schema/helper.capnp.h"
#include "tests/support/played/fake_privd.h"

#include <atomic>
#include <cstdint>
#include <map>
#include <optional>
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
  FakePrivd::Binding binding = FakePrivd::Binding::kSucceeds;
  std::vector<kj::Own<kj::PromiseFulfiller<void>>> waiting;  ///< changes that run
  std::map<Bdf, std::string> formerDrivers;                  ///< of what was bound
  bool leased;                                               ///< to another plugind
  bool records = true;                                       ///< what is allocated is on file
  std::map<IommuGroupId, std::string>
      held;  ///< with the note; kept while no plugind is there, as the real one does
  std::map<std::string, ClaimSpec> claimSpecs;  ///< by UID
  std::vector<std::string> claimTexts;
  int claimError = 0;
  std::atomic<unsigned> sessions = 0;
  std::atomic<unsigned> wholes = 0;
  std::atomic<unsigned> rereads = 0;
  std::atomic<unsigned> adoptions = 0;
  std::atomic<unsigned> checkpoints = 0;
  std::atomic<unsigned> turnedAway = 0;
  std::atomic<unsigned> binds = 0;
  std::atomic<unsigned> returns = 0;
  std::atomic<unsigned> hangUps = 0;
};

/// Inode and change time in ns; absent: not there.
using FileState = std::optional<std::pair<std::uint64_t, std::int64_t>>;

/// What the kubelet made.
struct KubeletFiles {
  FileState registration;
  FileState podResources;
  FileState checkpoint;

  friend bool operator==(const KubeletFiles&, const KubeletFiles&) = default;
};

/// One connection: what it subscribed to and the way for its descriptors.
struct PeerConnection {
  /// All that the observer does not have yet, from the whole or from the difference to the last.
  void tellWhole();
  void tellDelta();
  /// What there is of the kubelet now; the second one only if that is something else.
  void tellFiles();
  void tellNewFiles();
  /// The delta that a change left to be told.
  void tellDueDelta();

  Play& play;
  DescriptorSender channel;
  kj::Maybe<schema::Observer::Client> observer;
  kj::Maybe<schema::KubeletObserver::Client> kubeletObserver;
  Snapshot told;
  std::uint64_t toldGeneration = 0;
  bool deltaDue = false;
  KubeletFiles toldFiles;
};

/// The first capability of the connection. Borrows `peer`.
schema::Handshake::Client makeHandshake(PeerConnection& peer);

}  // namespace vfiogate::test
