#include "plugind/privd/spec_client.h"

#include "plugind/privd/spec_codec.h"

#include <utility>

namespace vfiogate {
namespace {

/// Files of some kilobytes, on a disk that may be slow.
constexpr Patience kSpecsPatience{10 * kj::SECONDS, "it writes no specs: ", true};

using SpecTexts = Result<std::vector<std::string>, SpecTrouble>;

}  // namespace

template <typename Ask>
kj::PromiseForResult<Ask, schema::Session::Client&> SpecClient::ask(Ask ask) {
  using Asked = kj::PromiseForResult<Ask, schema::Session::Client&>;
  KJ_IF_MAYBE (session, calls_.session()) {
    return calls_.passWithin(
        kSpecsPatience,
        [client = *session, ask = kj::mv(ask)]() mutable -> Asked { return ask(client); });
  }
  return notInYet();
}

kj::Promise<SpecAnswer> SpecClient::declareSpecs(const std::vector<StaticSpec>& specs) {
  return ask([this, specs](schema::Session::Client& client) {
    auto request = client.declareSpecsRequest();
    encode(specs, request.initSpecs(static_cast<capnp::uint>(specs.size())));
    return request.send().then(
        [this, specs](Response<schema::Session::DeclareSpecsResults> response) {
          auto answer = decode(response.getAnswer(), specs);
          if (answer) return std::move(answer).value();
          calls_.hangUp("it answered a declaration of specs with what makes no sense: " +
                        answer.error());
          return answerForAll(specs, answer.error());
        });
  });
}

kj::Promise<SpecTexts> SpecClient::writeClaimSpec(const ClaimSpec& spec) {
  return ask([spec](schema::Session::Client& client) {
    auto request = client.writeClaimSpecRequest();
    encode(spec, request.initSpec());
    return request.send().then(
        [devices = spec.devices.size()](Response<schema::Session::WriteClaimSpecResults> response) {
          return decode(response.getAnswer(), devices);
        });
  });
}

kj::Promise<Result<Done, SpecTrouble>> SpecClient::unlinkClaimSpec(const std::string& uid) {
  return ask([uid](schema::Session::Client& client) {
    auto request = client.unlinkClaimSpecRequest();
    request.setUid(uid);
    return request.send().then([](Response<schema::Session::UnlinkClaimSpecResults> response) {
      return decode(response.getAnswer());
    });
  });
}

kj::Promise<SpecTexts> SpecClient::claimSpecTexts() {
  return ask([](schema::Session::Client& client) {
    return client.claimSpecsRequest().send().then(
        [](Response<schema::Session::ClaimSpecsResults> response) {
          return decode(response.getAnswer());
        });
  });
}

}  // namespace vfiogate
