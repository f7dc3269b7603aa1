// The stand-in kubelet against a plugin that the test plays: one test for each row of the contract.

#include "tests/integration/kubelet/kubelet_rows.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sys/stat.h>

#include <filesystem>
#include <fstream>

namespace vfiogate::sim {
namespace {

using testing::HasSubstr;
using testing::UnorderedElementsAre;

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
  EXPECT_THAT(enroll("gpu"), HasSubstr("the ResourceName \"gpu\" is invalid"));
  EXPECT_EQ(lastCode_, grpc::StatusCode::UNKNOWN);
}

TEST_F(KubeletRows, K2_TheOptionsOfTheRequestAreIgnored) {
  play();
  optionsOfRequest_.set_pre_start_required(true);
  optionsOfRequest_.set_get_preferred_allocation_available(true);
  ASSERT_EQ(enroll(), "");
  plugin_->show({{"a", "Healthy"}});
  ASSERT_TRUE(sim_->shows(kResource, {"a"}));
  EXPECT_TRUE(sim_->admit(pod("p")).admitted) << "nobody asked for a preference";
  EXPECT_TRUE(sim_->startContainer("p", "c").started) << "no PreStartContainer, unimplemented here";
}

TEST_F(KubeletRows, K2_NamesAreExtendedResourcesOrRefused) {
  for (const char* name : {"a.b/c/d", "x.kubernetes.io/gpu", "requests.example.com/gpu",
                           "Example.com/gpu", "example.com/-gpu", "example.com/", "/gpu"}) {
    EXPECT_FALSE(isExtendedResourceName(name)) << name;
  }
  EXPECT_TRUE(isExtendedResourceName("example.com/GPU_1.x"));
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

TEST_F(KubeletRows, K5_RegisterAnswersBeforeTheFirstFrame) {
  play();
  ASSERT_EQ(enroll(), "");  // and nothing was shown yet
  EXPECT_EQ(sim_->registrations(kResource), 1U);
  EXPECT_THAT(sim_->resources(), testing::IsEmpty()) << "until a frame comes it does not exist";
}

TEST_F(KubeletRows, K6_AnIdTwiceIsCountedTwice) {
  play();
  ASSERT_EQ(enroll(), "");
  plugin_->show({{"a", "Healthy"}, {"a", "Unhealthy"}});
  ASSERT_TRUE(sim_->shows(kResource, {"a"}, {"a"}));
  EXPECT_EQ(sim_->nodeStatus().at(kResource), (NodeCounts{2, 1}));
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
  plugin_->allocateStatus = {grpc::StatusCode::FAILED_PRECONDITION, "group 7: allocated"};
  const auto refused = sim_->admit(pod("p"));
  EXPECT_FALSE(refused.admitted);
  EXPECT_EQ(refused.reason, "UnexpectedAdmissionError");
  EXPECT_EQ(refused.message,
            "Pod was rejected: Allocate failed due to rpc error: code = FailedPrecondition desc = "
            "group 7: allocated, which is unexpected");
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

TEST_F(KubeletRows, K21_AVersionOneCheckpointIsForgotten) {
  // The contract's fifth vector: valid, and too old for 1.36.
  std::ofstream(path("kubelet_internal_checkpoint"))
      << R"({"Data":{"PodDeviceEntries":[{"PodUID":"pod1","ContainerName":"con1",)"
      << R"("ResourceName":"vendor.io/r1","DeviceIDs":["dev1","dev2"],"AllocResp":"CgZBImJcAP9+"}],)"
      << R"("RegisteredDevices":{"vendor.io/r1":["dev1","dev2"]}},"Checksum":3577701631})";
  sim_->start();
  EXPECT_THAT(sim_->resources(), testing::IsEmpty());
  EXPECT_THAT(sim_->records(), testing::IsEmpty());
}

TEST_F(KubeletRows, K21_AnUnreadableCheckpointIsForgotten) {
  std::ofstream(path("kubelet_internal_checkpoint")) << R"({"Data":{},"Checksum":1})";
  sim_->start();
  EXPECT_TRUE(sim_->resources().empty());
}

}  // namespace
}  // namespace vfiogate::sim
