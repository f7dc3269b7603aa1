#include "privd/base/resource_digest.h"

#include "privd/base/sha256.h"

namespace vfiogate {

std::string digestOf(const ResourceName& resource) {
  return sha256Digits(resource.str()).substr(0, 16);
}

}  // namespace vfiogate
