#pragma once
// From a YAML tree to the configuration's message, key by key as the schema has them.

#include "plugind/config/config.pb.h"
#include "plugind/config/findings.h"
#include "plugind/config/words/yaml_tree.h"

namespace vfiogate {

/// Fills a message from a document's root. Values are only of the right type and range after it:
/// config_settings judges what they mean. What cannot be bound is refused in `findings`.
plugind_config::Config bindConfig(const YamlNode& root, Findings& findings);

}  // namespace vfiogate
