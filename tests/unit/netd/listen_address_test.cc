#include "netd/roles/listen_address.h"

#include <gmock/gmock.h>

#include <netinet/in.h>
#include <netinet/tcp.h>

namespace vfiogate {
namespace {

using testing::HasSubstr;

TEST(ListenAddress, ReadsAndPrintsTheSame) {
  for (const char* text : {"127.0.0.1:9408", "0.0.0.0:0", "[::]:65535", "[::1]:1", "[fe80::1]:9408",
                           "192.168.1.254:80"}) {
    const auto address = ListenAddress::parse(text);
    ASSERT_TRUE(address) << text;
    EXPECT_EQ(address->str(), text);
  }
}

TEST(ListenAddress, RefusesNamesAndWhatIsNotWhole) {
  for (const char* text :
       {"", ":", ":9408", "127.0.0.1", "127.0.0.1:", "127.0.0.1:65536", "127.0.0.1:-1",
        "127.0.0.1: 80", "localhost:80", "127.1:80", "256.0.0.1:80", "::1:80", "[::1]", "[::1]80",
        "[::1:80", "[]:80", "[127.0.0.1]:80", "[::1%lo]:80", "1.2.3.4:80:80"}) {
    EXPECT_FALSE(ListenAddress::parse(text)) << text;
  }
}

TEST(ListenOn, TellsWhereItIsBoundAndSendsSmallAnswersAtOnce) {
  auto listening = listenOn(*ListenAddress::parse("127.0.0.1:0"));
  ASSERT_TRUE(listening) << listening.error();
  const ListenAddress bound = ListenAddress::boundTo(listening->get());
  EXPECT_THAT(bound.str(), testing::MatchesRegex("127\\.0\\.0\\.1:[1-9][0-9]*"));
  int noDelay = 0;
  socklen_t size = sizeof(noDelay);
  ASSERT_EQ(getsockopt(listening->get(), IPPROTO_TCP, TCP_NODELAY, &noDelay, &size), 0);
  EXPECT_NE(noDelay, 0);
}

TEST(ListenOn, SaysThatAnotherProgramListensThere) {
  auto first = listenOn(*ListenAddress::parse("127.0.0.1:0"));
  ASSERT_TRUE(first) << first.error();
  const auto second = listenOn(ListenAddress::boundTo(first->get()));
  ASSERT_FALSE(second);
  EXPECT_THAT(second.error(), HasSubstr("another program listens there"));
}

TEST(ListenOn, SaysThatNoInterfaceHasTheAddress) {
  const auto listening = listenOn(*ListenAddress::parse("192.0.2.1:0"));  // for documentation only
  ASSERT_FALSE(listening);
  EXPECT_THAT(listening.error(), HasSubstr("no interface of this machine has it"));
}

}  // namespace
}  // namespace vfiogate
