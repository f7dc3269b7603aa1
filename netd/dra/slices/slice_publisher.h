#pragma once
// Makes the API server say what the node's pool is, and keeps it so.

#include "ipc/api/device_pool.h"
#include "netd/dra/api/api_versions.h"
#include "netd/dra/slices/publish_trouble.h"
#include "netd/dra/slices/slice_view.h"

#include <kj/async.h>
#include <kj/function.h>
#include <kj/timer.h>

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

namespace vfiogate {

class PoolKeeper {
public:
  /// The node's whole pool from now on. Resolves when it is stored for the first time; a later call
  /// ends the one before with the same answer. Never fails.
  virtual kj::Promise<KeptFields> publish(DevicePool pool) = 0;

protected:
  ~PoolKeeper() = default;
};

/// What people may want to know of the publisher.
class PublisherNews {
public:
  /// The server says the pool, after so many writes.
  virtual void poolStored(std::size_t slices, std::size_t writes) = 0;
  /// It cannot be made to now, and why; told once for each reason, and tried again.
  virtual void poolTroubled(const std::string& why) = 0;

protected:
  ~PublisherNews() = default;
};

/// One loop of small steps: the API's version, the Node's uid, a list, then plan and write until
/// nothing is left; then it rests until the pool or a slice changes. A step that fails has all read
/// anew, after a while. Nothing is written while all is as it should be. Ends with the object.
class SlicePublisher {
public:
  struct Deps {
    ApiClient& client;  ///< which tries once; all borrowed
    ApiVersions& versions;
    kj::Timer& timer;
    PublisherNews& news;
    std::string node;             ///< the Node's name, which is the pool's place
    kj::Function<double()> draw;  ///< random, in [0, 1)
  };
  explicit SlicePublisher(Deps deps);

  /// The node's whole pool from now on. Resolves when it is stored for the first time; a later call
  /// ends the one before with the same answer. Never fails.
  kj::Promise<KeptFields> publish(DevicePool pool);

private:
  using Trouble = PublishTrouble;
  using Step = Result<Done, Trouble>;
  using Outcome = ApiOutcome;

  kj::Promise<void> run();
  kj::Promise<void> untilDue();
  kj::Promise<Step> step();
  kj::Promise<void> after(const Step& step);

  kj::Promise<Step> readVersion();
  kj::Promise<Step> readNode();
  kj::Promise<Step> readPage();
  Step listed(const SliceSelector& asked, const Outcome& outcome);
  kj::Promise<Step> readStranger();
  Step plan();
  kj::Promise<Step> writeNext();
  Step written(ResourceApi api, const SliceWrite& write, const Outcome& outcome);
  void rest(const std::vector<Slice>& wanted);

  kj::Promise<void> watch(const SliceSelector& of);
  kj::Promise<void> watchAgain(const SliceSelector& of, const Outcome& outcome);
  void hear(ResourceApi api, const std::string& line);
  /// Whether it tells of the write that is not answered yet.
  bool isOurs(const SliceEvent& event);
  /// Somebody else changed something, or may have.
  void disturb();
  void wake();

  kj::Promise<Outcome> ask(ApiMethod method, const std::string& path, std::string body);
  SliceSelector selector() const { return {*api_, pool_->driver, node_}; }
  /// Whoever waits for the pool to be stored learns that.
  void answer(KeptFields kept);
  void tell(const std::string& why);

  ApiClient& client_;
  ApiVersions& versions_;
  kj::Timer& timer_;
  PublisherNews& news_;
  const std::string node_;
  kj::Function<double()> draw_;

  std::optional<DevicePool> pool_;
  std::vector<kj::Own<kj::PromiseFulfiller<KeptFields>>> waiting_;
  /// Absent: it may be another one by now. What is listed says by which it was.
  std::optional<ResourceApi> api_;
  std::optional<SliceOwner> owner_;
  SliceView view_;
  std::optional<SliceSelector> listed_;  ///< of what the view is a whole list
  bool newest_ = false;  ///< the next list is to be of what is stored, not of the server's memory
  std::string nextPage_;
  std::string refusedName_;  ///< of a create: somebody has it
  std::deque<SliceWrite> writes_;
  std::optional<SliceWrite> writing_;  ///< and not answered
  bool heardOurs_ = false;             ///< its event came already: the next is another's
  std::size_t written_ = 0;            ///< since the last rest

  bool due_ = false;
  bool disturbed_ = false;  ///< by others, since the last plan
  bool settled_ = false;    ///< and they have had their time
  bool expired_ = false;    ///< the watch: list again
  unsigned failures_ = 0;
  unsigned conflicts_ = 0;
  unsigned watchFailures_ = 0;
  unsigned repairs_ = 0;
  kj::TimePoint repaired_ = kj::origin<kj::TimePoint>();
  std::string told_;  ///< the trouble on the log; empty: none

  kj::Own<kj::PromiseFulfiller<void>> sleeper_;
  // Last, and in this order: they use all of the above.
  kj::Promise<void> settling_ = nullptr;
  kj::Promise<void> watching_ = nullptr;
  kj::Promise<void> running_ = nullptr;
};

}  // namespace vfiogate
