#pragma once
// Configurations that are refused, and what their refusal says.

#include <gtest/gtest.h>

#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "plugind/config/config.h"

namespace vfiogate::test {

/// The lines of a refusal; none if the text is accepted.
inline std::vector<std::string> refusals(std::string_view text) {
  const auto config = parseConfig(text, "p.yaml");
  std::vector<std::string> lines;
  if (config) return lines;
  for (const ConfigRemark& problem : config.error()) lines.push_back(problem.str());
  return lines;
}

struct BadText {
  std::string name;
  std::string yaml;
  std::vector<std::string> want;  ///< every line of the refusal
};

inline void PrintTo(const BadText& row, std::ostream* out) {
  *out << row.name;
}
inline std::string rowName(const testing::TestParamInfo<BadText>& row) {
  return row.param.name;
}

/// One entry of resources that is fine but for the line given, which is line 3.
inline std::string entry(const std::string& line) {
  return "resources:\n- select: {vendor: \"10de\"}\n  " + line + "\n";
}
/// A selector that holds only the keys given, in line 2.
inline std::string selecting(const std::string& keys) {
  return "resources:\n- select: {" + keys + "}\n";
}

}  // namespace vfiogate::test
