#include "plugind/config/schema_words.h"

namespace vfiogate {

using google::protobuf::Descriptor;
using google::protobuf::EnumDescriptor;
using google::protobuf::EnumValueDescriptor;
using google::protobuf::FieldDescriptor;

const std::string& keyOf(const FieldDescriptor& field) {
  return field.json_name();
}

std::vector<std::string> keysOf(const Descriptor& message) {
  std::vector<std::string> keys;
  for (int i = 0; i < message.field_count(); ++i) keys.push_back(keyOf(*message.field(i)));
  return keys;
}

const FieldDescriptor* findKey(const Descriptor& message, const std::string& key) {
  for (int i = 0; i < message.field_count(); ++i) {
    if (keyOf(*message.field(i)) == key) return message.field(i);
  }
  return nullptr;
}

std::string spellingOf(const EnumValueDescriptor& value) {
  const std::string& spelling = value.options().GetExtension(plugind_config::spelling);
  if (!spelling.empty()) return spelling;
  std::string name = value.name();
  for (char& c : name) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return name;
}

const EnumValueDescriptor* findSpelling(const EnumDescriptor& values, const std::string& spelling) {
  for (int i = 0; i < values.value_count(); ++i) {
    if (spellingOf(*values.value(i)) == spelling) return values.value(i);
  }
  return nullptr;
}

std::vector<std::string> spellingsOf(const EnumDescriptor& values) {
  std::vector<std::string> spellings;
  for (int i = 0; i < values.value_count(); ++i) {
    spellings.push_back(spellingOf(*values.value(i)));
  }
  return spellings;
}

}  // namespace vfiogate
