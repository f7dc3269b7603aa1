#include "plugind/self_test/scratch_directory.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <system_error>

namespace vfiogate {

ScratchDirectory::ScratchDirectory(const Identity& user) {
  std::string path = std::filesystem::temp_directory_path() / "vfiogate-self-test-XXXXXX";
  if (mkdtemp(path.data()) == nullptr) {
    throw std::system_error(errno, std::generic_category(), path);
  }
  places_.directory = path;
  const std::string own = std::filesystem::path(places_.plugind()).parent_path();
  std::filesystem::create_directory(own);
  if (geteuid() != 0) return;
  const bool theirs = chmod(path.c_str(), 0711) == 0 && chown(own.c_str(), user.uid, user.gid) == 0;
  if (!theirs) throw std::system_error(errno, std::generic_category(), own);
}

ScratchDirectory::~ScratchDirectory() {
  std::error_code leftThere;
  std::filesystem::remove_all(places_.directory, leftThere);
}

}  // namespace vfiogate
