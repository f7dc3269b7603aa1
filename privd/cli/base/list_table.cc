#include "privd/cli/base/list_table.h"

#include "cli/table.h"
#include "privd/cli/base/device_json.h"
#include "privd/cli/base/device_state.h"

#include <algorithm>

namespace vfiogate {
namespace {

constexpr std::size_t kIdsLength = 12;  // " [10de:2684]"

/// A device with its place in the table.
struct Row {
  const PciDevice* device;
  std::string group;
  std::string use;
};

std::vector<Row> rowsOf(const NodeView& view, const ListFilter& filter) {
  std::vector<Row> rows;
  std::set<Bdf> grouped;
  const auto add = [&](const PciDevice& device, std::string group, std::string use) {
    if (!isShown(filter, view.snapshot, device)) return;
    rows.push_back({&device, std::move(group), std::move(use)});
  };
  for (const auto& [id, group] : view.snapshot.groups) {
    for (const Bdf& member : group.members) {
      const auto found = view.snapshot.devices.find(member);
      if (found == view.snapshot.devices.end()) continue;
      add(found->second, std::to_string(id.number()), std::string(nameOf(group.use)));
      grouped.insert(member);
    }
  }
  for (const auto& [address, device] : view.snapshot.devices) {
    if (!grouped.contains(address)) add(device, "-", "-");
  }
  return rows;
}

Ink inkOf(const std::string& state) {
  if (state == "passable") return Ink::kGood;
  if (state == "in-use") return Ink::kBusy;
  if (state == "bridge" || state == "platform") return Ink::kDim;
  return Ink::kBad;
}

std::string reasonOf(const NodeView& view, const PciDevice& device) {
  return jsonText(whyOf(view.snapshot, device));
}

Cell stateCell(const NodeView& view, const PciDevice& device) {
  const std::string state = stateOf(view.snapshot, device);
  return {state, inkOf(state)};
}

Cell driverCell(const PciDevice& device) {
  return {device.driver.empty() ? "-" : jsonText(device.driver)};
}

std::vector<Column> allColumns() {
  return {{"GROUP"},  {"ADDRESS"}, {"CLASS", true}, {"DEVICE", true, kIdsLength},
          {"DRIVER"}, {"NUMA"},    {"USE"},         {"STATE"}};
}

std::vector<Cell> allCells(const NodeView& view, const Row& row) {
  const PciDevice& device = *row.device;
  return {{row.group},
          {device.address.str()},
          {jsonText(view.className(device))},
          {jsonText(view.briefName(device))},
          driverCell(device),
          {device.numaNode ? std::to_string(*device.numaNode) : "-"},
          {row.use},
          stateCell(view, device)};
}

std::vector<Column> fewColumns() {
  return {{"GROUP"}, {"ADDRESS"}, {"DEVICE", true, kIdsLength}, {"DRIVER", true}, {"STATE"}};
}

std::vector<Cell> fewCells(const NodeView& view, const Row& row) {
  return {{row.group},
          {row.device->address.str()},
          {jsonText(view.briefName(*row.device))},
          driverCell(*row.device),
          stateCell(view, *row.device)};
}

}  // namespace

std::string listTable(const NodeView& view, const ListFilter& filter, std::size_t width,
                      bool colours) {
  std::vector<std::vector<Cell>> whole;
  std::vector<std::vector<Cell>> few;
  std::vector<std::string> reasons;
  for (const Row& row : rowsOf(view, filter)) {
    whole.push_back(allCells(view, row));
    few.push_back(fewCells(view, row));
    reasons.push_back(reasonOf(view, *row.device));
  }
  const std::vector<Column> columns = allColumns();
  std::vector<Column> withReason = columns;
  withReason.push_back({"REASON"});
  std::vector<std::vector<Cell>> wide = whole;
  for (std::size_t i = 0; i < wide.size(); ++i) wide[i].push_back({reasons[i], Ink::kDim});
  const auto fits = [width](const auto& heads, const auto& rows) {
    return width == 0 || widthOf(heads, rows) <= width;
  };
  if (fits(withReason, wide)) return formatTable(withReason, wide, width, colours);
  if (fits(columns, whole)) return formatTable(columns, whole, width, colours, reasons);
  return formatTable(fewColumns(), few, width, colours, reasons);
}

std::string listSummary(const NodeView& view, const ListFilter& filter) {
  std::size_t passable = 0;
  std::size_t hidden = 0;
  std::size_t shown = 0;
  for (const auto& [address, device] : view.snapshot.devices) {
    if (stateOf(view.snapshot, device) == "passable") ++passable;
    if (isShown(filter, view.snapshot, device)) {
      ++shown;
    } else if (passes(filter, view.snapshot, device)) {
      ++hidden;
    }
  }
  const std::size_t devices = view.snapshot.devices.size();
  std::string text = counted(devices, "device") + ", " +
                     counted(view.snapshot.groups.size(), "IOMMU group") + ", " +
                     std::to_string(passable) + " can be passed through now\n";
  if (shown + hidden < devices) {
    text += std::to_string(shown) + " of them " + (shown == 1 ? "is" : "are") + " shown\n";
  }
  if (hidden > 0) {
    text +=
        std::to_string(hidden) +
        (hidden == 1 ? " of them is a bridge or another part of the machine: --all shows it\n"
                     : " of them are bridges and other parts of the machine: --all shows them\n");
  }
  if (!view.problem.empty()) text += "What is excluded is not known: " + view.problem + "\n";
  if (!view.changesProblem.empty()) {
    text += "Which changes run is not known: " + view.changesProblem + "\n";
  }
  if (view.snapshot.groups.empty() && devices > 0) {
    text +=
        "No IOMMU group at all: the IOMMU is off. Turn it on in firmware (VT-d, AMD-Vi) and on the "
        "kernel's command line (intel_iommu=on).\n";
  }
  return text;
}

}  // namespace vfiogate
