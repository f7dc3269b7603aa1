#include "tests/support/played/fake_privd_dra.h"

#include "ipc/socket/unix_socket.h"
#include "privd/cdi/cdi_spec.h"

#include <kj/debug.h>

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace vfiogate::test {
namespace {

using gate::Code;

std::string registryOf(const Play& play) {
  return std::filesystem::path(play.setup.kubeletDir).parent_path() / "plugins_registry";
}

std::string serviceDirectory(const Play& play) {
  return std::filesystem::path(play.setup.kubeletDir).parent_path() / "plugins" /
         play.setup.draDriver;
}

/// What else lies on its disk; after all claims, whose UIDs begin with a digit or a to f.
std::string uidOfText(std::size_t number) {
  return "text-" + std::to_string(number);
}

PlayedAnswer bad(std::string words) {
  return {{.code = Code::kBad, .words = std::move(words)}, nullptr};
}

PlayedAnswer fileWith(const std::string& text) {
  kj::AutoCloseFd file(memfd_create("claim", MFD_CLOEXEC));
  KJ_ASSERT(pwrite(file, text.data(), text.size(), 0) == static_cast<ssize_t>(text.size()));
  return {{.outcome = gate::OpenedFile{.size = static_cast<std::uint32_t>(text.size())}},
          kj::mv(file)};
}

}  // namespace

PlayedAnswer listenForDra(const Play& play, const gate::Listen& listener) {
  if (play.setup.draDriver.empty() || listener.name != play.setup.draDriver) {
    return refused(Code::kForeign);
  }
  const bool service = listener.kind == gate::Listen::Kind::kDraService;
  const std::string directory = service ? serviceDirectory(play) : registryOf(play);
  const std::string name = service ? "dra.sock" : play.setup.draDriver + "-reg.sock";
  std::filesystem::create_directories(directory);
  auto made = listenAt(directory.c_str(), name.c_str(), WhoMayConnect::kOwner);
  if (!made) return refused(Code::kFailed, made.error().error);
  return {{.outcome = gate::Endpoint{directory + "/" + name}}, kj::mv(made).value()};
}

PlayedAnswer writeClaim(Play& play, const ClaimSpecText& text) {
  if (auto fault = faultIn(text.spec)) return bad(*std::move(fault));
  if (text.spec.driver != play.setup.draDriver) return bad("driver: another one");
  if (play.claimError != 0) return refused(Code::kFailed, play.claimError);
  play.claimSpecs.insert_or_assign(text.spec.uid, text);
  return {};
}

PlayedAnswer unlinkClaim(Play& play, const std::string& uid) {
  if (play.claimError != 0) return refused(Code::kFailed, play.claimError);
  play.claimSpecs.erase(uid);
  return {};
}

PlayedAnswer listClaims(const Play& play) {
  gate::ClaimUids part;
  for (const auto& [uid, text] : play.claimSpecs) part.uids.push_back(uid);
  for (std::size_t i = 0; i < play.claimTexts.size(); ++i) part.uids.push_back(uidOfText(i));
  return {{.outcome = std::move(part)}, nullptr};
}

PlayedAnswer openClaim(const Play& play, const std::string& uid) {
  for (std::size_t i = 0; i < play.claimTexts.size(); ++i) {
    if (uid == uidOfText(i)) return fileWith(play.claimTexts[i]);
  }
  const auto claim = play.claimSpecs.find(uid);
  if (claim == play.claimSpecs.end()) return refused(Code::kNotYet, ENOENT);
  std::vector<std::vector<std::string>> nodes;
  for (const SpecNodes& each : claim->second.nodes) nodes.push_back(pathsOf(each));
  return fileWith(claimSpecText(claim->second.spec, nodes, serviceDirectory(play)));
}

}  // namespace vfiogate::test
