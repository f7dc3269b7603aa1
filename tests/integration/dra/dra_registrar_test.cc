// How the driver comes to its two sockets, in which order, and what it does when it cannot.

#include "plugind/dra/serve/dra_registrar.h"
#include "tests/integration/dra/dra_case.h"

#include <map>

namespace vfiogate::test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

/// privd, played: sockets in a directory of ours.
class PlayedSockets final : public DraSockets {
public:
  explicit PlayedSockets(const TempDir& directory) : directory_(directory) {}

  kj::Promise<Result<PluginSocket, SocketRefusal>> listenForDra(const std::string& driver,
                                                                DraSocket socket) override {
    EXPECT_EQ(driver, kDraDriver);
    const bool service = socket == DraSocket::kService;
    asked.emplace_back(service ? "service" : "registration");
    if (onAsked) onAsked();
    if (silent) return kj::NEVER_DONE;
    if (refusals[socket] > 0) {
      --refusals[socket];
      return Result<PluginSocket, SocketRefusal>(Failure{SocketRefusal{"privd is away"}});
    }
    const std::string name = service ? "played.sock" : "played-reg.sock";
    kj::Promise<void> ready = kj::READY_NOW;
    if (!service && holds) {
      auto pair = kj::newPromiseAndFulfiller<void>();
      held = kj::mv(pair.fulfiller);
      ready = kj::mv(pair.promise);
    }
    auto listener = listenAt(directory_.path().c_str(), name.c_str(), WhoMayConnect::kEverybody);
    PluginSocket made{kj::mv(listener).value(), directory_ / name};
    return ready.then([made = kj::mv(made)]() mutable {
      return Result<PluginSocket, SocketRefusal>(kj::mv(made));
    });
  }

  std::vector<std::string> asked;
  std::map<DraSocket, int> refusals;  ///< how often it is refused from now on
  bool silent = false;
  bool holds = false;  ///< answers for the registration once it is let go
  kj::Own<kj::PromiseFulfiller<void>> held;
  std::function<void()> onAsked;

private:
  const TempDir& directory_;
};

class DraRegistrarCase : public DraCase {
protected:
  DraRegistrarCase() {
    sockets_.onAsked = [this]() {
      if (recorder_.waiting.get() != nullptr) recorder_.waiting->fulfill();
    };
    recorder_.onTold = [this](bool registered, const std::string& error) {
      registrar_->registrationTold(registered, error);
    };
  }

  /// The registration as a kubelet does it; its word at the end is `error`.
  std::string registers(const std::string& error = "") {
    const auto kubelet = pluginregistration::Registration::NewStub(channel("played-reg.sock"));
    const std::size_t before = recorder_.told.size();
    const auto endpoint = inBackground([&]() {
      grpc::ClientContext asking;
      pluginregistration::PluginInfo answer;
      EXPECT_TRUE(kubelet->GetInfo(&asking, {}, &answer).ok());
      grpc::ClientContext telling;
      pluginregistration::RegistrationStatus told;
      told.set_plugin_registered(error.empty());
      told.set_error(error);
      pluginregistration::RegistrationStatusResponse nothing;
      EXPECT_TRUE(kubelet->NotifyRegistrationStatus(&telling, told, &nothing).ok());
      return answer.endpoint();
    });
    waitUntil([this, before]() { return recorder_.told.size() > before; });
    return endpoint;
  }
  void awaitState(DraRegistrationState state) {
    while (registrar_->state() != state) stage_->await(kj::evalLater([]() {}));
  }

  // Apart, as their destructors may throw.
  std::unique_ptr<PlayedSockets> played_ = std::make_unique<PlayedSockets>(stage_->directory);
  PlayedSockets& sockets_ = *played_;
  std::unique_ptr<DraRegistrar> registrar_ =
      std::make_unique<DraRegistrar>(kDraDriver, sockets_, *stage_->server, stage_->loop);
};

// T21
TEST_F(DraRegistrarCase, ServesFirstAndRegistersThen) {
  sockets_.holds = true;
  registrar_->start();
  waitUntil([this]() { return sockets_.asked.size() == 2; });
  EXPECT_THAT(sockets_.asked, ElementsAre("service", "registration"));
  const auto stub = ClientWordsV1::Plugin::NewStub(channel("played.sock"));
  Preparing<ClientWordsV1> call(*stub, {"one"});
  waitUntil([this]() { return !recorder_.calls.empty(); });
  sockets_.held->fulfill();
  awaitState(DraRegistrationState::kFindable);
  EXPECT_EQ(registers(), stage_->directory / "played.sock");
  EXPECT_EQ(registrar_->state(), DraRegistrationState::kRegistered);
  registrar_->start();
  stage_->await(kj::evalLater([]() {}));
  EXPECT_EQ(sockets_.asked.size(), 2U) << "once";
  call.cancel();
  EXPECT_FALSE(call.status().ok());
}

TEST_F(DraRegistrarCase, TriesAgainWhereASocketIsRefused) {
  sockets_.refusals = {{DraSocket::kService, 1}, {DraSocket::kRegistration, 1}};
  registrar_->start();
  awaitState(DraRegistrationState::kPausing);
  EXPECT_THAT(sockets_.asked, ElementsAre("service")) << "no registration without a service";
  EXPECT_EQ(registrar_->trouble(), "privd is away");
  waitUntil([this]() { return sockets_.asked.size() == 5; });
  awaitState(DraRegistrationState::kFindable);
  EXPECT_THAT(sockets_.asked,
              ElementsAre("service", "service", "registration", "service", "registration"));
  EXPECT_THAT(registrar_->trouble(), IsEmpty());
}

TEST_F(DraRegistrarCase, ARefusalIsKeptUntilTheKubeletTakesIt) {
  registrar_->start();
  awaitState(DraRegistrationState::kFindable);
  registers("no such version");
  EXPECT_EQ(registrar_->state(), DraRegistrationState::kRefused);
  EXPECT_EQ(registrar_->trouble(), "no such version");
  registers();
  EXPECT_EQ(registrar_->state(), DraRegistrationState::kRegistered);
  EXPECT_THAT(registrar_->trouble(), IsEmpty());
  EXPECT_EQ(sockets_.asked.size(), 2U) << "the kubelet tries again by itself";
}

// T22, T23
TEST_F(DraRegistrarCase, AnotherKubeletFindsTheSocketWhereItLies) {
  registrar_->start();
  awaitState(DraRegistrationState::kFindable);
  registers();
  registers();
  EXPECT_EQ(registrar_->state(), DraRegistrationState::kRegistered);
  EXPECT_EQ(sockets_.asked.size(), 2U);
}

TEST_F(DraRegistrarCase, BothSocketsAreMadeAgainWhenPrivdIsBack) {
  registrar_->socketsCame();
  EXPECT_EQ(registrar_->state(), DraRegistrationState::kUnwanted);
  registrar_->start();
  awaitState(DraRegistrationState::kFindable);
  registers();
  const auto stub = ClientWordsV1::Plugin::NewStub(channel("played.sock"));
  Preparing<ClientWordsV1> call(*stub, {"one"});
  waitUntil([this]() { return !recorder_.calls.empty(); });
  registrar_->socketsCame();
  awaitState(DraRegistrationState::kFindable);
  EXPECT_THAT(sockets_.asked, ElementsAre("service", "registration", "service", "registration"));
  ASSERT_TRUE(recorder_.calls.front()->claim()) << "the kubelet's connection stays";
  recorder_.calls.front()->answer({{"one", {}}});
  EXPECT_TRUE(call.status().ok());
  EXPECT_EQ(registers(), stage_->directory / "played.sock");
}

TEST_F(DraRegistrarCase, AnAttemptThatWaitsForAPrivdThatIsGoneIsDropped) {
  sockets_.silent = true;
  registrar_->start();
  waitUntil([this]() { return sockets_.asked.size() == 1; });
  sockets_.silent = false;
  registrar_->socketsCame();
  awaitState(DraRegistrationState::kFindable);
  EXPECT_THAT(sockets_.asked, ElementsAre("service", "service", "registration"));
}

}  // namespace
}  // namespace vfiogate::test
