#pragma once
// A fuzzer's bytes as a message of Cap'n Proto.

#include <capnp/common.h>

#include <cstdint>
#include <cstring>
#include <vector>

namespace vfiogate {

/// Copied to where words may stand; bytes that are no whole word are left out.
inline std::vector<capnp::word> alignedWords(const std::uint8_t* data, std::size_t size) {
  std::vector<capnp::word> words(size / sizeof(capnp::word));
  if (!words.empty()) memcpy(words.data(), data, words.size() * sizeof(capnp::word));
  return words;
}

}  // namespace vfiogate
