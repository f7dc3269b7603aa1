#include "cli/picture/topology.h"

#include "cli/table.h"

#include <algorithm>
#include <cstdlib>

namespace vfiogate {
namespace {

/// How a line hangs below the one above.
struct Branches {
  const char* more;     ///< others follow
  const char* last;     ///< none follows
  const char* past;     ///< beside what hangs below one that others follow
  const char* nothing;  ///< beside what hangs below the last one
};
constexpr Branches kAscii{"|- ", "`- ", "|  ", "   "};
constexpr Branches kDrawn{"├─ ", "└─ ", "│  ", "   "};

constexpr std::size_t kIdsLength = sizeof(" [10de:2684]") - 1;

Ink inkOf(Mark mark) {
  switch (mark) {
    case Mark::kFree:
      return Ink::kGood;
    case Mark::kHeld:
      return Ink::kBusy;
    case Mark::kMachine:
      return Ink::kDim;
    case Mark::kHost:
    case Mark::kBarred:
    case Mark::kFaulty:
      return Ink::kBad;
  }
  return Ink::kPlain;
}

std::string groupText(const std::optional<std::uint32_t>& group) {
  return group ? "group " + std::to_string(*group) : "no group";
}

class TreeWriter {
public:
  explicit TreeWriter(const TextForm& form)
      : form_(form), branches_(form.lineDrawing ? kDrawn : kAscii) {}

  void add(const TopologyPlace& place, const std::string& before) {
    const std::size_t all = place.devices.size() + place.below.size();
    std::size_t done = 0;
    for (const TopologyDevice& device : place.devices) {
      add(device, before + (++done == all ? branches_.last : branches_.more));
    }
    for (const TopologyPlace& each : place.below) {
      const bool isLast = ++done == all;
      std::string title = each.title;
      if (each.group) title += "  " + groupText(each.group);
      if (!each.text.empty()) title += "  " + each.text;
      line(before + (isLast ? branches_.last : branches_.more), {{title, Ink::kPlain}});
      add(each, before + (isLast ? branches_.nothing : branches_.past));
    }
  }

  /// Where the terminal is too narrow the last cell is cut first, before the ids at its end.
  void line(const std::string& before, const std::vector<Cell>& cells) {
    std::size_t room = form_.width == 0 ? std::string::npos : form_.width;
    room -= std::min(room, charactersOf(before));
    text_ += before;
    for (const Cell& cell : cells) {
      const std::string shown = cutText(cell.text, room, idsIn(cell.text));
      room -= shown.size();
      text_ += form_.colours ? inked({shown, cell.ink}) : shown;
    }
    text_ += "\n";
  }

  /// Whole: in as many lines as it takes.
  void sentence(const std::string& text) {
    std::size_t column = 0;
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t end = std::min(text.find(' ', at), text.size());
      const std::size_t length = end - at;
      const bool fits = form_.width == 0 || column == 0 || column + 1 + length <= form_.width;
      if (column > 0) text_ += fits ? " " : "\n";
      column = column > 0 && fits ? column + 1 + length : length;
      text_ += text.substr(at, length);
      at = end + 1;
    }
    text_ += "\n";
  }

  std::string take() { return std::move(text_); }

private:
  /// The length of " [10de:2684]" at the end of `text`; 0 without one.
  static std::size_t idsIn(const std::string& text) {
    const std::size_t begin = text.rfind(" [");
    return begin != std::string::npos && text.ends_with("]") && text.size() - begin == kIdsLength
               ? kIdsLength
               : 0;
  }

  static std::size_t charactersOf(const std::string& text) {
    return static_cast<std::size_t>(std::ranges::count_if(
        text, [](char c) { return (static_cast<unsigned char>(c) & 0xc0U) != 0x80; }));
  }

  void add(const TopologyDevice& device, const std::string& before) {
    std::vector<Cell> cells{{device.address + "  " + groupText(device.group) + "  "},
                            {device.state, inkOf(device.mark)}};
    if (!device.holder.empty()) cells.push_back({"  " + device.holder});
    cells.push_back(
        {"  " + (device.driver.empty() ? "no driver" : device.driver) + "  " + device.name,
         Ink::kDim});
    line(before, cells);
  }

  TextForm form_;
  Branches branches_;
  std::string text_;
};

}  // namespace

std::string treeText(const Topology& topology, const TextForm& form) {
  TreeWriter writer(form);
  for (const TopologyPlace& node : topology.nodes) {
    writer.line("", {{node.title, Ink::kHeading}});
    writer.add(node, "");
  }
  writer.sentence(topology.summary);
  for (const std::string& remark : topology.remarks) writer.sentence(remark);
  return writer.take();
}

bool hasUtf8Locale() {
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    const char* value = std::getenv(name);
    if (value == nullptr || *value == '\0') continue;
    const std::string locale(value);
    return locale.find("UTF-8") != std::string::npos || locale.find("utf8") != std::string::npos;
  }
  return false;
}

}  // namespace vfiogate
