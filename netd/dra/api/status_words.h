#pragma once
// What an API server says of a request that it did not grant. Pure.

#include "netd/dra/api/api_client.h"

#include <string>
#include <string_view>

namespace vfiogate {

/// The message of a Status in `body`, at most 256 bytes; empty where there is none.
std::string statusMessage(std::string_view body);

/// For people: "the API server answers 403: resourceclaims is forbidden".
std::string wordsOf(const ApiAnswer& answer);

}  // namespace vfiogate
