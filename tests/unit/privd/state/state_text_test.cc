#include "privd/state/state_text.h"

#include <gtest/gtest.h>

namespace vfiogate {
namespace {

struct Spoilt {
  const char* what;
  std::string text;
};

const std::string kIds = "format=1\nvendor=10de\ndevice=2684\n";
const std::string kFormer = "driver=vfio-pci\nformer_driver=\nformer_override=\n";
const std::string kEnd = "boot=b\npurpose=hand\n";

std::optional<BoundDevice> read(const std::string& text) {
  return stateFrom<BoundDevice>(Bdf::parse("0000:01:00.0").value(), text);
}

TEST(StateText, RefusesWhatItWouldNotWrite) {
  ASSERT_TRUE(read(kIds + kFormer + kEnd)) << "which is spoilt below";
  for (const Spoilt& row :
       {Spoilt{"empty", ""}, Spoilt{"another format", "format=2\n"},
        Spoilt{"cut after a line", kIds},
        Spoilt{"cut in the last line", kIds + kFormer + "boot=b\npurpose=hand"},
        Spoilt{"a line too many", kIds + kFormer + kEnd + "more=1\n"},
        Spoilt{"a line twice", kIds + "device=2684\n" + kFormer + kEnd},
        Spoilt{"out of order", "format=1\ndevice=2684\nvendor=10de\n" + kFormer + kEnd},
        Spoilt{"a number that is none", "format=1\nvendor=10dx\ndevice=2684\n" + kFormer + kEnd},
        Spoilt{"a number too long", "format=1\nvendor=010de\ndevice=2684\n" + kFormer + kEnd},
        Spoilt{"a purpose that is none", kIds + kFormer + "boot=b\npurpose=fun\n"},
        Spoilt{"no driver", kIds + "driver=\nformer_driver=\nformer_override=\n" + kEnd},
        Spoilt{"a key alone", kIds + "driver\nformer_driver=\nformer_override=\n" + kEnd},
        Spoilt{"a control character",
               kIds + "driver=vfio\tpci\nformer_driver=\nformer_override=\n" + kEnd},
        Spoilt{"a NUL",
               kIds + std::string("driver=v\0\nformer_driver=\nformer_override=\n", 41) + kEnd},
        Spoilt{"Windows lines", "format=1\r\nvendor=10de\r\n"},
        Spoilt{"large", kIds + "driver=" + std::string(5000, 'x') +
                            "\nformer_driver=\nformer_override=\n" + kEnd}}) {
    EXPECT_FALSE(read(row.text)) << row.what;
  }
}

TEST(StateText, RefusesExclusionsAndDeclarationsAlike) {
  const Bdf address = Bdf::parse("0000:01:00.0").value();
  EXPECT_TRUE(stateFrom<Exclusion>(address, "format=1\nsince=17\nreason=a = b\n"));
  for (const char* text : {"format=1\nsince=\nreason=x\n", "format=1\nsince=1x\nreason=x\n",
                           "format=1\nsince=99999999999999999999\nreason=x\n",
                           "format=1\nreason=x\nsince=1\n", "format=1\nsince=1\n"}) {
    EXPECT_FALSE(stateFrom<Exclusion>(address, text)) << text;
  }
  EXPECT_TRUE(stateFrom<DeviceIdentity>(address, "format=1\nvendor=10de\ndevice=2684\n"));
  for (const char* text : {"format=1\nvendor=10de\n", "format=1\nvendor=10de\ndevice=26840\n",
                           "format=1\nvendor=10de\ndevice=\n", "vendor=10de\ndevice=2684\n"}) {
    EXPECT_FALSE(stateFrom<DeviceIdentity>(address, text)) << text;
  }
}

}  // namespace
}  // namespace vfiogate
