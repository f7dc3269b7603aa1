#include "tests/unit/privd/cli/doctor_rows.h"

#include <set>

namespace vfiogate {
namespace {

using test::commandLine;
using test::device;
using test::hardware;
using test::kOther;
using test::nameOfRow;
using test::unseen;
using Row = test::DoctorRow;

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

class DoctorOfKernel : public testing::TestWithParam<Row> {};

TEST_P(DoctorOfKernel, WithOneThingChanged) {
  test::judge(GetParam());
}

void withoutGroups(HostFacts& host) {
  hardware(host).groups.clear();
  for (auto& [address, each] : hardware(host).devices) each.group.reset();
}
auto offWith(const char* line, std::vector<std::string> tables) {
  return [line, tables](HostFacts& host) {
    withoutGroups(host);
    host.commandLine.value = line;
    host.iommu.firmwareTables.value = tables;
  };
}

INSTANTIATE_TEST_SUITE_P(
    Iommu, DoctorOfKernel,
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
    Interrupts, DoctorOfKernel,
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
    Modules, DoctorOfKernel,
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

}  // namespace
}  // namespace vfiogate
