#pragma once
// A topology as a picture: where everything of it is, in pixels, and that as SVG.

#include "cli/picture/topology.h"

#include <string>
#include <string_view>
#include <vector>

namespace vfiogate {

/// Advance of one character of the picture's font, and of its small one. Rounded up.
constexpr double kCharWidth = 7.3;
constexpr double kSmallCharWidth = 6.7;

struct Box {
  enum class Kind : std::uint8_t { kNode, kPlace, kGroup, kDevice };
  Kind kind = Kind::kDevice;
  Mark mark = Mark::kFree;  ///< of a device
  int x = 0;
  int y = 0;
  int width = 0;
  int height = 0;
  std::vector<std::string> lines;  ///< cut so that they fit
  std::string whole;               ///< all of the text, for whoever points at it
};

/// From the right of one box over a bend to the left of another.
struct Wire {
  int fromX = 0;
  int fromY = 0;
  int bendX = 0;
  int toX = 0;
  int toY = 0;
};

/// A line of text beside the boxes, or an entry of the legend.
struct Label {
  int x = 0;
  int y = 0;  ///< of the base line
  std::string text;
  std::optional<Mark> mark;  ///< drawn before it
};

struct Layout {
  int width = 0;
  int height = 0;
  std::vector<Box> boxes;  ///< what lies behind comes first
  std::vector<Wire> wires;
  std::vector<Label> labels;
};

/// Devices in one column at the right, a row each; what leads to them left of it.
Layout layOut(const Topology& topology);

/// `text`, or its beginning and "…" where it is wider than `width`.
std::string cutToWidth(const std::string& text, double width, double charWidth);

/// A whole document for browsers, in light or dark colours as the reader prefers: no script, and
/// nothing is loaded from elsewhere.
std::string svgOf(const Layout& layout);

/// `text` for between tags and in attributes. What XML 1.0 does not allow becomes '?'.
std::string escapedForXml(std::string_view text);

}  // namespace vfiogate
