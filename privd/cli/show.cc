#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <iostream>

#include "cli/common_options.h"
#include "cli/device_name.h"
#include "cli/usage.h"
#include "ipc/base/hex.h"
#include "ipc/types/units.h"
#include "privd/cli/base/device_json.h"
#include "privd/cli/base/device_state.h"
#include "privd/cli/base/node_view.h"
#include "privd/cli/base/recorded_holders.h"
#include "privd/cli/binding/holders.h"
#include "privd/cli/commands.h"
#include "privd/scan/pci_scan.h"

namespace vfiogate {
namespace {

void line(const char* label, const std::string& value) {
  std::cout << label << std::string(16 - std::string_view(label).size(), ' ')
            << (value.empty() ? "-" : value) << "\n";
}

std::string idsOf(const std::optional<std::uint16_t>& vendor,
                  const std::optional<std::uint16_t>& device) {
  const auto part = [](const auto& id) { return id ? hexDigits(*id, 4) : std::string("????"); };
  return vendor || device ? part(vendor) + ":" + part(device) : std::string();
}

void printGroup(const NodeView& view, const PciDevice& device) {
  if (!device.group) return line("IOMMU group", "none");
  const auto group = view.snapshot.groups.find(*device.group);
  if (group == view.snapshot.groups.end()) return line("IOMMU group", "vanished");
  line("IOMMU group", std::to_string(device.group->number()) + ", " +
                          (group->second.type.empty() ? "type unknown" : group->second.type) +
                          ", use " + std::string(nameOf(group->second.use)));
  for (const Bdf& member : group->second.members) {
    if (member == device.address) continue;
    const auto found = view.snapshot.devices.find(member);
    if (found == view.snapshot.devices.end()) continue;
    const std::string driver = found->second.driver.empty() ? "no driver" : found->second.driver;
    line("  with",
         member.str() + "  " + jsonText(view.className(found->second)) + ", " + jsonText(driver));
  }
}

using Serial = Result<std::string, ReadError>;

/// Empty: there is nothing to say.
std::string wordsFor(const Serial& serial) {
  if (serial) return *serial;
  if (serial.error().error == ENOENT) return {};
  if (serial.error().error == EACCES) return "unknown: only root may read it";
  return std::string("unknown: the card does not tell: ") + strerror(serial.error().error);
}

void print(const NodeView& view, const PciDevice& device, const Serial& serial) {
  line("address", device.address.str());
  line("device", jsonText(view.deviceName(device)));
  line("class", jsonText(view.className(device)));
  line("ids", idsOf(device.vendor, device.device));
  line("subsystem", idsOf(device.subvendor, device.subdevice));
  line("driver", jsonText(device.driver) + (offersVfio(device) ? " (offers VFIO)" : ""));
  line("state", stateOf(view.snapshot, device));
  const std::string why = whyOf(view.snapshot, device);
  line("", why.empty() ? "can be passed through" : jsonText(why));
  printGroup(view, device);
  line("NUMA node", device.numaNode ? std::to_string(*device.numaNode) : "");
  line("root", device.pcieRoot);
  if (device.rootPort) line("root port", device.rootPort->str());
  line("slot", jsonText(device.slot));
  if (const std::string words = wordsFor(serial); !words.empty()) line("serial number", words);
  line("enabled", device.enableCount ? std::to_string(*device.enableCount) : "unknown");
  line("reset", device.resetMethods);
  if (device.bootVga) line("boot VGA", "yes");
  if (device.sriov == SriovRole::kPhysicalFunction) {
    line("SR-IOV", "physical function, " + std::to_string(device.virtualFunctions) + " enabled");
  }
  if (device.physicalFunction)
    line("SR-IOV", "virtual function of " + device.physicalFunction->str());
  for (const EgmRegion& region : view.snapshot.egm) {
    if (!std::ranges::binary_search(region.gpus, device.address)) continue;
    std::string gpus;
    for (const Bdf& gpu : region.gpus) gpus += (gpus.empty() ? "" : ", ") + gpu.str();
    line("memory", "/dev/egm" + std::to_string(region.number) + ", with all of " + gpus);
  }
  if (device.vgpuType) {
    line("vGPU type", *device.vgpuType == 0
                          ? "none set"
                          : std::to_string(*device.vgpuType) + " " + jsonText(device.vgpuTypeName));
  }
  for (const Uuid& uuid : device.mediated) {
    const auto part = view.snapshot.mediated.find(uuid);
    const bool known = part != view.snapshot.mediated.end();
    line("mediated", uuid.str() + (known ? "  " + jsonText(part->second.type) : ""));
  }
}

void print(const NodeView& view, const MediatedDevice& device) {
  line("UUID", device.uuid.str());
  line("type", jsonText(device.typeForPeople()));
  line("parent", device.parent ? device.parent->str() : "");
  line("driver", jsonText(device.driver));
  line("state", stateOf(view.snapshot, device));
  const std::string why = whyOf(view.snapshot, device);
  line("", why.empty() ? "can be passed through" : jsonText(why));
  const auto group =
      device.group ? view.snapshot.groups.find(*device.group) : view.snapshot.groups.end();
  line("IOMMU group", group == view.snapshot.groups.end()
                          ? "none"
                          : std::to_string(group->first.number()) + ", use " +
                                std::string(nameOf(group->second.use)));
  line("NUMA node", device.numaNode ? std::to_string(*device.numaNode) : "");
}

/// What is said of either.
void print(const NodeView& view, const RecordedHolder* recorded, const Holders& holders,
           const std::vector<AttributeProblem>& problems) {
  if (recorded != nullptr) line("allocated", jsonText(wordsFor(*recorded)));
  for (const Holder& holder : holders.found) line("open", wordsFor(holder));
  if (holders.hidden > 0) {
    line("open", "unknown of " + std::to_string(holders.hidden) +
                     " processes, into which only root may look");
  }
  if (!view.problem.empty()) line("excluded", "unknown: " + view.problem);
  if (!view.changesProblem.empty()) line("changes", "unknown: " + view.changesProblem);
  for (const AttributeProblem& problem : problems) {
    line("problem", problem.attribute + ": " + jsonText(problem.why));
  }
}

nlohmann::ordered_json jsonOf(const RecordedHolder* recorded) {
  if (recorded == nullptr) return nullptr;
  return {{"who", jsonText(recorded->who)},
          {"resource", jsonText(recorded->resource)},
          {"since", jsonText(recorded->since)}};
}

/// Returns the exit code.
int show(const std::string& text, const std::string& form, const ViewOptions& options,
         const std::string& procRoot) {
  const auto fail = [](const std::string& what, int code = 1) {
    std::cerr << "privd show: " << what << "\n";
    return code;
  };
  const auto view = NodeView::take(options);
  if (!view) return fail(view.error());
  const auto unit = findUnit(text, options.sysfs);
  if (!unit) return fail(unit.error(), kExitUsage);
  const PciDevice* device = functionOf(view->snapshot, *unit);
  const MediatedDevice* mediated = mediatedOf(view->snapshot, *unit);
  if (device == nullptr && mediated == nullptr) {
    return fail("there is no " + unit->str() + " below " + options.sysfs +
                " (privd list has what there is)");
  }
  const auto sysfs = SysfsRoot::open(options.sysfs);
  if (!sysfs) return fail("--sysfs " + options.sysfs + ": is gone");
  const Holders holders = holdersOf(
      procRoot, device != nullptr ? nodesOf(*sysfs, procRoot, *device) : nodesOf(*mediated));
  const RecordedHolders record = readRecordedHolders(options.recordDir);
  const auto found = record.devices.find(*unit);
  const RecordedHolder* recorded = found == record.devices.end() ? nullptr : &found->second;
  const Serial serial =
      device != nullptr ? readSerial(*sysfs, device->address) : Serial(std::string());
  if (isDocument(form)) {
    auto json =
        device != nullptr ? deviceJson(*view, *device) : mediatedJson(view->snapshot, *mediated);
    json["allocated"] = jsonOf(recorded);
    json["openedBy"] = holdersJson(holders);
    if (device != nullptr) {
      const bool told = serial && !serial->empty();
      json["serialNumber"] = told ? nlohmann::ordered_json(*serial) : nullptr;
    }
    std::cout << documentText(json, form);
    return 0;
  }
  if (device != nullptr) print(*view, *device, serial);
  if (mediated != nullptr) print(*view, *mediated);
  print(*view, recorded, holders, device != nullptr ? device->problems : mediated->problems);
  return 0;
}

}  // namespace

void addShowCommand(CLI::App& app, int& exitCode) {
  CLI::App* command = app.add_subcommand("show", "everything about one device");
  auto options = std::make_shared<ViewOptions>();
  auto form = std::make_shared<std::string>("table");
  auto address = std::make_shared<std::string>();
  auto proc = std::make_shared<std::string>("/proc");
  command->add_option("ADDRESS", *address, kUnitHelp)->required();
  addViewOptions(*command, *options);
  addRecordOption(*command, *options);
  command->add_option("--proc", *proc, "where processes are found that have the device open")
      ->capture_default_str();
  addOutputForm(*command, *form, {"table", "json", "yaml"});
  command->callback([options, form, address, proc, &exitCode]() {
    exitCode = show(*address, *form, *options, *proc);
  });
}

}  // namespace vfiogate
