#pragma once
// A node's devices as a tree of places, for pictures and as text.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace vfiogate {

/// How a device stands. Each has a shape as well as a colour.
enum class Mark : std::uint8_t {
  kFree,     ///< can be passed through
  kHeld,     ///< allocated, or open
  kHost,     ///< on a host driver, or on none
  kBarred,   ///< something else keeps it from being passed through
  kFaulty,   ///< does not answer, or its driver is stuck
  kMachine,  ///< part of the machine itself
};

/// For a legend.
std::string_view meaningOf(Mark mark);

/// Of a code of docs/list-json.md (`state`) or docs/status-json.md (`hardware`).
Mark markOf(std::string_view code);

struct TopologyDevice {
  std::string address;
  std::string name;
  std::string driver;  ///< empty: none
  std::string state;   ///< one word
  std::string holder;  ///< who has it, in words; empty: nobody who is known
  std::string reason;  ///< why it cannot be passed through; empty: it can
  Mark mark = Mark::kFree;
  std::optional<std::uint32_t> group;
};

/// A NUMA node, a root complex, a root port or a switch, with what is behind it.
struct TopologyPlace {
  std::string title;  ///< "NUMA node 0", "0000:00:01.0"
  std::string text;   ///< "root port, Intel ..."; may be empty
  std::optional<std::uint32_t> group;
  std::vector<TopologyDevice> devices;  ///< those of a group next to each other
  std::vector<TopologyPlace> below;
};

struct Topology {
  std::string summary;               ///< one line
  std::vector<std::string> remarks;  ///< lines for below the tree
  std::vector<TopologyPlace> nodes;  ///< NUMA nodes, each drawn as a frame
};

/// Devices of `place` that follow each other in one IOMMU group.
struct GroupPart {
  std::optional<std::uint32_t> group;
  std::size_t first = 0;  ///< index in `devices`
  std::size_t count = 0;
};
/// All devices of `place`, in their order.
std::vector<GroupPart> groupPartsOf(const TopologyPlace& place);

/// Drops places without any device behind them.
void dropEmptyPlaces(TopologyPlace& place);

/// What a terminal can show.
struct TextForm {
  std::size_t width = 0;     ///< longer lines are cut; 0: no limit
  bool colours = false;      ///< escape sequences
  bool lineDrawing = false;  ///< characters beyond ASCII
};
/// The tree as lines of text.
std::string treeText(const Topology& topology, const TextForm& form);

/// True if the environment's locale is one of UTF-8.
bool hasUtf8Locale();

}  // namespace vfiogate
