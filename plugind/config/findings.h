#pragma once
// What reading a configuration file turned up: everything wrong, everything odd, and where.

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "plugind/config/config.h"

namespace vfiogate {

class Findings {
public:
  explicit Findings(std::string fileName) : fileName_(std::move(fileName)) {}

  /// Remembers where the file names `path`.
  void note(const std::string& path, std::uint32_t line) { lines_.emplace(path, line); }

  void refuse(std::uint32_t line, const std::string& path, const std::string& text);
  /// At the line of `path`, or of the nearest key above it that the file names.
  void refuse(const std::string& path, const std::string& text);
  void warn(const std::string& path, const std::string& text);
  /// What the file alone cannot tell.
  void hint(const std::string& path, const std::string& text);

  bool anyProblem() const { return !problems_.empty(); }
  /// In the order of lines, at most 20 and a count of the rest.
  std::vector<ConfigRemark> problems() const;
  std::vector<ConfigRemark> warnings() const { return warnings_; }
  std::vector<ConfigRemark> hints() const { return hints_; }

private:
  std::uint32_t lineOf(std::string path) const;

  std::string fileName_;
  std::map<std::string, std::uint32_t> lines_;
  std::vector<ConfigRemark> problems_;
  std::vector<ConfigRemark> warnings_;
  std::vector<ConfigRemark> hints_;
};

}  // namespace vfiogate
