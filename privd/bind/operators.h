#pragma once
// The operators' side of binding: for root, by address.

#include "privd/bind/binder.h"
#include "privd/bind/binding_service.h"

#include <kj/function.h>

namespace vfiogate {

/// Borrows all.
class Operators final : public BindingService {
public:
  /// `changed` is called with the groups of devices that were excluded or released.
  Operators(Binder& binder, StateDirectory& state, AuditLog* audit,
            kj::Function<void(const std::set<IommuGroupId>&)> changed)
      : binder_(binder), state_(state), audit_(audit), changed_(kj::mv(changed)) {}

  kj::Promise<ChangeReport> change(ChangeOrder order, AuditPeer who) override;
  Result<Done, std::string> exclude(const Bdf& address, const std::string& reason,
                                    const AuditPeer& who) override;
  Result<Done, std::string> release(const Bdf& address, const AuditPeer& who) override;
  Result<Done, std::string> forget(const Bdf& address, const AuditPeer& who) override;
  std::vector<Exclusion> exclusions() override { return state_.exclusions(); }
  std::vector<DeviceIdentity> declared() override { return state_.declared(); }

private:
  void note(const char* operation, const Bdf& address, std::string text, const AuditPeer& who);
  void tellChanged(const Bdf& address);

  Binder& binder_;
  StateDirectory& state_;
  AuditLog* audit_;  ///< null: there is none
  kj::Function<void(const std::set<IommuGroupId>&)> changed_;
};

}  // namespace vfiogate
