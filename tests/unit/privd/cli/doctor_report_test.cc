#include "privd/cli/doctor/examine.h"
#include "privd/cli/doctor/report.h"
#include "tests/support/seen/source_file.h"
#include "tests/unit/privd/cli/hosts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <regex>
#include <set>

namespace vfiogate {
namespace {

const Findings kTwo = {
    {Check::kVfioModule, Level::kProblem, "vfio", "this kernel does not have it", "/m",
     "install it"},
    {Check::kSysfsWritable, Level::kOk, "", "mounted for writing", "/proc/self/mountinfo", ""}};

// docs/doctor.md promises this form: keys are added, never renamed, moved or removed.
TEST(DoctorReport, HasTheDocumentedForm) {
  EXPECT_EQ(reportJson(kTwo).dump(),
            R"({"version":1,)"
            R"("counts":{"problem":1,"warning":0,"unknown":0,"info":0,"ok":1},)"
            R"("findings":[{"code":"vfio-module","level":"problem",)"
            R"("subject":"vfio","what":"this kernel does not have it",)"
            R"("evidence":"/m","fix":"install it"},)"
            R"({"code":"sysfs-writable","level":"ok","subject":null,)"
            R"("what":"mounted for writing","evidence":"/proc/self/mountinfo",)"
            R"("fix":null}]})");
}

TEST(DoctorReport, TellsEvidenceOnlyOfWhatIsNotInOrder) {
  EXPECT_EQ(reportText(kTwo, false),
            "LEVEL    CHECK           FINDING\n"
            "problem  vfio-module     vfio: this kernel does not have it\n"
            "                         seen: /m\n"
            "                         do:   install it\n"
            "ok       sysfs-writable  mounted for writing\n"
            "1 problem, 0 warning, 0 unknown, 0 info, 1 ok\n");
}

TEST(DoctorReport, EndsWithOneOnlyForAProblem) {
  EXPECT_EQ(exitCodeOf(kTwo), 1);
  EXPECT_EQ(exitCodeOf({kTwo.back()}), 0);
  EXPECT_EQ(exitCodeOf({{Check::kIommu, Level::kWarning, "", "", "", ""}}), 0);
}

TEST(DoctorReport, LetsNothingOfTheHostReachTheTerminal) {
  const Findings odd = {{Check::kIommu, Level::kInfo, "\033[2J", "\n", "\xff", "\a"}};
  const std::string text = reportText(odd, false);
  EXPECT_EQ(text.find_first_of("\033\xff\a"), std::string::npos) << text;
  EXPECT_EQ(reportJson(odd)["findings"][0]["evidence"], "?");
}

TEST(DoctorReport, ItsDocumentHasEveryCheckAndNoOther) {
  const std::string document = test::sourceText("docs/doctor.md");
  const std::regex row(R"(\n\| `([a-z-]+)` \| ([^|]+) \| [^|]+ \|)");
  std::set<std::pair<std::string, std::string>> written;
  for (auto at = std::sregex_iterator(document.begin(), document.end(), row);
       at != std::sregex_iterator(); ++at) {
    written.emplace((*at)[1], (*at)[2]);
  }
  std::set<std::pair<std::string, std::string>> coded;
  for (const CheckName& check : kCheckNames) coded.emplace(check.code, check.question);
  EXPECT_EQ(written, coded);
}

}  // namespace
}  // namespace vfiogate
