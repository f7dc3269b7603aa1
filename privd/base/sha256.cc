#include "privd/base/sha256.h"

#include <sys/types.h>

#include <sha2.h>

#include <cstdint>

namespace vfiogate {

std::string sha256Digits(std::string_view text) {
  std::string digits(SHA256_DIGEST_STRING_LENGTH, '\0');
  SHA256Data(reinterpret_cast<const std::uint8_t*>(text.data()), text.size(), digits.data());
  digits.pop_back();  // the C string's end
  return digits;
}

std::string digestOf(const ResourceName& resource) {
  return sha256Digits(resource.str()).substr(0, 16);
}

}  // namespace vfiogate
