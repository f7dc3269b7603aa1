#include "ipc/types/bdf.h"

#include <gtest/gtest.h>

namespace vfiogate {
namespace {

TEST(Bdf, ReadsTheKernelsSpelling) {
  const auto address = Bdf::parse("0000:3b:1f.7");
  ASSERT_TRUE(address);
  EXPECT_EQ(address->segment(), 0U);
  EXPECT_EQ(address->bus(), 0x3b);
  EXPECT_EQ(address->device(), 0x1f);
  EXPECT_EQ(address->function(), 7);
}

TEST(Bdf, WritesWhatItReads) {
  for (const char* text :
       {"0000:00:00.0", "ffff:ff:1f.7", "10000:e1:00.0", "123456:01:02.3", "abcdef01:01:02.3"}) {
    const auto address = Bdf::parse(text);
    ASSERT_TRUE(address) << text;
    EXPECT_EQ(address->str(), text);
  }
}

TEST(Bdf, FoldsCase) {
  EXPECT_EQ(Bdf::parse("0000:AF:00.0")->str(), "0000:af:00.0");
}

struct Refusal {
  const char* text;
  ParseError error;
};

class BdfRefuses : public testing::TestWithParam<Refusal> {};

TEST_P(BdfRefuses, WhatNoKernelWrites) {
  const auto address = Bdf::parse(GetParam().text);
  ASSERT_FALSE(address) << GetParam().text;
  EXPECT_EQ(address.error(), GetParam().error) << GetParam().text;
}

INSTANTIATE_TEST_SUITE_P(Table, BdfRefuses,
                         testing::Values(Refusal{"", ParseError::kWrongShape},
                                         Refusal{"3b:00.0", ParseError::kWrongShape},
                                         Refusal{"0000:3b:00", ParseError::kWrongShape},
                                         Refusal{"000:3b:00.0", ParseError::kWrongShape},
                                         Refusal{"0000:3b:00.00", ParseError::kWrongShape},
                                         Refusal{"0000-3b-00.0", ParseError::kWrongShape},
                                         Refusal{"0000:3g:00.0", ParseError::kWrongShape},
                                         Refusal{"0000:+b:00.0", ParseError::kWrongShape},
                                         Refusal{"0x00:3b:00.0", ParseError::kWrongShape},
                                         Refusal{" 000:3b:00.0", ParseError::kWrongShape},
                                         Refusal{"0000:3b:00.0 ", ParseError::kWrongShape},
                                         Refusal{"123456789:3b:00.0", ParseError::kWrongShape},
                                         Refusal{"0000:3b:00.8", ParseError::kOutOfRange},
                                         Refusal{"0000:3b:20.0", ParseError::kOutOfRange},
                                         Refusal{"0000:3b:ff.f", ParseError::kOutOfRange}));

TEST(Bdf, SortsBySegmentBusDeviceFunction) {
  EXPECT_LT(*Bdf::parse("0000:ff:1f.7"), *Bdf::parse("0001:00:00.0"));
  EXPECT_LT(*Bdf::parse("0000:09:00.0"), *Bdf::parse("0000:10:00.0"));
}

}  // namespace
}  // namespace vfiogate
