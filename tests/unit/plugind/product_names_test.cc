#include "plugind/dra/product_names.h"

#include <gtest/gtest.h>

namespace vfiogate {
namespace {

PoolDevice model(const std::string& vendor, const std::string& device) {
  PoolDevice made;
  made.attributes = {{"vendor", vendor}, {"device", device}};
  return made;
}

TEST(ProductNames, AreThoseOfPciIdsAndNoLongerThanTheApiTakes) {
  const PciIds ids =
      PciIds::parse("10de  NVIDIA Corporation\n\t2684  AD102 [GeForce RTX 4090]\n\t0001  " +
                    std::string(100, 'x') + "\n");
  DevicePool pool{.driver = "d", .name = "n", .devices = {}, .counterSets = {}};
  pool.devices = {{"known", model("10de", "2684")},
                  {"long", model("10de", "0001")},
                  {"unknown", model("8086", "2684")},
                  {"odd", PoolDevice{}}};
  addProductNames(pool, ids);
  EXPECT_EQ(pool.devices["known"].attributes.at("productName"),
            AttributeValue(std::string("AD102 [GeForce RTX 4090]")));
  EXPECT_EQ(pool.devices["long"].attributes.at("productName"),
            AttributeValue(std::string(64, 'x')));
  EXPECT_FALSE(pool.devices["unknown"].attributes.contains("productName"));
  EXPECT_FALSE(pool.devices["odd"].attributes.contains("productName"));
}

}  // namespace
}  // namespace vfiogate
