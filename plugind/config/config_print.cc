#include "plugind/config/config_message.h"

#include <google/protobuf/message.h>
#include <yaml-cpp/emitter.h>
#include <yaml-cpp/emittermanip.h>

#include <map>

#include "plugind/config/schema_words.h"
#include "plugind/config/words/words.h"

namespace vfiogate {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

void printKeys(const Message& message, YAML::Emitter& out);

void printText(const std::string& text, YAML::Emitter& out) {
  out << YAML::DoubleQuoted << text;
}

/// One value of a singular field, its default if it is absent.
void printValue(const Message& message, const FieldDescriptor& field, YAML::Emitter& out) {
  const auto& reflection = *message.GetReflection();
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_STRING:
      return printText(reflection.GetString(message, &field), out);
    case FieldDescriptor::CPPTYPE_BOOL:
      out << reflection.GetBool(message, &field);
      return;
    case FieldDescriptor::CPPTYPE_ENUM:
      out << spellingOf(*reflection.GetEnum(message, &field));
      return;
    case FieldDescriptor::CPPTYPE_UINT32:
      out << reflection.GetUInt32(message, &field);
      return;
    case FieldDescriptor::CPPTYPE_INT64:
      out << durationText(std::chrono::milliseconds(reflection.GetInt64(message, &field)));
      return;
    default:
      printKeys(reflection.GetMessage(message, &field), out);
  }
}

void printItem(const Message& message, const FieldDescriptor& field, int item, YAML::Emitter& out) {
  const auto& reflection = *message.GetReflection();
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_STRING:
      return printText(reflection.GetRepeatedString(message, &field, item), out);
    case FieldDescriptor::CPPTYPE_ENUM:
      out << spellingOf(*reflection.GetRepeatedEnum(message, &field, item));
      return;
    case FieldDescriptor::CPPTYPE_UINT32:
      out << reflection.GetRepeatedUInt32(message, &field, item);
      return;
    default:
      printKeys(reflection.GetRepeatedMessage(message, &field, item), out);
  }
}

void printItems(const Message& message, const FieldDescriptor& field, YAML::Emitter& out) {
  const int count = message.GetReflection()->FieldSize(message, &field);
  if (field.cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE || count == 0) out << YAML::Flow;
  out << YAML::BeginSeq;
  for (int i = 0; i < count; ++i) printItem(message, field, i, out);
  out << YAML::EndSeq;
}

void printMap(const plugind_config::Config& config, YAML::Emitter& out) {
  const std::map<std::string, std::string> sorted(config.aliases().begin(), config.aliases().end());
  if (sorted.empty()) out << YAML::Flow;
  out << YAML::BeginMap;
  for (const auto& [key, value] : sorted) {
    out << YAML::Key;
    printText(key, out);
    out << YAML::Value;
    printText(value, out);
  }
  out << YAML::EndMap;
}

/// A resource has a selector or sets: the keys of the other form are not written. Nor are `more`
/// and its `count` where they are absent: no value says the same.
bool isOtherForm(const Message& message, const FieldDescriptor& field) {
  using plugind_config::Resource;
  if (message.GetDescriptor() == plugind_config::More::descriptor()) {
    return !message.GetReflection()->HasField(message, &field);
  }
  if (message.GetDescriptor() != Resource::descriptor()) return false;
  if (field.number() == Resource::kMoreFieldNumber) {
    return !static_cast<const Resource&>(message).has_more();
  }
  const bool ofSets = field.number() == Resource::kSetsFieldNumber ||
                      field.number() == Resource::kOverlapFieldNumber;
  const bool hasSets = static_cast<const Resource&>(message).sets_size() > 0;
  return hasSets ? field.number() == Resource::kSelectFieldNumber : ofSets;
}

void printKeys(const Message& message, YAML::Emitter& out) {
  const bool isSelect = message.GetDescriptor() == plugind_config::Select::descriptor();
  out << YAML::BeginMap;
  for (int i = 0; i < message.GetDescriptor()->field_count(); ++i) {
    const FieldDescriptor& field = *message.GetDescriptor()->field(i);
    // A selector's absent key has no value that could be written: it matches anything.
    if (isOtherForm(message, field)) continue;
    if (isSelect && message.GetReflection()->FieldSize(message, &field) == 0) continue;
    out << YAML::Key << keyOf(field) << YAML::Value;
    if (field.is_map()) {
      printMap(static_cast<const plugind_config::Config&>(message), out);
    } else if (field.is_repeated()) {
      printItems(message, field, out);
    } else {
      printValue(message, field, out);
    }
  }
  out << YAML::EndMap;
}

}  // namespace

std::string printConfig(const plugind_config::Config& config) {
  YAML::Emitter out;
  printKeys(config, out);
  return std::string(out.c_str()) + "\n";
}

}  // namespace vfiogate
