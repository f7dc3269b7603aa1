#include "privd/cli/doctor/kernel_parameters.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace vfiogate {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(KernelParameters, TakesBothSpellingsOfAName) {
  const auto given = KernelParameters::parse("vfio-pci.ids=10de:2684,10de:22ba vfio_pci.ids=1:2\n");
  EXPECT_THAT(given.values("vfio-pci.ids"), ElementsAre("10de:2684", "10de:22ba", "1:2"));
}

TEST(KernelParameters, KeepsQuotedBlanksTogether) {
  const auto given = KernelParameters::parse("dyndbg=\"file a +p\" quiet");
  EXPECT_THAT(given.values("dyndbg"), ElementsAre("file a +p"));
  EXPECT_TRUE(given.has("quiet"));
  EXPECT_THAT(KernelParameters::parse("\"dyndbg=file a +p\" quiet").values("dyndbg"),
              ElementsAre("file a +p"));
  EXPECT_FALSE(KernelParameters::parse("int\"\"el_iommu=on").has("intel_iommu"));
}

TEST(KernelParameters, LeavesWhatIsForInit) {
  EXPECT_FALSE(KernelParameters::parse("quiet -- iommu=off").has("iommu"));
}

TEST(KernelParameters, ListsItemsWithAndWithoutValue) {
  const auto given = KernelParameters::parse("intel_iommu=on,igfx_off pci=realloc=on");
  EXPECT_TRUE(given.lists("intel_iommu", "igfx_off"));
  EXPECT_TRUE(given.lists("pci", "realloc"));
  EXPECT_FALSE(given.lists("intel_iommu", "o"));
}

TEST(KernelParameters, MakesNothingOfNonsense) {
  for (const char* text : {"", " ", "=", "\"", ",,,", "===", "a=,,"}) {
    EXPECT_THAT(KernelParameters::parse(text).values("a"), IsEmpty()) << text;
  }
}

}  // namespace
}  // namespace vfiogate
