#pragma once
// A disk that is soon full.

#include <sys/mount.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <utility>

namespace vfiogate::test {

/// A file system over the directory `path`, which is made where it is missing; gone at its end. Its
/// `options` are those of a tmpfs, by default for two pages. Without the right to mount there is
/// none: see mounted().
class SmallDisk {
public:
  explicit SmallDisk(std::string path, const char* options = "size=8k") : path_(std::move(path)) {
    std::filesystem::create_directories(path_);
    mounted_ = mount("tmpfs", path_.c_str(), "tmpfs", 0, options) == 0;
  }
  // What is mounted does not go by itself.
  ~SmallDisk() {
    if (mounted_) umount2(path_.c_str(), MNT_DETACH);
  }
  SmallDisk(const SmallDisk&) = delete;
  SmallDisk& operator=(const SmallDisk&) = delete;

  bool mounted() const { return mounted_; }
  /// Until empty() nothing can be written.
  void fill() const { std::ofstream(path_ + "/filler") << std::string(8192, 'x'); }
  void empty() const { std::filesystem::remove(path_ + "/filler"); }
  bool setReadOnly() const {
    return mount("tmpfs", path_.c_str(), "tmpfs", MS_REMOUNT | MS_RDONLY, nullptr) == 0;
  }

private:
  std::string path_;
  bool mounted_ = false;
};

}  // namespace vfiogate::test
