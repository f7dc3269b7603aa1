#pragma once
// Which names Kubernetes gives to what claims, pods and drivers are. None of them has a character
// that JSON, a path or a line of text would want escaped.

#include <cstddef>
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

}  // namespace vfiogate
