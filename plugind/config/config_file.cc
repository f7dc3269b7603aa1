#include "plugind/config/config_file.h"

#include <cerrno>
#include <cstring>
#include <fstream>

namespace vfiogate {
namespace {

using Remarks = std::vector<ConfigRemark>;

Failure<Remarks> unreadable(const std::string& path, const std::string& why) {
  return Failure{Remarks{{path, 0, "", why}}};
}

}  // namespace

Result<Config, Remarks> readConfigFile(const std::string& path) {
  if (path.empty()) return parseConfig("", "(no --config)");
  std::ifstream file(path, std::ios::binary);
  if (!file) return unreadable(path, std::string("cannot be opened: ") + strerror(errno));
  std::string text(kMaxConfigBytes + 1, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (file.bad()) return unreadable(path, std::string("cannot be read: ") + strerror(errno));
  text.resize(static_cast<std::size_t>(file.gcount()));
  if (text.size() > kMaxConfigBytes) return unreadable(path, "is larger than 1 MiB");
  return parseConfig(text, path);
}

}  // namespace vfiogate
