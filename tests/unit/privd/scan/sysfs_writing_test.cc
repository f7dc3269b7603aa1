#include "privd/scan/sysfs_root.h"

#include "sim/base/temp_dir.h"

#include <gtest/gtest.h>

#include <sys/fsuid.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace vfiogate {
namespace {

constexpr const char* kAttribute = "bus/pci/drivers_probe";

void makeAttribute(const std::filesystem::path& root) {
  std::filesystem::create_directories(root / "bus/pci");
  std::ofstream(root / kAttribute) << "";
}

SysfsWriting writingBelow(const std::filesystem::path& root) {
  return sysfsWriting(*SysfsRoot::open(root.string()));
}

TEST(SysfsWriting, IsPossibleWhereTheAttributeOpensAndLeavesItAsItWas) {
  const TempDir root;
  makeAttribute(root.path());
  EXPECT_EQ(writingBelow(root.path()), SysfsWriting::kPossible);
  EXPECT_EQ(std::filesystem::file_size(root.path() / kAttribute), 0U);
}

TEST(SysfsWriting, IsNotKnownWithoutTheAttribute) {
  const TempDir root;
  EXPECT_EQ(writingBelow(root.path()), SysfsWriting::kUnknown);
  std::filesystem::create_directories(root.path() / kAttribute);
  EXPECT_EQ(writingBelow(root.path()), SysfsWriting::kUnknown);
}

TEST(SysfsWriting, KnowsAReadOnlyMount) {
  const TempDir root;
  makeAttribute(root.path());
  const std::string path = root.path();
  if (mount(path.c_str(), path.c_str(), nullptr, MS_BIND, nullptr) != 0) {
    GTEST_SKIP() << "may not mount";
  }
  EXPECT_EQ(mount(nullptr, path.c_str(), nullptr, MS_BIND | MS_REMOUNT | MS_RDONLY, nullptr), 0);
  EXPECT_EQ(writingBelow(root.path()), SysfsWriting::kReadOnly);
  umount2(path.c_str(), MNT_DETACH);
}

TEST(SysfsWriting, KnowsARefusal) {
  const TempDir root;
  makeAttribute(root.path());
  std::filesystem::permissions(root.path(), std::filesystem::perms(0755));
  std::filesystem::permissions(root.path() / kAttribute, std::filesystem::perms(0200));
  constexpr uid_t kNobody = 65534;
  setfsuid(kNobody);  // of this thread; capabilities over files go with it
  const bool nobody = setfsuid(kNobody) == static_cast<int>(kNobody);
  const SysfsWriting writing = writingBelow(root.path());
  setfsuid(0);
  if (!nobody) GTEST_SKIP() << "may not change its user";
  EXPECT_EQ(writing, SysfsWriting::kDenied);
}

}  // namespace
}  // namespace vfiogate
