#pragma once
// The steps of registration, Allocate, PreStart, the stream and the session at which a process can
// be killed, and how each is told from outside.

#include "ipc/gate/gate_requests.h"
#include "tests/support/seen/wire_sight.h"

#include <array>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace vfiogate::test {

enum class Victim { kPrivd, kHardware, kGate, kBinder, kPlugind, kKubelet };
inline constexpr std::array kVictims{Victim::kPrivd,  Victim::kHardware, Victim::kGate,
                                     Victim::kBinder, Victim::kPlugind,  Victim::kKubelet};
const char* nameOf(Victim victim);

enum class Operation {
  kRegister,   ///< a new kubelet comes
  kAllocate,   ///< a pod is admitted by an adopted plugind
  kAdopt,      ///< the first Allocate of a new plugind, with its reconcile
  kPreStart,   ///< a container starts
  kFrame,      ///< hardware changes
  kStreamEnd,  ///< the kubelet closes a stream
  kEnter,      ///< plugind's session ends, and the next one begins
};

/// Whose system calls are looked at. What a step does not belong to is killed at it as well: the
/// process that started privd's roles, the binder, and the kubelet.
struct Watched {
  pid_t hardware = 0;
  pid_t gate = 0;
  pid_t plugind = 0;
};

/// One system call, with what it moves.
struct Sight {
  Victim who = Victim::kPlugind;  ///< made the call
  SeenCall call;
  std::optional<Passing> moved;
  std::vector<HttpFrame> frames;
  std::vector<RpcMessage> messages;
  std::optional<gate::Request> request;  ///< that plugind sends the gate
  bool gateAnswers = false;              ///< the gate sends an answer
};

/// What plugind has asked.
struct Questions {
  std::map<std::uint32_t, RpcMessage> ofHardware;  ///< by their numbers
  std::optional<gate::Request> ofGate;             ///< the last one, but for Seen
};

struct Step {
  const char* name;
  Operation operation;
  /// The call at which a process is stopped there. Null: the stand-in kubelet tells.
  bool (*isAt)(const Sight& sight, const Questions& open);
  /// These processes are killed here also in a short run.
  std::set<Victim> inShortRuns;

  std::string str() const;
};

/// Without `isAt`: the kubelet has the answer and has not recorded it; it has recorded it.
inline constexpr const char* kUnrecorded = "replied, unrecorded";
inline constexpr const char* kRecorded = "recorded";

const std::vector<Step>& faultSteps();

/// Sees the calls of a hardware process, a gate and a plugind in their order.
class StepSight {
public:
  StepSight(const Step& step, const Watched& watched) : step_(step), watched_(watched) {}
  /// True at the step.
  bool isAt(const SeenCall& call);

private:
  Sight sightOf(const SeenCall& call) const;
  void note(const Sight& sight);

  const Step& step_;
  const Watched watched_;
  Questions open_;
};

}  // namespace vfiogate::test
