#include "privd/cli/binding/run_change.h"

#include "cli/common_options.h"
#include "cli/usage.h"
#include "privd/bind/plan/guards.h"
#include "privd/scan/pci_scan.h"

#include <kj/debug.h>

#include <algorithm>
#include <ostream>

namespace vfiogate {
namespace {

/// Of these it helps to know whose they are.
bool isAboutUse(const Objection& objection) {
  constexpr std::array kUses{Guard::kInUse, Guard::kUsers,   Guard::kHeld,
                             Guard::kBlock, Guard::kConsole, Guard::kMember};
  return !objection.overridden && std::ranges::find(kUses, objection.guard) != kUses.end();
}

/// What whoever changes drivers in the device's group has open.
void addLocks(const ControlOptions& options, const Snapshot& seen, const Bdf& device,
              std::vector<std::string>& nodes) {
  const std::string record = recordDirectory(options.local.recordDir, options.local.stateDir);
  for (const auto& [id, group] : seen.groups) {
    if (!std::ranges::binary_search(group.members, device)) continue;
    for (const Bdf& member : group.members) nodes.push_back(record + "/" + member.str());
  }
}

/// True if all that was missing was its record in the audit log.
bool isUnrecorded(const ChangeReport& report) {
  return report.outcome == ChangeOutcome::kRefused && !report.writes.empty() &&
         !anyStands(report.objections);
}

/// Lives as long as the change runs.
kj::Promise<void> tellWaiting(kj::Timer& timer, const ChangeDisplay& display) {
  KJ_IF_MAYBE (patience, display.patience) {
    return timer.afterDelay(*patience)
        .then([&display]() {
          display.err << "waiting for the kernel: a driver may take its time to let go; Ctrl-C "
                         "ends this command after the change"
                      << std::endl;
        })
        .eagerlyEvaluate(nullptr);
  }
  return kj::NEVER_DONE;
}

}  // namespace

HoldersOf findHolders(const ControlOptions& options, const ChangeReport& report) {
  HoldersOf holders;
  if (std::ranges::none_of(report.objections, isAboutUse)) return holders;
  const auto sysfs = SysfsRoot::open(options.local.sysfs);
  const auto dev = DevRoot::open(options.local.dev);
  if (!sysfs || !dev) return holders;
  const auto seen = scan(*sysfs, *dev);
  if (!seen) return holders;
  for (const Objection& objection : report.objections) {
    const auto device = seen->devices.find(objection.address);
    if (!isAboutUse(objection) || device == seen->devices.end()) continue;
    if (holders.contains(objection.address)) continue;
    auto nodes = nodesOf(*sysfs, options.proc, device->second);
    addLocks(options, *seen, objection.address, nodes);
    holders.emplace(objection.address, holdersOf(options.proc, nodes));
  }
  return holders;
}

int tellChange(const ChangeOrder& order, const ChangeReport& report, const ControlOptions& options,
               const ChangeDisplay& display) {
  const HoldersOf holders = findHolders(options, report);
  const Printed text = changeText(order, report, holders, display.style);
  if (text.errFirst) display.err << text.err << std::flush;
  if (display.list != nullptr) {
    nlohmann::ordered_json item = {{"address", order.addresses.front().str()}};
    item.update(changeJson(order, report, holders));
    display.list->push_back(std::move(item));
  } else if (isDocument(display.form)) {
    display.out << documentText(changeJson(order, report, holders), display.form);
  } else {
    display.out << text.out << std::flush;
  }
  if (!text.errFirst) display.err << text.err;
  return exitCodeOf(report.outcome);
}

int runChange(BindingService& service, kj::AsyncIoContext& io, const ChangeAsked& asked,
              const ControlOptions& options, ChangeDisplay display) {
  const ChangeOrder& order = asked.order;
  ChangeReport report;
  KJ_IF_MAYBE (exception, kj::runCatchingExceptions([&]() {
                 auto waiting = tellWaiting(io.provider->getTimer(), display);
                 report = service.change(order, asked.by, asked.who).wait(io.waitScope);
               })) {
    std::string why = exception->getDescription().cStr();
    if (!order.dryRun) {
      why +=
          ": what became of the change is not known here (privd list says how things are, "
          "privd audit show what was done)";
    }
    display.err << "privd " << nameOf(order.kind) << ": " << why << "\n";
    if (display.list != nullptr) {
      display.list->push_back({{"address", order.addresses.front().str()}, {"error", why}});
    }
    return order.dryRun ? 1 : kExitChanged;
  }
  if (isUnrecorded(report) && !order.dryRun) {
    report.error += lockersText(options.proc, options.local.binding.auditLog);
  }
  return tellChange(order, report, options, display);
}

}  // namespace vfiogate
