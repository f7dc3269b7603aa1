#pragma once
// plugind's side of binding: for an allocation, within what the policy allows.

#include "privd/audit/refusal_digest.h"
#include "privd/bind/allocation_binder.h"
#include "privd/bind/binder.h"

#include <kj/timer.h>

namespace vfiogate {

/// Borrows all. No override of an order's applies, and no operator's exclusion is passed over.
class Allocations final : public AllocationBinder {
public:
  Allocations(Binder& binder, const StateDirectory& state, const AuditLog* audit, kj::Timer& timer,
              std::uint32_t plugindUid)
      : binder_(binder), state_(state), audit_(audit), timer_(timer), uid_(plugindUid) {}

  kj::Promise<AllocationAnswer> bind(const std::vector<Bdf>& members) override;
  kj::Promise<AllocationAnswer> giveBack(const std::vector<Bdf>& members) override;

private:
  kj::Promise<AllocationAnswer> change(ChangeKind kind, std::vector<Bdf> addresses);

  Binder& binder_;
  const StateDirectory& state_;
  const AuditLog* audit_;  ///< null: there is none, and the binder refuses
  kj::Timer& timer_;
  const std::uint32_t uid_;
  WriteLimits limits_;
};

}  // namespace vfiogate
