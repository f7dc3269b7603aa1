#include "sim/sysfs/kernel/host_objects.h"

#include <gmock/gmock.h>

#include "sim/sysfs/control/control_commands.h"
#include "tests/unit/sim/node.h"

namespace vfiogate::sim {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

constexpr const char* kDisk = "0000:01:00.0";
constexpr const char* kNic = "0000:02:00.0";
constexpr const char* kDisplay = "0000:03:00.0";
constexpr const char* kSata = "0000:04:00.0";
constexpr const char* kVirtio = "0000:05:00.0";

Topology everyKind() {
  auto parsed = parseTopology(R"(
drivers:
  - {name: nvme, ids: ["class=0108"], module: {refcnt: 2, holders: [nvme_tool]}}
  - {name: ice, ids: ["class=0200"]}
  - {name: i915, ids: ["class=0300"], module: {name: intel_gfx}}
  - {name: ahci, ids: ["class=0106"], module: builtin}
  - {name: virtio-pci, ids: ["1af4:*"]}
  - {name: mlx5_vfio_pci, kind: vfio, ids: ["15b3:*"], overrideOnly: true}
  - {name: vfio-pci, kind: vfio}
virtualDisks:
  - {name: dm-0, dev: "253:0", holders: [dm-1], fs: xfs}
  - {name: loop0, dev: "7:0", backing: /srv/image}
devices:
  - address: "0000:01:00.0"
    id: "144d:a80a"
    class: "010802"
    group: 1
    block:
      - name: nvme0n1
        parent: nvme/nvme0
        dev: "259:0"
        partitions: [nvme0n1p1, {name: nvme0n1p2, holders: [dm-0]}, {name: nvme0n1p3, fs: btrfs}]
  - address: "0000:02:00.0"
    id: "15b3:1017"
    class: "020000"
    group: 2
    net: [{name: eth0, master: br0, upper: [bond0]}, {name: eth1, flags: "0x1002", operstate: down}]
  - {address: "0000:03:00.0", id: "8086:9a49", class: "030000", group: 3,
     drm: [card0, renderD128], graphics: [fb0]}
  - {address: "0000:04:00.0", id: "8086:a282", class: "010601", group: 4,
     block: [{name: sda, parent: "ata1/host0/target0:0:0/0:0:0:0/block", dev: "8:0", fs: ext4}]}
  - {address: "0000:05:00.0", id: "1af4:1042", class: "018000", group: 5,
     block: [{name: vda, parent: virtio0/block, dev: "252:0"}],
     net: [{name: ens5, parent: virtio1}]}
)");
  if (!parsed) {
    ADD_FAILURE() << "line " << parsed.error().line << ": " << parsed.error().why;
    return {};
  }
  return std::move(parsed).value();
}

std::vector<std::string> namesIn(Node61& node, const std::string& path) {
  const auto real = resolve(node.kernel.tree(), path);
  return real ? node.kernel.tree().find(*real)->names : std::vector<std::string>{"(not there)"};
}

std::string place(Node61& node, const std::string& path) {
  return resolve(node.kernel.tree(), path).value_or("(nowhere)");
}

std::string tell(Node61& node, const std::string& line) {
  Switches switches;
  return execute(node.kernel, switches, line).text;
}

TEST(Disk, IsBelowItsDeviceAndInItsClasses) {
  Node61 node(everyKind());
  const std::string disk = "sys/devices/pci0000:01/0000:01:00.0/nvme/nvme0/nvme0n1";
  EXPECT_EQ(place(node, "sys/class/block/nvme0n1"), disk);
  EXPECT_EQ(place(node, "sys/block/nvme0n1"), disk);
  EXPECT_EQ(place(node, "sys/dev/block/259:0"), disk);
  EXPECT_EQ(place(node, "sys/dev/block/259:2"), disk + "/nvme0n1p2");
  EXPECT_EQ(node.read("class/block/nvme0n1/dev"), "259:0\n");
  EXPECT_EQ(node.read("class/block/nvme0n1p3/partition"), "3\n");
  EXPECT_THAT(namesIn(node, "sys/class/block/nvme0n1/holders"), IsEmpty());
  EXPECT_THAT(namesIn(node, "sys/class/block/nvme0n1p2/holders"), ElementsAre("dm-0"));
  EXPECT_EQ(node.kernel.tree().find("dev/nvme0n1p1")->kind, NodeKind::kBlockDevice);
  EXPECT_EQ(place(node, "sys/class/block/sda"),
            "sys/devices/pci0000:04/0000:04:00.0/ata1/host0/target0:0:0/0:0:0:0/block/sda");
  EXPECT_EQ(place(node, "sys/class/block/vda"),
            "sys/devices/pci0000:05/0000:05:00.0/virtio0/block/vda");
}

TEST(Disk, CarriesWhatStandsOnIt) {
  Node61 node(everyKind());
  EXPECT_EQ(place(node, "sys/class/block/nvme0n1p2/holders/dm-0/holders/dm-1"),
            "sys/devices/virtual/block/dm-1");
  EXPECT_EQ(node.read("class/block/dm-1/dev"), "253:1\n");
  EXPECT_THAT(namesIn(node, "sys/class/block/dm-0/slaves"), ElementsAre("nvme0n1p2"));
  EXPECT_THAT(namesIn(node, "sys/fs/ext4"), ElementsAre("sda"));
  EXPECT_THAT(namesIn(node, "sys/fs/xfs"), ElementsAre("dm-0"));
  const std::vector<std::string> btrfs = namesIn(node, "sys/fs/btrfs");
  ASSERT_EQ(btrfs.size(), 1U);
  EXPECT_THAT(namesIn(node, "sys/fs/btrfs/" + btrfs[0] + "/devices"), ElementsAre("nvme0n1p3"));
  EXPECT_EQ(node.read("block/loop0/loop/backing_file"), "/srv/image\n");
}

TEST(Interface, HasItsStateAndWhatStandsOnIt) {
  Node61 node(everyKind());
  EXPECT_EQ(place(node, "sys/class/net/eth0"), "sys/devices/pci0000:02/0000:02:00.0/net/eth0");
  EXPECT_EQ(node.read("class/net/eth0/flags"), "0x1003\n");
  EXPECT_EQ(node.read("class/net/eth1/flags"), "0x1002\n");
  EXPECT_EQ(node.read("class/net/eth1/operstate"), "down\n");
  EXPECT_EQ(place(node, "sys/class/net/eth0/master"), "sys/devices/virtual/net/br0");
  EXPECT_EQ(place(node, "sys/class/net/eth0/upper_bond0"), "sys/devices/virtual/net/bond0");
  EXPECT_EQ(place(node, "sys/class/net/br0/lower_eth0"), place(node, "sys/class/net/eth0"));
  EXPECT_EQ(node.read("class/net/eth0/ifindex"), "2\n");
  EXPECT_EQ(place(node, "sys/class/net/ens5"),
            "sys/devices/pci0000:05/0000:05:00.0/virtio1/net/ens5");
  EXPECT_THAT(namesIn(node, "sys/class/net"),
              UnorderedElementsAre("lo", "eth0", "eth1", "ens5", "br0", "bond0"));
}

TEST(Interface, GoesUpAndDownByCommand) {
  Node61 node(everyKind());
  EXPECT_EQ(tell(node, "link eth0 down"), "ok\n");
  EXPECT_EQ(node.read("class/net/eth0/flags"), "0x1002\n");
  EXPECT_EQ(node.read("class/net/eth0/operstate"), "down\n");
  EXPECT_EQ(tell(node, "link eth1 up"), "ok\n");
  EXPECT_EQ(node.read("class/net/eth1/flags"), "0x1003\n");
  EXPECT_EQ(tell(node, "link eth9 up"), "error: link: no such interface is there\n");
  EXPECT_EQ(tell(node, "link eth0 sideways"), "error: link: say up or down\n");
}

TEST(Display, HasCardsAndTheConsole) {
  Node61 node(everyKind());
  EXPECT_EQ(node.attribute(kDisplay, "drm/card0/dev"), "226:0\n");
  EXPECT_EQ(node.kernel.tree().find("dev/dri/renderD128")->minor, 128U);
  EXPECT_EQ(node.attribute(kDisplay, "graphics/fb0/dev"), "29:0\n");
  EXPECT_EQ(node.read("class/vtconsole/vtcon1/name"), "(M) frame buffer device\n");
  EXPECT_THAT(namesIn(node, "sys/class/graphics"), UnorderedElementsAre("fb0", "fbcon"));
}

struct Objects {
  const char* name;
  const char* address;
  const char* driver;
  std::vector<std::string> paths;  ///< of which nothing is left after the unbind
};

void PrintTo(const Objects& row, std::ostream* out) {
  *out << row.name;
}

class ObjectsOfADriver : public testing::TestWithParam<Objects> {};

TEST_P(ObjectsOfADriver, GoWithItAndComeBack) {
  Node61 node(everyKind());
  const auto there = [&node] {
    std::vector<bool> all;
    for (const std::string& path : GetParam().paths) {
      all.push_back(resolve(node.kernel.tree(), path).has_value());
    }
    return all;
  };
  EXPECT_THAT(there(), testing::Each(true));
  const std::string address = GetParam().address;
  ASSERT_EQ(node.unbind(address, GetParam().driver), 0);
  EXPECT_THAT(there(), testing::Each(false)) << "without driver";
  ASSERT_EQ(node.writeAttribute(address, "driver_override", "vfio-pci\n"), 0);
  ASSERT_EQ(node.bind(address, "vfio-pci"), 0);
  EXPECT_THAT(there(), testing::Each(false)) << "on vfio-pci";
  ASSERT_EQ(node.unbind(address, "vfio-pci"), 0);
  ASSERT_EQ(node.writeAttribute(address, "driver_override", "\n"), 0);
  ASSERT_EQ(node.write("bus/pci/drivers_probe", address), 0);
  EXPECT_THAT(there(), testing::Each(true)) << "back again";
}

INSTANTIATE_TEST_SUITE_P(
    Kinds, ObjectsOfADriver,
    testing::Values(
        Objects{"Disk",
                kDisk,
                "nvme",
                {"sys/class/block/nvme0n1", "sys/block/nvme0n1", "sys/dev/block/259:1",
                 "sys/bus/pci/devices/0000:01:00.0/nvme", "dev/nvme0n1p1"}},
        Objects{
            "Interface",
            kNic,
            "ice",
            {"sys/class/net/eth0", "sys/bus/pci/devices/0000:02:00.0/net", "sys/class/net/br0"}},
        Objects{"Display",
                kDisplay,
                "i915",
                {"sys/class/drm/card0", "sys/bus/pci/devices/0000:03:00.0/graphics",
                 "dev/dri/card0", "dev/fb0", "sys/class/vtconsole/vtcon1"}},
        Objects{"Sata", kSata, "ahci", {"sys/class/block/sda", "sys/fs/ext4/sda", "dev/sda"}},
        Objects{"Virtio", kVirtio, "virtio-pci", {"sys/class/block/vda", "sys/class/net/ens5"}}),
    [](const auto& row) { return row.param.name; });

TEST(Module, CountsItsUsesAndNotItsDevices) {
  Node61 node(everyKind());
  EXPECT_EQ(node.read("bus/pci/drivers/ice/module/refcnt"), "0\n");
  EXPECT_EQ(node.read("bus/pci/drivers/nvme/module/refcnt"), "3\n");
  EXPECT_THAT(namesIn(node, "sys/module/nvme/holders"), ElementsAre("nvme_tool"));
  EXPECT_EQ(place(node, "sys/bus/pci/drivers/i915/module"), "sys/module/intel_gfx");
  EXPECT_EQ(tell(node, "users 0000:02:00.0 4"), "ok\n");
  EXPECT_EQ(node.read("bus/pci/drivers/ice/module/refcnt"), "4\n");
  ASSERT_EQ(node.unbind(kNic, "ice"), 0);
  EXPECT_EQ(node.read("bus/pci/drivers/ice/module/refcnt"), "0\n");
  EXPECT_EQ(node.read("bus/pci/drivers/ahci/module/refcnt"), "errno 2") << "part of the kernel";
}

TEST(Module, OfVfioCountsOpenDevices) {
  Node61 node(everyKind());
  node.giveToVfio(kNic);
  EXPECT_EQ(node.read("module/vfio_pci/refcnt"), "0\n");
  ASSERT_EQ(node.open(kNic), 0);
  EXPECT_EQ(node.read("module/vfio_pci/refcnt"), "1\n");
}

TEST(ThunderboltCase, ComesAsAWholeWithItsCard) {
  Node61 node("thunderbolt");
  ASSERT_EQ(node.end(node.kernel.plug(
                {at("0000:04:00.0"), at("0000:05:01.0"), at("0000:06:00.0"), at("0000:06:00.1")})),
            0);
  EXPECT_EQ(place(node, "sys/class/drm/card1"),
            "sys/devices/pci0000:00/0000:00:07.0/0000:04:00.0/0000:05:01.0/0000:06:00.0/drm/card1");
  node.giveToVfio("0000:06:00.0");
  EXPECT_EQ(place(node, "sys/class/drm/card1"), "(nowhere)");
  ASSERT_EQ(node.end(node.kernel.unplug({at("0000:04:00.0")})), 0);
  EXPECT_EQ(node.attribute("0000:06:00.0", "vendor"), "errno 2");
}

TEST(VariantDriver, TakesItsDeviceByOverrideOnly) {
  Node61 node(everyKind());
  ASSERT_EQ(node.unbind(kNic, "ice"), 0);
  EXPECT_EQ(node.bind(kNic, "mlx5_vfio_pci"), ENODEV);
  ASSERT_EQ(node.writeAttribute(kNic, "driver_override", "mlx5_vfio_pci\n"), 0);
  ASSERT_EQ(node.bind(kNic, "mlx5_vfio_pci"), 0);
  EXPECT_EQ(node.driverOf(kNic), "mlx5_vfio_pci");
  EXPECT_TRUE(node.exists("dev/vfio/2"));
  EXPECT_EQ(place(node, "sys/class/vfio-dev/vfio0"),
            "sys/devices/pci0000:02/0000:02:00.0/vfio-dev/vfio0");
  EXPECT_EQ(node.open(kNic), 0);
  EXPECT_EQ(node.attribute(kNic, "enable"), "1\n");
}

}  // namespace
}  // namespace vfiogate::sim
