#include "privd/options/hardware_options.h"

namespace vfiogate {

OptionTable hardwareOptions(HardwareOptions& options) {
  return {
      textOption("--plugind", options.plugind, "the socket on which plugind listens"),
      plugindUidOption(options.plugindUid),
      sysfsOption(options.sysfs),
      devOption(options.dev),
      ueventsOption(options.uevents),
      rescanOption(options.rescanSeconds),
      logFormatOption(options.logForm),
      landlockOption(options.requireLandlock),
      readyOption(options.readyFd),
  };
}

}  // namespace vfiogate
