#pragma once
// Reads what `privd doctor` judges by. Nothing here writes, waits, or fails: what cannot be read is
// a fact, too.

#include "privd/cli/doctor/host_facts.h"

#include <string>

namespace CLI {
class App;
}

namespace vfiogate {

/// Where to look. Everything is found below these roots and nowhere else.
struct DoctorRoots {
  std::string sysfs = "/sys";
  std::string dev = "/dev";
  std::string proc = "/proc";
  std::string etc = "/etc";
  std::string modulesDir = "/lib/modules";
  std::string kubeletDir = "/var/lib/kubelet";
  std::string cdiDir = "/var/run/cdi";
  std::string stateDir;   ///< empty: operators excluded nothing, and kept nothing bound
  std::string recordDir;  ///< empty: no change of drivers runs
};
void addRoots(CLI::App& command, DoctorRoots& roots);

HostFacts readHost(const DoctorRoots& roots);

}  // namespace vfiogate
