#include "privd/bind/assessment.h"

#include "ipc/base/hex.h"
#include "privd/scan/pci_scan.h"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

namespace vfiogate {
namespace {

constexpr const char* kDrivers = "bus/pci/drivers";

/// The override of each endpoint, but not of one in which the kernel is stuck: reading it could
/// hang there.
Overrides readOverrides(const SysfsRoot& sysfs, const Snapshot& snapshot,
                        const std::set<Bdf>& stuck) {
  Overrides overrides;
  for (const auto& [address, device] : snapshot.devices) {
    const bool idle = !device.driver.empty() || device.enableCount.value_or(0) == 0;
    if (!isEndpoint(device) || !idle || stuck.contains(address)) continue;
    const auto text = sysfs.read(deviceAttribute(address, "driver_override"));
    if (text && *text != "(null)") overrides[address] = *text;
  }
  return overrides;
}

/// One order in one group.
class GroupAssessment {
public:
  GroupAssessment(const AssessmentDeps& deps, const ChangeOrder& order, ChangeBy by,
                  Assessment& into)
      : deps_(deps), order_(order), by_(by), into_(into) {
    if (auto names = deps_.sysfs.names(kDrivers)) drivers_ = std::move(names).value();
  }

  void judge(const IommuGroup& group) {
    std::set<Bdf> named;
    for (const Bdf& address : order_.addresses) {
      if (!std::ranges::binary_search(group.members, address)) continue;
      // An allocation is of a whole group, bridges and all, and nobody has named these.
      const auto device = into_.snapshot.devices.find(address);
      const bool aside = device != into_.snapshot.devices.end() && standsAside(device->second);
      if (!aside || by_ != ChangeBy::kAllocation) named.insert(address);
    }
    Plan plan = planOf(group, named);
    const std::set<Bdf> changed = plan.changed();
    const GuardFacts facts =
        gatherEvidence(deps_.sysfs, deps_.dev, deps_.host, into_.snapshot,
                       order_.kind == ChangeKind::kBind ? changed : std::set<Bdf>(), into_.disks);
    auto [allocated, allocation] = by_ == ChangeBy::kAllocation
                                       ? std::pair(Allocated::kNo, std::string())
                                       : allocationOf(group);
    const auto isExcluded = [this](const Bdf& member) { return deps_.state.isExcluded(member); };
    for (Objection& objection : objectionsTo({.snapshot = into_.snapshot,
                                .group = group,
                                .changed = changed,
                                .named = named,
                                .kind = order_.kind,
                                .by = by_,
                                .facts = facts,
                                .allocated = allocated,
                                .allocation = std::move(allocation),
                                .excluded = std::ranges::any_of(group.members, isExcluded),
                                .vfs = order_.vfs,
                                .mostVfs = mostVfs()},
                                             deps_.settings, order_.overrides)) {
      into_.objections.push_back(std::move(objection));
    }
    for (const Bdf& member : group.members) {
      if (!deps_.stuck.contains(member)) continue;
      into_.objections.push_back({Guard::kMember, member, Verdict::kBlocked,
                                  "a write of privd's is stuck in it", "end what has it open"});
    }
    if (std::ranges::any_of(plan.steps, &Step::fromVfio)) holdNode(group, *changed.begin());
    append(std::move(plan));
  }

private:
  /// With what situation.allocation says.
  std::pair<Allocated, std::string> allocationOf(const IommuGroup& group) const {
    if (auto standing = deps_.allocations.standing({group.members.begin(), group.members.end()})) {
      if (standing->note.empty()) {
        return {Allocated::kUnknown,
                "the record of " + standing->members.front().str() + " makes no sense"};
      }
      std::ranges::replace(standing->note, '\n', ';');
      return {Allocated::kYes, std::move(standing->note)};
    }
    if (deps_.allocations.complete() || deps_.lease.isFree()) return {Allocated::kNo, {}};
    return {Allocated::kUnknown, "it runs, and the record of allocations is not complete"};
  }

  Plan planOf(const IommuGroup& group, const std::set<Bdf>& named) {
    switch (order_.kind) {
      case ChangeKind::kBind:
        return bind(group, named);
      case ChangeKind::kUnbind:
        return unbind(group, named);
      case ChangeKind::kCreateVfs:
        break;
    }
    const auto device = into_.snapshot.devices.find(order_.addresses.front());
    return device == into_.snapshot.devices.end() ? Plan() : planVfs(device->second, order_.vfs);
  }

  /// What the function says that it can have.
  std::optional<std::uint32_t> mostVfs() const {
    if (order_.kind != ChangeKind::kCreateVfs) return std::nullopt;
    const auto text = deps_.sysfs.read(deviceAttribute(order_.addresses.front(), "sriov_totalvfs"));
    return text ? parseDecimal(*text) : std::nullopt;
  }

  Plan bind(const IommuGroup& group, const std::set<Bdf>& named) {
    std::map<Bdf, std::string> wanted;
    std::vector<std::string> remarks;
    for (const Bdf& member : group.members) {
      const auto device = into_.snapshot.devices.find(member);
      if (device == into_.snapshot.devices.end()) continue;
      DriverChoice choice = chooseDriver(device->second.modalias, deps_.aliases, drivers_);
      if (!order_.driver.empty() && named.contains(member)) choice = {order_.driver, {}};
      if (!choice.remark.empty()) remarks.push_back(member.str() + ": " + choice.remark);
      wanted[member] = choice.driver;
    }
    Plan plan = planBind(into_.snapshot, group, named, wanted, into_.overrides);
    plan.remarks = std::move(remarks);
    for (const Bdf& changed : plan.changed()) {
      if (std::ranges::find(drivers_, wanted.at(changed)) == drivers_.end()) {
        into_.nonsense = "the kernel has no PCI driver " + wanted.at(changed) +
                         " loaded: modprobe " + wanted.at(changed) + " (privd loads no modules)";
      }
    }
    return plan;
  }

  Plan unbind(const IommuGroup& group, const std::set<Bdf>& named) {
    std::set<Bdf> wanted = named;
    std::map<Bdf, Former> former;
    for (const Bdf& member : group.members) {
      Former& known = former[member];
      const auto record = deps_.state.boundAt(member);
      // What a person bound, no allocation gives back.
      if (record && isStill(*record) &&
          (by_ != ChangeBy::kAllocation || record->purpose == BoundFor::kAllocation)) {
        known.record = *record;
        known.sameBoot = record->bootId == deps_.bootId;
        known.driverThere = std::ranges::find(drivers_, record->formerDriver) != drivers_.end();
        wanted.insert(member);  // what was bound with it goes back with it
      }
    }
    return planUnbind(into_.snapshot, group, wanted, former, into_.overrides);
  }

  /// The card that was bound, not another one in its place.
  bool isStill(const BoundDevice& record) const {
    const auto device = into_.snapshot.devices.find(record.device.address);
    return device != into_.snapshot.devices.end() &&
           device->second.vendor == record.device.vendor &&
           device->second.device == record.device.device;
  }

  /// Whoever has the group's node keeps everybody else out while its devices leave VFIO.
  void holdNode(const IommuGroup& group, const Bdf& first) {
    const std::string node =
        (group.noIommu ? "vfio/noiommu-" : "vfio/") + std::to_string(group.id.number());
    auto opened = deps_.dev.openNode(node, O_RDWR);
    if (opened) {
      into_.groupNodes.add(kj::mv(opened).value());
    } else if (opened.error().error == EBUSY) {
      into_.objections.push_back({Guard::kInUse, first, Verdict::kBlocked,
                                  "somebody has /dev/" + node + " open",
                                  "stop the VM that has it"});
    } else {
      const auto lifts = [](const GuardOverride& one) { return one.guard == Guard::kUnguarded; };
      const bool lifted = deps_.settings.allowUnguardedUnbind ||
                          std::ranges::any_of(order_.overrides, lifts) ||
                          std::ranges::any_of(deps_.settings.overrides, lifts);
      into_.objections.push_back({Guard::kUnguarded, first, Verdict::kUnknown,
                                  "/dev/" + node + " cannot be held open meanwhile (" +
                                      strerror(opened.error().error) + "): a VM could take it",
                                  "--allow-unguarded-unbind, or --override unguarded", lifted});
    }
  }

  void append(Plan plan) {
    const auto move = [](auto& from, auto& to) {
      to.insert(to.end(), std::make_move_iterator(from.begin()),
                std::make_move_iterator(from.end()));
    };
    move(plan.steps, into_.plan.steps);
    move(plan.leftAlone, into_.plan.leftAlone);
    move(plan.remarks, into_.plan.remarks);
  }

  const AssessmentDeps& deps_;
  const ChangeOrder& order_;
  const ChangeBy by_;
  Assessment& into_;
  std::vector<std::string> drivers_;
};

}  // namespace

Result<std::set<IommuGroupId>, std::string> groupsOf(const SysfsRoot& sysfs,
                                                     const std::vector<Bdf>& addresses) {
  std::set<IommuGroupId> groups;
  for (const Bdf& address : addresses) {
    if (!sysfs.exists("bus/pci/devices/" + address.str())) {
      return Failure{"there is no " + address.str() + " (privd list has what there is)"};
    }
    const auto number = parseDecimal(sysfs.linkName(deviceAttribute(address, "iommu_group")));
    if (!number) {
      return Failure{
          address.str() +
          " is in no IOMMU group: turn the IOMMU on in firmware and kernel (privd doctor)"};
    }
    groups.insert(IommuGroupId(*number));
  }
  return groups;
}

Assessment assess(const AssessmentDeps& deps, const ChangeOrder& order, ChangeBy by,
                  const std::set<IommuGroupId>& groups) {
  Assessment assessment;
  reread(deps.sysfs, deps.dev, Places{.devices = {}, .groups = groups}, assessment.snapshot);
  assessment.overrides = readOverrides(deps.sysfs, assessment.snapshot, deps.stuck);
  if (!order.driver.empty() && order.driver.find("vfio") == std::string::npos) {
    assessment.nonsense = order.driver + " is no VFIO driver by its name";
    return assessment;
  }
  GroupAssessment judging(deps, order, by, assessment);
  for (const auto& [id, group] : assessment.snapshot.groups) judging.judge(group);
  for (const Bdf& address : order.addresses) {
    if (!assessment.snapshot.devices.contains(address)) {
      assessment.nonsense = address.str() + " vanished, or left its group";
    }
  }
  return assessment;
}

}  // namespace vfiogate
