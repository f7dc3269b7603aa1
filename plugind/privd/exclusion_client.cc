#include "plugind/privd/exclusion_client.h"

#include "plugind/privd/gate_client.h"

#include <string>
#include <utility>
#include <variant>

namespace vfiogate {
namespace {

/// Of one node: the functions of one PCI segment.
constexpr std::size_t kMostDevices = 65'536;

}  // namespace

kj::Promise<std::set<UnitId>> ExclusionClient::readOn(std::set<UnitId> devices) {
  const std::string after = devices.empty() ? "" : devices.rbegin()->str();
  return gate_.ask(gate::List{gate::List::What::kExclusions, after})
      .then([this, devices = std::move(devices)](
                const GateReply& reply) mutable -> kj::Promise<std::set<UnitId>> {
        const auto* part = std::get_if<gate::Exclusions>(&reply.answer.outcome);
        if (reply.answer.code == gate::Code::kFailed) {
          return hangUp(withErrno("its gate does not tell what is excluded", reply.answer.detail));
        }
        if (reply.answer.code != gate::Code::kDone || part == nullptr) {
          return hangUp("its gate answered nonsense about what is excluded");
        }
        // A part is in order.
        const bool follows = part->devices.empty()
                                 ? !part->more
                                 : devices.empty() || *devices.rbegin() < part->devices.front();
        if (!follows || devices.size() > kMostDevices) {
          return hangUp("its list of exclusions makes no sense");
        }
        devices.insert(part->devices.begin(), part->devices.end());
        if (part->more) return readOn(std::move(devices));
        return std::move(devices);
      });
}

kj::Promise<std::set<UnitId>> ExclusionClient::hangUp(const std::string& why) {
  calls_.hangUp(why);
  return kj::NEVER_DONE;
}

}  // namespace vfiogate
