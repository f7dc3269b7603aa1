#include "privd/cli/doctor/modprobe_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace vfiogate {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

struct LinesRow {
  const char* name;
  const char* text;
  std::vector<ModprobeLine> lines;
};
class ModprobeConfig : public testing::TestWithParam<LinesRow> {};

TEST_P(ModprobeConfig, IsReadAsModprobeReadsIt) {
  EXPECT_EQ(parseModprobe(GetParam().text), GetParam().lines);
}

INSTANTIATE_TEST_SUITE_P(
    Rows, ModprobeConfig,
    testing::Values(
        LinesRow{"Options",
                 "options vfio-pci ids=10de:2684,10de:22ba disable_vga=1\n",
                 {{"options", "vfio_pci", {"ids=10de:2684,10de:22ba", "disable_vga=1"}, 1}}},
        LinesRow{"Blacklist", "\n  blacklist\tvfio-pci  \n", {{"blacklist", "vfio_pci", {}, 2}}},
        LinesRow{"Softdep",
                 "softdep nvidia pre: vfio-pci post: x",
                 {{"softdep", "nvidia", {"pre:", "vfio-pci", "post:", "x"}, 1}}},
        LinesRow{"Comments", "# blacklist vfio\n#blacklist vfio\n", {}},
        LinesRow{"JoinedLines",
                 "options vfio-pci \\\nids=1:2\nblacklist a",
                 {{"options", "vfio_pci", {"ids=1:2"}, 1}, {"blacklist", "a", {}, 3}}},
        LinesRow{"JoinedComment", "# one \\\nblacklist vfio\n", {}},
        LinesRow{"OpenEnd", "blacklist vfio\\", {{"blacklist", "vfio", {}, 1}}},
        LinesRow{"NoModule", "blacklist\nnonsense\n", {}}, LinesRow{"Nothing", "", {}}),
    [](const auto& row) { return std::string(row.param.name); });

TEST(ModprobeValues, AreSplitAtCommas) {
  const auto line = parseModprobe("options vfio-pci ids=\"10de:2684,,1:2\" ids=3:4 idsx=5:6").at(0);
  EXPECT_THAT(valuesOf(line, "ids"), ElementsAre("10de:2684", "1:2", "3:4"));
  EXPECT_THAT(valuesOf(line, "disable_vga"), IsEmpty());
  EXPECT_THAT(valuesOf(parseModprobe("options a b=").at(0), "b"), IsEmpty());
}

}  // namespace
}  // namespace vfiogate
