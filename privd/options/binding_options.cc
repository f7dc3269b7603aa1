#include "privd/options/binding_options.h"

#include "privd/bind/plan/declaration.h"

#include <CLI/CLI.hpp>

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
void addParsed(CLI::App& command, const std::string& name, std::vector<T>& into, Parse parse,
               const std::string& help, const std::string& type) {
  command
      .add_option_function<std::vector<std::string>>(
          name,
          [&into, name, parse](const std::vector<std::string>& texts) {
            for (const std::string& text : texts) {
              auto parsed = parse(text);
              if (!parsed) throw CLI::ValidationError(name, textOf(parsed.error()));
              into.push_back(std::move(parsed).value());
            }
          },
          help)
      ->allow_extra_args(false)
      ->take_all()
      ->type_name(type);
}

}  // namespace

void addAuditOption(CLI::App& command, BindingOptions& options) {
  command
      .add_option("--audit-log", options.auditLog,
                  "where every write into sysfs is recorded before it happens")
      ->capture_default_str();
}

void addGuardOptions(CLI::App& command, BindingOptions& options) {
  addParsed(command, "--allow", options.allow, &Selector::parse,
            "what plugind and --declare may have bound; repeatable; default: nothing", "SELECTOR");
  addParsed(command, "--deny", options.deny, &Selector::parse,
            "what nobody may bind or unbind, root included; wins over --allow; repeatable",
            "SELECTOR");
  command.add_flag("--allow-storage", options.allowStorage,
                   "bind storage that shows no use, where its disks cannot be opened to make sure");
  command.add_flag("--allow-unguarded-unbind", options.allowUnguardedUnbind,
                   "take devices from VFIO also where their group's node cannot be held open");
  command
      .add_option(
          "--host-mountinfo", options.hostMountinfo,
          "the host's mounts, such as /proc/1/mountinfo: evidence where disks cannot be opened")
      ->type_name("FILE");
  command
      .add_option("--host-route", options.hostRoute,
                  "the host's routes, such as /proc/1/net/route: named in refusals")
      ->type_name("FILE");
  command
      .add_option("--module-aliases", options.moduleAliases,
                  "the kernel's modules.alias, which knows drivers made for one device "
                  "[/lib/modules/RELEASE/modules.alias]")
      ->type_name("FILE");
}

void addOverrideOption(CLI::App& command, std::vector<GuardOverride>& overrides) {
  addParsed(command, "--override", overrides, &parseOverride,
            "lift a guard that an informed person may lift, for one device or all; repeatable; "
            "logged and audited",
            "GUARD[=ADDRESS]");
}

void addDeclareOption(CLI::App& command, std::vector<Selector>& declared) {
  addParsed(
      command, "--declare", declared, &parseDeclaration,
      "keep these bound from the start on and whenever they appear, within --allow; repeatable",
      "SELECTOR|ADDRESS=VENDOR:DEVICE");
}

}  // namespace vfiogate
