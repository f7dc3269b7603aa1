#include "ipc/base/kube_names.h"

#include <gtest/gtest.h>

#include <string>

namespace vfiogate {
namespace {

const std::string kNul("a\0b", 3);

TEST(KubeNames, LabelsAreWhatKubernetesTakes) {
  for (const std::string& text : {std::string("a"), std::string("0"), std::string("gpu-1"),
                                  std::string("a--b"), std::string(63, 'x')}) {
    EXPECT_TRUE(isDnsLabel(text)) << text;
  }
  for (const std::string& text :
       {std::string(), std::string("-a"), std::string("a-"), std::string("A"), std::string("a.b"),
        std::string("a_b"), std::string("a/b"), std::string("a\n"), std::string("a\""),
        std::string(".."), std::string("é"), kNul, std::string(64, 'x')}) {
    EXPECT_FALSE(isDnsLabel(text)) << text;
  }
}

TEST(KubeNames, SubdomainsAreLabelsWithDots) {
  EXPECT_TRUE(isDnsSubdomain("a.b-c.0"));
  EXPECT_TRUE(isDnsSubdomain(std::string(253, 'a')));
  for (const std::string& text :
       {std::string(), std::string("."), std::string("a."), std::string(".a"), std::string("a..b"),
        std::string("a/../b"), std::string("a\\b"), kNul, std::string(254, 'a')}) {
    EXPECT_FALSE(isDnsSubdomain(text)) << text;
  }
}

TEST(KubeNames, UidsAreUuidsInLowerCase) {
  EXPECT_TRUE(isUid("c7e7b22e-239b-4498-b27c-7f1344481e14"));
  for (const char* text :
       {"", "c7e7b22e-239b-4498-b27c-7f1344481e1", "C7E7B22E-239B-4498-B27C-7F1344481E14",
        "c7e7b22e-239b-4498-b27c-7f1344481e14\n", "c7e7b22e0239b04498-b27c-7f1344481e14",
        "../../../../../../../../../../etc/pwd", "g7e7b22e-239b-4498-b27c-7f1344481e14"}) {
    EXPECT_FALSE(isUid(text)) << text;
  }
}

TEST(KubeNames, PoolsMayHaveSlashes) {
  EXPECT_TRUE(isPoolName("node-1"));
  EXPECT_TRUE(isPoolName("rack.example.org/node-1"));
  for (const char* text : {"", "/", "a//b", "../a", "a;b"}) EXPECT_FALSE(isPoolName(text)) << text;
}

TEST(KubeNames, ADriverIsACdiVendorToo) {
  EXPECT_TRUE(isDraDriver("vfio.vfiogate.dev"));
  EXPECT_TRUE(isDraDriver(std::string(63, 'a')));
  for (const std::string& text :
       {std::string(), std::string("10de.dev"), std::string("Vfio.dev"), std::string("a/b"),
        std::string(".."), std::string("a"), std::string(64, 'a')}) {
    EXPECT_FALSE(isDraDriver(text)) << text;
  }
}

}  // namespace
}  // namespace vfiogate
