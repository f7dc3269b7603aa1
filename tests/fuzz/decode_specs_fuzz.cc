// Whatever bytes come as a declaration of specs: decoding refuses them in words, or what it makes
// of them keeps to every bound.

#include "ipc/codec/decode_specs.h"
#include "ipc/codec/limits.h"
#include "tests/fuzz/aligned_words.h"

#include <capnp/message.h>
#include <capnp/serialize.h>
#include <kj/exception.h>

#include <algorithm>
#include <cstdlib>
#include <set>
#include <vector>

namespace vfiogate {
namespace {

void require(bool holds) {
  if (!holds) std::abort();
}

void checkBounds(const std::vector<StaticSpec>& specs) {
  std::set<std::string> names;
  std::size_t devices = 0;
  for (const StaticSpec& spec : specs) {
    names.insert(spec.resource);
    devices += spec.devices.size();
    require(std::ranges::adjacent_find(spec.devices, std::greater_equal<>()) == spec.devices.end());
  }
  require(specs.size() <= kMostSpecs && names.size() == specs.size());
  require(devices <= kMostSpecDevices);
}

void decodeBytes(kj::ArrayPtr<const capnp::word> words) {
  kj::Maybe<kj::Exception> malformed = kj::runCatchingExceptions([&]() {
    capnp::FlatArrayMessageReader reader(words, kFromPeer);
    const auto decoded = decode(reader.getRoot<schema::Session::DeclareSpecsParams>().getSpecs());
    if (decoded) {
      checkBounds(*decoded);
    } else {
      require(!decoded.error().what.empty());
    }
  });
}

}  // namespace
}  // namespace vfiogate

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto words = vfiogate::alignedWords(data, size);
  vfiogate::decodeBytes(kj::arrayPtr(words.data(), words.size()));
  return 0;
}
