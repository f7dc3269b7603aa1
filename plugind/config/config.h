#pragma once
// plugind's configuration file: YAML text in, checked settings out. No file is opened here.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "ipc/base/result.h"
#include "plugind/core/settings.h"

namespace vfiogate {

/// What a person should know of one place of the file.
struct ConfigRemark {
  std::string fileName;
  std::uint32_t line = 0;  ///< counted from 1; 0: the file as a whole
  std::string path;        ///< such as "resources[0].select.vendor"; empty: no key
  std::string text;        ///< what was found and what would mend it

  /// "FILE:LINE: PATH: TEXT", one line, without what is not known.
  std::string str() const;
  friend bool operator==(const ConfigRemark&, const ConfigRemark&) = default;
};

struct Config {
  Settings settings;
  std::vector<ConfigRemark> warnings;  ///< accepted, but perhaps not what was meant
  /// What hangs on the node's hardware or on privd's options, and is so or not once plugind runs,
  /// which then says it by itself.
  std::vector<ConfigRemark> hints;
  std::string effective;  ///< every key with its value, as YAML

  friend bool operator==(const Config&, const Config&) = default;
};

/// Larger files are refused unread.
constexpr std::size_t kMaxConfigBytes = 1U << 20U;

/// Reads a configuration. `fileName` is only for messages. Errors: everything of wrong form, or if
/// nothing is, everything that makes no sense; in the order of lines, at most 20 and a count of the
/// rest.
Result<Config, std::vector<ConfigRemark>> parseConfig(std::string_view text,
                                                      std::string_view fileName);

/// The configuration as it takes effect, every key written out, with a comment line on top. Parses
/// back to the same settings.
std::string printEffective(const Config& config);

/// An empty path means no file: every key at its default. Errors also where the file cannot be read
/// or is larger than kMaxConfigBytes.
Result<Config, std::vector<ConfigRemark>> readConfigFile(const std::string& path);

}  // namespace vfiogate
