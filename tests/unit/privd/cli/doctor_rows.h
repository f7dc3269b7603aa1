#pragma once
// A table of what `privd doctor` says of a good server with one thing changed.

#include "privd/cli/doctor/examine.h"
#include "tests/unit/privd/cli/hosts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

namespace vfiogate::test {

/// The heaviest finding of a check; there is always one.
inline Finding heaviest(const Findings& findings, Check check) {
  for (const Finding& finding : findings) {
    if (finding.check == check) return finding;
  }
  ADD_FAILURE() << codeOf(check) << " says nothing";
  return {check, Level::kOk, "", "", "", ""};
}

struct DoctorRow {
  const char* name;
  std::function<void(HostFacts&)> change;
  Check check;
  Level level;
  const char* says = "";  ///< somewhere in subject, words, evidence or fix
};

inline void judge(const DoctorRow& row) {
  HostFacts host = test::server();
  row.change(host);
  const Finding found = heaviest(examine(host), row.check);
  EXPECT_EQ(nameOf(found.level), nameOf(row.level)) << found.what;
  const std::string whole =
      found.subject + "|" + found.what + "|" + found.evidence + "|" + found.fix;
  EXPECT_THAT(whole, testing::HasSubstr(row.says));
}

inline std::string nameOfRow(const testing::TestParamInfo<DoctorRow>& row) {
  return row.param.name;
}

inline Snapshot& hardware(HostFacts& host) {
  return *host.hardware.value;
}
inline PciDevice& device(HostFacts& host, const Bdf& address) {
  return hardware(host).devices.at(address);
}
inline auto commandLine(const char* line) {
  return [line](HostFacts& host) { host.commandLine.value = line; };
}
}  // namespace vfiogate::test
