#include "plugind/config/words/yaml_tree.h"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <array>
#include <optional>
#include <sstream>

namespace vfiogate {
namespace {

constexpr std::string_view kDigits = "0123456789";

std::uint32_t lineOf(const YAML::Mark& mark) {
  return mark.line < 0 ? 0 : static_cast<std::uint32_t>(mark.line) + 1;
}

/// Builds the tree from yaml-cpp's events, which show what its own tree hides: aliases, tags,
/// quotes, keys given twice.
class TreeBuilder final : public YAML::EventHandler {
public:
  void OnDocumentStart(const YAML::Mark& mark) override {
    if (++documents_ > 1) refuse(mark, "a second document; one file holds one: remove the ---");
  }
  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    checkAnchor(mark, anchor);
    add({.kind = YamlNode::Kind::kNull, .line = lineOf(mark), .text = {}, .items = {}});
  }

  void OnAlias(const YAML::Mark& mark, YAML::anchor_t /*anchor*/) override {
    refuse(mark, "a YAML alias (*name); write the value out");
    add({.kind = YamlNode::Kind::kNull, .line = lineOf(mark), .text = {}, .items = {}});
  }

  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    checkAnchor(mark, anchor);
    checkTag(mark, tag);
    add({.kind = YamlNode::Kind::kScalar,
         .line = lineOf(mark),
         .plain = tag == "?",
         .text = value,
         .items = {}});
  }

  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value /*style*/) override {
    begin(YamlNode::Kind::kList, mark, tag, anchor);
  }
  void OnSequenceEnd() override { end(); }

  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value /*style*/) override {
    begin(YamlNode::Kind::kMap, mark, tag, anchor);
  }
  void OnMapEnd() override { end(); }

  Result<YamlNode, YamlProblem> take() {
    if (problem_) return Failure{*std::move(problem_)};
    return std::move(root_);
  }

private:
  void refuse(const YAML::Mark& mark, const std::string& text) {
    if (!problem_) problem_ = YamlProblem{lineOf(mark), text};
  }
  void checkAnchor(const YAML::Mark& mark, YAML::anchor_t anchor) {
    if (anchor != 0) refuse(mark, "a YAML anchor (&name); remove it");
  }
  void checkTag(const YAML::Mark& mark, const std::string& tag) {
    if (!tag.empty() && tag != "?" && tag != "!") refuse(mark, "a YAML tag (!name); remove it");
  }

  void begin(YamlNode::Kind kind, const YAML::Mark& mark, const std::string& tag,
             YAML::anchor_t anchor) {
    checkAnchor(mark, anchor);
    checkTag(mark, tag);
    open_.push_back({.kind = kind, .line = lineOf(mark), .text = {}, .items = {}});
  }
  void end() {
    YamlNode node = std::move(open_.back());
    open_.pop_back();
    add(std::move(node));
  }
  void add(YamlNode node) {
    // yaml-cpp sees that a value is missing only at the next key.
    const bool isValue = !open_.empty() && open_.back().items.size() % 2 == 1;
    if (node.kind == YamlNode::Kind::kNull && isValue &&
        open_.back().kind == YamlNode::Kind::kMap) {
      node.line = open_.back().items.back().line;
    }
    (open_.empty() ? root_ : open_.back().items.emplace_back()) = std::move(node);
  }

  int documents_ = 0;
  YamlNode root_;
  std::vector<YamlNode> open_;
  std::optional<YamlProblem> problem_;
};

/// Takes the leading characters of `text` that are in `set` away. True if there was one.
bool skip(std::string_view& text, std::string_view set) {
  const std::size_t end = std::min(text.find_first_not_of(set), text.size());
  text.remove_prefix(end);
  return end > 0;
}

bool isDecimal(std::string_view text) {
  const bool whole = skip(text, kDigits);
  bool fraction = false;
  if (text.starts_with('.')) {
    text.remove_prefix(1);
    fraction = skip(text, kDigits);
  }
  if (!whole && !fraction) return false;
  if (text.starts_with('e') || text.starts_with('E')) {
    text.remove_prefix(1);
    if (text.starts_with('+') || text.starts_with('-')) text.remove_prefix(1);
    if (!skip(text, kDigits)) return false;
  }
  return text.empty();
}

bool isPrefixed(std::string_view text, std::string_view prefix, std::string_view digits) {
  if (!text.starts_with(prefix)) return false;
  text.remove_prefix(prefix.size());
  return skip(text, digits) && text.empty();
}

template <std::size_t N>
bool isOneOf(std::string_view text, const std::array<std::string_view, N>& words) {
  return std::ranges::find(words, text) != words.end();
}

/// True if line `line` of `text`, counted from 0, is indented with a tab.
bool hasTabIndent(std::string_view text, int line) {
  for (; line > 0 && !text.empty(); --line) {
    text.remove_prefix(std::min(text.find('\n'), text.size() - 1) + 1);
  }
  const std::size_t word = text.find_first_not_of(" \t");
  return text.substr(0, word).find('\t') != std::string_view::npos;
}

}  // namespace

Result<YamlNode, YamlProblem> readYaml(std::string_view text) {
  try {
    std::istringstream stream{std::string(text)};
    YAML::Parser parser(stream);
    TreeBuilder builder;
    if (parser.HandleNextDocument(builder)) parser.HandleNextDocument(builder);
    return builder.take();
  } catch (const YAML::Exception& error) {
    const std::string remedy =
        hasTabIndent(text, error.mark.line) ? "; indent with blanks, not tabs" : "";
    return Failure{YamlProblem{lineOf(error.mark), "not YAML: " + error.msg + remedy}};
  }
}

PlainMeaning plainMeaning(std::string_view text) {
  static constexpr std::array<std::string_view, 6> kBooleans{"true", "false", "yes",
                                                             "no",   "on",    "off"};
  static constexpr std::array<std::string_view, 2> kNumbers{".inf", ".nan"};
  std::string word(text);
  for (char& c : word) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  if (isOneOf(word, kBooleans)) return PlainMeaning::kBoolean;
  std::erase(word, '_');  // YAML 1.1 lets them stand between digits
  std::string_view number = word;
  if (number.starts_with('+') || number.starts_with('-')) number.remove_prefix(1);
  const bool isNumber = isDecimal(number) || isOneOf(number, kNumbers) ||
                        isPrefixed(number, "0x", "0123456789abcdef") ||
                        isPrefixed(number, "0o", "01234567") || isPrefixed(number, "0b", "01");
  return isNumber ? PlainMeaning::kNumber : PlainMeaning::kText;
}

}  // namespace vfiogate
