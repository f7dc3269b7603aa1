#include "plugind/config/config.h"

#include "plugind/config/config_message.h"
#include "plugind/config/findings.h"
#include "plugind/config/settings_review.h"
#include "plugind/config/words/yaml_tree.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>

namespace vfiogate {

std::string ConfigRemark::str() const {
  std::string remark = fileName;
  if (line != 0) remark += ":" + std::to_string(line);
  if (!path.empty()) remark += ": " + path;
  remark += ": " + text;
  // yaml-cpp quotes what it meets as it is.
  std::ranges::replace_if(
      remark, [](char c) { return static_cast<unsigned char>(c) < ' ' || c == '\x7f'; }, '?');
  return remark;
}

Result<Config, std::vector<ConfigRemark>> parseConfig(std::string_view text,
                                                      std::string_view fileName) {
  Findings findings{std::string(fileName)};
  if (text.size() > kMaxConfigBytes) {
    findings.refuse(0, "", "larger than 1 MiB");
    return Failure{findings.problems()};
  }
  const auto tree = readYaml(text);
  if (!tree) {
    findings.refuse(tree.error().line, "", tree.error().text);
    return Failure{findings.problems()};
  }
  const plugind_config::Config message = bindConfig(*tree, findings);
  // What was not bound is missing: judging the rest would blame the wrong thing.
  if (findings.anyProblem()) return Failure{findings.problems()};
  Settings settings = toSettings(message, findings);
  if (!findings.anyProblem()) reviewSettings(settings, findings);
  if (findings.anyProblem()) return Failure{findings.problems()};
  return Config{.settings = std::move(settings),
                .warnings = findings.warnings(),
                .hints = findings.hints(),
                .effective = printConfig(message)};
}

std::string printEffective(const Config& config) {
  return "# plugind's configuration as it takes effect\n" + config.effective;
}

namespace {

using Remarks = std::vector<ConfigRemark>;

Failure<Remarks> unreadable(const std::string& path, const std::string& why) {
  return Failure{Remarks{{path, 0, "", why}}};
}

}  // namespace

Result<Config, Remarks> readConfigFile(const std::string& path) {
  if (path.empty()) return parseConfig("", "(no --config)");
  std::ifstream file(path, std::ios::binary);
  if (!file) return unreadable(path, std::string("cannot be opened: ") + strerror(errno));
  std::string text(kMaxConfigBytes + 1, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (file.bad()) return unreadable(path, std::string("cannot be read: ") + strerror(errno));
  text.resize(static_cast<std::size_t>(file.gcount()));
  if (text.size() > kMaxConfigBytes) return unreadable(path, "is larger than 1 MiB");
  return parseConfig(text, path);
}

}  // namespace vfiogate
