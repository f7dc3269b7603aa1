// claim-tool: one call of the kubelet's to a DRA driver, and the answer in lines.

#include "proto/dra_v1.grpc.pb.h"

#include <grpcpp/grpcpp.h>
#include <CLI/CLI.hpp>

#include <chrono>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

namespace vfiogate::test {
namespace {

namespace dra = k8s::io::kubelet::pkg::apis::dra::v1;

/// As long as the kubelet waits.
constexpr std::chrono::seconds kKubeletWaits{45};

struct Wish {
  std::string socket;
  std::vector<std::string> claims;  ///< NAMESPACE/NAME=UID
};

bool addClaim(const std::string& text, google::protobuf::RepeatedPtrField<dra::Claim>& to) {
  const std::size_t slash = text.find('/');
  const std::size_t equals = text.find('=');
  if (slash == std::string::npos || equals == std::string::npos || equals < slash) return false;
  dra::Claim& claim = *to.Add();
  claim.set_namespace_(text.substr(0, slash));
  claim.set_name(text.substr(slash + 1, equals - slash - 1));
  claim.set_uid(text.substr(equals + 1));
  return true;
}

int complain(const std::string& why) {
  std::cerr << "claim-tool: " << why << "\n";
  return 2;
}

/// One claim's entry: 0 if it says no error.
int tell(const std::string& uid, const std::string& error) {
  if (error.empty()) return 0;
  std::cout << uid << " error: " << error << "\n";
  return 1;
}

int tell(const std::string& uid, const dra::NodePrepareResourceResponse& answer) {
  for (const dra::Device& device : answer.devices()) {
    std::cout << uid << " device " << device.pool_name() << " " << device.device_name();
    for (const std::string& name : device.cdi_device_ids()) std::cout << " " << name;
    std::cout << "\n";
  }
  return tell(uid, answer.error());
}

int tell(const std::string& uid, const dra::NodeUnprepareResourceResponse& answer) {
  return tell(uid, answer.error());
}

/// `Call`: (stub, context, request, answer) to a status.
template <typename Request, typename Answer, typename Call>
int ask(const Wish& wish, Call call) {
  Request request;
  for (const std::string& text : wish.claims) {
    if (!addClaim(text, *request.mutable_claims())) return complain("no claim: " + text);
  }
  grpc::ChannelArguments arguments;
  arguments.SetString(GRPC_ARG_DEFAULT_AUTHORITY, "localhost");
  const auto stub = dra::DRAPlugin::NewStub(grpc::CreateCustomChannel(
      "unix:" + wish.socket, grpc::InsecureChannelCredentials(), arguments));
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + kKubeletWaits);
  Answer answer;
  const grpc::Status status = call(*stub, context, request, answer);
  if (!status.ok()) return complain(status.error_message());
  int worst = 0;
  for (const dra::Claim& claim : request.claims()) {
    const auto found = answer.claims().find(claim.uid());
    if (found == answer.claims().end()) return complain("no answer for " + claim.uid());
    worst = std::max(worst, tell(claim.uid(), found->second));
  }
  return worst;
}

int prepare(const Wish& wish) {
  return ask<dra::NodePrepareResourcesRequest, dra::NodePrepareResourcesResponse>(
      wish, [](auto& stub, auto& context, const auto& request, auto& answer) {
        return stub.NodePrepareResources(&context, request, &answer);
      });
}

int unprepare(const Wish& wish) {
  return ask<dra::NodeUnprepareResourcesRequest, dra::NodeUnprepareResourcesResponse>(
      wish, [](auto& stub, auto& context, const auto& request, auto& answer) {
        return stub.NodeUnprepareResources(&context, request, &answer);
      });
}

}  // namespace
}  // namespace vfiogate::test

int main(int argc, char** argv) {
  CLI::App app{
      "One call of the kubelet's to a DRA driver. Exit code 1: a claim has an error; 2: "
      "the call failed."};
  app.require_subcommand(1);
  vfiogate::test::Wish wish;
  const auto words = [&wish](CLI::App* command) {
    command->add_option("SOCKET", wish.socket, "the driver's")->required();
    command->add_option("CLAIM", wish.claims, "NAMESPACE/NAME=UID")->required();
    return command;
  };
  const CLI::App* prepare = words(app.add_subcommand("prepare", "NodePrepareResources"));
  words(app.add_subcommand("unprepare", "NodeUnprepareResources"));
  CLI11_PARSE(app, argc, argv);
  return *prepare ? vfiogate::test::prepare(wish) : vfiogate::test::unprepare(wish);
}
