#include "tests/support/played/fake_privd_dra.h"

#include "ipc/codec/bounded_lists.h"
#include "ipc/codec/request_messages.h"
#include "ipc/socket/unix_socket.h"
#include "privd/cdi/cdi_spec.h"

#include <filesystem>
#include <string>

namespace vfiogate::test {
namespace {

std::string registryOf(const Play& play) {
  return std::filesystem::path(play.setup.kubeletDir).parent_path() / "plugins_registry";
}

std::string serviceDirectory(const Play& play) {
  return std::filesystem::path(play.setup.kubeletDir).parent_path() / "plugins" /
         play.setup.draDriver;
}

}  // namespace

void listenForDra(PeerConnection& peer, std::uint32_t ticket, kj::StringPtr driver,
                  schema::DraSocket socket, schema::ListenAnswer::Builder answer) {
  const Play& play = peer.play;
  if (play.setup.draDriver.empty() || driver != play.setup.draDriver.c_str()) {
    return answer.setForeignPrefix();
  }
  const bool service = socket == schema::DraSocket::SERVICE;
  const std::string directory = service ? serviceDirectory(play) : registryOf(play);
  const std::string name = service ? "dra.sock" : play.setup.draDriver + "-reg.sock";
  std::filesystem::create_directories(directory);
  auto made = listenAt(directory.c_str(), name.c_str(), WhoMayConnect::kOwner);
  if (!made) return answer.setFailed(static_cast<std::uint16_t>(made.error().error));
  const kj::AutoCloseFd listener = kj::mv(made).value();
  peer.channel.send(ticket, DescriptorKind::kListener, listener.get());
  answer.setEndpoint(directory + "/" + name);
}

void writeClaim(Play& play, schema::ClaimSpec::Reader spec,
                schema::ClaimSpecAnswer::Builder answer) {
  const auto wanted = decode(spec);
  if (!wanted) return answer.setBad(wanted.error().what);
  if (wanted->driver != play.setup.draDriver) return answer.setBad("driver: another one");
  if (play.claimError != 0) return answer.setFailed(static_cast<std::uint16_t>(play.claimError));
  for (const ClaimDevice& device : wanted->devices) {
    if (play.hardware.devices.contains(device.address)) continue;
    return encodeAddress(device.address, answer.initUnreachable());
  }
  auto names = answer.initInPlace(static_cast<capnp::uint>(wanted->devices.size()));
  for (capnp::uint i = 0; i < names.size(); ++i) {
    names.set(
        i, wanted->driver + "/claim=" + claimDeviceName(wanted->uid, wanted->devices[i].address));
  }
  play.claimSpecs.insert_or_assign(wanted->uid, *wanted);
}

void unlinkClaim(Play& play, kj::StringPtr uid, schema::UnlinkAnswer::Builder answer) {
  if (play.claimError != 0) return answer.setFailed(static_cast<std::uint16_t>(play.claimError));
  play.claimSpecs.erase(uid.cStr());
  answer.setGone();
}

void tellClaims(const Play& play, schema::ClaimSpecsAnswer::Builder answer) {
  std::vector<std::string> all;
  for (const auto& [uid, spec] : play.claimSpecs) {
    const std::vector<std::vector<std::string>> nodes(spec.devices.size(), {"/dev/vfio/vfio"});
    all.push_back(claimSpecText(spec, nodes, serviceDirectory(play)));
  }
  all.insert(all.end(), play.claimTexts.begin(), play.claimTexts.end());
  auto texts = answer.initTexts(static_cast<capnp::uint>(all.size()));
  for (capnp::uint i = 0; i < texts.size(); ++i) texts.set(i, all[i]);
}

}  // namespace vfiogate::test
