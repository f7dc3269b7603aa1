#include "tests/support/api_server.h"

#include "tests/support/temp_dir.h"

#include <gmock/gmock.h>

#include <fstream>

namespace vfiogate::test {
namespace {

TEST(ApiServerProcess, KeepsClaimsAndTellsWhatItWasAsked) {
  ApiServer server;
  const std::string uid = server.makeClaim("c", "vfio.example", {{.device = "0000-01-00-0"}});
  const auto claim = server.claim("c");
  EXPECT_EQ(claim.at("metadata").at("uid"), uid);
  EXPECT_EQ(claim.at("status").at("allocation").at("devices").at("results").at(0).at("device"),
            "0000-01-00-0");
  server.deallocate("c");
  EXPECT_EQ(server.claim("c").at("status"), nlohmann::json::object());
  server.deleteClaim("c");
  EXPECT_THROW(server.claim("c"), std::runtime_error);
  EXPECT_EQ(server.asked("GET /apis/resource.k8s.io/v1/namespaces/default/resourceclaims/c"), 3U);
  EXPECT_EQ(server.journal().back().at("status"), 404);
  EXPECT_EQ(server.slices(), nlohmann::json::array());
}

TEST(ApiServerProcess, FailsOnOrderAndLetsOnlyItsTokensIn) {
  const TempDir place;
  std::ofstream(place / "token") << "one";
  ApiServer server({.tokenFiles = {place / "token"}});
  server.ask("GET", "/api/v1/nodes/node-1");
  server.control({{"fail", {{{"match", "GET /api/"}, {"status", 503}}}}});
  EXPECT_THROW(server.ask("GET", "/api/v1/nodes/node-1"), std::runtime_error);
  std::ofstream(place / "token") << "two";
  server.ask("GET", "/api/v1/nodes/node-1");
  EXPECT_EQ(server.journal().back().at("token"), "two");
}

}  // namespace
}  // namespace vfiogate::test
