#include "sim/sysfs/control/control_commands.h"

#include <gmock/gmock.h>

#include "tests/unit/sim/node.h"

namespace vfiogate::sim {
namespace {

/// Runs commands as the socket does and returns the last answer.
std::string say(SimKernel& kernel, const std::vector<std::string>& lines) {
  Switches switches;
  Reply reply;
  for (const std::string& line : lines) {
    reply = execute(kernel, switches, line);
    if (reply.task == 0) continue;
    const auto ended = kernel.takeEnd(reply.task);
    if (!ended) {
      reply.text = "waits\n";
    } else {
      reply = finish(reply.command, ended->error);
    }
  }
  return reply.text;
}

struct Talk {
  const char* name;
  std::vector<std::string> lines;
  const char* answer;  ///< part of the last one
};

void PrintTo(const Talk& talk, std::ostream* out) {
  *out << talk.name;
}

class Commands : public testing::TestWithParam<Talk> {};

TEST_P(Commands, AreAnswered) {
  SimKernel kernel(shippedTopology("one-gpu"));
  EXPECT_THAT(say(kernel, GetParam().lines), testing::HasSubstr(GetParam().answer));
}

constexpr const char* kBind = "bind 0000:01:00.0 vfio-pci";
constexpr const char* kFreeAudio = "unbind 0000:01:00.1";
constexpr const char* kOpen = "open 0000:01:00.0 vm1";

INSTANTIATE_TEST_SUITE_P(
    Table, Commands,
    testing::Values(
        Talk{"Nothing", {""}, "error: no command; there are:\nshow"},
        Talk{"Unknown", {"eject"}, "error: \"eject\" is no command"},
        Talk{"TooFew", {"bind 0000:01:00.0"}, "error: bind is used so: bind ADDRESS DRIVER"},
        Talk{"TooMany", {"unbind a b"}, "error: unbind is used so: unbind ADDRESS"},
        Talk{"NoAddress", {"plug gpu"}, "error: \"gpu\" is no PCI address"},
        Talk{"NoNumber", {"vfs 0000:01:00.0 all"}, "error: \"all\" is no number"},
        Talk{"NoFile", {"hang bus/pci/drivers/nvme/bind"}, "error: there is no file sys/bus/pci"},
        Talk{"NoErrno", {"fail bus/pci/rescan EWHAT"}, "error: \"EWHAT\" is no errno"},
        Talk{"NoSwitch", {"uevents maybe"}, "error: uevents: say on or off"},
        Talk{"Bind", {kBind}, "ok"},
        Talk{"BindOfNothing", {"bind 0000:09:00.0 vfio-pci"}, "error: bind: no such device"},
        Talk{"BindToNobody", {"bind 0000:01:00.0 nvidia"}, "error: bind: no such device, or"},
        Talk{"OpenUnbound", {kOpen}, "error: open: not a device on a VFIO driver"},
        Talk{"OpenNotViable", {kBind, kOpen}, "error: open: the group is not viable"},
        Talk{"Open", {kBind, kFreeAudio, kOpen}, "ok"},
        Talk{"OpenTaken",
             {kBind, kFreeAudio, kOpen, "open 0000:01:00.0 vm2"},
             "error: open: another holder has the group"},
        Talk{"CloseOfAnother",
             {kBind, kFreeAudio, kOpen, "close 0000:01:00.0 vm2"},
             "error: close: that holder does not have it open"},
        Talk{"UnbindInUse", {kBind, kFreeAudio, kOpen, "unbind 0000:01:00.0"}, "waits"},
        Talk{"Plug", {"plug 0000:02:00.0"}, "ok"},
        Talk{"PlugTwice", {"plug 0000:02:00.0", "plug 0000:02:00.0"}, "in its slot already"},
        Talk{"PlugUnknown", {"plug 0000:05:00.0"}, "the topology has no such hardware"},
        Talk{"UnplugUnknown", {"unplug 0000:02:00.0"}, "it is not in its slot"},
        Talk{"LoadUnknown", {"load-driver nvme"}, "the topology has no such driver"},
        Talk{"LoadTwice", {"load-driver nouveau", "load-driver nouveau"}, "there already"},
        Talk{"HangAndLift",
             {"hang bus/pci/rescan", "unhang bus/pci/rescan", "unhang bus/pci/rescan"},
             "nothing hangs or fails there"},
        Talk{"ShowsWhoHolds", {kBind, kFreeAudio, kOpen, "show"}, "group 12 is held by vm1"},
        Talk{"ShowsWhatIsOut", {"show"}, "0000:02:00.0  not plugged in"},
        Talk{"Help", {"help"}, "await-waiting COUNT"}),
    [](const auto& row) { return row.param.name; });

}  // namespace
}  // namespace vfiogate::sim
