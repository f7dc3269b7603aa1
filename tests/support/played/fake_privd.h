#pragma once
// privd's three processes, played from a test: made-up hardware, a real kubelet directory.

#include "ipc/binder/binder_packets.h"
#include "ipc/codec/limits.h"
#include "ipc/types/claim_spec.h"
#include "ipc/types/snapshot.h"

#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace vfiogate::test {

/// Dials plugind from a thread of its own, again until it gets in, and serves it until destroyed.
/// What the kubelet makes anew it tells within milliseconds.
/// All methods may be called from any thread.
class FakePrivd {
public:
  struct Setup {
    std::string plugindSocket;
    std::string kubeletDir;  ///< its device-plugins; pod-resources is beside it
    Snapshot hardware;
    std::uint16_t protocol = schema::PROTOCOL;      ///< the one it claims to speak
    std::uint8_t channelVersion = kChannelVersion;  ///< the one that it opens with
    bool leased = false;                            ///< to another plugind, until setLeased()
    bool mayBind = true;                            ///< the right that it says plugind has
    std::string draDriver = "vfio.vfiogate.dev";    ///< the one it was started for; empty: none
    std::optional<uid_t> hardwareUid;               ///< of its hardware process; absent: our own
    bool hasBinder = true;                          ///< until setBinder()
    unsigned exclusionsTake = 0;                    ///< ms until the gate tells of exclusions
  };

  explicit FakePrivd(Setup setup);
  /// Leaves as a killed process does: everything closes at once.
  ~FakePrivd();
  FakePrivd(const FakePrivd&) = delete;
  FakePrivd& operator=(const FakePrivd&) = delete;

  /// Replaces the hardware: the observer gets a delta, rereads see the new state.
  void setHardware(Snapshot hardware);

  /// Whether another plugind is said to have the node; at first as in Setup.
  void setLeased(bool leased);

  /// How binding and giving back end. kWaits: they run until another is set.
  enum class Binding : std::uint8_t { kSucceeds, kRefused, kFails, kStuck, kWaits };
  /// From now on, also for those that wait; at first all succeed.
  void setBinding(Binding binding);
  /// What the binder finds when it opens a group; at first that nobody has it.
  void setProbe(binder::Probed::Found found, std::uint16_t error = 0);
  /// What it answers to whoever asks for a serial number; at first that there is none.
  void setSerial(binder::SerialTold told);

  /// The CDI specs of claims that it has, by UID: as plugind asked for them. They outlive plugind.
  std::map<std::string, ClaimSpec> claimSpecs() const;
  /// Told beside the texts of those, after them: what lies on its disk besides.
  void setClaimTexts(std::vector<std::string> texts);
  /// How writing and unlinking of claims' specs ends from now on: an errno; 0: well.
  void failClaimSpecs(int error);

  /// How the gate answers the next words that a group is allocated: this often that it is busy,
  /// then well; or that it failed, from now on.
  void makeBusy(unsigned times);
  void failRecords();

  /// Whether there is a binder; without one it has hung up.
  void setBinder(bool there);

  /// From now on calls of `reread` are taken and never answered.
  void stallRereads();
  /// The same of calls of `discovery`.
  void stallDiscovery();
  /// The same of probes.
  void stallProbes();

  /// Sends one delta with a base that nobody took.
  void skipADelta();

  /// The groups that plugind holds now. adopted() drops none of them: it is only counted.
  std::set<IommuGroupId> held() const;

  /// How often something happened so far.
  unsigned sessions() const;  ///< entered with the right protocol
  unsigned wholes() const;    ///< full snapshots sent
  unsigned rereads() const;
  unsigned discoveries() const;  ///< calls of `discovery`
  unsigned adoptions() const;
  unsigned checkpoints() const;  ///< calls of `checkpoint`
  unsigned turnedAway() const;   ///< asked to enter while another plugind had the node
  unsigned binds() const;        ///< asked for
  unsigned returns() const;      ///< asked for
  unsigned probes() const;       ///< asked for
  unsigned serials() const;      ///< asked for
  unsigned hangUps() const;      ///< sessions that plugind ended

private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace vfiogate::test
