// Which VFIO driver a device is bound to.

#include "privd/bind/plan/driver_choice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace vfiogate {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr const char* kMellanox = "pci:v000015B3d0000101Esv000015B3sd00000058bc02sc00i00";
constexpr const char* kGrace = "pci:v000010DEd00002342sv000010DEsd000016EBbc03sc02i00";

const std::vector<VfioAlias> kAliases = vfioAliases(
    "# Aliases extracted from modules themselves.\n"
    "alias pci:v00008086d00001572sv*sd*bc*sc*i* i40e\n"
    "alias vfio_pci:v*d*sv*sd*bc*sc*i* vfio_pci\n"
    "alias vfio_pci:v000015B3d0000101Esv*sd*bc*sc*i* mlx5_vfio_pci\n"
    "alias vfio_pci:v000010DEd00002342sv*sd*bc*sc*i* nvgrace_gpu_vfio_pci\n"
    "alias vfio_pci:v000010DEd*sv*sd*bc03sc*i* other_vfio_pci\n"
    "alias vfio_pci:broken\n");

TEST(DriverChoice, OnlyTheAliasesOfVfioDriversAreTaken) {
  ASSERT_EQ(kAliases.size(), 4U);
  EXPECT_EQ(kAliases[1].module, "mlx5_vfio_pci");
}

TEST(DriverChoice, TheMostSpecificVariantComesFirst) {
  EXPECT_THAT(variantsFor(kGrace, kAliases), ElementsAre("nvgrace_gpu_vfio_pci", "other_vfio_pci"));
  EXPECT_THAT(variantsFor(kMellanox, kAliases), ElementsAre("mlx5_vfio_pci"));
  EXPECT_THAT(variantsFor("pci:v00008086d00001572sv0sd0bc02sc00i00", kAliases), IsEmpty());
  EXPECT_THAT(variantsFor("", kAliases), IsEmpty());
}

TEST(DriverChoice, AVariantThatIsLoadedIsTakenInEitherSpelling) {
  EXPECT_EQ(chooseDriver(kMellanox, kAliases, {"mlx5_vfio_pci", "vfio-pci"}).driver,
            "mlx5_vfio_pci");
  EXPECT_EQ(chooseDriver(kGrace, kAliases, {"nvgrace-gpu-vfio-pci", "vfio-pci"}).driver,
            "nvgrace-gpu-vfio-pci");
  EXPECT_THAT(chooseDriver(kGrace, kAliases, {"nvgrace-gpu-vfio-pci"}).remark, IsEmpty());
}

TEST(DriverChoice, OneThatIsNotLoadedIsNamed) {
  const DriverChoice choice = chooseDriver(kMellanox, kAliases, {"vfio-pci"});
  EXPECT_EQ(choice.driver, "vfio-pci");
  EXPECT_THAT(choice.remark, HasSubstr("mlx5_vfio_pci"));
  EXPECT_EQ(chooseDriver("pci:v1", {}, {}).driver, "vfio-pci");
}

TEST(DriverChoice, I10_AFileOfAliasesWithoutEndIsCutOff) {
  std::string text;
  for (int i = 0; i < 10'000; ++i) text += "alias vfio_pci:v* a\n";
  EXPECT_EQ(vfioAliases(text).size(), 4096U);
}

}  // namespace
}  // namespace vfiogate
