// Whatever packets a plugind with every right sends privd's gate: it outlives them, what it
// understood it writes as it was, and what it had written is under names that privd minted.
//
// The input: packets one after the other, each after its length in two bytes, the lower one first.

#include "privd/cdi/cdi_spec.h"
#include "privd/gate/gate_channel.h"
#include "sim/base/temp_dir.h"
#include "tests/fuzz/fuzz_input.h"
#include "tests/support/played/claim_specs.h"

#include <unistd.h>

#include <filesystem>
#include <optional>
#include <string>

namespace vfiogate {
namespace {

namespace fs = std::filesystem;

/// One for all inputs: what a peer leaves behind the next one meets.
class Served {
public:
  Served() {
    for (const char* name : {"device-plugins", "cdi", "metadata", "plugins_registry", "holds"}) {
      fs::create_directory(dir_ / name);
    }
    fs::create_directories(dir_ / ("plugins/" + test::kDraDriver));
  }

  void takeFrom(std::string_view input) {
    auto pair = packetPair().value();
    GateChannel channel(service_, kj::mv(pair.theirs));
    bool open = exchange(channel, pair.ours, encode(gate::Request(gate::Enter{})));
    while (open && input.size() >= 2) {
      const auto byte = [&input](std::size_t i) { return static_cast<std::uint8_t>(input[i]); };
      const std::size_t size = byte(0) + 256U * byte(1);
      const std::string packet(input.substr(2, size));
      input.remove_prefix(std::min(input.size(), 2 + size));
      const auto request = gate::decodeRequest(packet);
      if (request) require(encode(*request) == packet);
      if (!packet.empty()) open = exchange(channel, pair.ours, packet);
    }
    service_.sessionEnded();
  }

  void checkNames() const {
    for (const auto& entry : fs::directory_iterator(dir_ / "cdi")) {
      const std::string name = entry.path().filename();
      require(claimUidOf(name) || isSpecFileName(name));
    }
    for (const auto& entry : fs::directory_iterator(dir_ / "device-plugins")) {
      const std::string name = entry.path().filename();
      require(name.starts_with("vfiogate-") && name.ends_with(".sock"));
    }
    require(fs::is_empty(dir_ / "plugins_registry"));
  }

private:
  /// False: the gate hung up. Each request that is understood is answered, Seen excepted.
  static bool exchange(GateChannel& channel, int peer, const std::string& packet) {
    if (sendPacket(peer, packet) != PacketSent::kSent) return false;
    if (channel.receive({})) return false;
    while (true) {
      auto received = receivePacket(peer, gate::kLargestAnswer);
      require(received.has_value());
      auto arrived = kj::mv(received).value();
      if (arrived == nullptr) return true;
      KJ_IF_MAYBE (one, arrived) require(gate::decodeFromGate(one->bytes).has_value());
    }
  }

  TempDir dir_{"/dev/shm"};
  const ServedNames names_{{"vfiogate.dev/"}, test::kDraDriver};
  KubeletGate kubelet_{dir_.path().c_str(), names_};
  PlugindLease lease_ = PlugindLease::open(dir_.path(), 40).value();
  AllocationRecords records_ = AllocationRecords::open(dir_ / "devices", "this-boot").value();
  CdiStore specs_{dir_ / "cdi", names_};
  ClaimStore claims_{dir_ / "cdi", dir_ / "metadata", names_};
  GateService service_{{kubelet_, names_, lease_, records_, specs_, claims_,
                        Rights{.kubelet = true, .cdi = true}, dir_ / "plugind.yaml",
                        dir_ / "holds"}};
};

}  // namespace
}  // namespace vfiogate

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static vfiogate::Served served;
  served.takeFrom(vfiogate::textOf(data, size));
  served.checkNames();
  return 0;
}
