// The stand-in kubelet against a plugin that the test plays: one test for each row of the contract.

#include "tests/support/kubelet_sim/kubelet_sim.h"
#include "proto/deviceplugin.grpc.pb.h"
#include "tests/support/temp_dir.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <grpcpp/grpcpp.h>
#include <sys/stat.h>

#include <condition_variable>
#include <fstream>
#include <mutex>
#include <sstream>

namespace vfiogate::sim {
namespace {

using testing::HasSubstr;
using testing::UnorderedElementsAre;

const std::string kResource = "example.com/gpu";

/// A plugin whose every answer the test decides.
class PlayedPlugin final : public v1beta1::DevicePlugin::Service {
public:
  explicit PlayedPlugin(const std::string& socket) {
    grpc::ServerBuilder builder;
    builder.AddListeningPort("unix:" + socket, grpc::InsecureServerCredentials());
    builder.RegisterService(this);
    server_ = builder.BuildAndStart();
  }
  ~PlayedPlugin() override {
    endStream();
    server_->Shutdown(std::chrono::system_clock::now());
  }

  void show(std::vector<std::pair<std::string, std::string>> devices) {
    v1beta1::ListAndWatchResponse frame;
    for (const auto& [id, health] : devices) {
      auto* device = frame.add_devices();
      device->set_id(id);
      device->set_health(health);
    }
    const std::lock_guard lock(mutex_);
    pending_.push_back(frame);
    changed_.notify_all();
  }
  void endStream() {
    const std::lock_guard lock(mutex_);
    ended_ = true;
    changed_.notify_all();
  }

  grpc::Status GetDevicePluginOptions(grpc::ServerContext*, const v1beta1::Empty*,
                                      v1beta1::DevicePluginOptions*) override {
    ++optionsAsked;
    return optionsStatus;
  }
  grpc::Status ListAndWatch(grpc::ServerContext* context, const v1beta1::Empty*,
                            grpc::ServerWriter<v1beta1::ListAndWatchResponse>* writer) override {
    hasDeadline = context->deadline() < std::chrono::system_clock::now() + std::chrono::hours(24);
    std::unique_lock lock(mutex_);
    while (!ended_ && !context->IsCancelled()) {
      while (!pending_.empty()) {
        writer->Write(pending_.front());
        pending_.erase(pending_.begin());
      }
      changed_.wait_for(lock, std::chrono::milliseconds(10));
    }
    return grpc::Status::OK;
  }
  grpc::Status Allocate(grpc::ServerContext* context, const v1beta1::AllocateRequest* request,
                        v1beta1::AllocateResponse* response) override {
    requests.push_back(*request);
    allocateHasDeadline =
        context->deadline() < std::chrono::system_clock::now() + std::chrono::hours(24);
    if (duringAllocate) duringAllocate();
    if (allocateStatus.ok() && answerContainers) {
      (*response->add_container_responses()->mutable_envs())["GOT"] = "it";
    }
    return allocateStatus;
  }

  grpc::Status optionsStatus;
  grpc::Status allocateStatus;
  bool answerContainers = true;
  std::function<void()> duringAllocate;
  std::atomic<int> optionsAsked = 0;
  std::atomic<bool> hasDeadline = false;
  bool allocateHasDeadline = false;
  std::vector<v1beta1::AllocateRequest> requests;

private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<v1beta1::ListAndWatchResponse> pending_;
  bool ended_ = false;
  std::unique_ptr<grpc::Server> server_;
};

class KubeletRows : public testing::Test {
protected:
  KubeletRows() {
    std::filesystem::create_directories(dir_ / "device-plugins");
    sim_.emplace(dir_.path(), KubeletOptions{.dialWithin = std::chrono::milliseconds(300)});
  }
  std::string path(const std::string& name) const { return dir_ / ("device-plugins/" + name); }
  std::string enroll(const std::string& resource = kResource,
                     const std::string& version = "v1beta1") {
    v1beta1::RegisterRequest request;
    request.set_version(version);
    request.set_endpoint("plugin.sock");
    request.set_resource_name(resource);
    // As any plugin does it: over the kubelet's socket.
    auto stub = v1beta1::Registration::NewStub(
        grpc::CreateChannel("unix:" + path("kubelet.sock"), grpc::InsecureChannelCredentials()));
    grpc::ClientContext context;
    context.set_wait_for_ready(true);
    context.set_deadline(std::chrono::system_clock::now() + kPatience);
    v1beta1::Empty nothing;
    const grpc::Status status = stub->Register(&context, request, &nothing);
    lastCode_ = status.error_code();
    return status.error_message();
  }
  void play() {
    plugin_.emplace(path("plugin.sock"));
    sim_->start();
    // The start swept the plugin's socket away.
    plugin_.reset();
    plugin_.emplace(path("plugin.sock"));
  }
  std::string checkpointText() const {
    std::stringstream text;
    text << std::ifstream(path("kubelet_internal_checkpoint")).rdbuf();
    return text.str();
  }
  static PodSpec pod(const std::string& uid, std::size_t count = 1) {
    return {.uid = uid, .initContainers = {}, .containers = {{"c", {{kResource, count}}}}};
  }

  TempDir dir_;
  std::optional<PlayedPlugin> plugin_;
  std::optional<KubeletSim> sim_;
  grpc::StatusCode lastCode_ = grpc::StatusCode::OK;
};

TEST_F(KubeletRows, K1_StartSweepsSocketsAndKeepsFiles) {
  {
    PlayedPlugin left(path("left.sock"));
    std::ofstream(path("a-file")) << "kept";
    std::filesystem::create_directory(path("a-directory"));
    sim_->start();
    EXPECT_FALSE(std::filesystem::exists(path("left.sock")));
  }
  EXPECT_TRUE(std::filesystem::exists(path("a-file")));
  EXPECT_TRUE(std::filesystem::exists(path("a-directory")));
  EXPECT_TRUE(std::filesystem::is_socket(path("kubelet.sock")));
}

TEST_F(KubeletRows, K1_AKilledKubeletLeavesItsSocket) {
  sim_->start();
  sim_->stop();
  EXPECT_TRUE(std::filesystem::is_socket(path("kubelet.sock")));
}

TEST_F(KubeletRows, K2_RefusesVersionsAndNames) {
  play();
  EXPECT_THAT(enroll(kResource, "v1beta2"), HasSubstr("v1beta2"));
  EXPECT_EQ(lastCode_, grpc::StatusCode::UNKNOWN);
  EXPECT_THAT(enroll("gpu"), HasSubstr("invalid resource name"));
  EXPECT_EQ(lastCode_, grpc::StatusCode::UNKNOWN);
}

TEST_F(KubeletRows, K3_DialsBackBeforeReplying) {
  sim_->start();
  EXPECT_THAT(enroll(), HasSubstr("deadline"));  // nobody serves there
  EXPECT_EQ(sim_->registrations(kResource), 0U);
}

TEST_F(KubeletRows, K4_AsksForOptionsEveryTimeAndFailsWithThem) {
  play();
  EXPECT_EQ(enroll(), "");
  EXPECT_EQ(enroll(), "");
  EXPECT_EQ(plugin_->optionsAsked, 2);
  plugin_->optionsStatus = {grpc::StatusCode::UNIMPLEMENTED, "no options"};
  EXPECT_THAT(enroll(), HasSubstr("no options"));
}

TEST_F(KubeletRows, K5_WatchesWithoutADeadline) {
  play();
  ASSERT_EQ(enroll(), "");
  plugin_->show({{"a", "Healthy"}});
  ASSERT_TRUE(sim_->shows(kResource, {"a"}));
  EXPECT_FALSE(plugin_->hasDeadline);
}

TEST_F(KubeletRows, K6_EveryFrameReplacesTheList) {
  play();
  ASSERT_EQ(enroll(), "");
  plugin_->show({{"a", "Healthy"}, {"b", "healthy"}, {"c", "Unhealthy"}});
  EXPECT_TRUE(sim_->shows(kResource, {"a"}, {"b", "c"}));
  plugin_->show({{"b", "Healthy"}});
  EXPECT_TRUE(sim_->shows(kResource, {"b"}));
  plugin_->show({});
  EXPECT_TRUE(sim_->awaitFrames(kResource, 3));
  EXPECT_EQ(sim_->devices(kResource).capacity(), 0U);
}

TEST(DeviceTable, K6_AnIdTwiceCanCountTwice) {
  DeviceTable table;
  table.take({{"a", "Healthy", {}}, {"a", "Unhealthy", {1}}});
  EXPECT_EQ(table.capacity(), 2U);
  EXPECT_EQ(table.nodesOf("a"), std::vector<long>{1});
}

TEST_F(KubeletRows, K7_AStreamThatEndsLeavesCapacityOnly) {
  play();
  ASSERT_EQ(enroll(), "");
  plugin_->show({{"a", "Healthy"}});
  ASSERT_TRUE(sim_->shows(kResource, {"a"}));
  plugin_->endStream();
  EXPECT_TRUE(sim_->shows(kResource, {}, {"a"}));
  EXPECT_EQ(sim_->devices(kResource).capacity(), 1U);
  EXPECT_FALSE(sim_->admit(pod("p")).admitted);
}

TEST_F(KubeletRows, K11_OneContainerRequestWithAllIdsAndInitDevicesOfferedAgain) {
  play();
  ASSERT_EQ(enroll(), "");
  plugin_->show({{"a", "Healthy"}, {"b", "Healthy"}});
  ASSERT_TRUE(sim_->shows(kResource, {"a", "b"}));
  const auto admitted = sim_->admit({.uid = "p",
                                     .initContainers = {{"init", {{kResource, 1}}}},
                                     .containers = {{"app", {{kResource, 2}}}}});
  ASSERT_TRUE(admitted.admitted) << admitted.message;
  ASSERT_EQ(plugin_->requests.size(), 2U);
  EXPECT_EQ(plugin_->requests[1].container_requests_size(), 1);
  EXPECT_THAT(plugin_->requests[1].container_requests(0).devices_ids(),
              UnorderedElementsAre("a", "b"));
}

TEST_F(KubeletRows, K14_ARefusalRejectsThePodWithThePluginsText) {
  play();
  ASSERT_EQ(enroll(), "");
  plugin_->show({{"a", "Healthy"}});
  ASSERT_TRUE(sim_->shows(kResource, {"a"}));
  plugin_->allocateStatus = {grpc::StatusCode::FAILED_PRECONDITION, "group 7: lent"};
  const auto refused = sim_->admit(pod("p"));
  EXPECT_FALSE(refused.admitted);
  EXPECT_EQ(refused.reason, "UnexpectedAdmissionError");
  EXPECT_EQ(refused.message,
            "Pod was rejected: Allocate failed due to rpc error: code = FailedPrecondition desc = "
            "group 7: lent, which is unexpected");
}

TEST_F(KubeletRows, K15_AnAnswerWithoutContainersRejects) {
  play();
  ASSERT_EQ(enroll(), "");
  plugin_->show({{"a", "Healthy"}});
  ASSERT_TRUE(sim_->shows(kResource, {"a"}));
  plugin_->answerContainers = false;
  EXPECT_FALSE(sim_->admit(pod("p")).admitted);
}

TEST_F(KubeletRows, K16_FramesAreTakenDuringAnAllocateWithoutDeadline) {
  play();
  ASSERT_EQ(enroll(), "");
  plugin_->show({{"a", "Healthy"}});
  ASSERT_TRUE(sim_->shows(kResource, {"a"}));
  bool taken = false;
  plugin_->duringAllocate = [&]() {
    plugin_->show({{"a", "Healthy"}, {"b", "Healthy"}});
    taken = sim_->shows(kResource, {"a", "b"});
  };
  EXPECT_TRUE(sim_->admit(pod("p")).admitted);
  EXPECT_TRUE(taken);
  EXPECT_FALSE(plugin_->allocateHasDeadline);
  EXPECT_EQ(sim_->crash(), "");
}

TEST_F(KubeletRows, K17_AGrantedDeviceThatLeftTheListIsACrash) {
  play();
  ASSERT_EQ(enroll(), "");
  plugin_->show({{"a", "Healthy"}});
  ASSERT_TRUE(sim_->shows(kResource, {"a"}));
  plugin_->duringAllocate = [&]() {
    plugin_->show({{"b", "Healthy"}});
    sim_->shows(kResource, {"b"});
  };
  EXPECT_FALSE(sim_->admit(pod("p")).admitted);
  EXPECT_THAT(sim_->crash(), HasSubstr("K17: a of example.com/gpu"));
}

TEST_F(KubeletRows, K21_WritesTheCheckpointAfterFramesAndAllocations) {
  play();
  ASSERT_EQ(enroll(), "");
  plugin_->show({{"a", "Healthy"}});
  ASSERT_TRUE(sim_->shows(kResource, {"a"}));
  EXPECT_EQ(sim_->checkpointWrites(), 1U);
  ASSERT_TRUE(sim_->admit(pod("p")).admitted);
  EXPECT_EQ(sim_->checkpointWrites(), 2U);
  const auto checkpoint = parseCheckpoint(checkpointText());
  ASSERT_TRUE(checkpoint);
  ASSERT_EQ(checkpoint->entries->size(), 1U);
  EXPECT_EQ(checkpoint->entries->at(0).podUid, "p");
  EXPECT_EQ(checkpoint->entries->at(0).devices.at(-1), std::vector<std::string>{"a"});
  sim_->end("p");
  EXPECT_EQ(sim_->checkpointWrites(), 2U) << "freeing writes nothing";
  struct stat status = {};
  ASSERT_EQ(stat(path("kubelet_internal_checkpoint").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600U);
}

TEST_F(KubeletRows, K21_AnUnreadableCheckpointIsForgotten) {
  std::ofstream(path("kubelet_internal_checkpoint")) << R"({"Data":{},"Checksum":1})";
  sim_->start();
  EXPECT_TRUE(sim_->resources().empty());
}

struct Vector {
  const char* name;
  std::string file;
  std::uint32_t checksum;
};

class CheckpointVector : public testing::TestWithParam<Vector> {};

TEST_P(CheckpointVector, HasTheKubeletsChecksum) {
  const auto checkpoint = parseCheckpoint(GetParam().file);
  ASSERT_TRUE(checkpoint);
  EXPECT_EQ(checksumOf(*checkpoint), GetParam().checksum);
  EXPECT_EQ(parseCheckpoint(formatCheckpoint(*checkpoint)), checkpoint);
}

std::string dataFile(const std::string& name) {
  std::stringstream text;
  text << std::ifstream(std::string(getenv("VFIOGATE_SOURCE")) + "/tests/data/" + name).rdbuf();
  return text.str();
}

INSTANTIATE_TEST_SUITE_P(
    Contract, CheckpointVector,
    testing::Values(
        Vector{"Empty",
               R"({"Data":{"PodDeviceEntries":null,"RegisteredDevices":{}},"Checksum":3467439661})",
               3467439661U},
        Vector{
            "OneResource",
            R"({"Data":{"PodDeviceEntries":null,"RegisteredDevices":{"example.com/gpu":[]}},"Checksum":2838580107})",
            2838580107U},
        Vector{
            "OneEntry",
            R"({"Data":{"PodDeviceEntries":[{"PodUID":"p1","ContainerName":"c1","ResourceName":"example.com/gpu","DeviceIDs":{"-1":["a"],"2":["b","c"],"10":["d"]},"AllocResp":"CAA="}],"RegisteredDevices":{"example.com/nic":[],"example.com/gpu":["a"]}},"Checksum":340430919})",
            340430919U},
        Vector{
            "WithAnAnswer",
            R"({"Data":{"PodDeviceEntries":[{"PodUID":"b2c5d1a0-0d57-4b7e-9d6d-6f0a3c1f2e11","ContainerName":"compute","ResourceName":"example.com/gpu","DeviceIDs":{"0":["0000:17:00.0"]},"AllocResp":"CiwKHFBDSV9SRVNPVVJDRV9FWEFNUExFX0NPTV9HUFUSDDAwMDA6MTc6MDAuMBolCg4vZGV2L3ZmaW8vdmZpbxIOL2Rldi92ZmlvL3ZmaW8aA21ydxohCgwvZGV2L3ZmaW8vMTISDC9kZXYvdmZpby8xMhoDbXJ3Kh8KHWV4YW1wbGUuY29tL3ZmaW89MDAwMC0xNy0wMC0w"}],"RegisteredDevices":{"example.com/gpu":["0000:17:00.0","0000:65:00.0"]}},"Checksum":4149292538})",
            4149292538U}),
    [](const auto& row) { return std::string(row.param.name); });

TEST(CheckpointOfARealKubelet, IsReadAndAgreesWithItsChecksum) {
  for (const char* name : {"checkpoint-1.36.2-no-pod.json", "checkpoint-1.36.2-one-pod.json"}) {
    EXPECT_TRUE(parseCheckpoint(dataFile(name))) << name;
  }
}

}  // namespace
}  // namespace vfiogate::sim
