#include "privd/options/binding_options.h"

#include "privd/bind/plan/declaration.h"

#include <utility>

namespace vfiogate {
namespace {

std::string textOf(const std::string& problem) {
  return problem;
}
std::string textOf(const SelectorProblem& problem) {
  return problem.text;
}

/// A repeatable option, each of whose values `parse` reads or refuses.
template <typename T, typename Parse>
Option parsedOption(std::string name, std::vector<T>& into, Parse parse, std::string help,
                    std::string takes) {
  const auto take = [&into, parse](const std::string& text) {
    auto parsed = parse(text);
    if (!parsed) return textOf(parsed.error());
    into.push_back(std::move(parsed).value());
    return std::string();
  };
  return {std::move(name), std::move(help), std::move(takes), "", take, true};
}

}  // namespace

Option recordOption(std::string& recordDir) {
  return textOption(
      "--record-dir", recordDir,
      "what plugind has allocated, in this boot; one a node [/run/vfiogate/devices, or "
      "devices below another --state-dir]",
      "DIRECTORY");
}

Option auditOption(BindingOptions& options) {
  return textOption("--audit-log", options.auditLog,
                    "where every write into sysfs is recorded before it happens");
}

OptionTable guardOptions(BindingOptions& options) {
  return {
      parsedOption("--allow", options.allow, &functionSelector,
                   "what plugind and --declare may have bound; repeatable; default: nothing",
                   "SELECTOR"),
      parsedOption("--deny", options.deny, &functionSelector,
                   "what nobody may bind or unbind, root included; wins over --allow; repeatable",
                   "SELECTOR"),
      flagOption("--allow-storage", options.allowStorage,
                 "bind storage that shows no use, where its disks cannot be opened to make sure"),
      flagOption("--allow-unguarded-unbind", options.allowUnguardedUnbind,
                 "take devices from VFIO also where their group's node cannot be held open"),
      textOption(
          "--host-mountinfo", options.hostMountinfo,
          "the host's mounts, such as /proc/1/mountinfo: evidence where disks cannot be opened",
          "FILE"),
      textOption("--host-route", options.hostRoute,
                 "the host's routes, such as /proc/1/net/route: named in refusals", "FILE"),
      textOption("--module-aliases", options.moduleAliases,
                 "the kernel's modules.alias, which knows drivers made for one device "
                 "[/lib/modules/RELEASE/modules.alias]",
                 "FILE"),
  };
}

Option overrideOption(std::vector<GuardOverride>& overrides) {
  return parsedOption(
      "--override", overrides, &parseOverride,
      "lift a guard that an informed person may lift, for one device or all; repeatable; "
      "logged and audited",
      "GUARD[=ADDRESS]");
}

Option declareOption(std::vector<Selector>& declared) {
  return parsedOption(
      "--declare", declared, &parseDeclaration,
      "keep these bound from the start on and whenever they appear, within --allow; repeatable",
      "SELECTOR|ADDRESS=VENDOR:DEVICE");
}

Option vfsOption(std::vector<WantedVfs>& vfs) {
  return parsedOption(
      "--vfs", vfs, &parseVfs,
      "make so many virtual functions of a physical one, at the start and whenever it appears, "
      "where it has none; repeatable, the first about a function counts",
      "ADDRESS|SELECTOR=NUMBER");
}

}  // namespace vfiogate
