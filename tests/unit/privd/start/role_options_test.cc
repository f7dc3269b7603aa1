// The table of which program has which option, against the programs' own tables.

#include "privd/start/role_options.h"

#include "privd/options/known_options.h"
#include "privd/options/program_options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>

namespace vfiogate {
namespace {

using Names = std::set<std::string>;

Names namesIn(const OptionTable& table) {
  Names names;
  for (const Option& option : table) names.insert(option.name);
  return names;
}

Names namesOf(std::uint8_t role) {
  Names names;
  for (const RoleOption& option : kRoleOptions) {
    if ((option.roles & role) != 0) names.emplace(option.name);
  }
  return names;
}

TEST(RoleOptions, AreThoseOfTheProgramsTables) {
  HardwareOptions hardware;
  GateOptions gate;
  BinderOptions binder;
  EXPECT_EQ(namesOf(kOfHardware), namesIn(hardwareOptions(hardware)));
  EXPECT_EQ(namesOf(kOfGate), namesIn(gateOptions(gate)));
  EXPECT_EQ(namesOf(kOfBinder), namesIn(binderOptions(binder)));
}

TEST(RoleOptions, AreAllThatTheDaemonTakes) {
  ServeOptions serve;
  Names all;
  for (const RoleOption& option : kRoleOptions) all.emplace(option.name);
  EXPECT_EQ(all, namesIn(serveOptions(serve)));
  EXPECT_EQ(all, Names(kOptionsOfPrivd.begin(), kOptionsOfPrivd.end()));
}

TEST(BinderOptions, DialPlugindWhereItIsNamedOrMayBind) {
  BinderOptions options;
  EXPECT_EQ(options.plugindSocket(), "") << "it binds for operators alone";
  options.plugindRights = "bind";
  EXPECT_EQ(options.plugindSocket(), kPlugindSocket);
  options.plugind = "/x.sock";
  EXPECT_EQ(options.plugindSocket(), "/x.sock");
  options.plugindRights.clear();
  EXPECT_EQ(options.plugindSocket(), "/x.sock");
}

}  // namespace
}  // namespace vfiogate
