// Whatever the kubelet asks of the DRA driver, and whatever netd says of the claims: each claim of
// a call gets its result, with devices or with an error of one line.
//
// The input: a byte that says what is asked, one that says how long, the kubelet's request; then
// what netd answers about its claims.

#include "ipc/api/api_codec.h"
#include "ipc/codec/limits.h"
#include "plugind/core/dra/claim_request.h"
#include "plugind/dra/serve/dra_service.h"
#include "tests/fuzz/aligned_words.h"
#include "tests/fuzz/kubelet_node.h"

namespace vfiogate {
namespace {

class Driver final : public DraEvents {
public:
  explicit Driver(AllocatedClaim told) : told_(std::move(told)) {}

  template <typename Words, typename Response>
  void ask(const std::string& name, std::string_view bytes) {
    const Methods methods = draMethods(*this, letters_.box());
    const Method& method = methods.at(std::string("/") + Words::kPlugin + "/" + name);
    const auto request = method.request();
    if (!request->ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) return;
    asked_ = 0;
    const auto answer = std::make_shared<KeptAnswer>();
    const auto call = method.open(answer, *request);
    letters_.carryOut();
    if (!call) return require(answer->message() == nullptr && asked_ == 0);
    const auto& response = dynamic_cast<const Response&>(*answer->message());
    require(response.claims_size() == asked_);
    for (const auto& [uid, claim] : response.claims()) require(isOneLine(claim.error()));
    call->over();
  }

  void claimsAsked(std::shared_ptr<ClaimsCall> call) override {
    ClaimResults results;
    for (const ClaimName& claim : call->claims()) {
      require(!claim.uid.empty() && claim.uid.size() <= 36 && claim.name.size() <= 253);
      results[claim.uid] = call->kind() == ClaimsCall::Kind::kPrepare ? prepare(claim) : end(claim);
    }
    asked_ = static_cast<int>(results.size());
    require(call->claim());
    call->answer(results);
  }

  void claimsCancelled(const std::shared_ptr<ClaimsCall>&) override {}
  void healthOpened(std::shared_ptr<HealthStream>) override {}
  void healthEnded(const HealthStream&) override {}
  void registrationTold(bool, const std::string&) override {}

private:
  ClaimResult prepare(const ClaimName& claim) {
    auto request = requestOf(claim, told_, node_->settings, node_->ledger.state(), "node-1");
    if (!request) return {.devices = {}, .error = request.error()};
    const CallId id(++node_->lastCall);
    node_->run(node_->ledger.prepareAsked(id, *request, node_->now.instant, node_->now));
    if (node_->outcome(id) != "done") return {.devices = {}, .error = node_->outcome(id)};
    std::map<UnitId, std::string> names;
    for (const auto& [resource, devices] : request->devices) {
      for (const UnitId& device : devices) names[device] = device.str();
    }
    require(reportedDevices(told_).size() <= told_.devices.size());
    return {.devices = preparedDevices(told_, names), .error = {}};
  }

  ClaimResult end(const ClaimName& claim) {
    const CallId id(++node_->lastCall);
    node_->run(node_->ledger.unprepareAsked(id, claim, node_->now));
    return {.devices = {}, .error = node_->outcome(id) == "done" ? "" : node_->outcome(id)};
  }

  const AllocatedClaim told_;
  std::unique_ptr<test::LedgerNode> node_ = kubeletNode();
  PostedLetters letters_;
  int asked_ = 0;
};

AllocatedClaim toldBy(std::string_view bytes) {
  AllocatedClaim told;
  const auto* const data = reinterpret_cast<const std::uint8_t*>(bytes.data());
  readMessage(data, bytes.size(), kFromPeer, [&told](capnp::MessageReader& reader) {
    const auto answer = decode(reader.getRoot<schema::ClaimAnswer>());
    if (answer && std::holds_alternative<AllocatedClaim>(*answer)) {
      told = std::get<AllocatedClaim>(*answer);
    }
  });
  return told;
}

void askAll(std::uint8_t kind, std::string_view request, AllocatedClaim told) {
  Driver driver(std::move(told));
  // Prepared before, for those calls that end it.
  driver.ask<DraWordsV1, DraWordsV1::Prepared>("NodePrepareResources", request);
  if (kind % 3 == 1) {
    driver.ask<DraWordsV1beta1, DraWordsV1beta1::Prepared>("NodePrepareResources", request);
  }
  if (kind % 3 == 2) {
    driver.ask<DraWordsV1, DraWordsV1::Unprepared>("NodeUnprepareResources", request);
  }
}

}  // namespace
}  // namespace vfiogate

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  const std::string_view rest = vfiogate::textOf(data + 2, size - 2);
  const std::size_t length = std::min<std::size_t>(data[1], rest.size());
  vfiogate::askAll(data[0], rest.substr(0, length), vfiogate::toldBy(rest.substr(length)));
  return 0;
}
