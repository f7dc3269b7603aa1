#include "cli/picture/picture.h"

#include <gmock/gmock.h>

#include <random>

namespace vfiogate {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

TopologyDevice deviceAt(const std::string& address, std::optional<std::uint32_t> group) {
  return {.address = address,
          .name = "NVIDIA AD102",
          .driver = "vfio-pci",
          .state = "passable",
          .holder = {},
          .reason = {},
          .mark = Mark::kFree,
          .group = group};
}

TopologyPlace placeOf(const std::string& title, std::vector<TopologyDevice> devices,
                      std::vector<TopologyPlace> below = {}) {
  return {.title = title,
          .text = "root port, Intel",
          .group = {},
          .devices = std::move(devices),
          .below = std::move(below)};
}

/// Two nodes; behind the second a switch, and a group in two parts.
Topology twoNodes() {
  Topology topology{.summary = "4 PCI functions", .remarks = {"a remark"}, .nodes = {}};
  topology.nodes = {
      placeOf("NUMA node 0", {},
              {placeOf("pci0000:00", {deviceAt("0000:00:02.0", 1)},
                       {placeOf("0000:00:01.0", {deviceAt("0000:01:00.0", 2)})})}),
      placeOf("NUMA node 1", {},
              {placeOf("pci0000:80", {},
                       {placeOf("0000:80:01.0", {},
                                {placeOf("0000:81:00.0", {deviceAt("0000:82:00.0", 3)}),
                                 placeOf("0000:81:01.0", {deviceAt("0000:83:00.0", 3),
                                                          deviceAt("0000:83:00.1", 4)})})})})};
  return topology;
}

/// What no picture may have, each in words.
std::vector<std::string> faultsOf(const Layout& layout) {
  std::vector<std::string> faults;
  const auto overlap = [](const Box& a, const Box& b) {
    return a.x < b.x + b.width && b.x < a.x + a.width && a.y < b.y + b.height &&
           b.y < a.y + a.height;
  };
  const auto contains = [](const Box& a, const Box& b) {
    return a.x <= b.x && a.y <= b.y && b.x + b.width <= a.x + a.width &&
           b.y + b.height <= a.y + a.height;
  };
  for (std::size_t i = 0; i < layout.boxes.size(); ++i) {
    const Box& box = layout.boxes[i];
    if (box.x < 0 || box.y < 0 || box.x + box.width > layout.width ||
        box.y + box.height > layout.height) {
      faults.push_back("outside: " + box.lines[0]);
    }
    for (std::size_t j = i + 1; j < layout.boxes.size(); ++j) {
      const Box& other = layout.boxes[j];
      if (overlap(box, other) && !contains(box, other)) {
        faults.push_back("overlap: " + box.lines[0] + " and " + other.lines[0]);
      }
    }
  }
  for (const Wire& wire : layout.wires) {
    if (wire.fromX >= wire.bendX || wire.bendX >= wire.toX) faults.push_back("a wire goes back");
    for (const Box& box : layout.boxes) {
      const bool behind = box.x < wire.toX && wire.bendX < box.x + box.width;
      const bool crosses = behind && box.y < wire.toY && wire.toY < box.y + box.height;
      if (crosses && box.kind != Box::Kind::kNode) {
        faults.push_back("a wire crosses " + box.lines[0]);
      }
    }
  }
  return faults;
}

std::vector<std::string> titlesOf(const Layout& layout, Box::Kind kind) {
  std::vector<std::string> titles;
  for (const Box& box : layout.boxes) {
    if (box.kind == kind) titles.push_back(box.lines[0]);
  }
  return titles;
}

TEST(Layout, PutsEachDeviceIntoItsGroupAndNothingOverAnother) {
  const Layout layout = layOut(twoNodes());
  EXPECT_THAT(faultsOf(layout), ElementsAre());
  EXPECT_THAT(titlesOf(layout, Box::Kind::kGroup),
              ElementsAre("IOMMU group 1", "IOMMU group 2", "IOMMU group 3, part 1 of 2",
                          "IOMMU group 3, part 2 of 2", "IOMMU group 4"));
  EXPECT_EQ(titlesOf(layout, Box::Kind::kDevice).size(), 5U);
  EXPECT_THAT(titlesOf(layout, Box::Kind::kNode), ElementsAre("NUMA node 0", "NUMA node 1"));
  // From each place to each group and place right behind it.
  EXPECT_EQ(layout.wires.size(), 9U);
}

TEST(Layout, NamesTheHolderOnALineOfItsOwn) {
  Topology topology = twoNodes();
  TopologyDevice& device = topology.nodes[0].below[0].devices[0];
  device.holder = "default/vm-1 since 10:42";
  const Layout layout = layOut(topology);
  EXPECT_THAT(faultsOf(layout), ElementsAre());
  EXPECT_THAT(svgOf(layout), HasSubstr(">held by default/vm-1 since 10:42</text>"));
}

TEST(Layout, HasARoomForEachTreeThatThereCanBe) {
  std::mt19937 random(20261123);
  const auto below = [&](unsigned bound) { return static_cast<unsigned>(random() % bound); };
  for (int round = 0; round < 200; ++round) {
    Topology topology{.summary = std::string(below(400), 'x'), .remarks = {}, .nodes = {}};
    const auto grow = [&](const auto& self, unsigned depth) -> TopologyPlace {
      TopologyPlace place = placeOf(std::string(1 + below(60), 't'), {});
      for (unsigned i = below(4); i > 0; --i) {
        TopologyDevice device = deviceAt(std::string(1 + below(90), 'd'), below(6));
        if (below(3) == 0) device.holder = std::string(1 + below(90), 'h');
        place.devices.push_back(device);
      }
      for (unsigned i = depth > 3 ? 0 : below(4); i > 0; --i) {
        place.below.push_back(self(self, depth + 1));
      }
      return place;
    };
    for (unsigned i = 1 + below(3); i > 0; --i) {
      TopologyPlace node = placeOf("node", {});
      node.below.push_back(grow(grow, 0));
      topology.nodes.push_back(node);
    }
    ASSERT_THAT(faultsOf(layOut(topology)), ElementsAre()) << "round " << round;
  }
}

TEST(Layout, CutsTextAtWholeCharacters) {
  const struct {
    std::string text;
    double width;
    std::string cut;
  } kRows[] = {
      {"abcdef", 60, "abcdef"},
      {"abcdef", 50, "abcd…"},
      {"äöüäöü", 50, "äöüä…"},
      {"abc", 10, "…"},
      {"", 0, ""},
      {"a · b · c", 60, "a · b…"},
  };
  for (const auto& row : kRows) EXPECT_EQ(cutToWidth(row.text, row.width, 10), row.cut);
}

TEST(Svg, EscapesWhateverComesFromOutside) {
  const struct {
    std::string text;
    std::string escaped;
  } kRows[] = {
      {"<script>alert('&\")</script>", "&lt;script&gt;alert(&#39;&amp;&quot;)&lt;/script&gt;"},
      {"]]>", "]]&gt;"},
      {std::string("a\0b\x1b[31m\x7f", 9), "a?b?[31m?"},
      {"line\nnext", "line\nnext"},
      {"größe …", "größe …"},
      {"\xff\xc0\xaf\xed\xa0\x80\xef\xbf\xbf", "?????????"},
      {"\xe2\x82", "??"},
  };
  for (const auto& row : kRows) EXPECT_EQ(escapedForXml(row.text), row.escaped);
}

TEST(Svg, HasNoTextThatIsNotEscaped) {
  Topology topology = twoNodes();
  TopologyPlace& root = topology.nodes[0].below[0];
  const std::string evil = "<b a=\"'&";
  topology.summary = topology.remarks[0] = root.title = root.text = evil;
  topology.nodes[0].title = evil;
  TopologyDevice& device = root.devices[0];
  device.address = device.name = device.driver = device.state = device.holder = device.reason =
      evil;
  EXPECT_THAT(svgOf(layOut(topology)), Not(HasSubstr("<b")));
}

TEST(Svg, TellsStatesApartWithoutColours) {
  std::set<std::string> shapes;
  for (const Mark mark :
       {Mark::kFree, Mark::kHeld, Mark::kHost, Mark::kBarred, Mark::kFaulty, Mark::kMachine}) {
    Layout layout;
    layout.labels.push_back({10, 10, "", mark});
    const std::string svg = svgOf(layout);
    const std::size_t at = svg.rfind(" d=\"");
    shapes.insert(svg.substr(at, svg.find('/', at) - at));
  }
  EXPECT_EQ(shapes.size(), 6U);
}

TEST(Tree, ShowsWhatHangsBelowWhat) {
  Topology topology = twoNodes();
  topology.nodes.erase(topology.nodes.begin());
  topology.nodes[0].below[0].below[0].below[1].devices[0].holder = "default/vm-1";
  EXPECT_EQ(treeText(topology, {}), R"(NUMA node 1
`- pci0000:80  root port, Intel
   `- 0000:80:01.0  root port, Intel
      |- 0000:81:00.0  root port, Intel
      |  `- 0000:82:00.0  group 3  passable  vfio-pci  NVIDIA AD102
      `- 0000:81:01.0  root port, Intel
         |- 0000:83:00.0  group 3  passable  default/vm-1  vfio-pci  NVIDIA AD102
         `- 0000:83:00.1  group 4  passable  vfio-pci  NVIDIA AD102
4 PCI functions
a remark
)");
}

TEST(Tree, CutsLinesAtTheTerminalsWidth) {
  const std::string text = treeText(twoNodes(), {.width = 40, .lineDrawing = true});
  EXPECT_THAT(text, HasSubstr("      │  └─ 0000:82:00.0"));
  std::size_t columns = 0;
  for (const char c : text) {
    const bool begins = (static_cast<unsigned char>(c) & 0xc0U) != 0x80;
    columns = c == '\n' ? 0 : columns + (begins ? 1 : 0);
    EXPECT_LE(columns, 40U);
  }
}

TEST(Tree, KeepsIdsAndSentencesWholeWhereTheTerminalIsNarrow) {
  Topology topology = twoNodes();
  topology.nodes.pop_back();
  TopologyPlace& root = topology.nodes[0].below[0];
  root.devices[0].name = "NVIDIA AD102 [GeForce RTX 4090] [10de:2684]";
  root.below[0].text = "root port, Intel PCIe Controller (x16) [8086:1901]";
  topology.remarks = {"Left out, and shown by --all: 1, parts of the machine and the like"};
  EXPECT_EQ(treeText(topology, {.width = 66}), R"(NUMA node 0
`- pci0000:00  root port, Intel
   |- 0000:00:02.0  group 1  passable  vfio-pci  NV... [10de:2684]
   `- 0000:00:01.0  root port, Intel PCIe Controlle... [8086:1901]
      `- 0000:01:00.0  group 2  passable  vfio-pci  NVIDIA AD102
4 PCI functions
Left out, and shown by --all: 1, parts of the machine and the like
)");
  EXPECT_THAT(treeText(topology, {.width = 40}),
              HasSubstr("\nLeft out, and shown by --all: 1, parts\nof the machine and the like\n"));
}

TEST(Topology, HasAMarkForEachCode) {
  const struct {
    const char* code;
    Mark mark;
  } kRows[] = {
      {"passable", Mark::kFree},
      {"ready", Mark::kFree},
      {"in-use", Mark::kHeld},
      {"host-driver", Mark::kHost},
      {"no-driver", Mark::kHost},
      {"member-on-host-driver", Mark::kHost},
      {"bindable", Mark::kHost},
      {"no-group", Mark::kBarred},
      {"operator-excluded", Mark::kBarred},
      {"not-answering", Mark::kFaulty},
      {"write-stuck", Mark::kFaulty},
      {"being-unbound", Mark::kFaulty},
      {"bridge", Mark::kMachine},
      {"platform", Mark::kMachine},
      {"a code of later", Mark::kBarred},
  };
  for (const auto& row : kRows) EXPECT_EQ(markOf(row.code), row.mark) << row.code;
}

TEST(Topology, DropsPlacesWithoutDevices) {
  TopologyPlace root = placeOf(
      "root", {},
      {placeOf("empty", {}, {placeOf("too", {})}), placeOf("full", {deviceAt("0000:01:00.0", 1)})});
  dropEmptyPlaces(root);
  ASSERT_EQ(root.below.size(), 1U);
  EXPECT_EQ(root.below[0].title, "full");
}

}  // namespace
}  // namespace vfiogate
