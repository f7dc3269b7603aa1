#include "plugind/config/config_message.h"

#include <google/protobuf/message.h>

#include "ipc/types/selector.h"
#include "plugind/config/schema_words.h"
#include "plugind/config/words/words.h"
#include "plugind/core/refusal.h"

namespace vfiogate {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;
using Kind = YamlNode::Kind;
/// The keys of one map, with their lines.
using SeenKeys = std::map<std::string, std::uint32_t>;

bool holdsMessages(const FieldDescriptor& field) {
  return field.cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE;
}

/// Walks tree and schema together.
class Binder {
public:
  explicit Binder(Findings& findings) : findings_(findings) {}

  void bindKeys(const YamlNode& node, Message& message, const std::string& path) {
    const auto& type = *message.GetDescriptor();
    if (node.kind != Kind::kMap)
      return refuse(node, path, "write keys: " + listWords(keysOf(type)));
    SeenKeys seen;
    for (std::size_t i = 0; i + 1 < node.items.size(); i += 2) {
      const YamlNode& key = node.items[i];
      if (!isNewKey(key, path, seen)) continue;
      const FieldDescriptor* field = findKey(type, key.text);
      if (field == nullptr) {
        refuseUnknown(key, path, type);
        continue;
      }
      const std::string below = path.empty() ? key.text : path + "." + key.text;
      findings_.note(below, key.line);
      bindField(node.items[i + 1], {message, *field, below});
    }
    addDefaultItems(message, seen);
  }

private:
  void refuse(const YamlNode& node, const std::string& path, const std::string& remedy) {
    findings_.refuse(node.line, path, describe(node) + "; " + remedy);
  }

  bool isNewKey(const YamlNode& key, const std::string& path, SeenKeys& seen) {
    if (key.kind != Kind::kScalar) {
      findings_.refuse(key.line, path, "a key must be a word");
      return false;
    }
    const auto [first, fresh] = seen.emplace(key.text, key.line);
    if (!fresh) {
      findings_.refuse(key.line, path,
                       "key " + quoteForeign(key.text) + " is given twice, first in line " +
                           std::to_string(first->second) + "; remove one");
    }
    return fresh;
  }

  void refuseUnknown(const YamlNode& key, const std::string& path,
                     const google::protobuf::Descriptor& type) {
    const auto near = nearestWord(key.text, keysOf(type));
    findings_.refuse(key.line, path,
                     "unknown key " + quoteForeign(key.text) + "; " +
                         (near ? "did you mean " + *near + "?"
                               : "the keys here are: " + listWords(keysOf(type))));
  }

  static void addDefaultItems(Message& message, const SeenKeys& seen) {
    for (int i = 0; i < message.GetDescriptor()->field_count(); ++i) {
      const FieldDescriptor& field = *message.GetDescriptor()->field(i);
      if (seen.contains(keyOf(field))) continue;
      for (const std::string& item : ruleOf(field).default_items()) {
        const auto* value = findSpelling(*field.enum_type(), item);
        message.GetReflection()->AddEnum(&message, &field, value);
      }
    }
  }

  void bindField(const YamlNode& node, const ValuePlace& place) {
    if (node.kind == Kind::kNull) {
      refuse(node, place.path, wanted(place.field) + ", or leave the key out");
    } else if (place.field.is_map()) {
      bindMap(node, place);
    } else if (!place.field.is_repeated()) {
      bindOne(node, place);
    } else {
      bindItems(node, place);
    }
  }

  /// A list, or one value that stands for a list of one.
  void bindItems(const YamlNode& node, const ValuePlace& place) {
    const bool ofMessages = holdsMessages(place.field);
    if (node.kind != Kind::kList) {
      if (ofMessages) return refuse(node, place.path, wanted(place.field));
      return bindOne(node, place);
    }
    if (node.items.empty() && !ofMessages) {
      return findings_.refuse(node.line, place.path,
                              "found an empty list; name a value or leave the key out");
    }
    for (std::size_t i = 0; i < node.items.size(); ++i) {
      const std::string below = place.path + "[" + std::to_string(i) + "]";
      findings_.note(below, node.items[i].line);
      bindOne(node.items[i], {place.message, place.field, below});
    }
  }

  void bindOne(const YamlNode& node, const ValuePlace& place) {
    if (!holdsMessages(place.field)) return bindValue(node, place, findings_);
    const Reflection& reflection = *place.message.GetReflection();
    Message* below = place.field.is_repeated()
                         ? reflection.AddMessage(&place.message, &place.field)
                         : reflection.MutableMessage(&place.message, &place.field);
    const bool isSelect = below->GetDescriptor() == plugind_config::Select::descriptor();
    if (isSelect && node.kind == Kind::kScalar) return bindSelectorText(node, *below, place.path);
    bindKeys(node, *below, place.path);
  }

  /// "10de:2684" or "key=value,..." in place of a selector's keys.
  void bindSelectorText(const YamlNode& node, Message& select, const std::string& path) {
    const auto selector = Selector::parse(node.text);
    if (!selector) return findings_.refuse(node.line, path, selector.error().text);
    for (const auto& [key, values] : selector->values()) {
      const FieldDescriptor* field =
          findKey(*select.GetDescriptor(), std::string(selectorKeyName(key)));
      for (const std::string& value : values) {
        YamlNode item{.kind = Kind::kScalar, .line = node.line, .text = value, .items = {}};
        item.plain = field->cpp_type() == FieldDescriptor::CPPTYPE_UINT32;
        bindValue(item, {select, *field, path}, findings_);
      }
    }
  }

  void bindMap(const YamlNode& node, const ValuePlace& place) {
    if (node.kind != Kind::kMap) return refuse(node, place.path, "write \"10de:2684\": NAME");
    SeenKeys seen;
    for (std::size_t i = 0; i + 1 < node.items.size(); i += 2) {
      const YamlNode& key = node.items[i];
      if (!isNewKey(key, place.path, seen)) continue;
      const std::string below = place.path + "." + key.text.substr(0, 64);
      findings_.note(below, key.line);
      Message& entry = *place.message.GetReflection()->AddMessage(&place.message, &place.field);
      const auto& type = *entry.GetDescriptor();
      bindValue(key, {entry, *type.FindFieldByNumber(1), below}, findings_);
      bindValue(node.items[i + 1], {entry, *type.FindFieldByNumber(2), below}, findings_);
    }
  }

  Findings& findings_;
};

}  // namespace

plugind_config::Config bindConfig(const YamlNode& root, Findings& findings) {
  plugind_config::Config config;
  if (root.kind != Kind::kNull) Binder(findings).bindKeys(root, config, "");
  return config;
}

}  // namespace vfiogate
