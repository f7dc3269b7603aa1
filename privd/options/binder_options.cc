#include "privd/options/binder_options.h"

#include <algorithm>
#include <iterator>

namespace vfiogate {

OptionTable binderOptions(BinderOptions& options) {
  OptionTable table{
      textOption("--plugind", options.plugind,
                 std::string("the socket on which plugind listens [none; where it may bind, ") +
                     kPlugindSocket + "]"),
      plugindUidOption(options.plugindUid),
      rightsOption(options.plugindRights),
      sysfsOption(options.sysfs),
      devOption(options.dev),
      stateOption(options.stateDir),
      recordOption(options.recordDir),
      ueventsOption(options.uevents),
      rescanOption(options.rescanSeconds),
      logFormatOption(options.logForm),
      auditOption(options.binding),
      overrideOption(options.binding.overrides),
      declareOption(options.declared),
      landlockOption(options.requireLandlock),
      readyOption(options.readyFd),
  };
  std::ranges::move(guardOptions(options.binding), std::back_inserter(table));
  return table;
}

}  // namespace vfiogate
