#include "cli/picture/picture.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

namespace vfiogate {
namespace {

constexpr int kMargin = 20;
constexpr int kNodePadding = 16;
constexpr int kNodeTitle = 30;
constexpr int kGap = 40;     ///< between columns; wires bend there
constexpr int kRowGap = 10;  ///< between what is below each other
constexpr int kRootWidth = 118;
constexpr int kPlaceWidth = 226;
constexpr int kPlaceHeight = 44;
constexpr int kDeviceWidth = 560;
constexpr int kDeviceLine = 18;
constexpr int kDevicePadding = 12;
constexpr int kGroupTitle = 24;
constexpr int kGroupPadding = 8;
constexpr int kTextLeft = 34;  ///< of a device, behind its mark
constexpr int kTextRight = 10;
constexpr int kLine = 20;
constexpr int kLegendGap = 34;

int depthOf(const TopologyPlace& place) {
  int depth = 0;
  for (const TopologyPlace& each : place.below) depth = std::max(depth, 1 + depthOf(each));
  return depth;
}

/// In how many parts each group is drawn.
void countParts(const TopologyPlace& place, std::map<std::uint32_t, int>& parts) {
  for (const GroupPart& part : groupPartsOf(place)) {
    if (part.group) ++parts[*part.group];
  }
  for (const TopologyPlace& each : place.below) countParts(each, parts);
}

std::vector<std::string> linesOf(const TopologyDevice& device) {
  std::vector<std::string> lines{
      device.address + "  " + device.name,
      device.state + (device.driver.empty() ? "" : " · " + device.driver)};
  if (!device.holder.empty()) lines.push_back("held by " + device.holder);
  return lines;
}

std::string joined(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += (text.empty() ? "" : "\n") + line;
  return text;
}

class Layouter {
public:
  explicit Layouter(const Topology& topology) {
    for (const TopologyPlace& node : topology.nodes) {
      columns_ = std::max(columns_, depthOf(node));
      countParts(node, parts_);
    }
    devicesX_ = columnX(columns_);
    layout_.width = devicesX_ + kDeviceWidth + 2 * kGroupPadding + kNodePadding + kMargin;
  }

  Layout run(const Topology& topology) {
    label(topology.summary);
    y_ += kLine / 2;
    for (const TopologyPlace& node : topology.nodes) addNode(node);
    addLegend();
    for (const std::string& remark : topology.remarks) label(remark);
    layout_.height = y_ + kMargin / 2;
    return std::move(layout_);
  }

private:
  int columnX(int column) const {
    const int left = kMargin + kNodePadding;
    return column == 0 ? left : left + kRootWidth + kGap + (column - 1) * (kPlaceWidth + kGap);
  }

  void label(const std::string& text) {
    y_ += kLine;
    const double width = layout_.width - 2 * kMargin;
    layout_.labels.push_back({kMargin, y_ - 5, cutToWidth(text, width, kCharWidth), {}});
  }

  void addNode(const TopologyPlace& node) {
    const std::size_t at = layout_.boxes.size();
    layout_.boxes.push_back({.kind = Box::Kind::kNode, .lines = {node.title}, .whole = node.title});
    const int top = y_;
    y_ += kNodeTitle;
    addGroups(node);
    for (const TopologyPlace& each : node.below) addPlace(each, 0);
    Box& box = layout_.boxes[at];
    box.x = kMargin;
    box.y = top;
    box.width = layout_.width - 2 * kMargin;
    box.height = y_ - kRowGap + kNodePadding - top;
    y_ = top + box.height + kNodePadding;
  }

  /// Returns where wires to them end: the middle of each.
  std::vector<int> addGroups(const TopologyPlace& place) {
    std::vector<int> ends;
    for (const GroupPart& part : groupPartsOf(place)) {
      const std::size_t at = layout_.boxes.size();
      const int top = y_;
      layout_.boxes.push_back({.kind = Box::Kind::kGroup,
                               .x = devicesX_,
                               .y = top,
                               .width = kDeviceWidth + 2 * kGroupPadding,
                               .lines = {titleOf(part)},
                               .whole = {}});
      y_ += kGroupTitle;
      for (std::size_t i = 0; i < part.count; ++i) addDevice(place.devices[part.first + i]);
      layout_.boxes[at].height = y_ - top;
      ends.push_back((top + y_) / 2);
      y_ += kRowGap;
    }
    return ends;
  }

  std::string titleOf(const GroupPart& part) {
    if (!part.group) return "no IOMMU group";
    std::string title = "IOMMU group " + std::to_string(*part.group);
    const int all = parts_[*part.group];
    if (all > 1) {
      title += ", part " + std::to_string(++drawn_[*part.group]) + " of " + std::to_string(all);
    }
    return title;
  }

  void addDevice(const TopologyDevice& device) {
    std::vector<std::string> lines = linesOf(device);
    std::string whole = joined(lines);
    if (!device.reason.empty()) whole += "\n" + device.reason;
    for (std::string& line : lines) {
      line = cutToWidth(line, kDeviceWidth - kTextLeft - kTextRight, kCharWidth);
    }
    const int height = static_cast<int>(lines.size()) * kDeviceLine + kDevicePadding;
    layout_.boxes.push_back({.kind = Box::Kind::kDevice,
                             .mark = device.mark,
                             .x = devicesX_ + kGroupPadding,
                             .y = y_,
                             .width = kDeviceWidth,
                             .height = height,
                             .lines = std::move(lines),
                             .whole = std::move(whole)});
    marks_.insert(device.mark);
    y_ += height + kGroupPadding;
  }

  /// Returns where a wire to it ends.
  int addPlace(const TopologyPlace& place, int column) {
    const int top = y_;
    std::vector<int> groups = addGroups(place);
    std::vector<int> places;
    for (const TopologyPlace& each : place.below) places.push_back(addPlace(each, column + 1));
    if (groups.empty() && places.empty()) y_ += kPlaceHeight + kRowGap;
    const int bottom = y_ - kRowGap;
    const int first = !groups.empty() ? groups.front() : places.empty() ? top : places.front();
    const int last = !places.empty() ? places.back() : groups.empty() ? bottom : groups.back();
    const int middle = std::clamp((first + last) / 2, top + kPlaceHeight / 2,
                                  std::max(top, bottom - kPlaceHeight) + kPlaceHeight / 2);
    const Box box = placeBox(place, column, middle);
    layout_.boxes.push_back(box);
    const auto wire = [&](int x, int y) {
      const int right = box.x + box.width;
      layout_.wires.push_back({right, middle, right + kGap / 2, x, y});
    };
    for (const int y : groups) wire(devicesX_, y);
    for (const int y : places) wire(columnX(column + 1), y);
    return middle;
  }

  Box placeBox(const TopologyPlace& place, int column, int middle) const {
    Box box{.kind = Box::Kind::kPlace,
            .x = columnX(column),
            .y = middle - kPlaceHeight / 2,
            .width = column == 0 ? kRootWidth : kPlaceWidth,
            .height = kPlaceHeight,
            .lines = {place.title},
            .whole = {}};
    if (place.group) box.lines[0] += " · group " + std::to_string(*place.group);
    if (!place.text.empty()) box.lines.push_back(place.text);
    box.whole = joined(box.lines);
    for (std::size_t i = 0; i < box.lines.size(); ++i) {
      box.lines[i] = cutToWidth(box.lines[i], box.width - 2 * kTextRight,
                                i == 0 ? kCharWidth : kSmallCharWidth);
    }
    return box;
  }

  void addLegend() {
    if (marks_.empty()) return;
    y_ += kLine;
    int x = kMargin;
    for (const Mark mark : marks_) {
      const std::string text(meaningOf(mark));
      const int width =
          static_cast<int>(std::ceil(static_cast<double>(text.size()) * kCharWidth)) + kLegendGap;
      if (x > kMargin && x + width > layout_.width - kMargin) {
        x = kMargin;
        y_ += kLine + 2;
      }
      layout_.labels.push_back({x + 20, y_ - 5, text, mark});
      x += width + 10;
    }
    y_ += kLine / 2;
  }

  Layout layout_;
  std::map<std::uint32_t, int> parts_;
  std::map<std::uint32_t, int> drawn_;
  std::set<Mark> marks_;
  int columns_ = 0;
  int devicesX_ = 0;
  int y_ = kMargin / 2;
};

/// Bytes of the UTF-8 character that begins so.
std::size_t bytesOf(char first) {
  const auto byte = static_cast<unsigned char>(first);
  return byte < 0x80 ? 1 : byte < 0xe0 ? 2 : byte < 0xf0 ? 3 : 4;
}

}  // namespace

Layout layOut(const Topology& topology) {
  return Layouter(topology).run(topology);
}

std::string cutToWidth(const std::string& text, double width, double charWidth) {
  const auto room = static_cast<std::size_t>(std::max(0.0, width / charWidth));
  std::size_t characters = 0;
  std::size_t lastKept = 0;
  for (std::size_t at = 0; at < text.size(); at += bytesOf(text[at])) {
    if (characters + 1 == room) lastKept = at;
    if (++characters > room) return text.substr(0, lastKept) + "…";
  }
  return text;
}

}  // namespace vfiogate
