#include "ipc/base/kube_names.h"

#include <gtest/gtest.h>

namespace vfiogate {
namespace {

TEST(ResourceName, TakesWhatTheKubeletTakes) {
  for (const std::string& text :
       {std::string("vfiogate.dev/10de_2684"), std::string("nvidia.com/GB202_GEFORCE_RTX_5090"),
        std::string("a/b"), std::string("example.org/my-gpu.v2"),
        std::string("example.org/") + std::string(63, 'x'), std::string(244, 'a') + "/b"}) {
    const auto name = ResourceName::parse(text);
    ASSERT_TRUE(name) << text;
    EXPECT_EQ(name->str(), text);
  }
}

TEST(ResourceName, KnowsItsPrefix) {
  EXPECT_EQ(ResourceName::parse("vfiogate.dev/10de_2684")->prefix(), "vfiogate.dev");
}

TEST(ResourceName, RefusesWhatTheKubeletRefuses) {
  for (const std::string& text : {std::string(),
                                  std::string("gpu"),
                                  std::string("/gpu"),
                                  std::string("a/"),
                                  std::string("a/b/c"),
                                  std::string("Example.org/gpu"),
                                  std::string("example..org/gpu"),
                                  std::string("-a.org/gpu"),
                                  std::string("a-.org/gpu"),
                                  std::string("a_b.org/gpu"),
                                  std::string("example.org/-gpu"),
                                  std::string("example.org/gpu_"),
                                  std::string("a/g pu"),
                                  std::string("a/../b"),
                                  std::string("kubernetes.io/gpu"),
                                  std::string("x.kubernetes.io/gpu"),
                                  std::string("requests.example.org/gpu"),
                                  std::string("example.org/") + std::string(64, 'x'),
                                  std::string(245, 'a') + "/b",
                                  std::string("a/b\n"),
                                  std::string("a/b\0c", 5)}) {
    EXPECT_FALSE(ResourceName::parse(text)) << '"' << text << '"';
  }
}

}  // namespace
}  // namespace vfiogate
