#pragma once
// Waits for privd's processes: the end of one is the end of all.

#include "privd/start/role_process.h"

#include <chrono>
#include <string>
#include <vector>

namespace vfiogate {

class Supervisor {
public:
  using Clock = std::chrono::steady_clock;

  /// `signals` becomes readable when all are to end; borrowed.
  Supervisor(std::vector<RoleProcess> roles, int signals)
      : roles_(std::move(roles)), signals_(signals) {}

  /// Until all serve. Error: which one ended instead; empty: all are to end.
  Result<Done, std::string> awaitServing();
  /// Until one ends, which is the error, or all are to end.
  Result<Done, std::string> awaitEnd();

  /// Ends them one after the other, those that change something first: the binder, which brings
  /// what it has begun to its end, within 10 s; the gate; the hardware process. What does not end
  /// in its time is left to the end of this process.
  void endAll();

private:
  /// Waits for news. True: all are to end.
  bool wait() const;
  bool signalled() const;
  /// Empty: none has ended.
  std::string whoEnded();

  std::vector<RoleProcess> roles_;
  int signals_;
};

}  // namespace vfiogate
