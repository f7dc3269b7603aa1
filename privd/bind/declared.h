#pragma once
// Devices that are to be on VFIO whenever they appear: --declare, and `bind --keep`.

#include "privd/bind/binder.h"
#include "privd/bind/host_view.h"
#include "privd/bind/plan/declaration.h"

#include <kj/timer.h>

#include <map>

namespace vfiogate {

/// Binds what is declared, at its start and when it appears, by the same plan and guards as a
/// person. What was refused or failed is tried again when the device has changed, and every
/// minute. What a person unbinds stays unbound until it appears anew.
class Declared final : private kj::TaskSet::ErrorHandler {
public:
  /// Borrows all but the selectors.
  Declared(Binder& binder, HostView& view, kj::Timer& timer, const StateDirectory& state,
           std::vector<Selector> declared);

private:
  struct Wanted {
    ChangeBy by;
    kj::TimePoint due;    ///< of the next try
    PciDevice tried;      ///< as it was at the last one
    std::string refusal;  ///< what was logged last
  };

  kj::Promise<void> watch(std::uint64_t seen);
  kj::Promise<void> bindDue();
  kj::Promise<void> bindOne(const Bdf& address);
  void notice(const Snapshot& snapshot);
  void taskFailed(kj::Exception&& exception) override;

  Binder& binder_;
  HostView& view_;
  kj::Timer& timer_;
  const StateDirectory& state_;
  const std::vector<Selector> declared_;
  std::shared_ptr<const Snapshot> seen_;
  std::map<Bdf, Wanted> wanted_;
  kj::TaskSet tasks_;  // last: they use all of the above
};

}  // namespace vfiogate
