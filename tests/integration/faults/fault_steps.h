#pragma once
// The steps of registration, Allocate, PreStart and the stream at which a process can be killed,
// and how each is told from outside.

#include "tests/support/seen/wire_sight.h"

#include <map>
#include <set>
#include <string>
#include <vector>

namespace vfiogate::test {

enum class Victim { kPrivd, kPlugind, kKubelet };
inline constexpr std::array kVictims{Victim::kPrivd, Victim::kPlugind, Victim::kKubelet};
const char* nameOf(Victim victim);

enum class Operation {
  kRegister,   ///< a new kubelet comes
  kAllocate,   ///< a pod is admitted by an adopted plugind
  kAdopt,      ///< the first Allocate of a new plugind, with its reconcile
  kPreStart,   ///< a container starts
  kFrame,      ///< hardware changes
  kStreamEnd,  ///< the kubelet closes a stream
};

/// One system call, with what it moves.
struct Sight {
  bool privd = false;  ///< otherwise plugind
  SeenCall call;
  std::optional<Passing> moved;
  std::vector<HttpFrame> frames;
  std::vector<RpcMessage> messages;
};

/// Which of plugind's questions to privd are open: a question's number to what was asked.
using Questions = std::map<std::uint32_t, RpcMessage>;

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

/// Sees the calls of one privd and one plugind in their order.
class StepSight {
public:
  StepSight(const Step& step, pid_t privd) : step_(step), privd_(privd) {}
  /// True at the step.
  bool isAt(const SeenCall& call);

private:
  const Step& step_;
  const pid_t privd_;
  Questions open_;
};

}  // namespace vfiogate::test
