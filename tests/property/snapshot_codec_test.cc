// What goes over RPC comes out as it went in, whatever it is.

#include "ipc/codec/snapshot_codec.h"
#include "tests/support/random_snapshot.h"

#include <gtest/gtest.h>

#include <capnp/message.h>

#include <random>

namespace vfiogate {
namespace {

constexpr int kRounds = 200;

Result<DecodedUpdate, DecodeError> overTheLine(const Update& update) {
  capnp::MallocMessageBuilder message;
  auto root = message.initRoot<schema::Update>();
  encode(update, root, noControl);
  return decode(root.asReader());
}

class SnapshotCodec : public testing::Test {
protected:
  const std::uint64_t seed_ = std::random_device()();
  testing::ScopedTrace trace_{__FILE__, __LINE__, "seed " + std::to_string(seed_)};
  RandomSnapshots snapshots_{seed_};
};

TEST_F(SnapshotCodec, BringsAnySnapshotOverUnchanged) {
  for (int round = 0; round < kRounds; ++round) {
    const Update sent{snapshots_.upTo(~0ULL), snapshots_.upTo(~0ULL), snapshots_.draw()};
    const auto got = overTheLine(sent);
    ASSERT_TRUE(got) << "round " << round << ": " << got.error().what;
    ASSERT_EQ(got->update, sent) << "round " << round;
  }
}

TEST_F(SnapshotCodec, BringsDeltasOverThatMakeTheLaterSnapshot) {
  Snapshot now = snapshots_.draw();
  Snapshot watched = now;
  for (std::uint64_t generation = 1; generation < kRounds; ++generation) {
    const Snapshot later = snapshots_.drawAfter(now);
    const Update sent{7, generation, UpdateDelta{generation - 1, diff(now, later)}};
    const auto got = overTheLine(sent);
    ASSERT_TRUE(got) << "generation " << generation << ": " << got.error().what;
    ASSERT_EQ(got->update, sent) << "generation " << generation;
    watched = apply(watched, std::get<UpdateDelta>(got->update.content).changes);
    ASSERT_EQ(watched, later) << "generation " << generation;
    now = later;
  }
}

}  // namespace
}  // namespace vfiogate
