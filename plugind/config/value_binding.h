#pragma once
// From one scalar of a YAML tree to one value of a message.

#include <google/protobuf/message.h>

#include <string>

#include "plugind/config/findings.h"
#include "plugind/config/words/yaml_tree.h"

namespace vfiogate {

/// Where a value goes: set, or added if the field is repeated. `path` is for messages to people.
struct ValuePlace {
  google::protobuf::Message& message;
  const google::protobuf::FieldDescriptor& field;
  std::string path;
};

/// Puts a value of the field's type and range, or refuses it in `findings`. Not for messages.
void bindValue(const YamlNode& node, const ValuePlace& place, Findings& findings);

/// True if the value is what an absent key means.
bool isDefault(const ValuePlace& place);

/// What was found and what was expected, for people.
std::string describe(const YamlNode& node);
std::string wanted(const google::protobuf::FieldDescriptor& field);

}  // namespace vfiogate
