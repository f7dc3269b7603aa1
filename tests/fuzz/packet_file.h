#pragma once
// Packets one after the other, as targets read them: each after its length in two bytes, the lower
// one first.

#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

namespace vfiogate {

class PacketFile {
public:
  explicit PacketFile(const std::filesystem::path& file) {
    std::filesystem::create_directories(file.parent_path());
    out_.open(file, std::ios::binary);
  }

  /// `mark`: a bit of the length beside it.
  void add(const std::string& packet, unsigned mark = 0) {
    const auto head = static_cast<unsigned>(packet.size()) | mark;
    out_.put(static_cast<char>(head & 0xffU)).put(static_cast<char>(head >> 8U));
    out_ << packet;
  }

private:
  std::ofstream out_;
};

/// One of them.
struct InputPacket {
  std::string bytes;
  bool marked = false;  ///< by the length's highest bit
};

/// Takes the next off `input`, which has at least two bytes.
inline InputPacket takePacket(std::string_view& input) {
  constexpr unsigned kMark = 1U << 15U;
  const auto byte = [&input](std::size_t i) { return static_cast<unsigned char>(input[i]); };
  const unsigned head = byte(0) + 256U * byte(1);
  InputPacket packet{std::string(input.substr(2, head & ~kMark)), (head & kMark) != 0};
  input.remove_prefix(2 + packet.bytes.size());
  return packet;
}

}  // namespace vfiogate
