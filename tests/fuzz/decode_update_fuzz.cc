// Whatever bytes come as an update: decoding refuses them in words, or what it makes of them comes
// over RPC again unchanged.

#include "ipc/codec/limits.h"
#include "ipc/codec/snapshot_codec.h"
#include "tests/fuzz/aligned_words.h"

#include <capnp/message.h>
#include <capnp/serialize.h>
#include <kj/exception.h>

#include <cstdlib>
#include <vector>

namespace vfiogate {
namespace {

void checkComesOverAgain(const Update& update) {
  capnp::MallocMessageBuilder message;
  auto root = message.initRoot<schema::Update>();
  encode(update, root, noControl);
  const auto again = decode(root.asReader());
  if (!again || again->update != update) std::abort();
}

void decodeBytes(kj::ArrayPtr<const capnp::word> words) {
  kj::Maybe<kj::Exception> malformed = kj::runCatchingExceptions([&]() {
    capnp::FlatArrayMessageReader reader(words, kFromPrivd);
    const auto decoded = decode(reader.getRoot<schema::Update>());
    if (decoded) {
      checkComesOverAgain(decoded->update);
    } else if (decoded.error().what.empty()) {
      std::abort();
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
