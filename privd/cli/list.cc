#include <CLI/CLI.hpp>
#include <iostream>

#include "cli/common_options.h"
#include "cli/table.h"
#include "privd/cli/base/device_json.h"
#include "privd/cli/base/node_view.h"
#include "privd/cli/commands.h"

namespace vfiogate {
namespace {

Ink inkOf(const std::string& state) {
  if (state == "passable") return Ink::kGood;
  if (state == "in-use") return Ink::kBusy;
  if (state == "bridge" || state == "platform") return Ink::kDim;
  return Ink::kBad;
}

std::vector<Cell> rowOf(const NodeView& view, const PciDevice& device, const std::string& group,
                        const std::string& use) {
  const std::string state = stateOf(view.snapshot, device);
  const Viability seen = viability(view.snapshot, device.address);
  return {{group},
          {device.address.str()},
          {jsonText(view.className(device))},
          {jsonText(view.deviceName(device))},
          {device.driver.empty() ? "-" : jsonText(device.driver)},
          {device.numaNode ? std::to_string(*device.numaNode) : "-"},
          {use},
          {state, inkOf(state)},
          {seen.ready() ? "" : jsonText(explain(view.snapshot, device.address, seen)), Ink::kDim}};
}

/// Nobody passes these through.
bool isScenery(const NodeView& view, const PciDevice& device) {
  const Obstacle obstacle = viability(view.snapshot, device.address).obstacle;
  return obstacle == Obstacle::kBridge || obstacle == Obstacle::kPlatform;
}

void printTable(const NodeView& view, bool all) {
  const std::vector<Column> columns = {{"GROUP"},        {"ADDRESS"}, {"CLASS", true},
                                       {"DEVICE", true}, {"DRIVER"},  {"NUMA"},
                                       {"USE"},          {"STATE"},   {"REASON"}};
  std::vector<std::vector<Cell>> rows;
  std::size_t passable = 0;
  std::size_t left = 0;
  const auto add = [&](const PciDevice& device, const std::string& group, const std::string& use) {
    if (!all && isScenery(view, device)) {
      ++left;
      return;
    }
    rows.push_back(rowOf(view, device, group, use));
    if (stateOf(view.snapshot, device) == "passable") ++passable;
  };
  std::set<Bdf> shown;
  for (const auto& [id, group] : view.snapshot.groups) {
    for (const Bdf& member : group.members) {
      const auto found = view.snapshot.devices.find(member);
      if (found == view.snapshot.devices.end()) continue;
      add(found->second, std::to_string(id.number()), std::string(nameOf(group.use)));
      shown.insert(member);
    }
  }
  for (const auto& [address, device] : view.snapshot.devices) {
    if (!shown.contains(address)) add(device, "-", "-");
  }
  std::cout << formatTable(columns, rows, terminalWidth(), wantsColours());
  std::cout << view.snapshot.devices.size() << " devices, " << view.snapshot.groups.size()
            << " IOMMU groups, " << passable << " can be passed through now\n";
  if (left > 0) {
    std::cout << left << " of them are bridges and other parts of the machine: --all shows them\n";
  }
  if (view.snapshot.groups.empty() && !view.snapshot.devices.empty()) {
    std::cout
        << "No IOMMU group at all: the IOMMU is off. Turn it on in firmware (VT-d, AMD-Vi) and "
           "on the kernel's command line (intel_iommu=on).\n";
  }
}

}  // namespace

void addListCommand(CLI::App& app, int& exitCode) {
  CLI::App* command = app.add_subcommand(
      "list", "IOMMU groups and PCI devices, and why each can or cannot be passed through");
  auto options = std::make_shared<ViewOptions>();
  auto form = std::make_shared<std::string>("table");
  auto all = std::make_shared<bool>(false);
  addViewOptions(*command, *options);
  command->add_flag("--all", *all, "bridges and other parts of the machine, too, in the table");
  addOutputForm(*command, *form, {"table", "json"}, {"svg"});
  command->callback([options, form, all, &exitCode]() {
    const auto view = NodeView::take(*options);
    if (!view) {
      std::cerr << "privd list: " << view.error() << "\n";
      exitCode = 1;
    } else if (*form == "json") {
      std::cout << listJson(*view).dump(2) << "\n";
    } else {
      printTable(*view, *all);
    }
  });
}

}  // namespace vfiogate
