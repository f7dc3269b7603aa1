#include "cli/picture/picture.h"

namespace vfiogate {
namespace {

/// Colours after Okabe and Ito, darkened or lightened until they stand out from their background.
constexpr std::string_view kStyle = R"(<style>
text { font: 12px "DejaVu Sans Mono", "Liberation Mono", Menlo, Consolas, monospace; fill: #1b1f24; }
.small { font-size: 11px; fill: #4b5560; }
.strong { font-weight: bold; }
.page { fill: #ffffff; }
.node { fill: #f3f5f7; stroke: #c3cad1; }
.place { fill: #ffffff; stroke: #7d8894; }
.group { fill: none; stroke: #7d8894; stroke-dasharray: 5 3; }
.device { fill: #ffffff; stroke: #c3cad1; }
.wire { fill: none; stroke: #7d8894; stroke-width: 1.5; }
.free { fill: #007a5a; stroke: #007a5a; }
.held { fill: #0063a6; stroke: #0063a6; }
.host { fill: #a86200; stroke: #a86200; }
.barred { fill: #8a3f9e; stroke: #8a3f9e; }
.faulty { fill: #c0301c; stroke: #c0301c; }
.machine { fill: #69737d; stroke: #69737d; }
.mark { stroke-width: 2.5; }
.hollow { fill: none; }
@media (prefers-color-scheme: dark) {
  text { fill: #e6eaee; }
  .small { fill: #a9b4bf; }
  .page { fill: #12161b; }
  .node { fill: #1a2027; stroke: #3b4550; }
  .place { fill: #12161b; stroke: #7d8894; }
  .group { stroke: #7d8894; }
  .device { fill: #12161b; stroke: #3b4550; }
  .free { fill: #35d0a0; stroke: #35d0a0; }
  .held { fill: #62b2f2; stroke: #62b2f2; }
  .host { fill: #f0ad3c; stroke: #f0ad3c; }
  .barred { fill: #d79be6; stroke: #d79be6; }
  .faulty { fill: #ff7d61; stroke: #ff7d61; }
  .machine { fill: #8d97a2; stroke: #8d97a2; }
  .hollow { fill: none; }
}
</style>
)";

std::string attribute(const char* name, const std::string& value) {
  return std::string(" ") + name + "=\"" + escapedForXml(value) + "\"";
}

std::string attribute(const char* name, int value) {
  return attribute(name, std::to_string(value));
}

const char* classOf(Mark mark) {
  switch (mark) {
    case Mark::kFree:
      return "free";
    case Mark::kHeld:
      return "held";
    case Mark::kHost:
      return "host";
    case Mark::kBarred:
      return "barred";
    case Mark::kFaulty:
      return "faulty";
    case Mark::kMachine:
      return "machine";
  }
  return "";
}

const char* classOf(Box::Kind kind) {
  switch (kind) {
    case Box::Kind::kNode:
      return "node";
    case Box::Kind::kPlace:
      return "place";
    case Box::Kind::kGroup:
      return "group";
    case Box::Kind::kDevice:
      return "device";
  }
  return "";
}

/// Around 0,0; 12 wide. Told apart without colours: a ring, a square, a triangle, a bar, a cross, a
/// dot.
const char* shapeOf(Mark mark) {
  switch (mark) {
    case Mark::kFree:
      return "M-5 0A5 5 0 1 1 5 0A5 5 0 1 1 -5 0Z";
    case Mark::kHeld:
      return "M-4.5 -4.5H4.5V4.5H-4.5Z";
    case Mark::kHost:
      return "M0 -5L5 4.5H-5Z";
    case Mark::kBarred:
      return "M-5 0H5";
    case Mark::kFaulty:
      return "M-4.5 -4.5L4.5 4.5M-4.5 4.5L4.5 -4.5";
    case Mark::kMachine:
      return "M-1 0A1 1 0 1 1 1 0A1 1 0 1 1 -1 0Z";
  }
  return "";
}

std::string markAt(Mark mark, int x, int y) {
  const std::string kind = mark == Mark::kFree ? "mark free hollow" : classOf(mark);
  return "<path" + attribute("class", mark == Mark::kFree ? kind : "mark " + kind) +
         attribute("transform", "translate(" + std::to_string(x) + " " + std::to_string(y) + ")") +
         attribute("d", shapeOf(mark)) + "/>\n";
}

std::string textAt(int x, int y, const char* kind, const std::string& text) {
  return "<text" + attribute("x", x) + attribute("y", y) +
         (*kind == '\0' ? std::string() : attribute("class", kind)) + " xml:space=\"preserve\">" +
         escapedForXml(text) + "</text>\n";
}

std::string rectangle(const Box& box) {
  return "<rect" + attribute("class", classOf(box.kind)) + attribute("x", box.x) +
         attribute("y", box.y) + attribute("width", box.width) + attribute("height", box.height) +
         attribute("rx", box.kind == Box::Kind::kNode ? 8 : 5) + "/>\n";
}

std::string textsOf(const Box& box) {
  const auto title = [&box](int x, int y) { return textAt(x, y, "strong", box.lines[0]); };
  if (box.kind == Box::Kind::kNode) return title(box.x + 16, box.y + 20);
  if (box.kind == Box::Kind::kGroup) return title(box.x + 10, box.y + 16);
  const bool isDevice = box.kind == Box::Kind::kDevice;
  const int x = box.x + (isDevice ? 34 : 10);
  std::string text;
  int y = box.y + (isDevice || box.lines.size() > 1 ? 18 : 26);
  for (std::size_t i = 0; i < box.lines.size(); ++i) {
    const bool small = !isDevice && i > 0;
    text += textAt(x, y, small ? "small" : i == 0 ? "strong" : "", box.lines[i]);
    y += 18;
  }
  return text;
}

std::string drawn(const Box& box) {
  std::string text = "<g>\n";
  if (!box.whole.empty()) text += "<title>" + escapedForXml(box.whole) + "</title>\n";
  text += rectangle(box);
  if (box.kind == Box::Kind::kDevice) {
    text += "<rect" + attribute("class", classOf(box.mark)) + attribute("x", box.x) +
            attribute("y", box.y) + attribute("width", 5) + attribute("height", box.height) +
            attribute("rx", 2) + "/>\n" + markAt(box.mark, box.x + 19, box.y + 14);
  }
  return text + textsOf(box) + "</g>\n";
}

std::string drawn(const Wire& wire) {
  const auto number = [](int value) { return std::to_string(value); };
  return "<path class=\"wire\"" +
         attribute("d", "M" + number(wire.fromX) + " " + number(wire.fromY) + "H" +
                            number(wire.bendX) + "V" + number(wire.toY) + "H" + number(wire.toX)) +
         "/>\n";
}

/// Bytes of the UTF-8 character at `at` that XML allows; 0: none is.
std::size_t characterAt(std::string_view text, std::size_t at) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(at);
  if (first < 0x80) return first >= 0x20 && first != 0x7f ? 1 : first == '\n' ? 1 : 0;
  const std::size_t size = first >= 0xc2 && first < 0xe0   ? 2
                           : first >= 0xe0 && first < 0xf0 ? 3
                           : first >= 0xf0 && first < 0xf5 ? 4
                                                           : 0;
  if (size == 0 || at + size > text.size()) return 0;
  for (std::size_t i = 1; i < size; ++i) {
    if ((byte(at + i) & 0xc0U) != 0x80) return 0;
  }
  const unsigned char second = byte(at + 1);
  const bool tooLong = (first == 0xe0 && second < 0xa0) || (first == 0xf0 && second < 0x90);
  const bool noCharacter = (first == 0xed && second >= 0xa0) || (first == 0xf4 && second >= 0x90) ||
                           (first == 0xef && second == 0xbf && byte(at + 2) >= 0xbe);
  return tooLong || noCharacter ? 0 : size;
}

}  // namespace

std::string escapedForXml(std::string_view text) {
  std::string escaped;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t size = characterAt(text, at);
    if (size == 0) {
      escaped += '?';
    } else if (text[at] == '&') {
      escaped += "&amp;";
    } else if (text[at] == '<') {
      escaped += "&lt;";
    } else if (text[at] == '>') {
      escaped += "&gt;";
    } else if (text[at] == '"') {
      escaped += "&quot;";
    } else if (text[at] == '\'') {
      escaped += "&#39;";
    } else {
      escaped += text.substr(at, size);
    }
    at += size == 0 ? 1 : size;
  }
  return escaped;
}

std::string svgOf(const Layout& layout) {
  const std::string width = std::to_string(layout.width);
  const std::string height = std::to_string(layout.height);
  std::string svg = "<svg xmlns=\"http://www.w3.org/2000/svg\"" + attribute("width", width) +
                    attribute("height", height) +
                    attribute("viewBox", "0 0 " + width + " " + height) + " role=\"img\">\n";
  if (!layout.labels.empty()) {
    svg += "<title>" + escapedForXml(layout.labels[0].text) + "</title>\n";
  }
  svg += kStyle;
  svg += "<rect class=\"page\" width=\"100%\" height=\"100%\"/>\n";
  for (const Box& box : layout.boxes) {
    if (box.kind == Box::Kind::kNode) svg += drawn(box);
  }
  for (const Wire& wire : layout.wires) svg += drawn(wire);
  for (const Box& box : layout.boxes) {
    if (box.kind != Box::Kind::kNode) svg += drawn(box);
  }
  for (const Label& label : layout.labels) {
    if (label.mark) svg += markAt(*label.mark, label.x - 13, label.y - 4);
    svg += textAt(label.x, label.y, "", label.text);
  }
  return svg + "</svg>\n";
}

}  // namespace vfiogate
