#include "privd/sandbox/gate_places.h"

#include "privd/options/binding_options.h"
#include "privd/options/program_options.h"

namespace vfiogate {

AllowedPlaces gatePlaces(const GateOptions& options) {
  const std::string registry = options.kubeletDir + "/plugins_registry";
  const PlaceValues values{
      {"<kubelet-dir>/plugins_registry", options.draDriver.empty() ? "" : registry},
      {"<kubelet-dir>", options.kubeletDir},
      {"<dra-driver>", options.draDriver},
      {"<cdi-dir>", hasRight(options.plugindRights, "cdi") ? options.cdiDir : ""},
      {"<plugind-config>", options.plugindConfig},
      {"<state-dir>", options.stateDir},
      {"<record-dir>", recordDirectory(options.recordDir, options.stateDir)},
  };
  return allowedPlaces(kGatePlaces, values);
}

LastingDirectories gateDirectories(const GateOptions& options, Confined confined) {
  using Directories = LastingDirectories;
  constexpr auto kAwaited = Directories::IfMissing::kAwaited;
  constexpr auto kClosed = Directories::IfMissing::kClosed;
  const auto replaced = confined == Confined::kYes ? Directories::IfReplaced::kClosed
                                                   : Directories::IfReplaced::kReachable;
  Directories all;
  all.add(recordDirectory(options.recordDir, options.stateDir), Directories::IfReplaced::kClosed,
          kClosed);
  all.add(options.stateDir + "/holds", replaced, kClosed);
  all.add(options.kubeletDir + "/device-plugins", replaced, kAwaited);
  all.add(options.kubeletDir + "/pod-resources", Directories::IfReplaced::kReachable, kAwaited);
  if (!options.draDriver.empty()) {
    const std::string driver = options.kubeletDir + "/plugins/" + options.draDriver;
    all.add(options.kubeletDir + "/plugins_registry", replaced, kAwaited);
    all.add(driver, replaced, kClosed);
    all.add(driver + "/dra-device-metadata", replaced, kClosed);
  }
  if (hasRight(options.plugindRights, "cdi")) all.add(options.cdiDir, replaced, kClosed);
  return all;
}

}  // namespace vfiogate
