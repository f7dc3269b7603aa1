// The stand-in kubelet, GetPreferredAllocation: how it asks, and how little the answer binds it.

#include "tests/integration/kubelet/kubelet_edges.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>
#include <set>
#include <string>
#include <vector>

namespace vfiogate::sim {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using testing::UnorderedElementsAre;

class KubeletPreference : public KubeletEdges {
protected:
  /// A plugin of `ids` that has preferences; `preferred` is its answer to all.
  void serveChoosy(const std::set<std::string>& ids, TinyPlugin::Preference preferred) {
    kubelet_.start();
    plugin_ = serve(kGpu, ids, "p.sock", {.preferred = true});
    plugin_->onPreferred([preferred](const auto&) { return preferred; });
  }
  Admission admit(const std::string& uid, std::size_t count) {
    return kubelet_.admit({uid, {}, {{"c", {{kGpu, count}}}}});
  }
  /// The ids of the last Allocate.
  std::vector<std::string> got() const { return plugin_->allocations().back(); }

  std::unique_ptr<TinyPlugin> plugin_;
};

TEST_F(KubeletPreference, K18_IsAskedWithAllThatIsFreeAndTheWholeSize) {
  serveChoosy({"a", "b", "c"}, {.ids = {"b"}});
  ASSERT_TRUE(admit("pod", 1).admitted);
  ASSERT_THAT(plugin_->wishes(), SizeIs(1));
  const auto wish = plugin_->wishes()[0];
  EXPECT_EQ(wish.containers, 1);
  EXPECT_THAT(wish.available, UnorderedElementsAre("a", "b", "c"));
  EXPECT_THAT(wish.mustInclude, IsEmpty());
  EXPECT_EQ(wish.size, 1);
  EXPECT_THAT(got(), ElementsAre("b"));
}

TEST_F(KubeletPreference, K18_WhatInitContainersLeftIsAvailableAndMustBeIncluded) {
  serveChoosy({"a", "b", "c"}, {});
  ASSERT_TRUE(kubelet_.admit({"pod", {{"init", {{kGpu, 1}}}}, {{"app", {{kGpu, 2}}}}}).admitted);
  const auto left = plugin_->allocations()[0];
  ASSERT_THAT(plugin_->wishes(), SizeIs(2));
  const auto wish = plugin_->wishes()[1];
  EXPECT_THAT(wish.available, UnorderedElementsAre("a", "b", "c"));
  EXPECT_EQ(wish.mustInclude, left);
  EXPECT_EQ(wish.size, 2);
}

TEST_F(KubeletPreference, K18_IsAskedAlsoWithoutAChoice) {
  serveChoosy({"a"}, {});
  ASSERT_TRUE(admit("pod", 1).admitted);
  EXPECT_THAT(plugin_->wishes(), SizeIs(1));
}

TEST_F(KubeletPreference, K18_IsNotAskedWhenAllIsReused) {
  serveChoosy({"a"}, {});
  ASSERT_TRUE(kubelet_.admit({"pod", {{"init", {{kGpu, 1}}}}, {{"app", {{kGpu, 1}}}}}).admitted);
  EXPECT_THAT(plugin_->wishes(), SizeIs(1));
}

TEST_F(KubeletPreference, K18_IsNotAskedWithoutTheOption) {
  kubelet_.start();
  plugin_ = serve(kGpu, {"a"});
  ASSERT_TRUE(admit("pod", 1).admitted);
  EXPECT_THAT(plugin_->wishes(), IsEmpty());
}

TEST_F(KubeletPreference, K18_TooFewAreFilledUp) {
  serveChoosy({"a", "b", "c"}, {.ids = {"b"}});
  ASSERT_TRUE(admit("pod", 2).admitted);
  EXPECT_THAT(got(), SizeIs(2));
  EXPECT_THAT(got(), testing::Contains("b"));
}

TEST_F(KubeletPreference, K18_TooManyAreCutAtRandom) {
  serveChoosy({"a", "b", "c", "d"}, {.ids = {"a", "b", "c"}});
  std::set<std::vector<std::string>> drawn;
  for (int i = 0; i < 12; ++i) {
    const std::string uid = "pod-" + std::to_string(i);
    ASSERT_TRUE(admit(uid, 1).admitted);
    EXPECT_NE(got(), std::vector<std::string>{"d"});
    drawn.insert(got());
    kubelet_.end(uid);
  }
  EXPECT_GT(drawn.size(), 1U);
}

TEST_F(KubeletPreference, K18_UnknownTakenAndRepeatedIdsAreIgnored) {
  serveChoosy({"a", "b", "c"}, {.ids = {"a"}});
  ASSERT_TRUE(admit("one", 1).admitted);
  plugin_->onPreferred([](const auto&) {
    return TinyPlugin::Preference{.ids = {"a", "x", "b", "b"}};
  });
  ASSERT_TRUE(admit("two", 2).admitted);
  EXPECT_THAT(got(), UnorderedElementsAre("b", "c"));
}

TEST_F(KubeletPreference, K18_AnAnswerWithoutContainersIsNoPreference) {
  serveChoosy({"a"}, {.containers = 0});
  EXPECT_TRUE(admit("pod", 1).admitted);
}

TEST_F(KubeletPreference, K18_AnErrorRejectsThePod) {
  serveChoosy({"a"}, {.error = "cannot say"});
  const auto admission = admit("pod", 1);
  EXPECT_FALSE(admission.admitted);
  EXPECT_EQ(admission.reason, "UnexpectedAdmissionError");
  EXPECT_THAT(admission.message, HasSubstr("GetPreferredAllocation rpc failed with err: rpc error: "
                                           "code = Internal desc = cannot say"));
  EXPECT_THAT(plugin_->allocations(), IsEmpty());
}

TEST_F(KubeletPreference, K18_AlignedDevicesAloneAreOfferedWhenTheyAreEnough) {
  serveChoosy({"a", "b", "c"}, {});
  plugin_->show({{"a", "Healthy", {0}}, {"b", "Healthy", {0}}, {"c", "Healthy", {1}}, {"d"}});
  ASSERT_TRUE(kubelet_.shows(kGpu, {"a", "b", "c", "d"}));
  const ContainerSpec container{.name = "c", .limits = {{kGpu, 1}}, .alignTo = std::set<long>{0}};
  ASSERT_TRUE(kubelet_.admit({"pod", {}, {container}}).admitted);
  EXPECT_THAT(plugin_->wishes()[0].available, UnorderedElementsAre("a", "b"));
}

TEST_F(KubeletPreference, K18_AlignedDevicesMustBeIncludedWhenTheyAreTooFew) {
  serveChoosy({"a", "b", "c"}, {.ids = {"d"}});
  plugin_->show({{"a", "Healthy", {0}}, {"b", "Healthy", {1}}, {"c", "Healthy", {1}}, {"d"}});
  ASSERT_TRUE(kubelet_.shows(kGpu, {"a", "b", "c", "d"}));
  const ContainerSpec container{.name = "c", .limits = {{kGpu, 2}}, .alignTo = std::set<long>{0}};
  ASSERT_TRUE(kubelet_.admit({"pod", {}, {container}}).admitted);
  EXPECT_THAT(plugin_->wishes()[0].mustInclude, ElementsAre("a"));
  EXPECT_THAT(plugin_->wishes()[0].available, UnorderedElementsAre("a", "b", "c", "d"));
  EXPECT_THAT(got(), UnorderedElementsAre("a", "d"));
}

TEST_F(KubeletPreference, K16_FramesAreTakenDuringTheQuestion) {
  serveChoosy({"a"}, {});
  bool taken = false;
  plugin_->onPreferred([&](const auto&) {
    plugin_->show({{"a", "Unhealthy"}, {"b"}});
    taken = kubelet_.shows(kGpu, {"b"}, {"a"});
    return TinyPlugin::Preference{};
  });
  ASSERT_TRUE(admit("pod", 1).admitted);
  EXPECT_TRUE(taken);
  EXPECT_THAT(got(), ElementsAre("a")) << "health is not asked for again";
}

TEST_F(KubeletPreference, AKubeletThatDiesEndsTheQuestionUnderWay) {
  serveChoosy({"a"}, {});
  std::promise<void> asked;
  std::promise<void> answer;
  // The plugin outlives this test, and may still be in the call at its end.
  plugin_->onPreferred([&asked, answered = answer.get_future().share()](const auto&) {
    asked.set_value();
    answered.wait();
    return TinyPlugin::Preference{};
  });
  auto admission = std::async(std::launch::async, [this]() { return admit("pod", 1); });
  asked.get_future().wait();
  kubelet_.stop();
  EXPECT_EQ(admission.wait_for(std::chrono::seconds(10)), std::future_status::ready);
  answer.set_value();
  EXPECT_TRUE(admission.get().kubeletDied);
}

}  // namespace
}  // namespace vfiogate::sim
