#include "plugind/privd/spec_client.h"

#include "plugind/core/resource/device_nodes.h"
#include "plugind/privd/gate_client.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <utility>
#include <variant>

namespace vfiogate {
namespace {

using gate::Code;
using SpecTexts = Result<std::vector<std::string>, SpecTrouble>;

constexpr const char* kNoSpecs =
    "privd gives no right to CDI specs: add cdi to its --plugind-rights";
constexpr const char* kUnwritten = "privd could not write its CDI spec";
constexpr const char* kUnread = "privd could not read the claims' specs";

/// `what`: "privd could not ...".
SpecTrouble troubleOf(const gate::Answer& answer, const char* what) {
  switch (answer.code) {
    case Code::kDenied:
      return {kNoSpecs};
    case Code::kBad:
      return {"privd does not write it: " + answer.words};
    case Code::kFailed:
    case Code::kNotYet:
      return {withErrno(what, answer.detail), true};
    default:
      return {"privd gave an answer about a spec that is unknown here"};
  }
}

}  // namespace

StaticSpecText textOf(const StaticSpec& spec, const Snapshot& hardware) {
  StaticSpecText text{.resource = spec.resource, .nodeSets = {}, .devices = {}};
  std::map<SpecNodes, std::uint16_t> known;
  for (const UnitId& device : spec.devices) {
    const auto nodes = vfioNodes(hardware, handedOver(spec, hardware, device), spec.backend);
    if (!nodes) continue;
    const auto next = static_cast<std::uint16_t>(text.nodeSets.size());
    const auto [set, isNew] = known.try_emplace(*nodes, next);
    if (isNew) text.nodeSets.push_back(*nodes);
    text.devices.push_back({.address = device, .nodes = set->second});
  }
  return text;
}

Result<ClaimSpecText, UnitId> textOf(const ClaimSpec& spec, const Snapshot& hardware) {
  ClaimSpecText text{.spec = spec, .nodes = {}};
  std::set<UnitId> handed;
  for (const ClaimDevice& device : spec.devices) {
    handed.insert(device.hands.begin(), device.hands.end());
  }
  const SpecNodes egm = egmNodes(hardware.egm, handed);
  for (const ClaimDevice& device : spec.devices) {
    auto nodes = vfioNodes(hardware, device.hands, device.backend);
    if (!nodes) return Failure{device.address};
    const auto region = egmRegionOf(hardware.egm, device.address);
    std::ranges::copy_if(egm, std::back_inserter(*nodes),
                         [&region](const SpecNode& node) { return node.number == region; });
    text.nodes.push_back(*std::move(nodes));
  }
  return text;
}

SpecState stateOf(const StaticSpecText& text, const gate::Answer& answer) {
  SpecState state;
  switch (answer.code) {
    case Code::kDone:
      for (const StaticSpecText::Device& device : text.devices) {
        state.nodes.emplace(device.address, pathsOf(text.nodeSets[device.nodes]));
      }
      break;
    case Code::kBadName:
      state.trouble =
          "its name is no CDI kind, which begins with a letter and has no dot: give it a `name`, "
          "or naming: pci_vendor_device";
      break;
    case Code::kForeign:
      state.trouble = "its prefix is not among privd's --resource-prefix: add it there";
      break;
    default:
      state.trouble = troubleOf(answer, kUnwritten).why;
      break;
  }
  return state;
}

kj::Promise<SpecAnswer> SpecClient::declareSpecs(const std::vector<StaticSpec>& specs,
                                                 const Snapshot& hardware) {
  kj::Promise<SpecAnswer> declared = SpecAnswer{};
  for (const StaticSpec& spec : specs) {
    const auto name = ResourceName::parse(spec.resource);
    if (!name) continue;  // it comes from one
    StaticSpecText text = textOf(spec, hardware);
    declared = declared.then([this, name = *name, text = std::move(text)](
                                 SpecAnswer answer) mutable -> kj::Promise<SpecAnswer> {
      if (text.devices.empty()) {
        answer.specs.emplace(name, SpecState{});
        return answer;
      }
      return gate_.ask(gate::Put{text})
          .then([name, text, answer = std::move(answer)](const GateReply& reply) mutable {
            answer.specs.emplace(name, stateOf(text, reply.answer));
            answer.passing = answer.passing || reply.answer.code == Code::kFailed;
            return std::move(answer);
          });
    });
  }
  return declared.then([this](SpecAnswer answer) { return endDeclaration(std::move(answer)); });
}

kj::Promise<SpecAnswer> SpecClient::endDeclaration(SpecAnswer answer) {
  return gate_.ask(gate::Remove{gate::Remove::What::kOtherStatic, {}})
      .then([answer = std::move(answer)](const GateReply& reply) mutable {
        if (reply.answer.code == Code::kDone) return std::move(answer);
        // None of them is durable.
        const SpecTrouble trouble = troubleOf(reply.answer, kUnwritten);
        for (auto& [resource, state] : answer.specs) {
          if (state.trouble.empty()) state = {trouble.why, {}};
        }
        answer.passing = answer.passing || trouble.passing;
        return std::move(answer);
      });
}

kj::Promise<SpecTexts> SpecClient::writeClaimSpec(const ClaimSpec& spec, const Snapshot& hardware) {
  auto text = textOf(spec, hardware);
  if (!text) {
    return SpecTexts(Failure{SpecTrouble{text.error().str() + " has no device node now", true}});
  }
  return gate_.ask(gate::Put{*std::move(text)}).then([spec](const GateReply& reply) -> SpecTexts {
    if (reply.answer.code != Code::kDone) {
      return Failure{troubleOf(reply.answer, "privd could not write the claim's spec")};
    }
    std::vector<std::string> names;
    for (const ClaimDevice& device : spec.devices) {
      names.push_back(spec.driver + "/claim=" + claimDeviceName(spec.uid, device.address));
    }
    return names;
  });
}

kj::Promise<Result<Done, SpecTrouble>> SpecClient::unlinkClaimSpec(const std::string& uid) {
  return gate_.ask(gate::Remove{gate::Remove::What::kClaim, uid})
      .then([](const GateReply& reply) -> Result<Done, SpecTrouble> {
        if (reply.answer.code == Code::kDone) return Done{};
        return Failure{troubleOf(reply.answer, "privd could not remove the claim's spec")};
      });
}

kj::Promise<SpecTexts> SpecClient::claimSpecTexts() {
  return readOn({}, {});
}

kj::Promise<SpecTexts> SpecClient::readOn(std::vector<std::string> texts,
                                          const std::string& after) {
  return gate_.ask(gate::List{gate::List::What::kClaimSpecs, after})
      .then([this, texts = std::move(texts),
             after](GateReply reply) mutable -> kj::Promise<SpecTexts> {
        if (reply.answer.code != Code::kDone) {
          return SpecTexts(Failure{troubleOf(reply.answer, kUnread)});
        }
        auto* part = std::get_if<gate::ClaimUids>(&reply.answer.outcome);
        const bool ordered = part != nullptr && std::ranges::is_sorted(part->uids) &&
                             (part->uids.empty() ? !part->more : after < part->uids.front());
        if (!ordered || texts.size() > kMostClaimSpecs) {
          calls_.hangUp("its list of claims' specs makes no sense");
          return kj::NEVER_DONE;
        }
        return readEach(std::move(texts), std::move(*part), 0);
      });
}

kj::Promise<SpecTexts> SpecClient::readEach(std::vector<std::string> texts, gate::ClaimUids part,
                                            std::size_t next) {
  if (next == part.uids.size()) {
    if (!part.more) return SpecTexts(std::move(texts));
    return readOn(std::move(texts), part.uids.back());
  }
  auto opened = gate_.ask(gate::Open{gate::Open::File::kClaimSpec, part.uids[next]});
  return opened.then([this, texts = std::move(texts), part = std::move(part),
                      next](GateReply reply) mutable -> kj::Promise<SpecTexts> {
    const auto* file = std::get_if<gate::OpenedFile>(&reply.answer.outcome);
    KJ_IF_MAYBE (fd, reply.fd) {
      if (file == nullptr) return SpecTexts(Failure{SpecTrouble{kUnread, true}});
      auto text = readPosted(fd->get(), file->size);
      if (!text) return SpecTexts(Failure{SpecTrouble{text.error(), true}});
      texts.push_back(std::move(text).value());
    } else if (reply.answer.code != Code::kNotYet) {  // it went since it was listed
      return SpecTexts(Failure{troubleOf(reply.answer, kUnread)});
    }
    return readEach(std::move(texts), std::move(part), next + 1);
  });
}

}  // namespace vfiogate
