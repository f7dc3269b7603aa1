#pragma once
// What is to be so whenever it appears: devices on VFIO, by --declare and `bind --keep`, and
// physical functions with so many virtual ones, by --vfs.

#include "privd/bind/binder.h"
#include "privd/bind/host_view.h"
#include "privd/bind/plan/declaration.h"
#include "privd/bind/plan/wanted_vfs.h"

#include <kj/timer.h>

#include <map>
#include <set>

namespace vfiogate {

/// Binds what is declared, at its start and when it appears, by the same plan and guards as a
/// person. What was refused or failed is tried again when the device has changed, and every
/// minute. What a person unbinds stays unbound until it appears anew, and who takes virtual
/// functions away has none. What is to have some is not bound.
class Declared final : private kj::TaskSet::ErrorHandler {
public:
  /// Borrows all but what is declared.
  Declared(Binder& binder, HostView& view, kj::Timer& timer, const StateDirectory& state,
           std::vector<Selector> declared, std::vector<WantedVfs> vfs);

private:
  struct Wanted {
    ChangeBy by;
    kj::TimePoint due;    ///< of the next try
    PciDevice tried;      ///< as it was at the last one
    std::uint32_t vfs;    ///< that it is to have; 0: it is to be bound
    std::string refusal;  ///< what was logged last
    bool running = false;
  };

  kj::Promise<void> watch(std::uint64_t seen);
  kj::Promise<void> carryOutDue();
  kj::Promise<void> carryOut(const Bdf& address);
  void settle(const Bdf& address, const ChangeReport& report);
  void notice(const Snapshot& snapshot);
  void tellAwaited(const Snapshot& snapshot);
  void taskFailed(kj::Exception&& exception) override;

  Binder& binder_;
  HostView& view_;
  kj::Timer& timer_;
  const StateDirectory& state_;
  const std::vector<Selector> declared_;
  const std::vector<WantedVfs> vfs_;
  std::set<std::string> awaited_;  ///< of vfs_, those about no function that is there
  std::shared_ptr<const Snapshot> seen_;
  std::map<Bdf, Wanted> wanted_;
  kj::TaskSet tasks_;  // last: they use all of the above
};

}  // namespace vfiogate
