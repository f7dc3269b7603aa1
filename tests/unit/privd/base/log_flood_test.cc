// What becomes of more lines than anybody reads.

#include "privd/base/log_line.h"

#include <gmock/gmock.h>

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <iterator>
#include <regex>
#include <string>

namespace vfiogate {
namespace {

/// Standard error as a pipe, for as long as it lives.
class LogFlood : public testing::Test {
protected:
  LogFlood() : before_(fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 0)) {
    EXPECT_EQ(pipe2(ends_, O_CLOEXEC), 0);
    EXPECT_EQ(dup2(ends_[1], STDERR_FILENO), STDERR_FILENO);
    fcntl(ends_[0], F_SETFL, O_NONBLOCK);
    beginLog(LogForm::kLogfmt);
    tellLeftOut();
    drain();
  }
  ~LogFlood() override {
    dup2(before_, STDERR_FILENO);
    for (const int fd : {before_, ends_[0], ends_[1]}) close(fd);
  }
  LogFlood(const LogFlood&) = delete;
  LogFlood& operator=(const LogFlood&) = delete;

  std::string drain() const {
    std::string text;
    char part[4096];
    for (ssize_t got = 0; (got = read(ends_[0], part, sizeof(part))) > 0;) {
      text.append(part, static_cast<std::size_t>(got));
    }
    return text;
  }
  static std::ptrdiff_t linesIn(const std::string& text) { return std::ranges::count(text, '\n'); }

  /// Those that have a line, and those that a line says were left out.
  static long refusalsIn(const std::string& text) {
    static const std::regex leftOut("event=lines_left_out of=socket_refused count=(\\d+)");
    static const std::regex line("event=socket_refused");
    long found = std::distance(std::sregex_iterator(text.begin(), text.end(), line), {});
    for (std::sregex_iterator one(text.begin(), text.end(), leftOut), end; one != end; ++one) {
      found += std::stol((*one)[1]);
    }
    return found;
  }

  int before_;
  int ends_[2] = {-1, -1};
};

TEST_F(LogFlood, OfRefusalsIsCutAndCounted) {
  for (int i = 0; i < 163'058; ++i) logLine(LogEvent::kSocketRefused);
  tellLeftOut();
  const std::string flood = drain();
  EXPECT_GE(linesIn(flood), 256);
  EXPECT_LT(linesIn(flood), 1'000);
  EXPECT_EQ(refusalsIn(flood), 163'058);
  // Others are told meanwhile.
  logLine(LogEvent::kAuditHead);
  EXPECT_THAT(drain(), testing::EndsWith(" level=info event=audit_head\n"));
}

TEST_F(LogFlood, AReaderThatStopsHoldsNobodyUp) {
  const std::string filling(4096, 'x');
  while (write(STDERR_FILENO, filling.data(), filling.size()) > 0) {
  }
  logLine(LogEvent::kAuditHead);
  tellLeftOut();
  drain();
  tellLeftOut();
  EXPECT_THAT(drain(),
              testing::EndsWith(" level=warning event=lines_left_out of=audit_head count=1\n"));
}

}  // namespace
}  // namespace vfiogate
