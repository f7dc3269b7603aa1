#pragma once
// A YAML document as a plain tree with line numbers: what yaml-cpp reads, without its surprises.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "ipc/base/result.h"

namespace vfiogate {

struct YamlNode {
  enum class Kind : std::uint8_t { kNull, kScalar, kList, kMap };

  Kind kind = Kind::kNull;
  std::uint32_t line = 0;       ///< counted from 1
  bool plain = false;           ///< a scalar without quotes
  std::string text;             ///< of a scalar
  std::vector<YamlNode> items;  ///< of a list; of a map: key, value, key, value, ...
};

struct YamlProblem {
  std::uint32_t line = 0;
  std::string text;
};

/// Reads one document; an empty text is a null. Refused: what is no YAML, a second document,
/// anchors and aliases (a few bytes of them grow without bound), tags.
Result<YamlNode, YamlProblem> readYaml(std::string_view text);

/// What a reader of YAML 1.1 or 1.2 makes of a scalar without quotes.
enum class PlainMeaning : std::uint8_t { kText, kNumber, kBoolean };

/// Base 60 of YAML 1.1 is left out: no id has its form, and every address would need quotes.
PlainMeaning plainMeaning(std::string_view text);

}  // namespace vfiogate
