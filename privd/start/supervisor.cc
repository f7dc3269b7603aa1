#include "privd/start/supervisor.h"

#include <poll.h>

#include <algorithm>

namespace vfiogate {
namespace {

using std::chrono::milliseconds;

struct Turn {
  PrivdRole role;
  Supervisor::Clock::duration patience;
};
/// The binder's is its own for a change, and some more.
constexpr Turn kTurns[] = {{PrivdRole::kBinder, milliseconds(10500)},
                           {PrivdRole::kGate, milliseconds(2000)},
                           {PrivdRole::kHardware, milliseconds(2000)}};

timespec timespecOf(Supervisor::Clock::duration duration) {
  using namespace std::chrono;
  const auto whole = duration_cast<seconds>(duration);
  return {whole.count(), nanoseconds(duration - whole).count()};
}

}  // namespace

Result<Done, std::string> Supervisor::awaitServing() {
  for (;;) {
    bool all = true;
    for (RoleProcess& role : roles_) {
      const auto state = role.state();
      all = all && state == RoleProcess::State::kServing;
      if (state != RoleProcess::State::kEnded) continue;
      if (signalled()) return Failure{std::string()};
      return Failure{programOf(role.role()) + " ended at its start: it says why above"};
    }
    if (all) return Done{};
    if (wait()) return Failure{std::string()};
  }
}

Result<Done, std::string> Supervisor::awaitEnd() {
  while (!wait()) {
    const std::string ended = whoEnded();
    if (ended.empty()) continue;
    // A signal for all of a terminal's processes ends the others, too.
    if (signalled()) return Done{};
    return Failure{ended + " ended: start privd again"};
  }
  return Done{};
}

void Supervisor::endAll() {
  for (const auto& [name, patience] : kTurns) {
    const auto role = std::ranges::find(roles_, name, &RoleProcess::role);
    if (role == roles_.end()) continue;
    role->end();
    const auto last = Clock::now() + patience;
    while (role->state() != RoleProcess::State::kEnded && Clock::now() < last) {
      pollfd source{role->fd(), POLLIN, 0};
      const timespec rest = timespecOf(std::max(last - Clock::now(), Clock::duration::zero()));
      ppoll(&source, 1, &rest, nullptr);
    }
  }
}

bool Supervisor::wait() const {
  std::vector<pollfd> sources{{signals_, POLLIN, 0}};
  for (const RoleProcess& role : roles_) sources.push_back({role.fd(), POLLIN, 0});
  const bool heard = ppoll(sources.data(), sources.size(), nullptr, nullptr) > 0;
  return heard && sources.front().revents != 0;
}

bool Supervisor::signalled() const {
  pollfd source{signals_, POLLIN, 0};
  const timespec none{};
  return ppoll(&source, 1, &none, nullptr) == 1;
}

std::string Supervisor::whoEnded() {
  for (RoleProcess& role : roles_) {
    if (role.state() == RoleProcess::State::kEnded) return programOf(role.role());
  }
  return {};
}

}  // namespace vfiogate
