#pragma once
// Reads a YAML document strictly: the first thing that makes no sense is kept, with its line.

#include <yaml-cpp/yaml.h>

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ipc/types/bdf.h"

namespace vfiogate::sim {

struct TopologyError {
  int line = 0;  ///< from 1
  std::string why;

  friend bool operator==(const TopologyError&, const TopologyError&) = default;
};

/// Collects the first error; after one, what the functions return means nothing.
class YamlReader {
public:
  const std::optional<TopologyError>& error() const { return error_; }

  void refuse(int line, const std::string& why);
  void refuse(const YAML::Node& node, const std::string& why);

  /// Checks that `node` is a mapping of `keys` only, each at most once.
  bool isMapping(const YAML::Node& node, const std::vector<std::string_view>& keys,
                 std::string_view what);

  /// Calls `each` for every element; an absent list is empty.
  void forEach(const YAML::Node& list, std::string_view what,
               const std::function<void(const YAML::Node&)>& each);

  std::string text(const YAML::Node& node, std::string_view key);
  bool flag(const YAML::Node& node, std::string_view key);
  std::uint32_t number(const YAML::Node& node, std::string_view key, std::uint32_t most);

  /// Exactly `digits` hexadecimal digits, "0x" allowed.
  std::uint32_t hex(const YAML::Node& node, std::string_view key, int digits);

  /// "10de:2684".
  std::pair<std::uint16_t, std::uint16_t> idPair(const YAML::Node& node, std::string_view key);

  /// Null, and an error, if it is no address.
  std::optional<Bdf> address(const YAML::Node& node, std::string_view key);

  /// The position of the text among `words`.
  std::size_t oneOf(const YAML::Node& node, std::string_view key,
                    const std::vector<std::string_view>& words);

  std::vector<std::string> texts(const YAML::Node& list, std::string_view key);

private:
  std::optional<TopologyError> error_;
};

/// The line of `node`, from 1.
int lineOf(const YAML::Node& node);

/// Calls `read` with the value of `key` if it is there.
template <typename Read>
void whenThere(const YAML::Node& mapping, const char* key, Read read) {
  if (const YAML::Node value = mapping[key]) read(value);
}

}  // namespace vfiogate::sim
