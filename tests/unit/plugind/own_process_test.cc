// The last words of a plugind that a library ends.

#include "plugind/base/own_process.h"

#include <gtest/gtest.h>

#include <grpc/support/log.h>

#include <csignal>
#include <cstdlib>

namespace vfiogate {
namespace {

// UTC, and the moment of the end: the line itself is made long before.
constexpr const char* kAborted = "time=20[0-9-]+T[0-9:.]+Z level=critical event=aborted\n$";

TEST(OwnProcessDeathTest, WhoAbortsSaysSoAndTheSignalStaysWhatEndedIt) {
  EXPECT_EXIT(
      {
        sayWhatEndsUs();
        std::abort();
      },
      testing::KilledBySignal(SIGABRT), kAborted);
}

// As gRPC ends a process where it has no memory or finds itself broken.
TEST(OwnProcessDeathTest, AnAssertionOfGrpcsIsToldAndEndsLikeThat) {
  EXPECT_EXIT(
      {
        sayWhatEndsUs();
        GPR_ASSERT(getenv("VFIOGATE_NO_SUCH_NAME") != nullptr);
      },
      testing::KilledBySignal(SIGABRT), kAborted);
}

}  // namespace
}  // namespace vfiogate
