#include <CLI/CLI.hpp>
#include <iostream>

#include "cli/common_options.h"
#include "cli/device_name.h"
#include "cli/picture/picture.h"
#include "cli/table.h"
#include "cli/usage.h"
#include "ipc/types/units.h"
#include "privd/cli/base/device_json.h"
#include "privd/cli/base/list_table.h"
#include "privd/cli/commands.h"
#include "privd/cli/list/topology_of.h"

namespace vfiogate {
namespace {

/// What the parser fills.
struct ListWords {
  ViewOptions view;
  std::vector<std::string> devices;
  ListFilter filter;
  std::string form = "table";
  bool tree = false;
};

int fail(const std::string& what, int code) {
  std::cerr << "privd list: " << what << "\n";
  return code;
}

/// Where they are on the board, as text or as a picture.
std::string drawn(const NodeView& view, const ListWords& words) {
  const auto sysfs = SysfsRoot::open(words.view.sysfs);
  const Parents parents = sysfs ? readParents(*sysfs, view.snapshot) : Parents{};
  const RecordedHolders holders = readRecordedHolders(words.view.recordDir);
  const Topology topology =
      topologyOf({.view = view, .parents = parents, .holders = holders, .filter = words.filter});
  if (words.form == "svg") return svgOf(layOut(topology));
  return treeText(topology, {terminalWidth(), wantsColours(), hasUtf8Locale()});
}

/// Returns the exit code.
int list(ListWords& words) {
  const auto view = NodeView::take(words.view);
  if (!view) return fail(view.error(), kExitRefused);
  auto devices = findUnits(words.devices, words.view.sysfs);
  if (!devices) return fail(devices.error(), kExitUsage);
  for (const UnitId& device : *devices) {
    if (isPresent(view->snapshot, device)) continue;
    return fail("there is no " + device.str() + " below " + words.view.sysfs, kExitRefused);
  }
  words.filter.devices = std::move(devices).value();
  if (isDocument(words.form)) {
    std::cout << documentText(listJson(*view, words.filter), words.form);
  } else if (words.tree || words.form == "svg") {
    std::cout << drawn(*view, words);
  } else {
    std::cout << listTable(*view, words.filter, terminalWidth(), wantsColours())
              << listSummary(*view, words.filter);
  }
  return kExitDone;
}

void addFilters(CLI::App& command, ListWords& words) {
  command.add_option("DEVICE", words.devices, std::string("only these: ") + kUnitHelp)->take_all();
  command
      .add_option_function<std::vector<std::string>>(
          "--select",
          [&words](const std::vector<std::string>& texts) {
            for (const std::string& text : texts) {
              auto selector = Selector::parse(text);
              if (!selector) throw CLI::ValidationError("--select", selector.error().text);
              if (selectsProducts(*selector) || selectsSerials(*selector)) {
                throw CLI::ValidationError("--select", functionSelector(text).error().text);
              }
              words.filter.selectors.push_back(std::move(selector).value());
            }
          },
          "only what matches, such as 10de:2684 or class=03,numa=0; repeatable: any of them")
      ->allow_extra_args(false)
      ->take_all()
      ->type_name("SELECTOR");
  command
      .add_option("--state", words.filter.states,
                  "only what is in this state; repeatable: " + CLI::detail::join(stateNames(), "|"))
      ->allow_extra_args(false)
      ->take_all()
      ->delimiter(',')
      ->type_name("STATE")
      ->check(checkState);
  command.add_flag("--all", words.filter.all, "bridges and other parts of the machine, too");
}

}  // namespace

void addListCommand(CLI::App& app, int& exitCode) {
  CLI::App* command = app.add_subcommand(
      "list", "IOMMU groups and PCI devices, and why each can or cannot be passed through");
  auto words = std::make_shared<ListWords>();
  addFilters(*command, *words);
  addViewOptions(*command, words->view);
  addOutputForm(*command, words->form, {"table", "json", "yaml", "svg"});
  command
      ->add_flag("--tree", words->tree,
                 "by NUMA node, root port and switch, with who has what; -o svg draws the same")
      ->excludes(command->get_option("--output"));
  addRecordOption(*command, words->view);
  command->callback([words, &exitCode]() { exitCode = list(*words); });
}

}  // namespace vfiogate
