// What the kubelet's plugin watcher meets on the driver's registration socket.

#include "tests/integration/dra/dra_case.h"

#include <google/protobuf/util/message_differencer.h>

#include <fcntl.h>
#include <poll.h>

#include <chrono>
#include <string_view>

namespace vfiogate::test {
namespace {

using std::chrono::seconds;
using testing::ElementsAre;
using testing::Pair;
using Watcher = pluginregistration::Registration;

class DraRegistrationServer : public DraCase {
protected:
  /// As the kubelet asks, with its limit.
  static std::pair<grpc::StatusCode, pluginregistration::PluginInfo> info(Watcher::Stub& kubelet) {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + seconds(1));
    pluginregistration::PluginInfo answer;
    const auto status = kubelet.GetInfo(&context, {}, &answer);
    return {status.error_code(), answer};
  }
  static grpc::StatusCode tell(Watcher::Stub& kubelet, bool registered, const std::string& error) {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + seconds(5));
    pluginregistration::RegistrationStatus told;
    told.set_plugin_registered(registered);
    told.set_error(error);
    pluginregistration::RegistrationStatusResponse answer;
    return kubelet.NotifyRegistrationStatus(&context, told, &answer).error_code();
  }
  grpc::StatusCode tellInBackground(bool registered, const std::string& error) {
    const auto kubelet = Watcher::NewStub(channel("reg.sock"));
    return inBackground([&]() { return tell(*kubelet, registered, error); });
  }
};

TEST_F(DraRegistrationServer, SaysWhoItIsAndPrefersTheNewerVersion) {
  const auto kubelet = Watcher::NewStub(channel("reg.sock"));
  const auto [code, answer] = inBackground([&kubelet]() { return info(*kubelet); });
  ASSERT_EQ(code, grpc::StatusCode::OK);
  EXPECT_EQ(answer.type(), "DRAPlugin");
  EXPECT_EQ(answer.name(), kDraDriver);
  EXPECT_EQ(answer.endpoint(), kDraEndpoint);
  EXPECT_THAT(answer.supported_versions(),
              ElementsAre("v1.DRAPlugin", "v1beta1.DRAPlugin", "v1alpha1.DRAResourceHealth"));
}

TEST_F(DraRegistrationServer, AnotherEndpointIsToldFromThenOn) {
  stage_->server->registerOn(stage_->listenAs("reg.sock"), "/elsewhere/dra.sock");
  const auto kubelet = Watcher::NewStub(channel("reg.sock"));
  const auto answer = inBackground([&kubelet]() { return info(*kubelet); });
  EXPECT_EQ(answer.second.endpoint(), "/elsewhere/dra.sock");
}

TEST_F(DraRegistrationServer, ARegistrationIsToldWithoutWords) {
  EXPECT_EQ(tellInBackground(true, "not meant"), grpc::StatusCode::OK);
  waitUntil([this]() { return !recorder_.told.empty(); });
  EXPECT_THAT(recorder_.told, ElementsAre(Pair(true, "")));
}

TEST_F(DraRegistrationServer, ARefusalIsToldInTheKubeletsWordsOrInOurs) {
  EXPECT_EQ(tellInBackground(false, "unsupported version"), grpc::StatusCode::OK);
  EXPECT_EQ(tellInBackground(false, ""), grpc::StatusCode::OK);
  EXPECT_EQ(tellInBackground(false, std::string(100'000, 'x')), grpc::StatusCode::OK);
  waitUntil([this]() { return recorder_.told.size() == 3; });
  EXPECT_THAT(recorder_.told, ElementsAre(Pair(false, "unsupported version"),
                                          Pair(false, "the kubelet gave no reason"),
                                          Pair(false, std::string(1021, 'x') + "...")));
}

// kubelet-contract.md 0: 1 s and 5 s.
TEST_F(DraRegistrationServer, AnswersInTimeWhileCallsAreOpenAndTheLoopStandsStill) {
  const auto kubelet = Watcher::NewStub(channel("reg.sock"));
  ASSERT_EQ(inBackground([&kubelet]() { return info(*kubelet); }).first, grpc::StatusCode::OK);
  std::vector<std::unique_ptr<ClientWordsV1::Plugin::Stub>> stubs;
  std::vector<std::unique_ptr<Preparing<ClientWordsV1>>> calls;
  for (int connection = 0; connection < 4; ++connection) {
    stubs.push_back(ClientWordsV1::Plugin::NewStub(channel()));
    for (int i = 0; i < 32; ++i) {
      calls.push_back(std::make_unique<Preparing<ClientWordsV1>>(*stubs.back(),
                                                                 std::vector<std::string>{"one"}));
    }
  }
  waitUntil([this, &calls]() { return recorder_.calls.size() == calls.size(); });
  for (int i = 0; i < 20; ++i) {
    const auto [code, answer] = info(*kubelet);
    ASSERT_EQ(code, grpc::StatusCode::OK);
    EXPECT_EQ(answer.name(), kDraDriver);
    ASSERT_EQ(tell(*kubelet, true, ""), grpc::StatusCode::OK);
  }
  stage_->server.reset();
  for (const auto& call : calls) EXPECT_FALSE(call->status().ok());
}

TEST_F(DraRegistrationServer, ConnectionsOfAnotherUserAreClosed) {
  stage_->start(getuid() + 1);
  const auto watcher = Watcher::NewStub(channel("reg.sock"));
  EXPECT_EQ(inBackground([&watcher]() { return info(*watcher); }).first,
            grpc::StatusCode::UNAVAILABLE);
  const auto stub = ClientWordsV1::Plugin::NewStub(channel());
  Preparing<ClientWordsV1> call(*stub, {"one"});
  EXPECT_EQ(inBackground([&call]() { return call.status(); }).error_code(),
            grpc::StatusCode::UNAVAILABLE);
  EXPECT_TRUE(recorder_.calls.empty());
}

/// One HTTP/2 frame.
std::string framed(char type, char flags, char stream, const std::string& payload) {
  return std::string{'\0', '\0',  static_cast<char>(payload.size()), type, flags, '\0', '\0',
                     '\0', stream} +
         payload;
}

/// A header that goes over the wire as it stands, neither compressed nor remembered.
std::string header(const std::string& name, const std::string& value) {
  return std::string(1, '\0') + static_cast<char>(name.size()) + name +
         static_cast<char>(value.size()) + value;
}

std::string readUntilEnd(int connection, std::string_view mark) {
  std::string bytes;
  char piece[4096];
  pollfd readable{connection, POLLIN, 0};
  while (bytes.find(mark) == std::string::npos && poll(&readable, 1, 20'000) == 1) {
    const ssize_t count = read(connection, piece, sizeof piece);
    if (count <= 0) break;
    bytes.append(piece, static_cast<std::size_t>(count));
  }
  return bytes;
}

// kubelet-contract.md T35. The bytes of grpc-go, which no client of ours would send.
TEST_F(DraRegistrationServer, K24_AnAuthorityThatIsAnEncodedPathIsTaken) {
  const std::string authority = "%2Fvar%2Flib%2Fkubelet%2Fplugins_registry%2Fvfio-reg.sock";
  const std::string headers = header(":method", "POST") + header(":scheme", "http") +
                              header(":path", "/pluginregistration.Registration/GetInfo") +
                              header(":authority", authority) +
                              header("content-type", "application/grpc") +
                              header("user-agent", "grpc-go/1.79.0") + header("te", "trailers") +
                              header("grpc-timeout", "999999u");
  ASSERT_LT(headers.size(), 256U) << "one byte says the length";
  const std::string request = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + framed(4, 0, 0, "") +
                              framed(1, 4, 1, headers) + framed(0, 1, 1, std::string(5, '\0'));
  const auto connection = dial("reg.sock");
  ASSERT_EQ(write(connection.get(), request.data(), request.size()),
            static_cast<ssize_t>(request.size()));
  pluginregistration::PluginInfo wanted;
  wanted.set_type("DRAPlugin");
  wanted.set_name(kDraDriver);
  wanted.set_endpoint(kDraEndpoint);
  for (const char* version : {"v1.DRAPlugin", "v1beta1.DRAPlugin", "v1alpha1.DRAResourceHealth"}) {
    wanted.add_supported_versions(version);
  }
  const std::string message = wanted.SerializeAsString();
  const std::string answer =
      inBackground([&]() { return readUntilEnd(connection.get(), message); });
  EXPECT_THAT(answer, testing::HasSubstr(message));
}

}  // namespace
}  // namespace vfiogate::test
