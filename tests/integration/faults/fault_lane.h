#pragma once
// A node whose processes are killed, one at a time, and started again as their supervisors would.

#include "tests/integration/faults/fault_books.h"
#include "tests/integration/faults/fault_steps.h"
#include "tests/support/split_node.h"

#include <functional>
#include <future>
#include <map>
#include <mutex>
#include <optional>
#include <random>
#include <string>
#include <vector>

namespace vfiogate::test {

/// How privd runs.
enum class Arrangement {
  kServed,     ///< by privd serve: with one of its processes all end, and all are started again
  kSideBySide  ///< as in a pod or with units: one ends alone, and is started again alone
};

/// One kill to come.
struct Kill {
  Victim victim = Victim::kPlugind;
  const Step* step = nullptr;  ///< null: at a random moment
  Operation operation = Operation::kAllocate;
  std::chrono::microseconds delay{0};  ///< of a random moment, from the operation's start
  Arrangement arrangement = Arrangement::kServed;  ///< of the lane
};

/// What the kubelet tells a plugind that starts.
enum class Memory {
  kTold,
  kConcealed  ///< neither checkpoint nor List names a pod: nothing can be adopted
};

class FaultLane {
public:
  FaultLane(unsigned seed, Memory memory, Arrangement arrangement);

  /// Makes the operation happen, kills at the step, starts the victim again, and judges the books
  /// when all is back. False: the operation went by without the step; nobody was killed.
  bool carryOut(const Kill& kill);
  /// All pods end: every group must come back.
  void settle();
  /// What did not hold, empty so far.
  const std::string& failure() const { return failure_; }
  /// The last words of each process.
  std::string said();
  std::size_t grants() const { return grants_; }
  /// Pods that were refused a device which a force-deleted one had open.
  std::size_t refusedOpen() const { return refusedOpen_; }
  /// What the kubelet said to the pod that was asked for last; empty: it was admitted.
  const std::string& refusal() const { return admission_.message; }

private:
  using Devices = std::map<std::string, FaultBooks::Device>;

  Devices layOut();
  void prepare(Operation operation);
  /// What the operation does; on a thread of its own.
  void operate(Operation operation, pid_t plugind);
  /// Begins the operation; true if the victim was killed.
  bool killIn(const Kill& kill);
  bool killAtCall(const Kill& kill);
  void begin(Operation operation);
  /// Kills, and does not wait for the end.
  void strike(Victim victim);
  bool startPrivd();
  /// Where they run side by side.
  bool startRole(const std::string& role);
  bool isApart() const { return arrangement_ == Arrangement::kSideBySide; }
  pid_t pidOf(const std::string& role) const;
  std::vector<pid_t> processesOf(Victim victim) const;
  /// Our children that end when the victim is killed.
  std::vector<pid_t> endingWith(Victim victim) const;
  void expectOthersAlive();
  void strikeIfArmed(const std::string& at);
  void bringBack(Victim victim);
  void awaitStreams();
  void adopt();
  void conclude(Operation operation);
  void concludeAdmission();
  void start(const std::string& uid);
  /// It opens its devices.
  void runs(const std::string& uid);
  bool awaitReturned(std::chrono::steady_clock::time_point until,
                     const std::function<bool()>& enough);
  void endOldest();
  /// Its containers run on, with open devices, until there are too many such pods.
  void forceDeleteOldest();
  /// Asks for a device that is open still.
  void covetDeleted();
  void close(const std::string& uid);
  void admitSomewhere();
  void awaitAllocatable();
  void choosePod();
  /// The next pod is one that must get this device.
  void choosePod(const std::string& id);
  std::size_t streamsOpened(const std::string& resource);
  /// Empty: nothing did.
  void fail(const std::string& what) {
    if (failure_.empty()) failure_ = what;
  }

  std::mutex mutex_;  ///< of what a kubelet's thread reads
  std::optional<Victim> armed_;
  std::string armedAt_;
  bool struck_ = false;

  std::future<void> operation_;
  const std::chrono::milliseconds patience_;  ///< with the books
  const Arrangement arrangement_;
  SplitNode node_;
  std::map<std::string, std::optional<ChildProcess>> roles_;  ///< that run side by side
  FaultBooks books_;
  std::minstd_rand random_;
  std::mutex kubeletStarts_;                 ///< it is not stopped while it starts
  std::map<std::string, std::size_t> owed_;  ///< streams of the present plugind, by resource
  bool adopted_ = false;

  unsigned lastPod_ = 0;
  long marker_ = 1000;
  std::vector<std::string> order_;    ///< pods, the oldest first
  std::vector<std::string> deleted_;  ///< by force, the first first
  sim::PodSpec pod_;                  ///< of the operation
  std::string target_;                ///< the device that it must get
  sim::Admission admission_;
  std::string startError_;
  std::size_t grants_ = 0;
  std::size_t refusedOpen_ = 0;
  std::string failure_;
};

}  // namespace vfiogate::test
