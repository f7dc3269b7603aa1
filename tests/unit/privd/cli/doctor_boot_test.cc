// What `privd doctor` says of those who decide at boot which driver a device gets.

#include "tests/unit/privd/cli/doctor_rows.h"

namespace vfiogate {
namespace {

using test::commandLine;
using test::device;
using test::kOther;
using test::nameOfRow;
using test::seen;
using test::text;
using test::unseen;
using Row = test::DoctorRow;

const std::string kOverrides = "/etc/driverctl.d";

class DoctorOfBoot : public testing::TestWithParam<Row> {};

TEST_P(DoctorOfBoot, WithOneThingChanged) {
  test::judge(GetParam());
}

void override(HostFacts& host, const std::string& file, const std::string& driver) {
  host.boot.driverctl = seen<std::vector<std::string>>(kOverrides, {file});
  host.boot.overrides.emplace(file, text(kOverrides + "/" + file, driver));
}
auto overridden(const char* driver) {
  return [driver](HostFacts& host) { override(host, "pci-0000:02:00.0", driver); };
}
/// driverctl's word, and privd's, on the card that is on `driver` now.
auto declaredToo(const char* word) {
  return [word](HostFacts& host) {
    overridden(word)(host);
    host.boot.declared.push_back(
        {*Selector::parse("address=0000:02:00.0"), "/var/lib/vfiogate/declared/0000:02:00.0"});
  };
}
void toHost(HostFacts& host) {
  device(host, kOther).driver = "nouveau";
  device(host, kOther).vfioDev.reset();
}
auto modprobe(const char* lines) {
  return [lines](HostFacts& host) {
    host.boot.modprobeFiles.emplace("gpu.conf", text("/etc/modprobe.d/gpu.conf", lines));
  };
}

/// The other card is a physical function with so many virtual ones, and privd.conf has this line.
auto wanted(const char* vfs, std::uint32_t there) {
  return [vfs, there](HostFacts& host) {
    device(host, kOther).sriov = SriovRole::kPhysicalFunction;
    device(host, kOther).virtualFunctions = there;
    host.boot.options = text("/etc/vfiogate/privd.conf", vfs);
    host.boot.vfs = {*parseVfs(vfs)};
  };
}

INSTANTIATE_TEST_SUITE_P(
    VirtualFunctions, DoctorOfBoot,
    testing::Values(
        Row{"NoneWanted", [](HostFacts&) {}, Check::kVirtualFunctions, Level::kOk,
            "none are wanted"},
        Row{"OptionsHidden",
            [](HostFacts& host) { host.boot.options = unseen("/etc/vfiogate/privd.conf", EACCES); },
            Check::kVirtualFunctions, Level::kUnknown, "Permission denied"},
        Row{"AllThere", wanted("02:00.0=4", 4), Check::kVirtualFunctions, Level::kOk,
            "0000:02:00.0|has 4, as wanted|/etc/vfiogate/privd.conf"},
        Row{"NotMade", wanted("02:00.0=4", 0), Check::kVirtualFunctions, Level::kWarning,
            "has none, and 4 are wanted"},
        Row{"AnotherNumber", wanted("02:00.0=4", 2), Check::kVirtualFunctions, Level::kWarning,
            "has 2, and 4 are wanted: privd ends none"},
        Row{"OfNothing", wanted("0000:77:00.0=4", 2), Check::kVirtualFunctions, Level::kWarning,
            "0000:77:00.0=4|is about no physical function that is there"},
        Row{"HardwareHidden",
            [](HostFacts& host) {
              wanted("02:00.0=4", 4)(host);
              host.hardware = unseen<Snapshot>("/sys/bus/pci/devices", EACCES);
            },
            Check::kVirtualFunctions, Level::kUnknown, "no PCI hardware was seen"}),
    nameOfRow);

INSTANTIATE_TEST_SUITE_P(
    Driverctl, DoctorOfBoot,
    testing::Values(
        Row{"NoDriverctl", [](HostFacts&) {}, Check::kDriverctl, Level::kOk, "No such file"},
        Row{"DriverctlHidden",
            [](HostFacts& host) {
              host.boot.driverctl = unseen<std::vector<std::string>>(kOverrides, EACCES);
            },
            Check::kDriverctl, Level::kUnknown, "Permission denied"},
        Row{"OverrideAgrees", overridden("vfio-pci"), Check::kDriverctl, Level::kInfo,
            "0000:02:00.0|driverctl gives it to vfio-pci at boot"},
        Row{"OverrideTakesFromVfio", overridden("nouveau"), Check::kDriverctl, Level::kWarning,
            "is on vfio-pci, and driverctl gives it to nouveau at the next boot"},
        Row{"OverrideToNoDriver", overridden("none"), Check::kDriverctl, Level::kWarning,
            "gives it to no driver"},
        Row{"OverrideNotInEffect",
            [](HostFacts& host) {
              overridden("vfio-pci")(host);
              toHost(host);
            },
            Check::kDriverctl, Level::kWarning, "driverctl load-override 0000:02:00.0"},
        Row{"OverrideAgainstDeclared", declaredToo("nouveau"), Check::kDriverctl, Level::kProblem,
            "/etc/driverctl.d/pci-0000:02:00.0; /var/lib/vfiogate/declared/0000:02:00.0|driverctl "
            "unset-override 0000:02:00.0, or privd forget"},
        Row{"BothBindIt", declaredToo("vfio-pci"), Check::kDriverctl, Level::kWarning,
            "both driverctl and privd"},
        Row{"DeclaredIsAnother",
            [](HostFacts& host) {
              overridden("vfio-pci")(host);
              host.boot.declared.push_back({*Selector::parse("vendor=8086"), "/p"});
            },
            Check::kDriverctl, Level::kInfo},
        Row{"DeclaredHidden",
            [](HostFacts& host) {
              overridden("vfio-pci")(host);
              host.boot.kept.error = EACCES;
            },
            Check::kDriverctl, Level::kUnknown, "/var/lib/vfiogate/declared: Permission denied"},
        Row{"OverrideOfNothing",
            [](HostFacts& host) { override(host, "pci-0000:09:00.0", "vfio-pci"); },
            Check::kDriverctl, Level::kInfo, "no device is there"},
        Row{"OverrideEmpty", overridden(""), Check::kDriverctl, Level::kWarning, "names no driver"},
        Row{"OverrideOfNonsense", overridden("a b"), Check::kDriverctl, Level::kWarning,
            "names no driver"},
        Row{"OtherBus", [](HostFacts& host) { override(host, "vmbus-1234", "uio"); },
            Check::kDriverctl, Level::kInfo, "of no PCI device"},
        Row{"OverrideUnreadable",
            [](HostFacts& host) {
              overridden("x")(host);
              host.boot.overrides.begin()->second = unseen("/etc/driverctl.d/f", EACCES);
            },
            Check::kDriverctl, Level::kUnknown, "Permission denied"}),
    nameOfRow);

INSTANTIATE_TEST_SUITE_P(
    Modprobe, DoctorOfBoot,
    testing::Values(
        Row{"NothingInModprobe", modprobe("options nvme poll_queues=2\nblacklist nouveau\n"),
            Check::kModprobeConfig, Level::kOk, "nothing against VFIO|/etc/modprobe.d"},
        Row{"NoModprobeDirectory",
            [](HostFacts& host) {
              host.boot.modprobe = {unseen<std::vector<std::string>>("/etc/modprobe.d", ENOENT)};
            },
            Check::kModprobeConfig, Level::kOk},
        Row{"ModprobeDirectoryHidden",
            [](HostFacts& host) { host.boot.modprobe[1].error = EACCES; }, Check::kModprobeConfig,
            Level::kUnknown, "/run/modprobe.d: Permission denied"},
        Row{"DistributionAgainstVfio",
            [](HostFacts& host) {
              host.boot.modprobeFiles.emplace(
                  "a.conf", text("/usr/lib/modprobe.d/a.conf", "blacklist vfio-pci"));
            },
            Check::kModprobeConfig, Level::kProblem,
            "/usr/lib/modprobe.d/a.conf:1|copy /usr/lib/modprobe.d/a.conf to /etc/modprobe.d "
            "without it"},
        Row{"ModprobeUnreadable",
            [](HostFacts& host) {
              host.boot.modprobeFiles.emplace("a.conf", unseen("/etc/modprobe.d/a.conf", EACCES));
            },
            Check::kModprobeConfig, Level::kUnknown, "a.conf: Permission denied"},
        Row{"VfioPciBlacklisted", modprobe("#\nblacklist vfio-pci"), Check::kModprobeConfig,
            Level::kProblem,
            "blacklist vfio_pci|is never loaded by itself, nor by "
            "/etc/modules-load.d|/etc/modprobe.d/gpu.conf:2|take it out of"},
        Row{"VfioBlacklisted", modprobe("blacklist vfio_iommu_type1"), Check::kModprobeConfig,
            Level::kProblem},
        Row{"VfioPciNotInstalled", modprobe("install vfio-pci /bin/false"), Check::kModprobeConfig,
            Level::kProblem, "runs a command instead"},
        Row{"HostDriverFirst", modprobe("softdep vfio-pci pre: nvidia post: vfio"),
            Check::kModprobeConfig, Level::kWarning, "nvidia is loaded first"},
        Row{"VfioFirst", modprobe("softdep nvidia pre: vfio-pci"), Check::kModprobeConfig,
            Level::kOk},
        Row{"HostDriverAfter", modprobe("softdep vfio-pci pre: vfio post: nvidia"),
            Check::kModprobeConfig, Level::kOk},
        Row{"UnsafeNoIommu", modprobe("options vfio enable_unsafe_noiommu_mode=1"),
            Check::kModprobeConfig, Level::kWarning, "without an IOMMU"},
        Row{"UnsafeInterrupts", modprobe("options vfio_iommu_type1 allow-unsafe-interrupts=Y"),
            Check::kModprobeConfig, Level::kWarning, "without interrupt remapping"},
        Row{"SafeInterrupts", modprobe("options vfio_iommu_type1 allow_unsafe_interrupts=0"),
            Check::kModprobeConfig, Level::kOk},
        Row{"DenylistOff", modprobe("options vfio-pci disable_denylist=1"), Check::kModprobeConfig,
            Level::kWarning, "break the host"}),
    nameOfRow);

INSTANTIATE_TEST_SUITE_P(
    Ids, DoctorOfBoot,
    testing::Values(
        Row{"ModprobeIdsOfThree", modprobe("options vfio-pci ids=10de:2684"), Check::kVfioPciIds,
            Level::kWarning,
            "takes 3 devices at boot, all of this model|/etc/modprobe.d/gpu.conf:1"},
        Row{"ModprobeIdsOfNone", modprobe("options vfio-pci ids=8086:1533"), Check::kVfioPciIds,
            Level::kInfo, "wherever it is plugged in"},
        Row{"IdsOfAnotherModule", modprobe("options snd ids=8086:1533"), Check::kVfioPciIds,
            Level::kOk, "none is named|/proc/cmdline, /etc/modprobe.d"},
        Row{"IdsAgainstDriverctl",
            [](HostFacts& host) {
              modprobe("options vfio-pci ids=10de:2684")(host);
              overridden("nouveau")(host);
            },
            Check::kVfioPciIds, Level::kWarning,
            "takes 0000:02:00.0 for vfio-pci at boot, and driverctl gives it to nouveau"},
        Row{"IdsBesideDriverctl",
            [](HostFacts& host) {
              commandLine("vfio-pci.ids=8086:1533")(host);
              overridden("nouveau")(host);
            },
            Check::kVfioPciIds, Level::kInfo},
        Row{"StubIds", commandLine("pci-stub.ids=10de:2684"), Check::kVfioPciIds, Level::kWarning,
            "pci-stub takes 3 such devices at boot, and offers no VFIO"},
        Row{"StubIdsOfNone", modprobe("options pci-stub ids=1:2"), Check::kVfioPciIds,
            Level::kInfo}),
    nameOfRow);

}  // namespace
}  // namespace vfiogate
