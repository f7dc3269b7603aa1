#include "sim/sysfs/topology/topology_file.h"

#include <algorithm>
#include <array>
#include <optional>

#include "ipc/base/hex.h"

namespace vfiogate::sim {
namespace {

constexpr std::uint32_t kMostGroups = 65535;
constexpr std::uint32_t kMostNodes = 64;
constexpr std::uint32_t kMostRegions = 1023;
constexpr std::size_t kLongestSerial = 64;
constexpr std::uint32_t kMostInstances = 4096;
constexpr std::uint32_t kBridgeClass = 0x060400;

/// "10de:2684", "10de:*" or "class=0403": a class by its first two, four or six digits.
IdMatch readIdMatch(YamlReader& reader, const YAML::Node& node) {
  const std::string word = reader.text(node, "ids");
  IdMatch id;
  if (word.starts_with("class=")) {
    const std::string digits = word.substr(6);
    const bool shape = digits.size() == 2 || digits.size() == 4 || digits.size() == 6;
    const auto value = shape ? parseHexDigits(digits, digits.size()) : std::nullopt;
    if (!value) reader.refuse(node, "ids: a class has 2, 4 or 6 hexadecimal digits: class=0300");
    const std::uint32_t shift = shape ? static_cast<std::uint32_t>(24 - 4 * digits.size()) : 0;
    id.classCode = value.value_or(0) << shift;
    id.classMask = (0xffffffU << shift) & 0xffffffU;
    return id;
  }
  if (word.size() == 6 && word.ends_with(":*")) {
    const auto vendor = parseHexDigits(word.substr(0, 4), 4);
    if (!vendor) reader.refuse(node, "ids: a vendor has 4 hexadecimal digits: 10de:*");
    id.vendor = static_cast<std::uint16_t>(vendor.value_or(0));
    return id;
  }
  const auto [vendor, device] = reader.idPair(node, "ids");
  id.vendor = vendor;
  id.device = device;
  return id;
}

void readDriver(YamlReader& reader, const YAML::Node& node, Topology& topology) {
  if (!reader.isMapping(node, {"name", "kind", "ids", "overrideOnly", "loaded", "sriov", "module"},
                        "a driver")) {
    return;
  }
  if (!node["name"]) {
    reader.refuse(node, "a driver needs a name");
    return;
  }
  DriverSpec driver;
  driver.name = reader.text(node["name"], "name");
  whenThere(node, "kind", [&](const YAML::Node& value) {
    driver.kind =
        static_cast<DriverKind>(reader.oneOf(value, "kind", {"host", "vfio", "stub", "port"}));
  });
  reader.forEach(node["ids"], "ids", [&](const YAML::Node& element) {
    driver.ids.push_back(readIdMatch(reader, element));
  });
  whenThere(node, "overrideOnly", [&](const YAML::Node& value) {
    driver.overrideOnly = reader.flag(value, "overrideOnly");
  });
  whenThere(node, "loaded",
            [&](const YAML::Node& value) { driver.loaded = reader.flag(value, "loaded"); });
  whenThere(node, "sriov",
            [&](const YAML::Node& value) { driver.sriov = reader.flag(value, "sriov"); });
  driver.module = readModule(reader, node["module"], driver.name);
  const bool known = std::any_of(topology.drivers.begin(), topology.drivers.end(),
                                 [&](const DriverSpec& each) { return each.name == driver.name; });
  if (known) reader.refuse(node, "driver " + driver.name + " stands there twice");
  topology.drivers.push_back(std::move(driver));
}

void readVgpuType(YamlReader& reader, const YAML::Node& node, SriovSpec& spec) {
  if (!reader.isMapping(node, {"id", "name", "instances"}, "a type of vgpu")) return;
  if (!node["id"] || !node["name"]) {
    return reader.refuse(node, "a type of vgpu needs an id, as 1147, and a name");
  }
  VgpuTypeSpec type{.id = reader.number(node["id"], "id", 0xffff),
                    .name = reader.text(node["name"], "name")};
  whenThere(node, "instances", [&](const YAML::Node& value) {
    type.instances = reader.number(value, "instances", kMostInstances);
  });
  if (type.id == 0 || type.instances == 0) {
    reader.refuse(node, "a type of vgpu: id and instances must be at least 1");
    type.instances = 1;
  }
  spec.vgpuTypes.push_back(std::move(type));
}

std::optional<SriovSpec> readSriov(YamlReader& reader, const YAML::Node& node) {
  if (!reader.isMapping(node, {"total", "device", "offset", "stride", "firstGroup", "vgpu"},
                        "sriov")) {
    return std::nullopt;
  }
  if (!node["total"] || !node["device"]) {
    reader.refuse(node, "sriov needs total (functions) and device (their device id)");
    return std::nullopt;
  }
  SriovSpec spec;
  spec.total = reader.number(node["total"], "total", 256);
  if (spec.total == 0) reader.refuse(node, "sriov: total must be at least 1");
  spec.device = static_cast<std::uint16_t>(reader.hex(node["device"], "device", 4));
  whenThere(node, "offset",
            [&](const YAML::Node& value) { spec.offset = reader.number(value, "offset", 0xffff); });
  whenThere(node, "stride",
            [&](const YAML::Node& value) { spec.stride = reader.number(value, "stride", 0xffff); });
  if (spec.offset == 0 || spec.stride == 0) {
    reader.refuse(node, "sriov: offset and stride must be at least 1");
  }
  whenThere(node, "firstGroup", [&](const YAML::Node& value) {
    spec.firstGroup = reader.number(value, "firstGroup", kMostGroups);
  });
  reader.forEach(node["vgpu"], "vgpu",
                 [&](const YAML::Node& element) { readVgpuType(reader, element, spec); });
  return spec;
}

void readMediated(YamlReader& reader, const YAML::Node& node, Hardware& hardware) {
  if (!reader.isMapping(node, {"types", "devices"}, "mdev")) return;
  reader.forEach(node["types"], "types", [&](const YAML::Node& element) {
    if (!reader.isMapping(element, {"id", "name", "instances"}, "a type of mdev")) return;
    if (!element["id"]) return reader.refuse(element, "a type of mdev needs an id, as nvidia-256");
    MediatedTypeSpec type{.id = reader.text(element["id"], "id"), .name = {}};
    whenThere(element, "name",
              [&](const YAML::Node& value) { type.name = reader.text(value, "name"); });
    whenThere(element, "instances", [&](const YAML::Node& value) {
      type.instances = reader.number(value, "instances", kMostInstances);
    });
    hardware.mediatedTypes.push_back(std::move(type));
  });
  reader.forEach(node["devices"], "devices", [&](const YAML::Node& element) {
    if (!reader.isMapping(element, {"uuid", "type", "group"}, "a mediated device")) return;
    if (!element["uuid"] || !element["type"]) {
      return reader.refuse(element, "a mediated device needs a uuid and a type");
    }
    MediatedSpec made{.uuid = reader.text(element["uuid"], "uuid"),
                      .type = reader.text(element["type"], "type"),
                      .group = std::nullopt};
    whenThere(element, "group", [&](const YAML::Node& value) {
      made.group = reader.number(value, "group", kMostGroups);
    });
    hardware.mediated.push_back(std::move(made));
  });
}

void readIdentity(YamlReader& reader, const YAML::Node& node, Hardware& hardware) {
  std::tie(hardware.vendor, hardware.device) = reader.idPair(node["id"], "id");
  whenThere(node, "subsystem", [&](const YAML::Node& value) {
    std::tie(hardware.subvendor, hardware.subdevice) = reader.idPair(value, "subsystem");
  });
  whenThere(node, "bridge",
            [&](const YAML::Node& value) { hardware.bridge = reader.flag(value, "bridge"); });
  if (!node["class"] && !hardware.bridge) {
    reader.refuse(node, "device " + hardware.address.str() + " needs a class, as 030000");
  }
  hardware.classCode = node["class"] ? reader.hex(node["class"], "class", 6) : kBridgeClass;
  whenThere(node, "serial", [&](const YAML::Node& value) {
    hardware.serialNumber = reader.text(value, "serial");
    if (hardware.serialNumber.size() > kLongestSerial) {
      reader.refuse(value, "serial: more than 64 characters");
    }
  });
  whenThere(node, "revision", [&](const YAML::Node& value) {
    hardware.revision = static_cast<std::uint8_t>(reader.hex(value, "revision", 2));
  });
}

void readPlace(YamlReader& reader, const YAML::Node& node, Hardware& hardware) {
  whenThere(node, "behind",
            [&](const YAML::Node& value) { hardware.behind = reader.address(value, "behind"); });
  whenThere(node, "group", [&](const YAML::Node& value) {
    hardware.group = reader.number(value, "group", kMostGroups);
  });
  whenThere(node, "numa", [&](const YAML::Node& value) {
    hardware.numa = static_cast<std::int32_t>(reader.number(value, "numa", kMostNodes));
  });
  whenThere(node, "egm", [&](const YAML::Node& value) {
    hardware.egm = reader.number(value, "egm", kMostRegions);
  });
  whenThere(node, "present",
            [&](const YAML::Node& value) { hardware.present = reader.flag(value, "present"); });
  whenThere(node, "answers",
            [&](const YAML::Node& value) { hardware.answers = reader.flag(value, "answers"); });
}

void readAbilities(YamlReader& reader, const YAML::Node& node, Hardware& hardware) {
  whenThere(node, "bootVga",
            [&](const YAML::Node& value) { hardware.bootVga = reader.flag(value, "bootVga"); });
  reader.forEach(node["reset"], "reset", [&](const YAML::Node& value) {
    reader.oneOf(value, "reset", {"device_specific", "acpi", "flr", "af_flr", "pm", "bus"});
    hardware.reset.push_back(reader.text(value, "reset"));
  });
  whenThere(node, "driver", [&](const YAML::Node& value) {
    const std::string name = reader.text(value, "driver");
    hardware.driver = name == "none" ? "" : name;
  });
  whenThere(node, "sriov",
            [&](const YAML::Node& value) { hardware.sriov = readSriov(reader, value); });
  whenThere(node, "mdev", [&](const YAML::Node& value) { readMediated(reader, value, hardware); });
  hardware.absent = reader.texts(node["absent"], "absent");
  hardware.children = reader.texts(node["children"], "children");
  hardware.objects = readHostObjects(reader, node);
  const YAML::Node attributes = node["attributes"];
  if (!attributes) return;
  if (!attributes.IsMap()) {
    reader.refuse(attributes, "attributes must be a mapping of file name to text");
    return;
  }
  for (const auto& entry : attributes) {
    const std::string name = reader.text(entry.first, "attributes");
    const bool plain = entry.second.IsScalar();
    if (!plain) reader.refuse(entry.second, "attributes: " + name + " must be a text");
    if (plain) hardware.attributes[name] = entry.second.Scalar();
  }
}

void readDevice(YamlReader& reader, const YAML::Node& node, Topology& topology,
                DeviceLines& lines) {
  const std::vector<std::string_view> keys{
      "address",  "behind",   "id",      "subsystem", "class",  "revision", "bridge",
      "group",    "numa",     "bootVga", "reset",     "driver", "sriov",    "attributes",
      "absent",   "children", "present", "answers",   "block",  "net",      "drm",
      "graphics", "input",    "mdev",    "egm",       "serial"};
  if (!reader.isMapping(node, keys, "a device")) return;
  if (!node["address"] || !node["id"]) {
    reader.refuse(node, "a device needs an address and an id");
    return;
  }
  const auto address = reader.address(node["address"], "address");
  if (!address) return;
  Hardware hardware(*address);
  readIdentity(reader, node, hardware);
  readPlace(reader, node, hardware);
  readAbilities(reader, node, hardware);
  const auto [place, fresh] = lines.emplace(*address, lineOf(node));
  if (!fresh) {
    reader.refuse(node, "device " + address->str() + " stands there already, in line " +
                            std::to_string(place->second));
  }
  topology.hardware.insert_or_assign(*address, std::move(hardware));
}

void readSlot(YamlReader& reader, const YAML::Node& node, Topology& topology) {
  if (!reader.isMapping(node, {"name", "address", "port"}, "a slot")) return;
  if (!node["name"]) return reader.refuse(node, "a slot needs a name");
  SlotSpec slot{.name = reader.text(node["name"], "name"), .address = {}, .port = {}};
  whenThere(node, "address",
            [&](const YAML::Node& value) { slot.address = reader.text(value, "address"); });
  whenThere(node, "port",
            [&](const YAML::Node& value) { slot.port = reader.address(value, "port"); });
  if (slot.name.empty() || slot.name.front() == '.' || slot.name.find('/') != std::string::npos) {
    reader.refuse(node,
                  "a slot's name is that of a directory: not empty, without . before it or /");
  }
  if (std::ranges::find(topology.slots, slot.name, &SlotSpec::name) != topology.slots.end()) {
    reader.refuse(node, "slot " + slot.name + " stands there twice");
  }
  const auto bridge = slot.port ? topology.hardware.find(*slot.port) : topology.hardware.end();
  if (slot.port && (bridge == topology.hardware.end() || !bridge->second.bridge)) {
    reader.refuse(node, "port: " + slot.port->str() + " is no bridge of this file");
  }
  topology.slots.push_back(std::move(slot));
}

void readNode(YamlReader& reader, const YAML::Node& root, Topology& topology) {
  whenThere(root, "kernel", [&](const YAML::Node& value) {
    topology.readsWaitForUnbind = reader.oneOf(value, "kernel", {"6.1", "6.12", "7.2"}) == 0;
  });
  whenThere(root, "iommu", [&](const YAML::Node& value) {
    topology.iommu =
        static_cast<IommuMode>(reader.oneOf(value, "iommu", {"on", "off", "unsafe-noiommu"}));
  });
  whenThere(root, "groupType", [&](const YAML::Node& value) {
    reader.oneOf(value, "groupType", {"DMA-FQ", "DMA", "identity"});
    topology.groupType = reader.text(value, "groupType");
  });
  whenThere(root, "cdev",
            [&](const YAML::Node& value) { topology.cdev = reader.flag(value, "cdev"); });
  whenThere(root, "numaNodes", [&](const YAML::Node& value) {
    topology.numaNodes = static_cast<std::int32_t>(reader.number(value, "numaNodes", kMostNodes));
    if (topology.numaNodes == 0) reader.refuse(value, "numaNodes must be at least 1");
  });
}

/// As the kernel has it: a device is on the NUMA node of the bus that it hangs from.
void inheritNodes(Topology& topology) {
  for (auto& [address, hardware] : topology.hardware) {
    const Hardware* above = &hardware;
    while (above->numa < 0 && above->behind) above = &topology.hardware.at(*above->behind);
    hardware.numa = above->numa;
  }
}

void readRoot(YamlReader& reader, const YAML::Node& root, Topology& topology) {
  if (!reader.isMapping(root,
                        {"kernel", "iommu", "groupType", "cdev", "numaNodes", "drivers", "devices",
                         "virtualDisks", "slots"},
                        "a topology")) {
    return;
  }
  readNode(reader, root, topology);
  reader.forEach(root["drivers"], "drivers",
                 [&](const YAML::Node& node) { readDriver(reader, node, topology); });
  reader.forEach(root["virtualDisks"], "virtualDisks", [&](const YAML::Node& node) {
    topology.virtualDisks.push_back(readVirtualDisk(reader, node));
  });
  DeviceLines lines;
  reader.forEach(root["devices"], "devices",
                 [&](const YAML::Node& node) { readDevice(reader, node, topology, lines); });
  reader.forEach(root["slots"], "slots",
                 [&](const YAML::Node& node) { readSlot(reader, node, topology); });
  for (auto& [address, hardware] : topology.hardware) {
    hardware.multifunction = std::any_of(
        topology.hardware.begin(), topology.hardware.end(), [&at = address](const auto& other) {
          const Bdf& near = other.first;
          return near != at && near.segment() == at.segment() && near.bus() == at.bus() &&
                 near.device() == at.device();
        });
  }
  if (!reader.error()) checkTopology(topology, lines, reader);
  if (!reader.error()) inheritNodes(topology);
}

}  // namespace

Result<Topology, TopologyError> parseTopology(const std::string& text) {
  YamlReader reader;
  Topology topology;
  try {  // yaml-cpp tells of malformed documents in no other way
    readRoot(reader, YAML::Load(text), topology);
  } catch (const YAML::Exception& problem) {
    reader.refuse(problem.mark.line + 1, "not YAML: " + problem.msg);
  }
  if (reader.error()) return Failure{*reader.error()};
  return topology;
}

}  // namespace vfiogate::sim
