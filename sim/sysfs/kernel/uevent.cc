#include "sim/sysfs/kernel/uevent.h"

#include <algorithm>

namespace vfiogate::sim {

std::string_view Uevent::value(std::string_view key) const {
  const auto found = std::find_if(keys.begin(), keys.end(),
                                  [key](const auto& entry) { return entry.first == key; });
  return found == keys.end() ? std::string_view() : std::string_view(found->second);
}

std::string Uevent::datagram() const {
  std::string bytes;
  const auto line = [&bytes](std::string_view text) {
    bytes += text;
    bytes += '\0';
  };
  line(action + "@" + devpath);
  line("ACTION=" + action);
  line("DEVPATH=" + devpath);
  line("SUBSYSTEM=" + subsystem);
  for (const auto& [key, text] : keys) line(key + "=" + text);
  return bytes;
}

std::string Uevent::brief() const {
  const std::size_t slash = devpath.rfind('/');
  const std::string name = devpath.substr(slash + 1);
  return action + " " + (subsystem == "pci" ? name : subsystem + "/" + name);
}

}  // namespace vfiogate::sim
