#include "privd/cdi/claim_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "privd/cdi/cdi_spec.h"
#include "privd/cdi/device_metadata.h"
#include "sim/base/temp_dir.h"
#include "tests/support/played/claim_specs.h"
#include "tests/support/small_disk.h"

namespace vfiogate {
namespace {

namespace fs = std::filesystem;
using test::claimSpec;
using test::claimUid;
using test::kClaimUid;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr const char* kOne = "0000:01:00.0";
constexpr const char* kTwo = "0000:02:00.0";

std::string contentOf(const std::string& path) {
  std::ostringstream all;
  all << std::ifstream(path).rdbuf();
  return all.str();
}

class ClaimStoreTest : public testing::Test {
protected:
  ClaimStoreTest() {
    fs::create_directory(dir_ / "cdi");
    fs::create_directory(dir_ / "metadata");
  }
  ~ClaimStoreTest() noexcept override = default;

  static SpecNodes nodesOf(const ClaimDevice& device) {
    const std::uint32_t group = device.address == *Bdf::parse(kOne) ? 12 : 13;
    return {{SpecNode::Kind::kContainer, 0}, {SpecNode::Kind::kGroup, group}};
  }
  Result<Done, SpecRefused> write(const ClaimSpec& spec) {
    ClaimSpecText text{spec, {}};
    for (const ClaimDevice& device : spec.devices) text.nodes.push_back(nodesOf(device));
    return store_.write(text);
  }
  bool writes(const ClaimSpec& spec) { return write(spec).has_value(); }
  /// What is not written, in words; empty: it is.
  std::string bad(const ClaimSpec& spec) {
    const auto written = write(spec);
    if (written) return "";
    return written.error().code == gate::Code::kBad ? written.error().words : "another fault";
  }
  /// The errno; 0: none.
  int failure(const ClaimSpec& spec) {
    const auto written = write(spec);
    if (written) return 0;
    return written.error().code == gate::Code::kFailed ? written.error().detail : -1;
  }
  std::string pathOf(const std::string& uid = kClaimUid) {
    return dir_ / ("cdi/" + claimFileName(uid));
  }
  std::size_t files(const std::string& directory = "cdi") {
    return static_cast<std::size_t>(std::distance(fs::directory_iterator(dir_ / directory), {}));
  }
  std::string metadata(const std::string& request) {
    return contentOf(dir_ / ("metadata/" + metadataFileName(kClaimUid, request)));
  }

  TempDir dir_;
  const ServedNames names_{{"vfiogate.dev/"}, "vfio.vfiogate.dev"};
  ClaimStore store_{dir_ / "cdi", dir_ / "metadata", names_};
};

TEST_F(ClaimStoreTest, WritesTheNodesThatItIsTold) {
  const ClaimSpec spec = claimSpec({kOne, kTwo});
  ASSERT_TRUE(write(spec));
  EXPECT_EQ(
      contentOf(pathOf()),
      claimSpecText(spec, {{"/dev/vfio/vfio", "/dev/vfio/12"}, {"/dev/vfio/vfio", "/dev/vfio/13"}},
                    dir_ / "metadata"));
  EXPECT_EQ(files(), 1U);
  EXPECT_EQ(files("metadata"), 0U);
  EXPECT_EQ(fs::status(pathOf()).permissions(), fs::perms(0644));
}

TEST_F(ClaimStoreTest, TheSameSpecIsNotWrittenAgainAndAnotherTakesItsPlaceWhole) {
  ASSERT_TRUE(writes(claimSpec({kOne})));
  std::ifstream reader(pathOf());
  const auto before = fs::last_write_time(pathOf());
  struct stat first = {};
  ASSERT_EQ(stat(pathOf().c_str(), &first), 0);
  ASSERT_TRUE(writes(claimSpec({kOne})));
  struct stat second = {};
  ASSERT_EQ(stat(pathOf().c_str(), &second), 0);
  EXPECT_EQ(first.st_ino, second.st_ino);
  EXPECT_EQ(fs::last_write_time(pathOf()), before);
  ASSERT_TRUE(writes(claimSpec({kTwo})));
  std::ostringstream old;
  old << reader.rdbuf();
  EXPECT_THAT(old.str(), HasSubstr("/dev/vfio/12")) << "who reads meanwhile has the old text";
  EXPECT_THAT(contentOf(pathOf()), HasSubstr("/dev/vfio/13"));
  EXPECT_EQ(files(), 1U);
}

TEST_F(ClaimStoreTest, I7_WritesForItsDriverAndItsResourcesOnly) {
  ClaimSpec spec = claimSpec({kOne});
  spec.driver = "gpu.nvidia.com";
  EXPECT_THAT(bad(spec), HasSubstr("--dra-driver"));
  spec = claimSpec({kOne});
  spec.devices[0].resource = "nvidia.com/gpu";
  EXPECT_THAT(bad(spec), HasSubstr("--resource-prefix"));
  EXPECT_EQ(files(), 0U);
}

TEST_F(ClaimStoreTest, WithoutADriverNothingIsWritten) {
  const ServedNames none{{"vfiogate.dev/"}, ""};
  ClaimStore store{dir_ / "cdi", dir_ / "metadata", none};
  EXPECT_FALSE(store.write({claimSpec({kOne}), {nodesOf(claimSpec({kOne}).devices[0])}}));
  EXPECT_EQ(files(), 0U);
}

TEST_F(ClaimStoreTest, UnlinksWhatItWroteAndNothingElse) {
  ASSERT_TRUE(writes(claimSpec({kOne})));
  ASSERT_TRUE(writes(claimSpec({kTwo}, claimUid(1))));
  std::ofstream(dir_ / "cdi/nvidia.json") << "{}";
  std::ofstream(dir_ / ("cdi/.vfiogate-claim-" + kClaimUid + ".json.tmp")) << "{";
  ASSERT_TRUE(store_.unlink(kClaimUid));
  EXPECT_FALSE(fs::exists(pathOf()));
  EXPECT_TRUE(fs::exists(pathOf(claimUid(1))));
  EXPECT_EQ(files(), 2U) << "what a privd left that died while it wrote is gone";
  EXPECT_TRUE(store_.unlink(kClaimUid)) << "repeatable";
  fs::remove_all(dir_ / "cdi");
  EXPECT_TRUE(store_.unlink(kClaimUid)) << "with the directory all specs are gone";
}

TEST_F(ClaimStoreTest, MetadataComesWithTheSpecAndGoesWithIt) {
  ClaimSpec spec = claimSpec({kOne, kTwo});
  spec.devices[1].request = "nic";
  spec.metadata = true;
  ASSERT_TRUE(writes(spec));
  EXPECT_EQ(metadata("gpu"), metadataText(spec, "gpu"));
  EXPECT_EQ(metadata("nic"), metadataText(spec, "nic"));
  EXPECT_THAT(contentOf(pathOf()), HasSubstr(dir_ / ("metadata/" + kClaimUid + "_gpu.json")));
  spec.uid = claimUid(1);
  ASSERT_TRUE(writes(spec));
  // Of another shape, so not ours.
  const std::string stranger = dir_ / ("metadata/" + kClaimUid + "_gpu.txt");
  std::ofstream(stranger) << "x";
  ASSERT_TRUE(store_.unlink(kClaimUid));
  EXPECT_EQ(files("metadata"), 3U);
  EXPECT_TRUE(fs::exists(stranger));
  EXPECT_TRUE(fs::exists(dir_ / ("metadata/" + metadataFileName(claimUid(1), "nic"))));
}

TEST_F(ClaimStoreTest, I10_MetadataIsOfTheRequestsThatTheClaimHasNow) {
  ClaimSpec spec = claimSpec({kOne});
  spec.metadata = true;
  ASSERT_TRUE(writes(spec));
  const std::string others = dir_ / ("metadata/" + metadataFileName(claimUid(1), "gpu"));
  std::ofstream(others) << "{}";
  for (const char* request : {"a", "b", "c"}) {
    spec.devices[0].request = request;
    ASSERT_TRUE(writes(spec));
  }
  EXPECT_EQ(files("metadata"), 2U) << "a peer could fill the disk";
  EXPECT_EQ(metadata("c"), metadataText(spec, "c"));
  EXPECT_TRUE(fs::exists(others));
}

TEST_F(ClaimStoreTest, I10_WhatFindsNoRoomLeavesNoMetadata) {
  for (unsigned i = 0; i < kMostClaimSpecs; ++i) std::ofstream(pathOf(claimUid(i))) << "{}";
  ClaimSpec spec = claimSpec({kOne});
  spec.metadata = true;
  EXPECT_EQ(failure(spec), EDQUOT);
  EXPECT_EQ(files("metadata"), 0U) << "a peer could fill the disk";
}

TEST_F(ClaimStoreTest, WithoutItsMetadataASpecIsNotWritten) {
  ClaimSpec spec = claimSpec({kOne});
  spec.metadata = true;
  fs::remove(dir_ / "metadata");
  EXPECT_EQ(failure(spec), ENOENT);
  EXPECT_EQ(files(), 0U);
  ClaimStore quoted{dir_ / "cdi", "/a\"b", names_};
  const auto refused = quoted.write({spec, {nodesOf(spec.devices[0])}});
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().words, HasSubstr("--kubelet-dir"));
  EXPECT_EQ(files(), 0U);
}

TEST_F(ClaimStoreTest, NoLinkIsFollowed) {
  std::ofstream(dir_ / "secret") << "secret";
  fs::create_symlink(dir_ / "secret", pathOf());
  EXPECT_EQ(store_.open(kClaimUid).error().error, ELOOP);
  ASSERT_TRUE(writes(claimSpec({kOne})));
  EXPECT_EQ(contentOf(dir_ / "secret"), "secret");
  EXPECT_FALSE(fs::is_symlink(pathOf()));
  fs::remove(pathOf());
  fs::create_symlink(dir_ / "secret", pathOf());
  ASSERT_TRUE(store_.unlink(kClaimUid));
  EXPECT_FALSE(fs::is_symlink(pathOf()));
  EXPECT_EQ(contentOf(dir_ / "secret"), "secret");
}

TEST_F(ClaimStoreTest, UidsAreThoseOfClaimsInOrder) {
  ASSERT_TRUE(writes(claimSpec({kTwo}, claimUid(2))));
  ASSERT_TRUE(writes(claimSpec({kOne}, claimUid(1))));
  std::ofstream(dir_ / "cdi/vfiogate-f7ffbb832d632a20.json") << "{}";
  std::ofstream(dir_ / "cdi/vfiogate-claim-1.json") << "{}";
  const auto uids = store_.uids();
  ASSERT_TRUE(uids);
  EXPECT_THAT(*uids, ElementsAre(claimUid(1), claimUid(2)));
  fs::remove_all(dir_ / "cdi");
  EXPECT_THAT(*store_.uids(), IsEmpty());
}

TEST_F(ClaimStoreTest, ASpecIsOpenedForReading) {
  ASSERT_TRUE(writes(claimSpec({kOne})));
  const auto opened = store_.open(kClaimUid);
  ASSERT_TRUE(opened);
  EXPECT_EQ(static_cast<std::size_t>(opened->status.st_size), contentOf(pathOf()).size());
  EXPECT_LT(::write(opened->fd, "x", 1), 0);
  EXPECT_EQ(store_.open(claimUid(1)).error().error, ENOENT);
}

TEST_F(ClaimStoreTest, I10_WhatIsNoFileOrTooLongIsNotOpened) {
  ASSERT_EQ(mkfifo(pathOf(claimUid(1)).c_str(), 0600), 0);
  fs::create_directory(pathOf(claimUid(2)));
  std::ofstream(pathOf(claimUid(3))) << std::string(kLongestClaimSpec + 1, 'x');
  std::ofstream(pathOf(claimUid(4))) << std::string(kLongestClaimSpec, 'x');
  EXPECT_EQ(store_.open(claimUid(1)).error().error, EINVAL) << "and nobody waits for it";
  EXPECT_EQ(store_.open(claimUid(2)).error().error, EINVAL);
  EXPECT_EQ(store_.open(claimUid(3)).error().error, EFBIG);
  EXPECT_TRUE(store_.open(claimUid(4)));
}

TEST_F(ClaimStoreTest, I10_KeepsTwoHundredAndFiftySixClaimsAndNoMore) {
  for (unsigned i = 0; i < kMostClaimSpecs; ++i) std::ofstream(pathOf(claimUid(i))) << "{}";
  EXPECT_EQ(store_.uids()->size(), kMostClaimSpecs);
  EXPECT_EQ(failure(claimSpec({kOne})), EDQUOT);
  EXPECT_TRUE(writes(claimSpec({kOne}, claimUid(7)))) << "in place of one of them";
  ASSERT_TRUE(store_.unlink(claimUid(8)));
  EXPECT_TRUE(writes(claimSpec({kOne})));
  std::ofstream(pathOf(claimUid(8))) << "{}";
  const auto uids = store_.uids();
  ASSERT_FALSE(uids) << "some would be missing, and their groups be taken for free";
  EXPECT_EQ(uids.error().error, EOVERFLOW);
}

TEST_F(ClaimStoreTest, AFullDiskIsAnErrnoAndLeavesWhatWasThere) {
  const test::SmallDisk disk(dir_ / "cdi");
  if (!disk.mounted()) GTEST_SKIP() << "cannot mount: no rights";
  ASSERT_TRUE(writes(claimSpec({kOne})));
  const std::string before = contentOf(pathOf());
  disk.fill();
  EXPECT_EQ(failure(claimSpec({kTwo})), ENOSPC);
  EXPECT_EQ(failure(claimSpec({kTwo}, claimUid(1))), ENOSPC);
  EXPECT_EQ(contentOf(pathOf()), before);
  EXPECT_EQ(store_.uids()->size(), 1U);
  EXPECT_TRUE(store_.unlink(kClaimUid));
  disk.empty();
  EXPECT_TRUE(writes(claimSpec({kTwo})));
  ASSERT_TRUE(disk.setReadOnly());
  EXPECT_EQ(failure(claimSpec({kOne})), EROFS);
  EXPECT_EQ(store_.unlink(kClaimUid).error().error, EROFS);
  EXPECT_EQ(failure(claimSpec({kTwo})), 0) << "it is right already";
}

TEST_F(ClaimStoreTest, I10_WhereNoSpecCanBeWrittenNoMetadataStays) {
  const test::SmallDisk disk(dir_ / "cdi");
  if (!disk.mounted()) GTEST_SKIP() << "cannot mount: no rights";
  ClaimSpec known = claimSpec({kOne});
  known.metadata = true;
  ASSERT_TRUE(writes(known));
  disk.fill();
  const auto attack = [&](int error) {
    for (unsigned i = 1; i <= 100; ++i) {
      ClaimSpec fresh = claimSpec({kTwo}, claimUid(i));
      fresh.metadata = true;
      EXPECT_EQ(failure(fresh), error);
    }
    EXPECT_EQ(files("metadata"), 1U) << "of the claim that has a spec";
  };
  attack(ENOSPC);
  disk.empty();
  ASSERT_TRUE(disk.setReadOnly());
  attack(EROFS);
}

}  // namespace
}  // namespace vfiogate
