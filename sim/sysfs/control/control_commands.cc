#include "sim/sysfs/control/control_commands.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <sstream>

#include "sim/sysfs/control/control_context.h"
#include "sim/sysfs/kernel/host_objects.h"
#include "sim/sysfs/kernel/hotplug.h"
#include "sim/sysfs/kernel/mediated.h"
#include "sim/sysfs/kernel/users.h"

namespace vfiogate::sim {
namespace {

using Holding = int (*)(World&, const Bdf&, const std::string&);
using GroupHolding = int (*)(World&, std::uint32_t, const std::string&);

/// Whether a process, such as privd, has the group's node open: an exclusive lock.
bool isNodeOpen(const Context& context, std::uint32_t group) {
  const std::string path = "dev/vfio/" + groupNodeName(context.kernel.world(), group);
  return context.switches.isNodeOpen && context.switches.isNodeOpen(path);
}

Reply hold(Context& context, Holding act) {
  const Bdf address = context.arguments.address(context.word(1));
  const auto& devices = context.kernel.world().devices;
  const auto found = devices.find(address);
  const bool opens = act == openDevice && found != devices.end() && found->second.hardware.group;
  if (opens && isNodeOpen(context, *found->second.hardware.group)) {
    return finish(context.word(0), EBUSY);
  }
  return context.change([&](World& world) { return act(world, address, context.holder()); });
}

Reply holdGroup(Context& context, GroupHolding act) {
  const std::uint32_t group = context.arguments.number(context.word(1));
  if (act == openGroup && isNodeOpen(context, group)) return finish(context.word(0), EBUSY);
  return context.change([&](World& world) { return act(world, group, context.holder()); });
}

Reply holdCdev(Context& context, int (*act)(World&, const Bdf&)) {
  const Bdf address = context.arguments.address(context.word(1));
  return context.change([&](World& world) { return act(world, address); });
}

Reply setAnswers(Context& context, bool answers) {
  const Bdf address = context.arguments.address(context.word(1));
  return context.change([&](World& world) {
    const auto found = world.devices.find(address);
    if (found == world.devices.end()) return ENODEV;
    found->second.hardware.answers = answers;
    return 0;
  });
}

Reply setNumber(Context& context) {
  const Bdf address = context.arguments.address(context.word(1));
  const std::uint32_t group = context.arguments.number(context.word(2));
  return context.change([&](World& world) { return renumber(world, address, group); });
}

Reply bindByHand(Context& context) {
  const Bdf address = context.arguments.address(context.word(1));
  return context.start([&] { return context.kernel.rebind(address, context.word(2)); });
}

Reply releaseByHand(Context& context) {
  const Bdf address = context.arguments.address(context.word(1));
  return context.start([&] { return context.kernel.release(address); });
}

Reply virtualFunctions(Context& context) {
  const Bdf address = context.arguments.address(context.word(1));
  const std::uint32_t count = context.arguments.number(context.word(2));
  return context.start([&] { return context.kernel.setVirtualFunctions(address, count); });
}

Reply makeMediated(Context& context) {
  const Bdf parent = context.arguments.address(context.word(1));
  MediatedSpec wanted{.uuid = context.word(3), .type = context.word(2), .group = std::nullopt};
  if (context.words.size() > 4) wanted.group = context.arguments.number(context.word(4));
  return context.change([&](World& world) { return createMediated(world, parent, wanted); });
}

Reply removeMediated(Context& context) {
  return context.start([&] { return context.kernel.removeMediated(context.word(1)); });
}

Reply setType(Context& context) {
  const Bdf address = context.arguments.address(context.word(1));
  const std::uint32_t type = context.arguments.number(context.word(2));
  return context.change([&](World& world) { return setVgpuType(world, address, type); });
}

Reply switchUevents(Context& context) {
  if (context.word(1) != "on" && context.word(1) != "off") {
    return failure("uevents: say on or off");
  }
  context.switches.uevents = context.word(1) == "on";
  return done();
}

Reply switchLink(Context& context) {
  const std::string& state = context.word(2);
  if (state != "up" && state != "down") return failure("link: say up or down");
  return context.change(
      [&](World& world) { return setLink(world, context.word(1), state == "up"); });
}

Reply await(Context& context) {
  Reply reply = done();
  reply.untilWaiting = context.arguments.number(context.word(1));
  return context.arguments.why().empty() ? reply : failure(context.arguments.why());
}

struct Command {
  const char* name;
  const char* arguments;
  std::size_t least;  ///< words, with the name
  std::size_t most;
  const char* what;
  Reply (*act)(Context&);
};

constexpr std::size_t kMany = 64;

const std::vector<Command>& commands() {
  static const std::vector<Command> kCommands{
      {"show", "", 1, 1, "devices, groups, users, what waits",
       [](Context& c) {
         return Reply{show(c.kernel), false, 0, "", std::nullopt};
       }},
      {"plug", "ADDRESS...", 2, kMany, "put hardware of the topology into its slot",
       [](Context& c) {
         const auto all = c.addresses();
         return c.start([&] { return c.kernel.plug(all); });
       }},
      {"unplug", "ADDRESS...", 2, kMany, "pull hardware out, in use or not",
       [](Context& c) {
         const auto all = c.addresses();
         return c.start([&] { return c.kernel.unplug(all); });
       }},
      {"bind", "ADDRESS DRIVER", 3, 3, "driver_override, unbind, bind", bindByHand},
      {"unbind", "ADDRESS", 2, 2, "take the driver away", releaseByHand},
      {"open", "ADDRESS [HOLDER]", 2, 3, "a VM opens group and device",
       [](Context& c) { return hold(c, openDevice); }},
      {"close", "ADDRESS [HOLDER]", 2, 3, "the VM closes the device",
       [](Context& c) { return hold(c, closeDevice); }},
      {"open-group", "GROUP [HOLDER]", 2, 3, "a VM opens the group only",
       [](Context& c) { return holdGroup(c, openGroup); }},
      {"close-group", "GROUP [HOLDER]", 2, 3, "the VM closes the group and its devices",
       [](Context& c) { return holdGroup(c, closeGroup); }},
      {"open-cdev", "ADDRESS", 2, 2, "open the device's cdev, unbound: invisible",
       [](Context& c) { return holdCdev(c, openCdev); }},
      {"close-cdev", "ADDRESS", 2, 2, "close it",
       [](Context& c) { return holdCdev(c, closeCdev); }},
      {"vfs", "ADDRESS COUNT", 3, 3, "write sriov_numvfs", virtualFunctions},
      {"mdev", "ADDRESS TYPE UUID [GROUP]", 4, 5, "make a mediated device", makeMediated},
      {"remove-mdev", "UUID", 2, 2, "remove it; waits for who has its group open", removeMediated},
      {"vgpu", "ADDRESS TYPE", 3, 3, "set the type of a vGPU, 0: none", setType},
      {"load-driver", "NAME", 2, 2, "load a driver of the topology",
       [](Context& c) { return c.start([&] { return c.kernel.loadDriver(c.word(1)); }); }},
      {"renumber", "ADDRESS GROUP", 3, 3, "its group when it comes back", setNumber},
      {"mute", "ADDRESS", 2, 2, "configuration space reads all ones",
       [](Context& c) { return setAnswers(c, false); }},
      {"unmute", "ADDRESS", 2, 2, "it answers again",
       [](Context& c) { return setAnswers(c, true); }},
      {"hang", "PATH [TEXT] | ADDRESS ATTRIBUTE", 2, 3, "writes there hang (only those of TEXT)",
       orderHang},
      {"fail", "PATH ERRNO [TEXT] | ADDRESS ATTRIBUTE ERRNO [TIMES]", 3, 5, "writes there fail",
       orderFailure},
      {"unhang", "[PATH | ADDRESS [ATTRIBUTE]]", 1, 3, "lift hang, fail, silent, there or all",
       liftOrders},
      {"silent", "ADDRESS", 2, 2, "its bind and probe succeed and bind nothing", orderSilence},
      {"fail-nth", "N ERRNO", 3, 3, "the Nth write from now on fails, once", orderNthFailure},
      {"hang-nth", "N", 2, 2, "the Nth write from now on hangs", orderNthHang},
      {"writes", "[clear|take]", 1, 2, "what was written since clear, or take", writesSoFar},
      {"users", "ADDRESS COUNT", 3, 3, "uses of its driver's module by users of it",
       [](Context& c) {
         const Bdf address = c.arguments.address(c.word(1));
         const std::uint32_t count = c.arguments.number(c.word(2));
         return c.change([&](World& world) { return setUsers(world, address, count); });
       }},
      {"link", "INTERFACE up|down", 3, 3, "its flag and operational state", switchLink},
      {"uevents", "on|off", 2, 2, "deliver events, or lose them", switchUevents},
      {"await-waiting", "COUNT", 2, 2, "answer once so many operations hang", await},
      {"help", "", 1, 1, "this list", [](Context&) {
         return Reply{commandHelp(), false, 0, "", std::nullopt};
       }}};
  return kCommands;
}

/// What an errno means to the person who gave the command.
const char* meaning(const std::string& command, int error) {
  const bool opens = command.starts_with("open");
  if (error == ENODEV && opens) return "not a device on a VFIO driver";
  if (error == ENODEV && command == "load-driver") return "the topology has no such driver";
  if (error == ENODEV && command == "plug") return "the topology has no such hardware";
  if (error == ENODEV && command == "unplug") return "it is not in its slot";
  if (error == ENODEV && command == "link") return "no such interface is there";
  if (error == ENODEV && command == "mdev") return "no such type below a device on a host driver";
  if (error == EINVAL && command == "mdev") return "write a UUID in lower case";
  if (error == ENODEV && command == "vgpu") return "no virtual function that is a vGPU is there";
  if (error == EINVAL && command == "vgpu") return "it has a type, or its card has no room for it";
  if (error == EPERM && command == "vgpu") return "a VM has it";
  if (error == EUSERS) return "no instance of the type is left";
  if (error == ENODEV) return "no such device, or the driver does not take it";
  if (error == EEXIST && command == "plug") return "it is in its slot already";
  if (error == EEXIST) return "there already";
  if (error == ENXIO) return "the bridge it hangs on is not there";
  if (error == ENOENT && command.starts_with("close")) return "that holder does not have it open";
  if (error == ENOENT && opens) return "no such node below /dev/vfio";
  if (error == ENOENT && command == "vfs") return "no driver that does virtual functions";
  if (error == ENOENT && command == "unhang") return "nothing hangs or fails there";
  if (error == EPERM && opens) return "the group is not viable: a member is on a host driver";
  if (error == EBUSY && opens) return "another holder has the group";
  if (error == EBUSY && command == "vfs") return "set it to 0 first";
  if (error == EBUSY) return "in use, or bound already";
  if (error == ERANGE) return "more than the device has";
  if (error == EINVAL && command == "bind") return "VFIO needs an IOMMU group";
  return std::strerror(error);
}

}  // namespace

Reply execute(SimKernel& kernel, Switches& switches, const std::string& line) {
  std::istringstream stream(line);
  Words words;
  for (std::string word; stream >> word;) words.push_back(word);
  if (words.empty()) return failure("no command; there are:\n" + commandHelp());
  const auto& all = commands();
  const auto found = std::find_if(all.begin(), all.end(),
                                  [&](const Command& each) { return each.name == words[0]; });
  if (found == all.end()) {
    return failure("\"" + words[0] + "\" is no command; `help` lists them");
  }
  if (words.size() < found->least || words.size() > found->most) {
    return failure(words[0] + " is used so: " + words[0] + " " + found->arguments);
  }
  Context context{kernel, switches, std::move(words), {}};
  return found->act(context);
}

Reply finish(const std::string& command, int error) {
  return error == 0 ? done() : failure(command + ": " + meaning(command, error));
}

std::string commandHelp() {
  std::string text;
  for (const Command& command : commands()) {
    std::string use = std::string(command.name) + " " + command.arguments;
    use.resize(std::max<std::size_t>(use.size() + 1, 30), ' ');
    text += use + command.what + "\n";
  }
  return text;
}

}  // namespace vfiogate::sim
