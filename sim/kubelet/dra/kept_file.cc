#include "sim/kubelet/dra/kept_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>

namespace vfiogate::sim {

void keepFile(const std::string& path, const std::string& text) {
  const std::filesystem::path place(path);
  const std::string temporary = place.parent_path() / ("." + place.filename().string());
  const int fd = open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (fd < 0) return;
  const bool written = write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  fsync(fd);
  close(fd);
  if (written) std::filesystem::rename(temporary, place);
}

std::string keptText(const std::string& path) {
  const std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

}  // namespace vfiogate::sim
