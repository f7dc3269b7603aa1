#include "netd/dra/claims/device_parameters.h"

#include <gmock/gmock.h>

namespace vfiogate {
namespace {

using nlohmann::json;
using testing::HasSubstr;

constexpr const char* kOurs = "vfio.vfiogate.dev";

json parameters(json fields) {
  fields["apiVersion"] = "vfio.vfiogate.dev/v1alpha1";
  fields["kind"] = "DeviceConfig";
  return fields;
}

json entry(const char* source, json of, json requests = json::array(), const char* driver = kOurs) {
  return {{"source", source},
          {"requests", std::move(requests)},
          {"opaque", {{"driver", driver}, {"parameters", std::move(of)}}}};
}

/// What `config` asks of a device that was given to `request`, or why it cannot be used.
Result<DeviceParameters, std::string> asked(const json& config, const std::string& request) {
  const auto entries = readParameterEntries(config, kOurs);
  if (!entries) return Failure{entries.error()};
  return parametersFor(*entries, request);
}

std::string faultOf(json of) {
  const auto read = asked(json::array({entry("FromClaim", std::move(of))}), "main");
  return read ? "none" : read.error();
}

TEST(DeviceParameters, NothingIsAskedWhereNothingIsSaid) {
  EXPECT_EQ(asked(json::array(), "main"), DeviceParameters());
  EXPECT_EQ(asked(json::array({entry("FromClaim", parameters(json::object()))}), "main"),
            DeviceParameters());
}

TEST(DeviceParameters, EachFieldIsRead) {
  for (const auto& [word, backend] :
       {std::pair{"auto", Backend::kAuto}, std::pair{"legacy", Backend::kLegacy},
        std::pair{"iommufd", Backend::kIommufd}, std::pair{"both", Backend::kBoth}}) {
    EXPECT_EQ(asked(json::array({entry("FromClass", parameters({{"vfio", word}}))}), "main"),
              (DeviceParameters{backend, false}));
  }
  EXPECT_EQ(asked(json::array({entry("FromClass", parameters({{"bind", "never"}}))}), "main"),
            (DeviceParameters{std::nullopt, true}));
}

TEST(DeviceParameters, TheClaimComesAfterTheClassFieldByField) {
  const json config = json::array({
      entry("FromClaim", parameters({{"vfio", "legacy"}})),
      entry("FromClass", parameters({{"vfio", "iommufd"}, {"bind", "never"}})),
  });
  EXPECT_EQ(asked(config, "main"), (DeviceParameters{Backend::kLegacy, true}));
  const json twice = json::array({
      entry("FromClaim", parameters({{"bind", "never"}})),
      entry("FromClaim", parameters({{"bind", "allowed"}})),
  });
  EXPECT_EQ(asked(twice, "main"), DeviceParameters());
}

TEST(DeviceParameters, AnEntryIsForTheRequestsThatItNames) {
  const json config = json::array({entry("FromClaim", parameters({{"vfio", "both"}}), {"main"}),
                                   entry("FromClaim", parameters({{"bind", "never"}}), {"a/b"})});
  EXPECT_EQ(asked(config, "main"), (DeviceParameters{Backend::kBoth, false}));
  EXPECT_EQ(asked(config, "main/sub"), (DeviceParameters{Backend::kBoth, false}));
  EXPECT_EQ(asked(config, "mainly"), DeviceParameters());
  EXPECT_EQ(asked(config, "a/b"), (DeviceParameters{std::nullopt, true}));
  EXPECT_EQ(asked(config, "a"), DeviceParameters());
}

TEST(DeviceParameters, OtherDriversEntriesAreTheirBusiness) {
  EXPECT_EQ(asked(json::array({entry("FromClaim", {{"any", 1}}, json::array(), "gpu.example.com"),
                               json{{"source", "FromClaim"}}}),
                  "main"),
            DeviceParameters());
}

TEST(DeviceParameters, WhatIsWrongIsSaidWithItsField) {
  EXPECT_EQ(faultOf(parameters({{"vfio", "foo"}})),
            "parameters.vfio: \"foo\": must be auto, legacy, iommufd or both");
  EXPECT_EQ(faultOf(parameters({{"vfio", 7}})),
            "parameters.vfio: is no text: must be auto, legacy, iommufd or both");
  EXPECT_EQ(faultOf(parameters({{"vfio", nullptr}})),
            "parameters.vfio: is no text: must be auto, legacy, iommufd or both");
  EXPECT_EQ(faultOf(parameters({{"bind", true}})),
            "parameters.bind: is no text: must be allowed or never");
  EXPECT_EQ(faultOf(parameters({{"vifo", "auto"}})), "parameters.vifo: no such field");
  EXPECT_EQ(faultOf(parameters({{"a\nb\"", 1}})), "parameters.a?b?: no such field");
  EXPECT_EQ(faultOf({{"kind", "DeviceConfig"}}),
            "parameters.apiVersion: must be \"vfio.vfiogate.dev/v1alpha1\"");
  EXPECT_EQ(faultOf({{"apiVersion", "vfio.vfiogate.dev/v1"}, {"kind", "DeviceConfig"}}),
            "parameters.apiVersion: \"vfio.vfiogate.dev/v1\": must be "
            "\"vfio.vfiogate.dev/v1alpha1\"");
  EXPECT_EQ(faultOf({{"apiVersion", "vfio.vfiogate.dev/v1alpha1"}, {"kind", "Config"}}),
            "parameters.kind: \"Config\": must be \"DeviceConfig\"");
  EXPECT_EQ(faultOf(json::array()), "parameters: is no object");
  EXPECT_EQ(faultOf(parameters({{"x", std::string(11'000, 'x')}})),
            "parameters: are more than 10 KiB");
}

TEST(DeviceParameters, ABadEntryIsFeltOnlyByTheRequestsThatItIsFor) {
  const json config = json::array({entry("FromClaim", parameters({{"vfio", "foo"}}), {"main"})});
  EXPECT_FALSE(asked(config, "main"));
  EXPECT_EQ(asked(config, "other"), DeviceParameters());
}

TEST(DeviceParameters, AnEntryThatTheServerNeverStoresIsNotGuessedAt) {
  const auto wrong = asked(json::array({entry("FromPod", parameters(json::object()))}), "main");
  ASSERT_FALSE(wrong);
  EXPECT_THAT(wrong.error(), HasSubstr("config[0].source"));
  EXPECT_FALSE(asked(json::array({7}), "main"));
  EXPECT_FALSE(asked(json::array({entry("FromClaim", parameters(json::object()), {1})}), "main"));
}

}  // namespace
}  // namespace vfiogate
