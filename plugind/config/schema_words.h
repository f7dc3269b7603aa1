#pragma once
// How the schema's fields and values are spelled in YAML.

#include <google/protobuf/descriptor.h>

#include <string>
#include <vector>

#include "plugind/config/config.pb.h"

namespace vfiogate {

/// The key of a field: its name in camelCase.
const std::string& keyOf(const google::protobuf::FieldDescriptor& field);

/// The keys of a message, in the schema's order.
std::vector<std::string> keysOf(const google::protobuf::Descriptor& message);

/// Null if the message has no such key.
const google::protobuf::FieldDescriptor* findKey(const google::protobuf::Descriptor& message,
                                                 const std::string& key);

std::string spellingOf(const google::protobuf::EnumValueDescriptor& value);

/// Null if the enumeration has no value of this spelling.
const google::protobuf::EnumValueDescriptor* findSpelling(
    const google::protobuf::EnumDescriptor& values, const std::string& spelling);

/// In the schema's order.
std::vector<std::string> spellingsOf(const google::protobuf::EnumDescriptor& values);

inline const plugind_config::Rule& ruleOf(const google::protobuf::FieldDescriptor& field) {
  return field.options().GetExtension(plugind_config::rule);
}

}  // namespace vfiogate
