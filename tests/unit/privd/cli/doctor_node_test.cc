#include "tests/unit/privd/cli/doctor_rows.h"

namespace vfiogate {
namespace {

using test::commandLine;
using test::device;
using test::hardware;
using test::kCard;
using test::kOther;
using test::kSound;
using test::nameOfRow;
using test::text;
using test::unseen;
using Row = test::DoctorRow;

class DoctorOfNode : public testing::TestWithParam<Row> {};

TEST_P(DoctorOfNode, WithOneThingChanged) {
  test::judge(GetParam());
}

void toHost(PciDevice& device, const char* driver) {
  device.driver = driver;
  device.vfioDev.reset();
}

INSTANTIATE_TEST_SUITE_P(
    Groups, DoctorOfNode,
    testing::Values(
        Row{"WholeGroups", [](HostFacts&) {}, Check::kGroupViability, Level::kOk, "all 2 groups"},
        Row{"MemberOnHost", [](HostFacts& host) { toHost(device(host, kSound), "snd_hda_intel"); },
            Check::kGroupViability, Level::kProblem,
            "member 0000:01:00.1 is bound to snd_hda_intel"},
        Row{"FirstMemberOnHost", [](HostFacts& host) { toHost(device(host, kCard), "nouveau"); },
            Check::kGroupViability, Level::kProblem, "member 0000:01:00.0"},
        Row{"AllOnHost",
            [](HostFacts& host) {
              for (auto& [address, each] : hardware(host).devices) toHost(each, "nouveau");
            },
            Check::kGroupViability, Level::kOk, "no group has"},
        Row{"OneSlotOnly", [](HostFacts&) {}, Check::kSharedGroup, Level::kOk},
        Row{"SharedGroup",
            [](HostFacts& host) {
              hardware(host).groups.at(IommuGroupId(7)).members.push_back(kOther);
            },
            Check::kSharedGroup, Level::kInfo, "ACS"},
        Row{"AcsOverride", commandLine("pcie_acs_override=downstream,multifunction"),
            Check::kAcsOverride, Level::kWarning, "take pcie_acs_override"},
        Row{"DeadDevice", [](HostFacts& host) { device(host, kOther).answers = false; },
            Check::kDeviceState, Level::kWarning, "not-answering"},
        Row{"StuckWrite",
            [](HostFacts& host) { hardware(host).groups.at(IommuGroupId(8)).binding.stuck = true; },
            Check::kDeviceState, Level::kWarning, "write-stuck"},
        Row{"Excluded",
            [](HostFacts& host) {
              hardware(host).groups.at(IommuGroupId(8)).binding.excluded = true;
            },
            Check::kDeviceState, Level::kInfo, "operator-excluded|privd release 0000:02:00.0"},
        Row{"BeingChanged",
            [](HostFacts& host) { hardware(host).groups.at(IommuGroupId(8)).binding.busy = true; },
            Check::kDeviceState, Level::kInfo, "docs/reasons.md: binding"},
        Row{"UnknownExclusions",
            [](HostFacts& host) { host.excludedProblem = "/x/holds: Permission denied"; },
            Check::kDeviceState, Level::kUnknown, "|/x/holds: Permission denied|run it as root"},
        Row{"UnknownChanges",
            [](HostFacts& host) { host.changesProblem = "/x: Permission denied"; },
            Check::kDeviceState, Level::kUnknown, "which changes of drivers run is not known"},
        Row{"NoReset", [](HostFacts& host) { device(host, kOther).resetMethods.clear(); },
            Check::kDeviceReset, Level::kWarning, "0000:02:00.0"},
        Row{"UnplacedBar",
            [](HostFacts& host) {
              host.windows.at(kCard).value =
                  "0x0000000000000000 0x00000007ffffffff 0x000000000014220c\n";
            },
            Check::kBarUnassigned, Level::kWarning, "BAR 0 of 32768 MiB"},
        Row{"UnsetBar",
            [](HostFacts& host) {
              host.windows.at(kCard).value =
                  "0x0000000000001000 0x0000000000001fff 0x0000000020040200\n";
            },
            Check::kBarUnassigned, Level::kWarning, "BAR 0 of 4096 bytes"},
        Row{"RomAlone",
            [](HostFacts& host) {
              std::string lines;
              for (int i = 0; i < 6; ++i) lines += "0x0 0x0 0x0\n";
              host.windows.at(kCard).value = lines + "0x0 0x7ffff 0x46200\n";
            },
            Check::kBarUnassigned, Level::kOk},
        Row{"MalformedWindows", [](HostFacts& host) { host.windows.at(kCard).value = "0xz\n\n7"; },
            Check::kBarUnassigned, Level::kOk}),
    nameOfRow);

INSTANTIATE_TEST_SUITE_P(
    Host, DoctorOfNode,
    testing::Values(
        Row{"NoMsi", commandLine("pci=noaer,nomsi"), Check::kKernelParameter, Level::kProblem,
            "pci=nomsi"},
        Row{"AcsRedirect", commandLine("pci=disable_acs_redir=pci:8086:1234"),
            Check::kKernelParameter, Level::kWarning},
        Row{"Blacklist", commandLine("modprobe.blacklist=nouveau,vfio-pci"),
            Check::kKernelParameter, Level::kProblem},
        Row{"BootDisplayOnHost",
            [](HostFacts& host) {
              device(host, kCard).bootVga = true;
              toHost(device(host, kCard), "i915");
            },
            Check::kBootDisplay, Level::kInfo, "takes the console"},
        Row{"BootDisplayDrawnOn",
            [](HostFacts& host) {
              device(host, kCard).bootVga = true;
              host.display.framebuffers = text("/proc/fb", "0 EFI VGA");
            },
            Check::kBootDisplay, Level::kWarning, "sysfb_init"},
        Row{"BootDisplaySimple",
            [](HostFacts& host) {
              device(host, kCard).bootVga = true;
              host.display.simpleDisplays = test::seen<std::vector<std::string>>(
                  "/sys/bus/platform/drivers/simple-framebuffer", {"bind", "simple-framebuffer.0"});
            },
            Check::kBootDisplay, Level::kWarning},
        Row{"BootDisplayFree", [](HostFacts& host) { device(host, kCard).bootVga = true; },
            Check::kBootDisplay, Level::kOk},
        Row{"LittleMemlock",
            [](HostFacts& host) { host.runtimes.front().limits.value = test::limits("8388608"); },
            Check::kMemlock, Level::kWarning, "8 MiB"},
        Row{"LittleMemlockOfOurs",
            [](HostFacts& host) { host.ownLimits.value = test::limits("8388608"); },
            Check::kMemlock, Level::kInfo, "this session"},
        Row{"MalformedLimits", [](HostFacts& host) { host.ownLimits.value = "Max locked memory"; },
            Check::kMemlock, Level::kUnknown},
        Row{"NoRuntime", [](HostFacts& host) { host.runtimes.clear(); }, Check::kMemlock,
            Level::kInfo, "none is running"}),
    nameOfRow);

INSTANTIATE_TEST_SUITE_P(
    Node, DoctorOfNode,
    testing::Values(
        Row{"CdiForOthers",
            [](HostFacts& host) { host.cdiDirectories.front() = test::place("/etc/cdi", 0777); },
            Check::kCdiDirectory, Level::kProblem, "chmod go-w /etc/cdi"},
        Row{"CdiOff", [](HostFacts& host) { host.containerd.value = "  enable_cdi=false # no"; },
            Check::kRuntimeCdi, Level::kWarning},
        Row{"CdiCommentedOut",
            [](HostFacts& host) { host.containerd.value = "# enable_cdi = true"; },
            Check::kRuntimeCdi, Level::kInfo, "not set"},
        Row{"KubeletOfAnother",
            [](HostFacts& host) { host.kubelet.below.front() = test::place("/d", 0755, 1000); },
            Check::kKubeletDirectory, Level::kProblem, "uid 1000"},
        Row{"KubeletFile",
            [](HostFacts& host) { host.kubelet.below.front().value->directory = false; },
            Check::kKubeletDirectory, Level::kProblem, "no directory"},
        Row{"KubeletHalfThere",
            [](HostFacts& host) { host.kubelet.below.back() = unseen<Ownership>("/r", ENOENT); },
            Check::kKubeletDirectory, Level::kWarning, "start the kubelet"},
        Row{"NoKubelet",
            [](HostFacts& host) { host.kubelet.directory = unseen<Ownership>("/k", ENOENT); },
            Check::kKubeletDirectory, Level::kInfo},
        Row{"Selinux", [](HostFacts& host) { host.selinux = text("/s", "1"); },
            Check::kSecurityModule, Level::kInfo, "deploy/selinux"},
        Row{"Apparmor", [](HostFacts& host) { host.apparmor = text("/a", "Y"); },
            Check::kSecurityModule, Level::kInfo, "deploy/apparmor"},
        Row{"Landlock", [](HostFacts&) {}, Check::kLandlock, Level::kOk, "ABI 2"},
        Row{"NoLandlock", [](HostFacts& host) { host.landlock = -38; }, Check::kLandlock,
            Level::kInfo, "lsm="},
        Row{"ReadOnlySysfs",
            [](HostFacts& host) {
              host.mounts.value = "9 1 0:2 / /sys ro,nosuid - sysfs sysfs rw";
            },
            Check::kSysfsWritable, Level::kWarning, "read-only"},
        Row{"SysfsMountedOver",
            [](HostFacts& host) {
              host.mounts.value =
                  "9 1 0:2 / /sys rw - sysfs sysfs rw\n10 1 0:3 / /sys ro - tmpfs tmpfs rw\n";
            },
            Check::kSysfsWritable, Level::kUnknown, "tmpfs"},
        Row{"SysfsWithBlanks",
            [](HostFacts& host) {
              host.sysfs = "/a b";
              host.mounts.value = "9 1 0:2 / /a\\040b rw - sysfs sysfs rw";
            },
            Check::kSysfsWritable, Level::kOk},
        Row{"MalformedMounts", [](HostFacts& host) { host.mounts.value = "\\\n1 2\n - - -"; },
            Check::kSysfsWritable, Level::kUnknown},
        Row{"NoObstacle", [](HostFacts&) {}, Check::kNodeObstacle, Level::kOk, ""},
        Row{"NoVfioPci", [](HostFacts& host) { test::hardware(host).vfioPci = false; },
            Check::kNodeObstacle, Level::kWarning, "modules-load.d"},
        Row{"SysfsDenied",
            [](HostFacts& host) { test::hardware(host).sysfsWriting = SysfsWriting::kDenied; },
            Check::kNodeObstacle, Level::kWarning, "appArmorProfile"},
        Row{"SysfsNotForWriting",
            [](HostFacts& host) { test::hardware(host).sysfsWriting = SysfsWriting::kReadOnly; },
            Check::kNodeObstacle, Level::kWarning, "sysfsReadOnly"},
        Row{"ObstaclesOfHardwareThatWasNotSeen",
            [](HostFacts& host) { host.hardware = unseen<Snapshot>("/sys", EACCES); },
            Check::kNodeObstacle, Level::kUnknown}),
    nameOfRow);

}  // namespace
}  // namespace vfiogate
