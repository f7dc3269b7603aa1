#pragma once
// A fuzzer's bytes as a message of Cap'n Proto.

#include <capnp/serialize.h>
#include <kj/exception.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <vector>

namespace vfiogate {

/// Copied to where words may stand; bytes that are no whole word are left out.
inline std::vector<capnp::word> alignedWords(const std::uint8_t* data, std::size_t size) {
  std::vector<capnp::word> words(size / sizeof(capnp::word));
  if (!words.empty()) memcpy(words.data(), data, words.size() * sizeof(capnp::word));
  return words;
}

/// Calls each of `reads` with the message. It may turn out malformed, which Cap'n Proto throws;
/// what the standard library throws is a finding.
template <typename... Reads>
void readMessage(const std::uint8_t* data, std::size_t size, capnp::ReaderOptions options,
                 const Reads&... reads) {
  const auto words = alignedWords(data, size);
  const auto readOne = [&](const auto& read) {
    capnp::FlatArrayMessageReader reader(kj::arrayPtr(words.data(), words.size()), options);
    read(reader);
  };
  const auto guarded = [&](const auto& read) {
    KJ_IF_MAYBE (failure, kj::runCatchingExceptions([&]() { readOne(read); })) {
      if (failure->getDescription().startsWith("std::")) std::abort();
    }
  };
  (guarded(reads), ...);
}

}  // namespace vfiogate
