// Whatever text lies where the kubelet's checkpoint should be: reading it refuses it in words, or
// what it reads is read again from the same data written anew; and no change of a single byte
// makes other data pass for the kubelet's.

#include "plugind/checkpoint/checkpoint_reader.h"
#include "plugind/checkpoint/checkpoint_shape.h"

#include <nlohmann/json.hpp>

#include <array>
#include <cstdlib>
#include <string>
#include <string_view>

namespace vfiogate {
namespace {

using nlohmann::json;

/// XORed into a byte: a case, a neighbouring digit, a quote or bracket, the top bit.
constexpr std::array<unsigned char, 5> kFlips{0x20, 0x01, 0x02, 0x06, 0x80};
/// Every byte of a short text, but no more of a long one: each costs a reading.
constexpr std::size_t kMostFlips = 64;

Result<CheckpointVersion, std::string> readIt(std::string_view text) {
  const auto version = readCheckpoint(text, {});
  if (!version && version.error().empty()) std::abort();
  return version;
}

/// A flip may leave the data as they are, in the spaces between them: then it may be read, as the
/// same.
void checkFlipsTellNothing(const std::string& text, const CheckpointVersion& version) {
  const std::size_t step = text.size() / kMostFlips + 1;
  for (std::size_t at = fnv1a(text) % step; at < text.size(); at += step) {
    std::string flipped = text;
    flipped[at] = static_cast<char>(flipped[at] ^ kFlips[at % kFlips.size()]);
    const auto read = readIt(flipped);
    if (read && *read != version) std::abort();
  }
}

void checkAccepted(const std::string& text, const CheckpointVersion& version) {
  const auto again = readIt(json::parse(text).dump(1));
  if (!again || *again != version) std::abort();
  checkFlipsTellNothing(text, version);
}

/// The fuzzer finds no checksum by itself: what has the form of a checkpoint gets the right one.
void checkWithRightChecksum(std::string_view text) {
  json file = json::parse(text, nullptr, false);
  if (file.is_discarded()) return;
  const auto format = checkpointFormat(file);
  if (!format) return;
  file["Checksum"] = fnv1a(goRendering(file["Data"], *format));
  const std::string right = file.dump();
  const auto version = readIt(right);
  if (!version) std::abort();
  checkAccepted(right, *version);
}

}  // namespace
}  // namespace vfiogate

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  if (const auto version = vfiogate::readIt(text)) vfiogate::checkAccepted(text, *version);
  vfiogate::checkWithRightChecksum(text);
  return 0;
}
