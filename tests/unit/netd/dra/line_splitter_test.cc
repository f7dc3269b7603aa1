#include "netd/dra/api/line_splitter.h"

#include <gmock/gmock.h>

#include <vector>

namespace vfiogate {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class LineSplitterTest : public testing::Test {
protected:
  bool feed(std::string_view piece) {
    return splitter_.feed(piece, [this](const std::string& line) { lines_.push_back(line); });
  }

  LineSplitter splitter_{4};
  std::vector<std::string> lines_;
};

TEST_F(LineSplitterTest, LinesComeWhole) {
  EXPECT_TRUE(feed("a"));
  EXPECT_THAT(lines_, IsEmpty());
  EXPECT_TRUE(feed("b\nc\n\nd"));
  EXPECT_THAT(lines_, ElementsAre("ab", "c"));
  EXPECT_TRUE(feed("\n"));
  EXPECT_THAT(lines_, ElementsAre("ab", "c", "d"));
}

TEST_F(LineSplitterTest, ALineIsBounded) {
  EXPECT_TRUE(feed("abcd\nabc"));
  EXPECT_TRUE(feed("d"));
  EXPECT_FALSE(feed("e"));
  EXPECT_THAT(lines_, ElementsAre("abcd"));
}

TEST_F(LineSplitterTest, ALongLineInOnePieceIsNoneEither) {
  EXPECT_FALSE(feed("abcde\n"));
  EXPECT_THAT(lines_, IsEmpty());
}

}  // namespace
}  // namespace vfiogate
