#pragma once
// A node that lives through random steps, with the real privd and plugind, and what must hold after
// each of them. What is true is judged from the stand-in kubelet's pods and from the device files,
// never from what plugind says.

#include "tests/support/split_node.h"

#include <chrono>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace vfiogate::test {

struct Step {
  int act = 0;
  unsigned pick = 0;  ///< all that the act draws at random comes from it
};

inline const std::string kPair = "vfiogate.dev/pair";
inline const std::string kPairMore = "vfiogate.dev/pair_more";

/// By id: the first two share a device. A pod has one as a machine of KubeVirt's has it, with an
/// entry for each device: one of them asks for a ticket.
inline const std::map<std::string, std::set<std::string>> kSets{
    {"set:a", {"0000:01:00.0", "0000:02:00.0"}},
    {"set:b", {"0000:02:00.0", "0000:03:00.0"}},
    {"set:c", {"0000:05:00.0", "0000:06:00.0"}}};

class RandomLife {
public:
  RandomLife();

  /// Empty, or the invariant that does not hold after it: "I1: ...".
  std::string take(const Step& step);
  /// All pods end and all files close: every device must come back. Empty, or what does not.
  std::string settle();

  static int acts();
  /// "admit 2 of vfiogate.dev/gpu", as far as that can be told without its life.
  static std::string describe(const Step& step);
  std::size_t grants() const { return grants_; }
  std::string said() { return node_.said(); }

private:
  struct Device {
    FakeDevice made;
    std::string resource;
    bool present = true;
    bool bound = true;
    bool strange = false;  ///< opened by nobody that the kubelet knows
    bool touched = false;  ///< unplugged, and not yet seen Healthy since it is back
  };
  struct Pod {
    std::set<std::string> ids;      ///< devices, those of sets, too
    std::set<std::string> sets;     ///< by which it has them
    std::set<std::string> tickets;  ///< that came along
    std::chrono::steady_clock::time_point admitted = std::chrono::steady_clock::now();
    bool active = true;
    bool started = false;
    bool open = false;
  };
  using Act = void (RandomLife::*)(unsigned pick);
  struct NamedAct {
    const char* name;
    int weight;  ///< among those of all
    Act act;
  };
  static const std::vector<NamedAct>& actList();
  static const NamedAct& actOf(const Step& step);

  void admit(unsigned pick);
  void note(const sim::Granted& granted, Pod& pod);
  void startContainer(unsigned pick);
  void open(unsigned pick);
  void close(unsigned pick);
  void end(unsigned pick);
  void forceDelete(unsigned pick);
  void openAsStranger(unsigned pick);
  void closeAsStranger(unsigned pick);
  void rebind(unsigned pick);
  void replug(unsigned pick);
  void restartKubelet(unsigned pick);
  void killKubeletInAllocate(unsigned pick);
  void killPlugind(unsigned pick);
  void killPrivd(unsigned pick);
  void killRole(unsigned pick);
  void startPrograms(unsigned pick);
  bool startPrivd();

  std::map<std::string, Pod>::iterator podAt(unsigned pick);
  std::string deviceAt(unsigned pick) const;
  bool isOpen(const std::string& id) const;
  /// Who lives in the device's group: at most one if I1 holds.
  std::set<std::string> parties(unsigned group) const;
  bool forgotten(const std::string& id);
  void setOpen(Pod& pod, bool open);
  void closePod(Pod& pod);

  bool allUp() const { return node_.privd && node_.plugind; }
  void check();
  /// After a restart: waits until the kubelet is shown frames anew.
  void awaitStreams();
  void checkParties();
  void checkHealth();
  void checkDevices(const std::string& uid, Pod& pod);
  void checkSets(const std::string& uid, const Pod& pod);
  /// They are Healthy in the resource, at once or after a while.
  bool areHealthy(const std::string& resource, const std::set<std::string>& ids, bool wait);
  void expectWithdrawn(const std::string& resource, const std::string& id, const std::string& why);
  void fail(const std::string& what) {
    if (failure_.empty()) failure_ = what;
  }

  SplitNode node_;
  std::map<std::string, Device> devices_;
  std::map<std::string, Pod> pods_;  ///< by uid; those that still matter
  unsigned lastPod_ = 0;
  std::size_t grants_ = 0;
  /// The kubelet was shown the present plugind's frames: what is held is Healthy from now on.
  bool settled_ = false;
  std::string failure_;
};

}  // namespace vfiogate::test
