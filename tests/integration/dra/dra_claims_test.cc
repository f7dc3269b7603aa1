// Claims that the kubelet has prepared and unprepared, over the wire, in both versions.

#include "tests/integration/dra/dra_case.h"

#include <fcntl.h>
#include <sys/socket.h>

#include <set>

namespace vfiogate::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

const std::string kOne = "11111111-1111-4111-8111-111111111111";
const std::string kTwo = "22222222-2222-4222-8222-222222222222";

PreparedDevice wholeDevice() {
  return {.requestNames = {"main", "spare"},
          .pool = "node-a",
          .device = "0000-65-00-0",
          .cdiNames = {"vfiogate.dev/claim=1111-0", "vfiogate.dev/claim=1111-1"},
          .shareId = "33333333-3333-4333-8333-333333333333"};
}

template <typename Words>
class DraClaims : public DraCase {
protected:
  using Stub = typename Words::Plugin::Stub;
  std::unique_ptr<Stub> stub() { return Words::Plugin::NewStub(channel()); }

  /// The status of a prepare for this request, which never reaches the loop.
  grpc::Status refused(const typename Words::Prepare& request) {
    const auto kubelet = stub();
    return inBackground([&]() {
      grpc::ClientContext context;
      typename Words::Prepared answer;
      return kubelet->NodePrepareResources(&context, request, &answer);
    });
  }
};
using BothVersions = testing::Types<ClientWordsV1, ClientWordsV1beta1>;
TYPED_TEST_SUITE(DraClaims, BothVersions);

TYPED_TEST(DraClaims, APrepareGoesToTheLoopAndBackWithEveryField) {
  const auto kubelet = this->stub();
  Preparing<TypeParam> call(*kubelet, {kOne, kTwo});
  this->waitUntil([this]() { return !this->recorder_.calls.empty(); });
  const auto& asked = this->recorder_.calls.front();
  EXPECT_EQ(asked->kind(), ClaimsCall::Kind::kPrepare);
  EXPECT_THAT(asked->claims(),
              ElementsAre(ClaimName{kOne, "vms", "gpu"}, ClaimName{kTwo, "vms", "gpu"}));
  ASSERT_TRUE(asked->claim());
  asked->answer({{kOne, {.devices = {wholeDevice(), {}}, .error = ""}},
                 {kTwo, {.devices = {wholeDevice()}, .error = "held by another"}}});
  ASSERT_TRUE(call.status().ok());
  ASSERT_EQ(call.answer().claims_size(), 2);
  const auto& prepared = call.answer().claims().at(kOne);
  EXPECT_THAT(prepared.error(), IsEmpty());
  ASSERT_EQ(prepared.devices_size(), 2);
  const auto& device = prepared.devices(0);
  EXPECT_THAT(device.request_names(), ElementsAre("main", "spare"));
  EXPECT_EQ(device.pool_name(), "node-a");
  EXPECT_EQ(device.device_name(), "0000-65-00-0");
  EXPECT_THAT(device.cdi_device_ids(),
              ElementsAre("vfiogate.dev/claim=1111-0", "vfiogate.dev/claim=1111-1"));
  const auto& failed = call.answer().claims().at(kTwo);
  EXPECT_EQ(failed.error(), "held by another");
  EXPECT_EQ(failed.devices_size(), 0) << "an error comes without devices";
}

using DraShares = DraClaims<ClientWordsV1>;
TEST_F(DraShares, AShareIsNamedInV1AndOnlyWhereThereIsOne) {
  const auto kubelet = stub();
  Preparing<ClientWordsV1> call(*kubelet, {kOne});
  waitUntil([this]() { return !recorder_.calls.empty(); });
  ASSERT_TRUE(recorder_.calls.front()->claim());
  recorder_.calls.front()->answer({{kOne, {.devices = {wholeDevice(), {}}, .error = ""}}});
  ASSERT_TRUE(call.status().ok());
  const auto& prepared = call.answer().claims().at(kOne);
  EXPECT_EQ(prepared.devices(0).share_id(), "33333333-3333-4333-8333-333333333333");
  EXPECT_FALSE(prepared.devices(1).has_share_id());
}

using DraSharesBefore = DraClaims<ClientWordsV1beta1>;
TEST_F(DraSharesBefore, AShareIsNotOnTheWireOfV1beta1) {
  const auto kubelet = stub();
  Preparing<ClientWordsV1beta1> call(*kubelet, {kOne});
  waitUntil([this]() { return !recorder_.calls.empty(); });
  ASSERT_TRUE(recorder_.calls.front()->claim());
  recorder_.calls.front()->answer({{kOne, {.devices = {wholeDevice()}, .error = ""}}});
  ASSERT_TRUE(call.status().ok());
  const auto& device = call.answer().claims().at(kOne).devices(0);
  EXPECT_EQ(device.GetReflection()->GetUnknownFields(device).field_count(), 0);
  EXPECT_THAT(call.answer().SerializeAsString(), testing::Not(HasSubstr("33333333-3333")));
}

TYPED_TEST(DraClaims, AnUnprepareHasAnEntryForEachClaimAndItsErrors) {
  const auto kubelet = this->stub();
  grpc::ClientContext context;
  typename TypeParam::Unprepare request;
  addClaim(request, kOne);
  addClaim(request, kTwo, "other", "nic");
  typename TypeParam::Unprepared answer;
  std::promise<grpc::Status> done;
  kubelet->async()->NodeUnprepareResources(
      &context, &request, &answer, [&done](grpc::Status status) { done.set_value(status); });
  this->waitUntil([this]() { return !this->recorder_.calls.empty(); });
  const auto& asked = this->recorder_.calls.front();
  EXPECT_EQ(asked->kind(), ClaimsCall::Kind::kUnprepare);
  EXPECT_EQ(asked->claims().back(), (ClaimName{kTwo, "other", "nic"}));
  ASSERT_TRUE(asked->claim());
  asked->answer({{kOne, {}}, {kTwo, {.devices = {}, .error = "still open"}}});
  ASSERT_TRUE(done.get_future().get().ok());
  ASSERT_EQ(answer.claims_size(), 2);
  EXPECT_THAT(answer.claims().at(kOne).error(), IsEmpty());
  EXPECT_EQ(answer.claims().at(kTwo).error(), "still open");
}

TYPED_TEST(DraClaims, AClaimWithoutAResultIsAnErrorAndAResultWithoutAClaimIsNotSent) {
  const auto kubelet = this->stub();
  Preparing<TypeParam> call(*kubelet, {kOne});
  this->waitUntil([this]() { return !this->recorder_.calls.empty(); });
  ASSERT_TRUE(this->recorder_.calls.front()->claim());
  this->recorder_.calls.front()->answer({{kTwo, {.devices = {wholeDevice()}, .error = ""}}});
  ASSERT_TRUE(call.status().ok());
  ASSERT_EQ(call.answer().claims_size(), 1);
  EXPECT_THAT(call.answer().claims().at(kOne).error(), HasSubstr("did not decide"));
}

TYPED_TEST(DraClaims, AnErrorIsOneLineOfAsciiWhateverNetdSaidOfTheClaim) {
  const auto kubelet = this->stub();
  Preparing<TypeParam> call(*kubelet, {kOne});
  this->waitUntil([this]() { return !this->recorder_.calls.empty(); });
  ASSERT_TRUE(this->recorder_.calls.front()->claim());
  const std::string told("a\tb\r\nc\x1b[2Kd\x7f\0e\xff", 15);
  this->recorder_.calls.front()->answer({{kOne, {.devices = {}, .error = told}}});
  ASSERT_TRUE(call.status().ok());
  EXPECT_EQ(call.answer().claims().at(kOne).error(), "a?b??c?[2Kd??e?");
}

TYPED_TEST(DraClaims, CallsRunSideBySideAndAreAnsweredInAnyOrder) {
  constexpr std::size_t kCalls = 24;
  const auto kubelet = this->stub();
  std::vector<std::unique_ptr<Preparing<TypeParam>>> calls;
  for (std::size_t i = 0; i < kCalls; ++i) {
    calls.push_back(std::make_unique<Preparing<TypeParam>>(
        *kubelet, std::vector<std::string>{"uid-" + std::to_string(i)}));
  }
  auto& asked = this->recorder_.calls;
  this->waitUntil([&asked]() { return asked.size() == kCalls; });
  for (auto call = asked.rbegin(); call != asked.rend(); ++call) {
    const std::string uid = (*call)->claims().front().uid;
    ASSERT_TRUE((*call)->claim());
    (*call)->answer({{uid, {.devices = {}, .error = "about " + uid}}});
  }
  for (std::size_t i = 0; i < kCalls; ++i) {
    ASSERT_TRUE(calls[i]->status().ok());
    const std::string uid = "uid-" + std::to_string(i);
    EXPECT_EQ(calls[i]->answer().claims().at(uid).error(), "about " + uid);
  }
}

TYPED_TEST(DraClaims, ACancelledCallIsToldAndCannotBeAnswered) {
  const auto kubelet = this->stub();
  Preparing<TypeParam> call(*kubelet, {kOne});
  this->waitUntil([this]() { return !this->recorder_.calls.empty(); });
  call.cancel();
  this->waitUntil([this]() { return !this->recorder_.cancelled.empty(); });
  EXPECT_EQ(this->recorder_.cancelled, this->recorder_.calls);
  EXPECT_FALSE(this->recorder_.calls.front()->claim());
  EXPECT_EQ(call.status().error_code(), grpc::StatusCode::CANCELLED);
}

TYPED_TEST(DraClaims, AKubeletThatHangsUpInTheMiddleIsToldForEachOpenCall) {
  auto connection = this->dial("dra.sock");
  const kj::AutoCloseFd same(fcntl(connection.get(), F_DUPFD_CLOEXEC, 0));
  const auto kubelet = TypeParam::Plugin::NewStub(this->channelOn(kj::mv(connection)));
  Preparing<TypeParam> first(*kubelet, {kOne});
  Preparing<TypeParam> second(*kubelet, {kTwo});
  this->waitUntil([this]() { return this->recorder_.calls.size() == 2; });
  ASSERT_EQ(shutdown(same.get(), SHUT_RDWR), 0);
  this->waitUntil([this]() { return this->recorder_.cancelled.size() == 2; });
  for (const auto& call : this->recorder_.calls) EXPECT_FALSE(call->claim());
  EXPECT_FALSE(first.status().ok());
  EXPECT_FALSE(second.status().ok());
}

TYPED_TEST(DraClaims, WhatNoKubeletAsksIsRefusedInWordsAndReachesNobody) {
  struct Bad {
    std::vector<ClaimName> claims;
    const char* words;
  };
  const std::vector<Bad> all{
      {{{"", "vms", "gpu"}}, "the UID of a claim has 0 bytes"},
      {{{kOne, "", "gpu"}}, "the namespace of a claim has 0 bytes"},
      {{{kOne, "vms", ""}}, "the name of a claim has 0 bytes"},
      {{{std::string(37, 'u'), "vms", "gpu"}}, "has 37 bytes, not 1 to 36"},
      {{{kOne, std::string(64, 'n'), "gpu"}}, "has 64 bytes, not 1 to 63"},
      {{{kOne, "vms", std::string(254, 'n')}}, "has 254 bytes, not 1 to 253"},
      {{{kOne, "vms", "a"}, {kTwo, "vms", "b"}, {kOne, "vms", "c"}}, "comes twice"},
      {std::vector<ClaimName>(kMostCallClaims + 1, {kOne, "vms", "gpu"}), "257 claims"}};
  for (const Bad& bad : all) {
    typename TypeParam::Prepare request;
    for (const ClaimName& claim : bad.claims) {
      addClaim(request, claim.uid, claim.claimNamespace, claim.name);
    }
    const auto status = this->refused(request);
    EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT) << bad.words;
    EXPECT_THAT(status.error_message(), HasSubstr(bad.words));
  }
  EXPECT_THAT(this->recorder_.calls, IsEmpty());
}

TYPED_TEST(DraClaims, ARequestBeyondAllMeasureIsNotEvenRead) {
  typename TypeParam::Prepare request;
  addClaim(request, kOne, "vms", std::string(300'000, 'n'));
  EXPECT_EQ(this->refused(request).error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_THAT(this->recorder_.calls, IsEmpty());
}

TYPED_TEST(DraClaims, TheMostClaimsOfTheLongestNamesAreTaken) {
  const auto kubelet = this->stub();
  grpc::ClientContext context;
  typename TypeParam::Prepare request;
  for (std::size_t i = 0; i < kMostCallClaims; ++i) {
    const std::string number = std::to_string(1000 + i);
    addClaim(request, number + std::string(32, 'u'), std::string(63, 's'), std::string(253, 'n'));
  }
  typename TypeParam::Prepared answer;
  std::promise<grpc::Status> done;
  kubelet->async()->NodePrepareResources(&context, &request, &answer,
                                         [&done](grpc::Status status) { done.set_value(status); });
  this->waitUntil([this]() { return !this->recorder_.calls.empty(); });
  const auto& asked = this->recorder_.calls.front();
  EXPECT_EQ(asked->claims().size(), kMostCallClaims);
  ASSERT_TRUE(asked->claim());
  ClaimResults results;
  for (const ClaimName& claim : asked->claims()) {
    results[claim.uid].error = std::string(100'000, 'e');
  }
  asked->answer(results);
  EXPECT_TRUE(done.get_future().get().ok()) << "below the 4 MiB that a kubelet takes";
  EXPECT_EQ(answer.claims().begin()->second.error().size(), 1024U);
}

TYPED_TEST(DraClaims, EndsWithCallsOpenAndTheLoopStandingStill) {
  const auto kubelet = this->stub();
  Preparing<TypeParam> call(*kubelet, {kOne});
  this->waitUntil([this]() { return !this->recorder_.calls.empty(); });
  this->stage_->server.reset();  // would hang if a thread of gRPC waited for the loop
  EXPECT_FALSE(call.status().ok());
  // The kubelet may read its status before the server's own thread is told of the end.
  this->waitUntil([this]() { return !this->recorder_.cancelled.empty(); });
  EXPECT_FALSE(this->recorder_.calls.front()->claim());
}

}  // namespace
}  // namespace vfiogate::test
