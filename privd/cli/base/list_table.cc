#include "privd/cli/base/list_table.h"

#include "cli/table.h"
#include "ipc/types/units.h"
#include "privd/cli/base/device_json.h"
#include "privd/cli/base/device_state.h"

#include <algorithm>

namespace vfiogate {
namespace {

constexpr std::size_t kIdsLength = 12;  // " [10de:2684]"

/// What the table says of one device.
struct Row {
  std::string group;
  std::string address;
  std::string className;
  std::string name;
  std::string driver;
  std::string numa;
  std::string use;
  std::string state;
  std::string reason;
};

std::string numberOrDash(const std::optional<std::uint32_t>& number) {
  return number ? std::to_string(*number) : "-";
}

/// A vGPU has the ids of its whole card: its type says more.
std::string shownName(const NodeView& view, const PciDevice& device) {
  if (device.vgpuType.value_or(0) == 0 || !device.physicalFunction) return view.briefName(device);
  return device.vgpuTypeForPeople() + " of " + device.physicalFunction->str();
}

Row rowOf(const NodeView& view, const PciDevice& device) {
  return {.group = "-",
          .address = device.address.str(),
          .className = jsonText(view.className(device)),
          .name = jsonText(shownName(view, device)),
          .driver = device.driver.empty() ? "-" : jsonText(device.driver),
          .numa = numberOrDash(device.numaNode),
          .use = "-",
          .state = stateOf(view.snapshot, device),
          .reason = jsonText(whyOf(view.snapshot, device))};
}

Row rowOf(const NodeView& view, const MediatedDevice& device) {
  return {.group = "-",
          .address = device.uuid.str(),
          .className = "mediated device",
          .name = jsonText(device.typeForPeople()) +
                  (device.parent ? " of " + device.parent->str() : ""),
          .driver = device.driver.empty() ? "-" : jsonText(device.driver),
          .numa = numberOrDash(device.numaNode),
          .use = "-",
          .state = stateOf(view.snapshot, device),
          .reason = jsonText(whyOf(view.snapshot, device))};
}

std::vector<Row> rowsOf(const NodeView& view, const ListFilter& filter) {
  const Snapshot& snapshot = view.snapshot;
  std::vector<Row> rows;
  const auto add = [&rows](Row row, const IommuGroup* group) {
    if (group != nullptr) row.group = std::to_string(group->id.number());
    if (group != nullptr) row.use = nameOf(group->use);
    rows.push_back(std::move(row));
  };
  const auto addDevice = [&](const PciDevice& device, const IommuGroup* group) {
    if (isShown(filter, snapshot, device)) add(rowOf(view, device), group);
  };
  const auto addMediated = [&](const MediatedDevice& device, const IommuGroup* group) {
    if (passes(filter, snapshot, device)) add(rowOf(view, device), group);
  };
  std::set<UnitId> grouped;
  for (const auto& [id, group] : snapshot.groups) {
    for (const UnitId& member : unitsOf(group)) {
      if (const PciDevice* device = functionOf(snapshot, member)) addDevice(*device, &group);
      if (const MediatedDevice* part = mediatedOf(snapshot, member)) addMediated(*part, &group);
      grouped.insert(member);
    }
  }
  for (const auto& [address, device] : snapshot.devices) {
    if (!grouped.contains(address)) addDevice(device, nullptr);
  }
  for (const auto& [uuid, device] : snapshot.mediated) {
    if (!grouped.contains(uuid)) addMediated(device, nullptr);
  }
  return rows;
}

Ink inkOf(const std::string& state) {
  if (state == "passable") return Ink::kGood;
  if (state == "in-use") return Ink::kBusy;
  if (state == "bridge" || state == "platform") return Ink::kDim;
  return Ink::kBad;
}

std::vector<Column> allColumns() {
  return {{"GROUP"},  {"ADDRESS"}, {"CLASS", true}, {"DEVICE", true, kIdsLength},
          {"DRIVER"}, {"NUMA"},    {"USE"},         {"STATE"}};
}

std::vector<Cell> allCells(const Row& row) {
  return {{row.group},  {row.address}, {row.className}, {row.name},
          {row.driver}, {row.numa},    {row.use},       {row.state, inkOf(row.state)}};
}

std::vector<Column> fewColumns() {
  return {{"GROUP"}, {"ADDRESS"}, {"DEVICE", true, kIdsLength}, {"DRIVER", true}, {"STATE"}};
}

std::vector<Cell> fewCells(const Row& row) {
  return {{row.group}, {row.address}, {row.name}, {row.driver}, {row.state, inkOf(row.state)}};
}

}  // namespace

std::string listTable(const NodeView& view, const ListFilter& filter, std::size_t width,
                      bool colours) {
  std::vector<std::vector<Cell>> whole;
  std::vector<std::vector<Cell>> few;
  std::vector<std::string> reasons;
  for (const Row& row : rowsOf(view, filter)) {
    whole.push_back(allCells(row));
    few.push_back(fewCells(row));
    reasons.push_back(row.reason);
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
  for (const auto& [uuid, device] : view.snapshot.mediated) {
    if (stateOf(view.snapshot, device) == "passable") ++passable;
  }
  const std::size_t devices = view.snapshot.devices.size();
  const std::size_t mediated = view.snapshot.mediated.size();
  std::string text = counted(devices, "device") + ", " +
                     (mediated == 0 ? "" : counted(mediated, "mediated device") + ", ") +
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
