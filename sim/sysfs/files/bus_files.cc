#include <cerrno>
#include <string_view>

#include "ipc/base/hex.h"
#include "sim/sysfs/kernel/binding.h"
#include "sim/sysfs/kernel/host_objects.h"
#include "sim/sysfs/kernel/hotplug.h"
#include "sim/sysfs/kernel/sysfs_tree.h"

namespace vfiogate::sim {
namespace {

Step immediately(int (*change)(World&, const WriteRequest&), const WriteRequest& request) {
  return [change, request](World& world, Task&) { return refused(change(world, request)); };
}

std::vector<Step> writeBind(const WriteRequest& request) {
  return bindTask(request.owner, request.text);
}

std::vector<Step> writeUnbind(const WriteRequest& request) {
  return unbindTask(request.owner, request.text);
}

std::vector<Step> writeNewId(const WriteRequest& request) {
  return newIdTask(request.owner, request.text);
}

std::vector<Step> writeRemoveId(const WriteRequest& request) {
  return {immediately(
      [](World& world, const WriteRequest& written) {
        return removeId(world, written.owner, written.text);
      },
      request)};
}

std::vector<Step> writeProbe(const WriteRequest& request) {
  return probeTask(request.text);
}

std::vector<Step> writeRescan(const WriteRequest& request) {
  const auto number = parseHex(withoutNewline(request.text));
  if (!number) return {[](World&, Task&) { return refused(EINVAL); }};
  return *number == 0 ? std::vector<Step>{} : rescanTask();
}

std::vector<Step> writeAutoprobe(const WriteRequest& request) {
  return {immediately(
      [](World& world, const WriteRequest& written) {
        world.driversAutoprobe = !written.text.starts_with('0');
        return 0;
      },
      request)};
}

int changeGroupType(World& world, const WriteRequest& written) {
  if (!written.sysAdmin) return EACCES;
  const std::string_view type = withoutNewline(written.text);
  if (type != "identity" && type != "DMA" && type != "DMA-FQ" && type != "auto") return EINVAL;
  const std::uint32_t number = *parseDecimal(written.owner);
  for (const Device* member : membersOf(world, number)) {
    if (!member->driver.empty()) return EBUSY;
  }
  world.groups.at(number).type = type == "auto" ? world.topology.groupType : std::string(type);
  return 0;
}

std::vector<Step> writeGroupType(const WriteRequest& request) {
  return {immediately(changeGroupType, request)};
}

void addWritable(Tree& tree, const std::string& path, const std::string& owner, Writer write) {
  TreeNode node;
  node.kind = NodeKind::kFile;
  node.mode = 0200;
  node.owner = owner;
  node.write = write;
  tree.add(path, std::move(node));
}

void addModuleFiles(Tree& tree, const World& world, const DriverSpec& driver) {
  const ModuleSpec& module = driver.module;
  const std::string path = "sys/module/" + module.name;
  tree.addLink("sys/bus/pci/drivers/" + driver.name + "/module", path);
  tree.addLink(path + "/drivers/pci:" + driver.name, "sys/bus/pci/drivers/" + driver.name);
  if (module.builtin) return;
  tree.addText(path + "/initstate", "live\n");
  tree.addText(path + "/refcnt", std::to_string(usesOf(world, module)) + "\n");
  tree.add(path + "/holders", TreeNode{});
  for (const std::string& holder : module.holders) {
    const std::string above = "sys/module/" + holder;
    tree.addLink(path + "/holders/" + holder, above);
    if (tree.find(above) != nullptr) continue;
    tree.addText(above + "/initstate", "live\n");
    tree.addText(above + "/refcnt", "0\n");
    tree.add(above + "/holders", TreeNode{});
  }
}

void addDriverFiles(Tree& tree, const World& world, const DriverSpec& driver) {
  const std::string path = "sys/bus/pci/drivers/" + driver.name;
  addWritable(tree, path + "/bind", driver.name, writeBind);
  addWritable(tree, path + "/unbind", driver.name, writeUnbind);
  addWritable(tree, path + "/new_id", driver.name, writeNewId);
  addWritable(tree, path + "/remove_id", driver.name, writeRemoveId);
  addModuleFiles(tree, world, driver);
}

void addGroupFiles(Tree& tree, const World& world, std::uint32_t number, const Group& group) {
  const std::string path = "sys/kernel/iommu_groups/" + std::to_string(number);
  tree.addText(path + "/reserved_regions", "0x00000000fee00000 0x00000000feefffff msi\n");
  TreeNode type;
  type.kind = NodeKind::kFile;
  type.mode = 0644;
  type.text = group.type + "\n";
  type.owner = std::to_string(number);
  type.write = writeGroupType;
  tree.add(path + "/type", std::move(type));
  if (group.noIommu) tree.addText(path + "/name", "vfio-noiommu\n");
  for (const Device* member : membersOf(world, number)) {
    tree.addLink(path + "/devices/" + member->hardware.address.str(),
                 "sys/" + devicePath(world, member->hardware), member->serial);
  }
}

void addSlotFiles(Tree& tree, const World& world) {
  for (const SlotSpec& slot : world.topology.slots) {
    if (slot.port && !world.devices.contains(*slot.port)) continue;
    const std::string path = "sys/bus/pci/slots/" + slot.name;
    tree.add(path, TreeNode{});
    if (slot.address) tree.addText(path + "/address", *slot.address + "\n");
  }
}

}  // namespace

void addBusFiles(Tree& tree, const World& world) {
  addWritable(tree, "sys/bus/pci/drivers_probe", "", writeProbe);
  addWritable(tree, "sys/bus/pci/rescan", "", writeRescan);
  TreeNode autoprobe;
  autoprobe.kind = NodeKind::kFile;
  autoprobe.mode = 0644;
  autoprobe.text = world.driversAutoprobe ? "1\n" : "0\n";
  autoprobe.write = writeAutoprobe;
  tree.add("sys/bus/pci/drivers_autoprobe", std::move(autoprobe));
  // These exist without any device or driver.
  for (const char* path : {"sys/bus/pci/devices", "sys/bus/pci/drivers", "sys/devices",
                           "sys/kernel/iommu_groups", "sys/class", "sys/bus/pci/slots", "dev"}) {
    tree.add(path, TreeNode{});
  }
  for (const Driver& driver : world.drivers) addDriverFiles(tree, world, driver.spec);
  for (const auto& [number, group] : world.groups) addGroupFiles(tree, world, number, group);
  addSlotFiles(tree, world);
}

}  // namespace vfiogate::sim
