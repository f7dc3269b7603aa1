#pragma once
// Which names Kubernetes gives to what claims, pods and drivers are. None of them has a character
// that JSON, a path or a line of text would want escaped.
// The name under which the kubelet knows a kind of device.

#include <compare>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace vfiogate {

constexpr std::size_t kLongestSubdomain = 253;
constexpr std::size_t kLongestDraDriver = 63;

/// True for "gpu-1": [a-z0-9]([-a-z0-9]*[a-z0-9])?, at most 63 characters.
bool isDnsLabel(std::string_view text);

/// True for "vfiogate.dev": such labels, of any length, with dots between.
bool isDnsSubdomain(std::string_view text, std::size_t longest = kLongestSubdomain);

/// True for a UUID as the API server writes it, in lower case.
bool isUid(std::string_view text);

/// True for a pool's name: subdomains with slashes between, at most 253 characters.
bool isPoolName(std::string_view text);

/// True for a DRA driver's name that is a vendor in the words of CDI, too: a subdomain that begins
/// with a letter, of 2 to 63 characters.
bool isDraDriver(std::string_view text);

/// An extended resource name, "vfiogate.dev/10de_2684". Always one that the kubelet accepts
/// (kubelet-contract.md 1.3): parse() is the only way in.
class ResourceName {
public:
  /// Null unless `text` has exactly one '/', a lower-case DNS subdomain of at most 244 characters
  /// before it, 1 to 63 characters [A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])? after it, contains no
  /// "kubernetes.io/" and does not start with "requests.".
  static std::optional<ResourceName> parse(std::string_view text);

  const std::string& str() const { return text_; }
  /// The part before the '/'.
  std::string_view prefix() const;

  friend auto operator<=>(const ResourceName&, const ResourceName&) = default;

private:
  explicit ResourceName(std::string text) : text_(std::move(text)) {}
  std::string text_;
};

/// False: no CDI spec of version 0.5.0 can be of the kind that is named as `resource`. Vendor
/// (before the '/') and class (after it) begin with a letter and have more than that, and the class
/// has no dot. What else CDI wants, every resource name has. Source: CDI's SPEC.md, "Kind".
bool isCdiKind(const ResourceName& resource);

}  // namespace vfiogate
