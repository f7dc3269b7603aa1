#include "plugind/config/config_message.h"

#include <optional>

#include "ipc/base/hex.h"
#include "plugind/config/schema_words.h"
#include "plugind/config/words/words.h"
#include "plugind/core/refusal.h"

namespace vfiogate {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Reflection;
using Kind = YamlNode::Kind;

/// Null: bound. Otherwise what is wrong with `text`.
using Wrong = std::optional<std::string>;

Wrong bindText(const YamlNode& node, const ValuePlace& place) {
  const PlainMeaning meaning = node.plain ? plainMeaning(node.text) : PlainMeaning::kText;
  if (meaning != PlainMeaning::kText) {
    return "YAML reads " + node.text.substr(0, 64) + " as a " +
           (meaning == PlainMeaning::kNumber ? "number" : "boolean") +
           "; quote it: " + quoteForeign(node.text);
  }
  const Reflection& reflection = *place.message.GetReflection();
  if (place.field.is_repeated()) {
    reflection.AddString(&place.message, &place.field, node.text);
  } else {
    reflection.SetString(&place.message, &place.field, node.text);
  }
  return std::nullopt;
}

Wrong bindEnum(const YamlNode& node, const ValuePlace& place) {
  const auto& values = *place.field.enum_type();
  const auto* value = findSpelling(values, node.text);
  if (value == nullptr) {
    const auto near = nearestWord(node.text, spellingsOf(values));
    return describe(node) + "; " + (near ? "did you mean " + *near + "?" : wanted(place.field));
  }
  const Reflection& reflection = *place.message.GetReflection();
  if (place.field.is_repeated()) {
    reflection.AddEnum(&place.message, &place.field, value);
  } else {
    reflection.SetEnum(&place.message, &place.field, value);
  }
  return std::nullopt;
}

Wrong bindBool(const YamlNode& node, const ValuePlace& place) {
  if (!node.plain || (node.text != "true" && node.text != "false")) {
    return describe(node) + "; " + wanted(place.field);
  }
  place.message.GetReflection()->SetBool(&place.message, &place.field, node.text == "true");
  return std::nullopt;
}

Wrong bindNumber(const YamlNode& node, const ValuePlace& place) {
  const bool octal = node.text.size() > 1 && node.text.front() == '0';
  const auto number = node.plain && !octal ? parseDecimal(node.text) : std::nullopt;
  if (!number) return describe(node) + "; " + wanted(place.field);
  const Reflection& reflection = *place.message.GetReflection();
  if (place.field.is_repeated()) {
    reflection.AddUInt32(&place.message, &place.field, *number);
  } else {
    reflection.SetUInt32(&place.message, &place.field, *number);
  }
  return std::nullopt;
}

Wrong bindDuration(const YamlNode& node, const ValuePlace& place) {
  const auto duration = parseDuration(node.text);
  if (!duration) return describe(node) + "; " + wanted(place.field);
  const std::chrono::milliseconds most(ruleOf(place.field).max_ms());
  if (*duration > most) return describe(node) + "; at most " + durationText(most);
  place.message.GetReflection()->SetInt64(&place.message, &place.field, duration->count());
  return std::nullopt;
}

Wrong bindScalar(const YamlNode& node, const ValuePlace& place) {
  if (ruleOf(place.field).duration()) return bindDuration(node, place);
  switch (place.field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_ENUM:
      return bindEnum(node, place);
    case FieldDescriptor::CPPTYPE_BOOL:
      return bindBool(node, place);
    case FieldDescriptor::CPPTYPE_UINT32:
      return bindNumber(node, place);
    default:
      return bindText(node, place);
  }
}

}  // namespace

void bindValue(const YamlNode& node, const ValuePlace& place, Findings& findings) {
  const Wrong wrong = node.kind == Kind::kScalar
                          ? bindScalar(node, place)
                          : Wrong(describe(node) + "; " + wanted(place.field));
  if (wrong) findings.refuse(node.line, place.path, *wrong);
}

std::string describe(const YamlNode& node) {
  switch (node.kind) {
    case Kind::kNull:
      return "found no value";
    case Kind::kList:
      return "found a list";
    case Kind::kMap:
      return "found keys";
    case Kind::kScalar:
      break;
  }
  return "found " + quoteForeign(node.text);
}

std::string wanted(const FieldDescriptor& field) {
  if (ruleOf(field).duration()) return "write a duration such as 60s or 500ms";
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_ENUM:
      return "choose from: " + listWords(spellingsOf(*field.enum_type()));
    case FieldDescriptor::CPPTYPE_BOOL:
      return "write true or false";
    case FieldDescriptor::CPPTYPE_UINT32:
      return "write a number without quotes, such as 0";
    case FieldDescriptor::CPPTYPE_MESSAGE:
      return field.is_repeated() ? "write a list: \"- \" before each entry"
                                 : "write keys: " + listWords(keysOf(*field.message_type()));
    default:
      return "write text";
  }
}

}  // namespace vfiogate
