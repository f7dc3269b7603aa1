#pragma once
// A kubelet, pods, claims and hardware around a ledger, with the assertions of ledger.md 16.
// It knows parties and what they have; of the ledger only what it answers and shows.

#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "ipc/api/device_pool.h"
#include "plugind/core/resource/more_tickets.h"
#include "tests/support/ledger_node.h"

namespace vfiogate::test {

/// One act of the world. What it applies to is chosen by `pick` among what there is.
struct Step {
  int act = 0;
  unsigned pick = 0;
};

struct Pod {
  std::string uid;
  std::string resource;
  std::set<std::string> ids;  ///< devices of its latest grant
  bool active = true;         ///< the API server has it
  bool started = false;       ///< past PreStartContainer
  bool open = false;          ///< its VM has the device
  Instant ended{};            ///< when the API server had it no more
};

struct Claim {
  std::string uid;
  UnitId device;
  bool prepared = false;
  bool open = false;
};

inline constexpr const char* kMediated = "3f5e2c10-0001-4a5b-8c6d-000000000001";
inline constexpr const char* kPhysical = "0000:03:00.0";
inline constexpr const char* kVirtual = "0000:03:01.0";

/// Goes along with the card that is alone in resource 5, and is a ticket of resource 6.
inline constexpr const char* kSound = "0000:04:00.1";
inline constexpr const char* kCard = "0000:04:00.0";

inline UnitId unit(const std::string& id) {
  return *UnitId::parse(id);
}

/// Of a set all of its units, of any other id the one that it names.
inline std::set<UnitId> unitsNamed(const std::string& id) {
  if (id == "set:a") return {unit("0000:01:00.0"), unit("0000:02:00.0")};
  if (id == "set:b") return {unit("0000:02:00.0"), unit(kPhysical)};
  if (id == "set:c") return {unit("0000:01:00.0"), unit("0000:02:00.0"), unit(kPhysical)};
  if (id == "set:d") return {unit("0000:01:00.0"), unit("0000:02:00.1"), unit(kPhysical)};
  return {unit(id)};
}

/// What a container asks of one resource.
struct Ask {
  std::string resource;
  std::vector<std::string> ids;
};

/// One container that the kubelet is admitting.
struct Admission {
  std::size_t pod = 0;
  Ask ask;
  CallId call;
  std::vector<Ask> before{};  ///< granted to the same container
  std::optional<Ask> next{};  ///< of the same container, once this is granted
  bool granted = false;       ///< the reply is under way
  Instant grantedAt;
};

/// A bind that runs, or a giving back.
struct DriverChange {
  IommuGroupId group;
  bool bind;
};

class LedgerWorld {
public:
  static constexpr int kActs = 23;

  LedgerWorld();
  /// What assertion the step broke; empty: none.
  std::string step(const Step& step);
  /// "live": with fair reconciles, everything that nobody holds becomes free.
  std::string settle();
  int grants() const { return grants_; }
  int returns() const { return returns_; }

private:
  void admit(unsigned pick);
  void admitAgain(unsigned pick);
  std::optional<Ask> choiceOf(const std::string& resource, unsigned pick,
                              std::size_t count = 0) const;
  void ask(std::size_t pod, Ask ask);
  void call();
  void answerQuestion(unsigned pick);
  void recordReply();
  void preStart(unsigned pick);
  void openDevice(unsigned pick);
  void endPod(unsigned pick);
  void forceDelete(unsigned pick);
  void closeDevice(unsigned pick);
  void restartKubelet(unsigned pick);
  void restartPlugind();
  void makeReconcile();
  void movePrivd();
  void prepare(unsigned pick);
  void unprepare(unsigned pick);
  void openClaim(unsigned pick);
  void passTime(unsigned pick);
  void makeOrRemoveVirtual();
  void askBeside(unsigned pick);

  void putOnHost(IommuGroupId group);
  bool isOnHost(IommuGroupId group) const;
  void tellBinding();
  void endChange(unsigned pick);
  bool applyChange(const DriverChange& change);
  void cutChanges(unsigned pick);

  void run(const Effects& effects);
  void answered(const Answer& answer);
  void freeInactive();
  CheckpointVersion version() const;
  RecordedAllocations recordedAllocations() const;
  PodList list() const;
  void see();
  void readUse();
  GroupReading reread(IommuGroupId group) const;
  bool openInGroupOf(const UnitId& device) const;
  const FrameDevice* shown(const std::string& resource, const std::string& id) const;
  const Pod* recordedPod(const std::string& uid) const;

  void check();
  void checkParties();
  void checkTickets();
  void checkCompanions(const Answer& answer);
  void checkMore(const Answer& answer);
  void checkEnoughTickets();
  void checkHealth();
  void checkChoice();
  void checkPool();
  void checkForm(const DevicePool& pool);
  void checkOffer(const DevicePool& pool);
  void checkAlone(const DevicePool& pool);
  void checkReturn(IommuGroupId group);
  void checkOrder(const Effects& effects);
  void checkCodes(const Effects& effects);
  void checkWorkedOut();
  void fail(const std::string& what) {
    if (failure_.empty()) failure_ = what;
  }

  Hardware hardware_;
  Settings settings_;
  Ledger ledger_{LedgerSettings{}};
  Moment now_;
  KubeletIdentity kubelet_;
  bool ready_ = true;  ///< the kubelet's sources
  bool privd_ = true;
  bool reconcilePending_ = false;
  std::vector<Pod> pods_;
  std::vector<Claim> claims_;
  std::vector<RecordedDevices> recorded_;
  std::optional<Admission> admission_;
  std::deque<UseQuestion> questions_;
  std::deque<DriverChange> changes_;
  std::map<Bdf, PciDevice> onVfio_;  ///< what is on the host's drivers, as it is bound
  std::map<ResourceName, Frame> kubeletLists_;
  std::map<IommuGroupId, std::string> onFile_;  ///< privd's record of allocations
  std::map<CallId, std::string> claimCalls_;
  std::set<CallId> callsBeside_;
  std::uint64_t lastCall_ = 0;
  bool cardAsked_ = false;  ///< for once in this life
  int grants_ = 0;
  int returns_ = 0;
  std::string failure_;
};

}  // namespace vfiogate::test
