// A taken-over hardware process against the shipped plugind, gate and binder: what each attack
// gets, what it costs, and that the binder writes nothing whatever is said.

#include "sim/base/process_status.h"
#include "tests/integration/split_case.h"
#include "tests/support/sanitizers.h"
#include "tests/support/seen/file_tree.h"
#include "tests/support/seen/process_size.h"

#include <gmock/gmock.h>

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <optional>
#include <thread>

namespace vfiogate::test {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;
using std::chrono::seconds;

const std::string kGpus = "vfiogate.dev/gpu";
constexpr const char* kConfig =
    "resources:\n  - {name: vfiogate.dev/gpu, select: {vendor: \"10de\"}, bind: on-allocate, "
    "returnTo: original}\n";
constexpr const char* kMember = "0000:03:00.0";
/// Sockets of what runs here are none of the files that are compared.
constexpr const char* kNothing = "\n";
constexpr seconds kForAnAttack{120};

/// Gate and binder without a hardware process, and plugind.
class TakenOverHardware : public SplitCase {
protected:
  void layOut(FakeSysfs& hardware) override {
    hardware.add({.address = "0000:01:00.0"});
    hardware.add({.address = "0000:02:00.0", .group = 8});
    hardware.add({.address = kMember, .driver = "nvidia", .group = 9});
    hardware.add({.address = "0000:03:00.1", .driver = "nvidia", .group = 9});
    // By its mode everybody may write it.
    fs::permissions(hardware.directoryOf(kMember) / "vendor", fs::perms(0666));
  }
  void SetUp() override {
    SplitCase::SetUp();
    if (!node_) return;
    node_->kubelet.start();
    ASSERT_TRUE(node_->startPlugind(kConfig)) << node_->said();
    const std::string state = node_->directory("state");
    gate_.emplace(
        roleCommand("privd-gate", {"--kubelet-dir", node_->directory("kubelet"), "--plugind-rights",
                                   "watch,kubelet,bind", "--state-dir", state}),
        filteredEnvironment());
    ASSERT_TRUE(gate_->says("event=plugind_connected")) << gate_->output();
    // The policy lets plugind have what a lie is about, if it were true.
    binder_.emplace(
        roleCommand("privd-binder",
                    {"--sysfs", node_->hardware.sysfs(), "--dev", node_->hardware.dev(),
                     "--plugind-rights", "watch,kubelet,bind", "--state-dir", state, "--audit-log",
                     audit(), "--uevents", "off", "--rescan", "1", "--allow",
                     std::string("address=") + kMember, "--allow", "address=0000:09:00.0"}),
        filteredEnvironment());
    ASSERT_TRUE(binder_->says("event=plugind_connected")) << binder_->output();
    sysfs_ = fileTree(node_->hardware.sysfs(), kNothing);
  }
  void TearDown() override {
    if (binder_) expectNothingWritten();
    SplitCase::TearDown();
  }

  void expectNothingWritten() {
    EXPECT_EQ(fileTree(node_->hardware.sysfs(), kNothing), sysfs_) << binder_->output();
    EXPECT_EQ(binder_->count("event=driver_change"), 0U) << binder_->output();
    if (!fs::exists(audit())) return;
    for (const auto& [path, text] : fileTree(fs::path(audit()).parent_path(), "/state")) {
      if (path.find("audit") == std::string::npos) continue;
      EXPECT_THAT(text, testing::Not(testing::HasSubstr("driver_override"))) << path;
    }
  }

  std::string audit() const { return node_->directory("audit.jsonl"); }
  std::vector<std::string> roleCommand(const std::string& program,
                                       std::vector<std::string> words) const {
    words.insert(words.begin(), {builtProgram(program), "--plugind", node_->plugindSocket()});
    return words;
  }
  std::vector<std::string> attackCommand(const std::string& attack) const {
    return {fs::read_symlink("/proc/self/exe").parent_path() / "taken_over_hardware",
            fs::path(node_->plugindSocket()).parent_path().parent_path(), node_->hardware.sysfs(),
            std::to_string(gate_->pid()), attack};
  }
  std::string said() { return node_->said() + gate_->output() + binder_->output(); }

  /// What it says that it got, without "(number)"; or how it ended.
  std::string attack(const std::string& name) {
    ChildProcess process(attackCommand(name), filteredEnvironment());
    constexpr int kBySigsys = 128 + 31;
    const bool told = process.saysAll({"got: "}, 1, kForAnAttack);
    const int code = process.wait();
    if (!told) return code == kBySigsys ? "SIGSYS" : process.output() + std::to_string(code);
    std::string text = process.output();
    std::printf("%-28s %s", name.c_str(), text.substr(text.find("got: ")).c_str());
    text = text.substr(text.find("got: ") + 5);
    text = text.substr(0, text.find('\n'));
    return text.substr(0, text.rfind(" ("));
  }

  /// An honest one comes, and what there is is offered and handed over.
  void expectAllIsWellAgain() {
    ChildProcess honest(
        [this] {
          auto words = roleCommand("privd-hardware", {"--sysfs", node_->hardware.sysfs(), "--dev",
                                                      node_->hardware.dev(), "--uevents", "off"});
          words.insert(words.begin(),
                       {"/usr/bin/setpriv", "--reuid=64531", "--regid=64531", "--clear-groups"});
          return words;
        }(),
        filteredEnvironment());
    EXPECT_TRUE(node_->kubelet.await(
        kGpus,
        [](const sim::DeviceTable& shown) {
          const auto& healthy = shown.healthy();
          return healthy.contains("0000:01:00.0") && healthy.contains("0000:02:00.0");
        },
        seconds(90)))
        << said() << honest.output();
    std::string error;
    node_->kubelet.offer(kGpus, {"0000:01:00.0"}, error);
    EXPECT_EQ(error, "") << said();
    EXPECT_GT(gate_->pid(), 0);
    honest.signal(SIGTERM);
    EXPECT_EQ(honest.wait(), 0);
  }

  std::optional<ChildProcess> gate_;
  std::optional<ChildProcess> binder_;
  std::map<std::string, std::string> sysfs_;
};

/// The most that a process had, from its making on.
class PeakWatch {
public:
  explicit PeakWatch(pid_t pid) : before(sizeOf(pid)), pid_(pid), thread_([this] { watch(); }) {}
  ~PeakWatch() { end(); }
  PeakWatch(const PeakWatch&) = delete;
  PeakWatch& operator=(const PeakWatch&) = delete;

  std::size_t end() {
    ending_ = true;
    if (thread_.joinable()) thread_.join();
    return peak_;
  }

  const ProcessSize before;

private:
  void watch() {
    while (!ending_) {
      peak_ = std::max(peak_, sizeOf(pid_).residentKib);
      std::this_thread::sleep_for(milliseconds(5));
    }
  }
  const pid_t pid_;
  std::size_t peak_ = 0;
  std::atomic<bool> ending_ = false;
  std::thread thread_;
};

struct Row {
  const char* name;
  const char* gets;
  std::size_t mostMib = 16;  ///< that plugind grows by
};
void PrintTo(const Row& row, std::ostream* out) {
  *out << row.name;
}

class HardwareAttacks : public TakenOverHardware, public testing::WithParamInterface<Row> {};

// I10, of whoever has the hardware process.
TEST_P(HardwareAttacks, AreBoundedAndEnd) {
  PeakWatch plugind(node_->plugind->pid());
  PeakWatch gate(gate_->pid());
  PeakWatch binder(binder_->pid());
  EXPECT_EQ(attack(GetParam().name), GetParam().gets) << said();
  const auto expectFlat = [](PeakWatch& watch, std::size_t mostKib, const char* whose) {
    const std::size_t peak = watch.end();
    std::printf("%-28s %s %zu KiB, at most %zu\n", GetParam().name, whose, watch.before.residentKib,
                peak);
    const bool flat = peak < watch.before.residentKib + mostKib;
    EXPECT_TRUE(flat || !kOwnAllocator) << whose;
  };
  expectFlat(plugind, GetParam().mostMib << 10U, "plugind");
  expectFlat(gate, 2'048, "gate");
  expectFlat(binder, 2'048, "binder");
  for (const char* event : {"privd_went", "handshake_failed", "update_refused", "peer_refused",
                            "privd_came", "privd_incomplete"}) {
    EXPECT_LT(node_->plugind->count(std::string("event=") + event), 500U) << event;
  }
  EXPECT_LT(gate_->count("event="), 2'000U);
  expectAllIsWellAgain();
}

INSTANTIATE_TEST_SUITE_P(
    All, HardwareAttacks,
    testing::Values(
        // Floods
        Row{"TellsWithoutWaiting", "hung up"}, Row{"TellsAndReadsNothing", "hung up"},
        Row{"TellsOfThousandsWithoutEnd", "served on", 64},
        Row{"TellsOfAsManyAsThereMayBe", "served on", 128},
        Row{"TellsOfLongTexts", "served on", 128}, Row{"TellsWhatDoesNotFollow", "served on"},
        Row{"DialsWithoutEnd", "dialled"}, Row{"DialsAndSaysNothing", "hung up"},
        // Silence
        Row{"OpensAndSaysNothing", "hung up"}, Row{"NeverLetsIn", "hung up"},
        Row{"NeverTells", "served on"},
        // Nonsense
        Row{"Garbage", "hung up"}, Row{"AMessageOfGigabytes", "hung up"},
        Row{"SegmentsWithoutNumber", "hung up"}, Row{"HalfAMessage", "hung up"},
        Row{"AnswersWhatWasNotAsked", "hung up"}, Row{"FinishesWhatItDidNotAsk", "hung up"},
        Row{"CallsWhatItWasNotGiven", "hung up"}, Row{"SpeaksAnotherProtocol", "hung up"},
        Row{"AnUpdateOfTwoThatAreOne", "hung up"}, Row{"AnUpdateWithoutEnd", "hung up"},
        Row{"AnUpdateOfForeignMembers", "hung up"}, Row{"OpensAsNobody", "hung up"},
        Row{"SaysThatItIsTheGate", "hung up"}, Row{"SaysThatItIsTheBinder", "hung up"},
        Row{"MakesAChannel", "SIGSYS"}, Row{"LeavesQuestionsOpen", "hung up"},
        Row{"HandsADescriptorDown", "hung up"}),
    [](const auto& row) { return row.param.name; });

class HardwareLies : public TakenOverHardware, public testing::WithParamInterface<const char*> {};

// What is allocated on its word is another matter: I1 rests on it. No word of it is written.
TEST_P(HardwareLies, MakeTheBinderWriteNothing) {
  {
    ChildProcess liar(attackCommand(GetParam()), filteredEnvironment());
    ASSERT_TRUE(liar.says("told")) << liar.output() << said();
    unsigned allocated = 0;
    unsigned refused = 0;
    const auto end = std::chrono::steady_clock::now() + seconds(6);
    while (std::chrono::steady_clock::now() < end) {
      const sim::DeviceTable shown = node_->kubelet.devices(kGpus);
      for (const std::string& device : shown.healthy()) {
        const auto asked = std::chrono::steady_clock::now();
        std::string error;
        node_->kubelet.offer(kGpus, {device}, error);
        ++(error.empty() ? allocated : refused);
        EXPECT_LT(std::chrono::steady_clock::now() - asked, seconds(7)) << device << error;
      }
      std::this_thread::sleep_for(milliseconds(50));
    }
    std::printf("%-28s allocated %u, refused %u\n", GetParam(), allocated, refused);
    EXPECT_GT(allocated + refused, 0U) << "nothing was offered" << said();
    expectNothingWritten();
  }
  expectNothingWritten();
}

class HardwareLie : public TakenOverHardware {};

// What a lie buys (the threat model has it): plugind has no other view of the hardware.
TEST_F(HardwareLie, AnInventedDeviceIsAllocatedWithNodesOfVfioAlone) {
  ChildProcess liar(attackCommand("InventsADevice"), filteredEnvironment());
  const std::string invented = "0000:09:00.0";
  ASSERT_TRUE(node_->kubelet.await(kGpus, [&](const sim::DeviceTable& shown) {
    return shown.healthy().contains(invented);
  })) << said();
  std::string error;
  const auto granted = node_->kubelet.offer(kGpus, {invented}, error);
  ASSERT_EQ(error, "") << said();
  EXPECT_GT(granted.response.devices_size(), 0);
  for (const auto& node : granted.response.devices()) {
    EXPECT_THAT(node.host_path(), testing::AnyOf(testing::StartsWith("/dev/vfio/"), "/dev/iommu"));
  }
  EXPECT_EQ(granted.response.mounts_size(), 0);
  EXPECT_EQ(granted.response.cdi_devices_size(), 0);
}

INSTANTIATE_TEST_SUITE_P(All, HardwareLies,
                         testing::Values("SaysThatAPartIsAll", "SaysThatItIsOnVfio",
                                         "InventsADevice", "MovesAMember", "NeverRereads",
                                         "GoesToAndFro"),
                         [](const auto& row) { return std::string(row.param); });

struct ActRow {
  const char* name;
  const char* gets;
};
void PrintTo(const ActRow& row, std::ostream* out) {
  *out << row.name;
}

class HardwareActs : public TakenOverHardware, public testing::WithParamInterface<ActRow> {
protected:
  /// As a device plugin's: of root, and for root only.
  void makeASocketOfRoots() {
    sockaddr_un address = {};
    address.sun_family = AF_UNIX;
    const std::string path = node_->directory("state/plugin.sock");
    strncpy(address.sun_path, path.c_str(), sizeof(address.sun_path) - 1);
    socket_ = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ASSERT_EQ(bind(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
    ASSERT_EQ(chmod(path.c_str(), 0600), 0);
    ASSERT_EQ(listen(socket_, 4), 0);
  }
  void TearDown() override {
    if (socket_ >= 0) close(socket_);
    TakenOverHardware::TearDown();
  }
  int socket_ = -1;
};

TEST_P(HardwareActs, AreRefusedOrDie) {
  makeASocketOfRoots();
  EXPECT_EQ(attack(GetParam().name), GetParam().gets);
  EXPECT_EQ(kill(gate_->pid(), 0), 0);
  EXPECT_FALSE(fs::exists("/tmp/taken-over"));
}

constexpr const char* kDies = "SIGSYS";
constexpr const char* kRefused = "errno 13";
INSTANTIATE_TEST_SUITE_P(
    All, HardwareActs,
    testing::Values(ActRow{"ReadsSysfs", "errno 0"}, ActRow{"WritesAnAttribute", kRefused},
                    ActRow{"MakesAFileInSysfs", kRefused}, ActRow{"ExcludesADevice", kRefused},
                    ActRow{"AllocatesADevice", kRefused},
                    ActRow{"ReadsTheStateDirectory", kRefused},
                    ActRow{"ReadsTheKubeletsDirectory", kRefused},
                    ActRow{"MakesAFileBesideTheKubelet", kRefused},
                    ActRow{"ReadsAHostsFile", kRefused}, ActRow{"MakesATemporaryFile", kRefused},
                    ActRow{"OpensARootsMemory", kRefused}, ActRow{"OpensTheOldWay", kDies},
                    ActRow{"UnlinksPlugindsSocket", kDies}, ActRow{"RenamesPlugindsSocket", kDies},
                    ActRow{"MakesADirectory", kDies}, ActRow{"MakesALink", kDies},
                    ActRow{"TruncatesAFile", kDies}, ActRow{"Mounts", kDies},
                    ActRow{"DialsTheKubelet", kRefused}, ActRow{"DialsADevicePlugin", kRefused},
                    ActRow{"ListensInPlugindsPlace", kDies}, ActRow{"Listens", kDies},
                    ActRow{"MakesANetworkSocket", kDies}, ActRow{"MakesANetlinkSocket", kDies},
                    ActRow{"MakesAVsock", kDies}, ActRow{"KillsARoots", kDies},
                    ActRow{"KillsARootsThread", kDies}, ActRow{"TracesARoots", kDies},
                    ActRow{"TakesADescriptor", kDies}, ActRow{"StartsAProgram", kDies},
                    ActRow{"StartsAProcess", kDies}, ActRow{"BecomesRoot", kDies},
                    ActRow{"RunsItsOwnCode", kDies}, ActRow{"LeavesItsNamespace", kDies}),
    [](const auto& row) { return row.param.name; });

}  // namespace
}  // namespace vfiogate::test
