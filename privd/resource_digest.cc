#include "privd/resource_digest.h"

#include "ipc/types/hex.h"

#include <sys/types.h>

#include <sha2.h>

namespace vfiogate {

std::string digestOf(const ResourceName& resource) {
  std::uint8_t digest[SHA256_DIGEST_LENGTH];
  SHA2_CTX context;
  SHA256Init(&context);
  SHA256Update(&context, reinterpret_cast<const std::uint8_t*>(resource.str().data()),
               resource.str().size());
  SHA256Final(digest, &context);
  std::string digits;
  for (int i = 0; i < 8; ++i) digits += hexDigits(digest[i], 2);
  return digits;
}

}  // namespace vfiogate
