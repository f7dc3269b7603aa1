#include "ipc/base/kube_names.h"

#include <gtest/gtest.h>

namespace vfiogate {
namespace {

TEST(CdiKind, BeginsWithALetterOnBothSidesAndItsClassHasNoDot) {
  struct Row {
    const char* resource;
    bool isKind;
  };
  const Row rows[] = {
      {"vfiogate.dev/pci_10de_2684", true},
      {"vfiogate.dev/10de_2684", false},
      {"vfiogate.dev/abcd_0001", true},
      {"vfiogate.dev/gpu.large", false},
      {"vfiogate.dev/G-1", true},
      {"nvidia.com/A100", true},
      {"3com.example/nic", false},
      {"vfiogate.dev/7", false},
      {"vfiogate.dev/g", false},
      {"v/gpu", false},
  };
  for (const Row& row : rows) {
    EXPECT_EQ(isCdiKind(*ResourceName::parse(row.resource)), row.isKind) << row.resource;
  }
}

}  // namespace
}  // namespace vfiogate
