#pragma once
// The configuration's message: from a YAML tree, key by key and value by value as the schema has
// them; back to YAML with every key written out; and to the core's settings, what the values mean
// together.

#include "plugind/config/config.pb.h"
#include "plugind/config/findings.h"
#include "plugind/config/words/yaml_tree.h"
#include "plugind/core/settings.h"

#include <google/protobuf/message.h>

#include <string>

namespace vfiogate {

/// Fills a message from a document's root. Values are only of the right type and range after it:
/// config_settings judges what they mean. What cannot be bound is refused in `findings`.
plugind_config::Config bindConfig(const YamlNode& root, Findings& findings);

/// Texts are quoted always, so that no reader takes them for numbers. Ends in a newline.
std::string printConfig(const plugind_config::Config& config);

/// The settings that `message` asks for. What makes no sense is refused in `findings` and left out;
/// what is odd is a warning.
Settings toSettings(const plugind_config::Config& message, Findings& findings);

/// Where a value goes: set, or added if the field is repeated. `path` is for messages to people.
struct ValuePlace {
  google::protobuf::Message& message;
  const google::protobuf::FieldDescriptor& field;
  std::string path;
};

/// Puts a value of the field's type and range, or refuses it in `findings`. Not for messages.
void bindValue(const YamlNode& node, const ValuePlace& place, Findings& findings);

/// What was found and what was expected, for people.
std::string describe(const YamlNode& node);
std::string wanted(const google::protobuf::FieldDescriptor& field);

}  // namespace vfiogate
