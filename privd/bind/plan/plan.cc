#include "privd/bind/plan/plan.h"

namespace vfiogate {
namespace {

constexpr const char* kDrivers = "bus/pci/drivers/";
constexpr const char* kProbe = "bus/pci/drivers_probe";

std::string driverAttribute(const std::string& driver, const char* name) {
  return kDrivers + driver + "/" + name;
}

/// Puts one device's writes together, each with its undo.
class DeviceSteps {
public:
  DeviceSteps(const PciDevice& device, const Overrides& overrides, std::vector<Step>& into)
      : device_(device), into_(into) {
    const auto known = overrides.find(device.address);
    if (known != overrides.end()) override_ = known->second;
  }

  void setOverride(const std::string& driver) {
    if (driver == override_) return;
    const std::string attribute = deviceAttribute(device_.address, "driver_override");
    into_.push_back({.write = {device_.address, attribute, overrideText(driver)},
                     .undo = {{device_.address, attribute, overrideText(override_)}},
                     .driverAfter = std::nullopt});
  }

  void leaveDriver() {
    if (device_.driver.empty()) return;
    into_.push_back({.write = {device_.address, driverAttribute(device_.driver, "unbind"), bdf()},
                     .undo = {{device_.address, driverAttribute(device_.driver, "bind"), bdf()}},
                     .driverAfter = std::string(),
                     .fromVfio = offersVfio(device_)});
  }

  void enterDriver(const std::string& driver) {
    into_.push_back({.write = {device_.address, driverAttribute(driver, "bind"), bdf()},
                     .undo = {{device_.address, driverAttribute(driver, "unbind"), bdf()}},
                     .driverAfter = driver});
  }

  void letKernelChoose() {
    into_.push_back(
        {.write = {device_.address, kProbe, bdf()},
         .undo = {{device_.address, deviceAttribute(device_.address, "driver/unbind"), bdf()}},
         .driverAfter = std::nullopt});
  }

private:
  std::string bdf() const { return device_.address.str(); }

  const PciDevice& device_;
  std::string override_;
  std::vector<Step>& into_;
};

/// Calls `visit` with each member that the snapshot has and that is an endpoint; the rest is left
/// alone.
template <typename Visit>
void forEndpoints(const Snapshot& snapshot, const IommuGroup& group, Plan& plan, Visit visit) {
  for (const Bdf& member : group.members) {
    const auto device = snapshot.devices.find(member);
    if (device == snapshot.devices.end()) continue;
    if (isEndpoint(device->second)) {
      visit(device->second);
    } else {
      plan.leftAlone.push_back({member, "a bridge: VFIO does not need it"});
    }
  }
}

std::string whyLeft(const PciDevice& device, bool named) {
  if (device.driver == "pci-stub" && !named) return "on pci-stub, which holds it for nobody";
  if (device.driver.empty()) return "without a driver, which keeps nobody from its group";
  return "on " + device.driver + " already";
}

/// It was taken from its driver and never got another: privd was killed in between.
bool isUnfinished(const PciDevice& device, const Former& former) {
  return device.driver.empty() && former.record && former.sameBoot;
}

void planReturn(const PciDevice& device, const Former& former, const Overrides& overrides,
                Plan& plan) {
  const std::string address = device.address.str();
  DeviceSteps steps(device, overrides, plan.steps);
  const bool restore = former.record && former.sameBoot;
  steps.leaveDriver();
  steps.setOverride(restore ? former.record->formerOverride : std::string());
  if (restore && former.record->formerDriver.empty()) {
    plan.remarks.push_back(address + ": had no driver before, and gets none");
  } else if (restore && former.driverThere) {
    steps.enterDriver(former.record->formerDriver);
  } else {
    plan.remarks.push_back(
        address + ": " +
        (!former.record ? "privd did not bind it"
         : !former.sameBoot
             ? "was bound in another boot"
             : "its former driver " + former.record->formerDriver + " is not loaded") +
        ": the kernel chooses its driver");
    steps.letKernelChoose();
  }
}

}  // namespace

std::set<Bdf> Plan::changed() const {
  std::set<Bdf> addresses;
  for (const Step& step : steps) addresses.insert(step.write.address);
  return addresses;
}

std::string Plan::driverFor(const Bdf& address) const {
  std::string driver;
  for (const Step& step : steps) {
    if (step.write.address == address && step.driverAfter) driver = *step.driverAfter;
  }
  return driver;
}

std::vector<SysfsWrite> Plan::undoOf(std::size_t count) const {
  std::vector<SysfsWrite> writes;
  for (std::size_t i = count; i-- > 0;) {
    writes.insert(writes.end(), steps[i].undo.begin(), steps[i].undo.end());
  }
  return writes;
}

Plan planBind(const Snapshot& snapshot, const IommuGroup& group, const std::set<Bdf>& named,
              const std::map<Bdf, std::string>& drivers, const Overrides& overrides) {
  Plan plan;
  forEndpoints(snapshot, group, plan, [&](const PciDevice& device) {
    const std::string& wanted = drivers.at(device.address);
    const bool isNamed = named.contains(device.address);
    const bool stands = offersVfio(device)
                            ? !isNamed || device.driver == wanted
                            : !isNamed && (device.driver.empty() || device.driver == "pci-stub");
    DeviceSteps steps(device, overrides, plan.steps);
    if (stands) {
      plan.leftAlone.push_back({device.address, whyLeft(device, isNamed)});
      if (isNamed) steps.setOverride(wanted);
      return;
    }
    // In this order the undo, in reverse, restores the override before it binds the old driver,
    // which a foreign override would keep off.
    steps.leaveDriver();
    steps.setOverride(wanted);
    steps.enterDriver(wanted);
  });
  return plan;
}

Plan planUnbind(const Snapshot& snapshot, const IommuGroup& group, const std::set<Bdf>& wanted,
                const std::map<Bdf, Former>& former, const Overrides& overrides) {
  Plan plan;
  forEndpoints(snapshot, group, plan, [&](const PciDevice& device) {
    if (!wanted.contains(device.address)) {
      plan.leftAlone.push_back({device.address, "not asked for"});
    } else if (!offersVfio(device) && !isUnfinished(device, former.at(device.address))) {
      plan.leftAlone.push_back({device.address, device.driver.empty()
                                                    ? "on no driver"
                                                    : "on " + device.driver + ", not on VFIO"});
    } else {
      planReturn(device, former.at(device.address), overrides, plan);
    }
  });
  return plan;
}

Plan planVfs(const PciDevice& device, std::uint32_t count) {
  Plan plan;
  if (device.virtualFunctions == count) return plan;
  plan.steps.push_back({.write = {device.address, deviceAttribute(device.address, "sriov_numvfs"),
                                  std::to_string(count)},
                        .undo = {},
                        .driverAfter = std::nullopt,
                        .vfsAfter = count});
  return plan;
}

std::string deviceAttribute(const Bdf& address, std::string_view name) {
  return "bus/pci/devices/" + address.str() + "/" + std::string(name);
}

std::string overrideText(const std::string& driver) {
  return driver.empty() ? "\n" : driver;
}

}  // namespace vfiogate
