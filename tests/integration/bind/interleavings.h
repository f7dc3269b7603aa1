#pragma once
// A node that lives through random steps of plugind, privd, and commands that change drivers, and
// what must hold after each: whatever a pod has stays as it is. What a pod has is judged from the
// stand-in kubelet, what was written from the simulated kernel.

#include "tests/integration/bind/sim_split_case.h"

#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <vector>

namespace vfiogate::test {

class Interleavings : public SimSplitCase {
protected:
  Interleavings() : SimSplitCase("interleavings.yaml") {}
  ~Interleavings() noexcept override = default;

  /// Of the random choices, which come from `seed`.
  void begin(unsigned seed);
  void step();
  /// Ends all that runs, and judges what is left: with both programs dead the record still speaks,
  /// the audit log is whole, and every device goes back to its driver.
  void settle();

  /// What happened, for people.
  std::string counts() const;

  std::size_t allocated_ = 0;  ///< pods that got a device
  std::size_t refused_ = 0;    ///< changes of what a pod had, by the record
  std::size_t busy_ = 0;       ///< changes that met another one

private:
  /// A command that was begun and not yet waited for.
  struct Command {
    std::string verb;
    std::string device;
    std::string holder;  ///< the pod that had its group then; empty: none
    bool killed = false;
    std::unique_ptr<ChildProcess> process;
  };
  struct NamedAct {
    const char* name;
    unsigned weight;
    void (Interleavings::*act)();
  };
  static const std::vector<NamedAct>& acts();

  void admit();
  void endPod();
  void beginCommands();
  void killCommand();
  void killPrivd();
  void killPlugind();
  void killBoth();
  void startPrograms();
  void waitForCommands();

  static std::vector<std::string> devices();
  unsigned any(std::size_t below) { return static_cast<unsigned>(random_() % below); }
  /// A device, more often than not one that a pod has.
  std::string anyDevice();
  std::string holderOf(const std::string& device) const;
  void beginCommand();
  void finish(Command& command);
  void finishOldest();
  /// Nobody wrote to what pods have, and all of it is on VFIO.
  void check();
  void judgeRefusal(const Command& command, const std::string& said);
  void expectIntended();
  void expectWholeLog() const;

  const std::vector<std::string> devices_ = devices();
  std::mt19937 random_;
  std::map<std::string, std::set<std::string>> pods_;  ///< by uid: all members of what it has
  std::vector<Command> commands_;                      ///< the oldest first
  std::vector<SeenWrite> writes_;                      ///< all so far
  std::map<std::string, std::size_t> said_;            ///< reasons of refusals
  unsigned lastPod_ = 0;
};

}  // namespace vfiogate::test
