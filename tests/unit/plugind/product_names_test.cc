#include "plugind/dra/pool/pool_publisher.h"

#include "tests/support/hardware.h"

#include <gtest/gtest.h>

namespace vfiogate {
namespace {

TEST(ProductNames, AreThoseOfPciIdsAndNoLongerThanTheApiTakes) {
  const ProductNames products{{{0x10de, 0x2684}, "AD102 [GeForce RTX 4090]"},
                              {{0x10de, 0x0001}, std::string(100, 'x')}};
  test::Hardware hardware;
  hardware.add("0000:01:00.0", 1);
  hardware.add("0000:02:00.0", 2).device = std::uint16_t{1};
  hardware.add("0000:03:00.0", 3).vendor = std::uint16_t{0x8086};
  hardware.add("0000:04:00.0", 4).vendor.reset();
  DevicePool pool{.driver = "d", .name = "n", .devices = {}, .counterSets = {}};
  for (const char* name :
       {"0000-01-00-0", "0000-02-00-0", "0000-03-00-0", "0000-04-00-0", "0000-05-00-0"}) {
    pool.devices[name];
  }
  addProductNames(pool, hardware.snapshot(), products);
  EXPECT_EQ(pool.devices["0000-01-00-0"].attributes.at("productName"),
            AttributeValue(std::string("AD102 [GeForce RTX 4090]")));
  EXPECT_EQ(pool.devices["0000-02-00-0"].attributes.at("productName"),
            AttributeValue(std::string(64, 'x')));
  for (const char* name : {"0000-03-00-0", "0000-04-00-0", "0000-05-00-0"}) {
    EXPECT_FALSE(pool.devices[name].attributes.contains("productName")) << name;
  }
}

}  // namespace
}  // namespace vfiogate
