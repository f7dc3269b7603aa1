#include "privd/cli/doctor/examine.h"
#include "tests/unit/privd/hosts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <set>

namespace vfiogate {
namespace {

using test::kCard;
using test::kOther;
using test::kSound;
using test::text;
using test::unseen;

/// The heaviest finding of a check; there is always one.
Finding heaviest(const Findings& findings, Check check) {
  for (const Finding& finding : findings) {
    if (finding.check == check) return finding;
  }
  ADD_FAILURE() << codeOf(check) << " says nothing";
  return {check, Level::kOk, "", "", "", ""};
}

TEST(Doctor, HasNothingToMendOnAGoodServer) {
  for (const Finding& finding : examine(test::server())) {
    EXPECT_LE(finding.level, Level::kInfo) << codeOf(finding.check) << ": " << finding.what;
  }
}

TEST(Doctor, SaysSomethingOfEachCheckWhateverItSees) {
  HostFacts empty = test::server();
  *empty.hardware.value = Snapshot{};
  for (const HostFacts& host : {test::server(), test::container(), empty}) {
    std::set<Check> said;
    for (const Finding& finding : examine(host)) said.insert(finding.check);
    EXPECT_EQ(said.size(), kCheckNames.size());
  }
}

TEST(Doctor, ClaimsNothingWhereItSawNothing) {
  for (const Finding& finding : examine(test::container())) {
    EXPECT_EQ(finding.level, Level::kUnknown) << codeOf(finding.check) << ": " << finding.what;
    EXPECT_NE(finding.evidence, "") << codeOf(finding.check) << " does not say what is missing";
  }
}

TEST(Doctor, TellsTheHeaviestFirst) {
  HostFacts host = test::server();
  host.iommu.firmwareTables.value = {"APIC"};
  host.hardware.value->groups.clear();
  EXPECT_EQ(examine(host).front().check, Check::kIommu);
}

TEST(Doctor, NamesWhatWouldMendEachProblem) {
  HostFacts host = test::server();
  host.commandLine.value = "intel_iommu=off intremap=off pci=nomsi pcie_acs_override=downstream";
  host.hardware.value->groups.clear();
  host.kubelet.below.front() = test::place("/d", 0777);
  std::size_t problems = 0;
  for (const Finding& finding : examine(host)) {
    if (finding.level < Level::kWarning) continue;
    ++problems;
    EXPECT_NE(finding.fix, "") << codeOf(finding.check) << ": " << finding.what;
  }
  EXPECT_GE(problems, 5U);
}

struct Row {
  const char* name;
  std::function<void(HostFacts&)> change;
  Check check;
  Level level;
  const char* says = "";  ///< somewhere in subject, words, evidence or fix
};

class DoctorOf : public testing::TestWithParam<Row> {};

TEST_P(DoctorOf, TheServerWith) {
  HostFacts host = test::server();
  GetParam().change(host);
  const Finding found = heaviest(examine(host), GetParam().check);
  EXPECT_EQ(nameOf(found.level), nameOf(GetParam().level)) << found.what;
  const std::string whole =
      found.subject + "|" + found.what + "|" + found.evidence + "|" + found.fix;
  EXPECT_THAT(whole, testing::HasSubstr(GetParam().says));
}

std::string nameOfRow(const testing::TestParamInfo<Row>& row) {
  return row.param.name;
}

Snapshot& hardware(HostFacts& host) {
  return *host.hardware.value;
}
PciDevice& device(HostFacts& host, const Bdf& address) {
  return hardware(host).devices.at(address);
}
void withoutGroups(HostFacts& host) {
  hardware(host).groups.clear();
  for (auto& [address, each] : hardware(host).devices) each.group.reset();
}
auto commandLine(const char* line) {
  return [line](HostFacts& host) { host.commandLine.value = line; };
}
auto offWith(const char* line, std::vector<std::string> tables) {
  return [line, tables](HostFacts& host) {
    withoutGroups(host);
    host.commandLine.value = line;
    host.iommu.firmwareTables.value = tables;
  };
}

INSTANTIATE_TEST_SUITE_P(
    Iommu, DoctorOf,
    testing::Values(
        Row{"ItOn", [](HostFacts&) {}, Check::kIommu, Level::kOk,
            "2 groups|/sys/class/iommu: dmar0"},
        Row{"ItSwitchedOff", offWith("intel_iommu=off", {"DMAR"}), Check::kIommu, Level::kProblem,
            "take intel_iommu=off"},
        Row{"ItOffForAmd", offWith("amd_iommu=off", {"IVRS"}), Check::kIommu, Level::kProblem,
            "take amd_iommu=off"},
        Row{"ItNotAskedFor", offWith("quiet", {"DMAR"}), Check::kIommu, Level::kProblem,
            "add intel_iommu=on"},
        Row{"ItOffInFirmware", offWith("quiet", {"APIC"}), Check::kIommu, Level::kProblem,
            "in firmware"},
        Row{"ItSilent", offWith("quiet", {"IVRS"}), Check::kIommu, Level::kProblem, "dmesg"},
        Row{"NoneInAMachine",
            [](HostFacts& host) {
              offWith("quiet", {"APIC"})(host);
              host.processor.value = "flags : fpu hypervisor";
            },
            Check::kIommu, Level::kProblem, "QEMU"},
        Row{"TablesHidden", [](HostFacts& host) { offWith("quiet", {})(host); }, Check::kIommu,
            Level::kProblem, "could not be seen|/sys/firmware/acpi/tables: empty"},
        Row{"OnlyNoIommuGroups",
            [](HostFacts& host) {
              for (auto& [id, group] : hardware(host).groups) group.noIommu = true;
            },
            Check::kIommu, Level::kProblem},
        Row{"NoIommuMode", [](HostFacts& host) { host.vfio.unsafeNoIommu.value = "Y"; },
            Check::kNoIommuMode, Level::kProblem, "echo N"},
        Row{"Passthrough", commandLine("iommu=pt"), Check::kIommuPassthrough, Level::kInfo},
        Row{"PassthroughOnArm", commandLine("iommu.passthrough=1"), Check::kIommuPassthrough,
            Level::kInfo},
        Row{"BareDevice", [](HostFacts& host) { device(host, kOther).group.reset(); },
            Check::kIommuCoverage, Level::kWarning, "0000:02:00.0"}),
    nameOfRow);

INSTANTIATE_TEST_SUITE_P(
    Interrupts, DoctorOf,
    testing::Values(
        Row{"Remapping", [](HostFacts&) {}, Check::kInterruptRemapping, Level::kOk},
        Row{"RemappingOff", commandLine("intremap=off"), Check::kInterruptRemapping,
            Level::kProblem, "take intremap=off"},
        Row{"RemappingOffOldStyle", commandLine("nointremap"), Check::kInterruptRemapping,
            Level::kProblem},
        Row{"UnitWithoutRemapping",
            [](HostFacts& host) { host.iommu.ecaps.at("dmar0").value = "f020d7"; },
            Check::kInterruptRemapping, Level::kProblem, "dmar0"},
        Row{"MalformedCapability",
            [](HostFacts& host) { host.iommu.ecaps.at("dmar0").value = "what?"; },
            Check::kInterruptRemapping, Level::kOk},
        Row{"NoRemappedInterrupt", [](HostFacts& host) { host.interrupts.value = "1: 0 IO-APIC"; },
            Check::kInterruptRemapping, Level::kWarning, "firmware"},
        Row{"Arm", [](HostFacts& host) { host.iommu.units.value = {"smmu3.0x0000000009050000"}; },
            Check::kInterruptRemapping, Level::kUnknown, "x86"},
        Row{"UnsafeInterrupts", [](HostFacts& host) { host.vfio.unsafeInterrupts.value = "Y"; },
            Check::kUnsafeInterrupts, Level::kProblem, "/etc/modprobe.d"},
        Row{"UnsafeInterruptsAtBoot",
            [](HostFacts& host) {
              host.vfio.unsafeInterrupts = unseen("/sys/u", ENOENT);
              host.commandLine.value = "vfio_iommu_type1.allow_unsafe_interrupts=1";
            },
            Check::kUnsafeInterrupts, Level::kProblem}),
    nameOfRow);

void unload(HostFacts& host) {
  host.modules.loaded.value->clear();
}

INSTANTIATE_TEST_SUITE_P(
    Modules, DoctorOf,
    testing::Values(
        Row{"Loaded", [](HostFacts&) {}, Check::kVfioModule, Level::kOk, "loaded"},
        Row{"Missing", unload, Check::kVfioModule, Level::kProblem, "whole kernel"},
        Row{"Available",
            [](HostFacts& host) {
              unload(host);
              host.modules.dependencies.value =
                  "kernel/drivers/vfio/vfio.ko: \n"
                  "kernel/drivers/vfio/vfio_iommu_type1.ko.xz: kernel/drivers/vfio/vfio.ko\n"
                  "kernel/drivers/vfio/pci/vfio-pci.ko: kernel/drivers/vfio/pci/vfio-pci-core.ko\n";
            },
            Check::kVfioModule, Level::kWarning, "modprobe vfio"},
        Row{"OnlyTheCore",
            [](HostFacts& host) {
              unload(host);
              host.modules.dependencies.value =
                  "k/vfio.ko:\nk/vfio_iommu_type1.ko:\nk/vfio-pci-core.ko: k/vfio.ko\n";
            },
            Check::kVfioModule, Level::kProblem, "vfio_pci|"},
        Row{"BuiltIn",
            [](HostFacts& host) {
              unload(host);
              host.modules.builtIn.value = "k/vfio.ko\nk/vfio_iommu_type1.ko\nk/vfio-pci.ko";
            },
            Check::kVfioModule, Level::kOk, "built in"},
        Row{"UnknownModules",
            [](HostFacts& host) {
              unload(host);
              host.modules.dependencies = unseen("/lib/modules/6.1/modules.dep", ENOENT);
            },
            Check::kVfioModule, Level::kUnknown, "modules.dep: No such file"},
        Row{"NoDenylist", [](HostFacts& host) { host.vfio.disableDenylist.value = "Y"; },
            Check::kVfioPciParameters, Level::kWarning, "disable_denylist"},
        Row{"IdsOfTwo", commandLine("vfio-pci.ids=10de:2684"), Check::kVfioPciIds, Level::kWarning,
            "takes 3 devices"},
        Row{"IdsOfNone", commandLine("vfio_pci.ids=8086:1533"), Check::kVfioPciIds, Level::kInfo},
        Row{"IdsOfNonsense", commandLine("vfio-pci.ids=gpu"), Check::kVfioPciIds, Level::kWarning,
            "makes no sense"},
        Row{"NoNodes", [](HostFacts& host) { hardware(host).controlNode = false; },
            Check::kVfioNodes, Level::kWarning, "modprobe"},
        Row{"Iommufd", [](HostFacts& host) { hardware(host).iommufdNode = true; },
            Check::kVfioNodes, Level::kOk, "/dev/iommu"}),
    nameOfRow);

void toHost(PciDevice& device, const char* driver) {
  device.driver = driver;
  device.vfioDev.reset();
}

INSTANTIATE_TEST_SUITE_P(
    Groups, DoctorOf,
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
    Host, DoctorOf,
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
    Node, DoctorOf,
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
            Check::kSysfsWritable, Level::kUnknown}),
    nameOfRow);

}  // namespace
}  // namespace vfiogate
