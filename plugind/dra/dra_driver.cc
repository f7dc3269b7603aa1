#include "plugind/dra/dra_driver.h"

#include "plugind/base/log_line.h"

#include <utility>

namespace vfiogate {

DraDriver::DraDriver(Identity identity, PrivdLink& privd, ClaimLedger& ledger, const LoopDeps& loop,
                     uid_t kubeletUid)
    : name_(std::move(identity.name)),
      api_(name_, loop.timer,
           [this]() {
             pool_.apiCame();
             sweep_.start();
           }),
      specs_(privd, ledger),
      claims_(api_, ledger, specs_),
      sweep_(api_, ledger, loop.timer, loop.random),
      pool_(api_, ledger, std::move(identity.products), loop.timer),
      server_(name_, *this, loop, kubeletUid),
      registrar_(name_, privd, server_, loop) {}

void DraDriver::carryOut(const Effects& effects) {
  for (const CallId call : effects.specsToWrite) claims_.writeSpec(call);
  for (const ClaimName& claim : effects.specsToUnlink) specs_.unlink(claim.uid);
  pool_.changed();
}

DriverStatus DraDriver::status() const {
  DriverStatus status{.driver = name_,
                      .registration = registrar_.state(),
                      .trouble = registrar_.trouble(),
                      .apiThere = api_.isThere(),
                      .resourceApi = pool_.resourceApi(),
                      .node = api_.node().value_or("")};
  if (!pool_.told()) return status;
  status.poolDevices = pool_.told()->devices.size();
  for (const auto& [name, device] : pool_.told()->devices) {
    if (!device.taints.empty()) ++status.taintedDevices;
  }
  return status;
}

void DraDriver::healthOpened(std::shared_ptr<HealthStream> stream) {
  pool_.healthOpened(std::move(stream));
}

void DraDriver::registrationTold(bool registered, const std::string& error) {
  registrar_.registrationTold(registered, error);
}

std::shared_ptr<void> DraDriver::attach(schema::ApiServer::Client api, std::string node) {
  return api_.attach(kj::mv(api), std::move(node));
}

}  // namespace vfiogate
