#pragma once
// What each of privd's programs was told, and the table of its options.

#include "ipc/base/log_format.h"
#include "privd/options/binding_options.h"
#include "privd/options/shared_options.h"

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

namespace vfiogate {

/// Of whoever scans the hardware.
struct ScanOptions {
  std::string sysfs = "/sys";
  std::string dev = "/dev";
  std::string uevents = "on";
  std::uint32_t rescanSeconds = 10;
};

struct HardwareOptions : ScanOptions {
  std::string plugind = kPlugindSocket;
  uid_t plugindUid = kPlugindUid;
  LogForm logForm = LogForm::kLogfmt;
  bool requireLandlock = false;
};

/// They fill `options`.
OptionTable hardwareOptions(HardwareOptions& options);

struct GateOptions {
  std::string plugind = kPlugindSocket;
  uid_t plugindUid = kPlugindUid;
  std::string plugindRights = "watch,kubelet";
  std::string kubeletDir = "/var/lib/kubelet";
  std::string cdiDir = "/var/run/cdi";
  std::string plugindConfig;  ///< empty: none
  std::string stateDir = "/var/lib/vfiogate";
  std::string recordDir;  ///< empty: see recordDirectory()
  std::vector<std::string> resourcePrefixes = {"vfiogate.dev/"};
  std::string draDriver;  ///< empty: none
  LogForm logForm = LogForm::kLogfmt;
  bool requireLandlock = false;
};

/// The gate's options, which fill `options`.
OptionTable gateOptions(GateOptions& options);

struct IommufdOptions {
  std::string socket = "/run/vfiogate/iommufd/iommufd.sock";
  std::string dev = "/dev";
  LogForm logForm = LogForm::kLogfmt;
  bool requireLandlock = false;
};

/// They fill `options`.
OptionTable iommufdOptions(IommufdOptions& options);

struct BinderOptions : ScanOptions {
  std::string plugind;  ///< empty: see plugindSocket()
  uid_t plugindUid = kPlugindUid;
  std::string plugindRights;
  std::string stateDir = "/var/lib/vfiogate";
  std::string recordDir;  ///< empty: see recordDirectory()
  LogForm logForm = LogForm::kLogfmt;
  BindingOptions binding;
  std::vector<Selector> declared;
  std::vector<WantedVfs> vfs;
  bool requireLandlock = false;

  /// It binds for allocations.
  bool allocates() const { return hasRight(plugindRights, "bind"); }
  /// It tells plugind whether somebody has a group open. Who may have groups bound may ask that.
  bool probes() const { return allocates() || hasRight(plugindRights, "probe"); }
  /// It asks cards for their serial numbers for plugind. Who may have groups bound may ask that.
  bool serials() const { return allocates() || hasRight(plugindRights, "serial"); }
  /// Empty: no plugind is dialled. Whoever has one of these rights without a socket of its own is
  /// at the usual one.
  std::string plugindSocket() const {
    return plugind.empty() && (probes() || serials()) ? kPlugindSocket : plugind;
  }
};

/// They fill `options`.
OptionTable binderOptions(BinderOptions& options);

/// Those of the other three, each once.
struct ServeOptions : GateOptions, ScanOptions {
  uid_t hardwareUid = 64531;
  BindingOptions binding;
  std::vector<Selector> declared;
  std::vector<WantedVfs> vfs;
};

/// The daemon's options, which fill `options`.
OptionTable serveOptions(ServeOptions& options);

}  // namespace vfiogate
