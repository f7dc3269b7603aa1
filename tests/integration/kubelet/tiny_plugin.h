#pragma once
// The smallest device plugin: what the stand-in kubelet is tried against.

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace vfiogate::sim {

/// A device plugin on one socket. All calls may come from any thread.
class TinyPlugin {
public:
  struct Device {
    std::string id;
    std::string health = "Healthy";
    std::vector<long> numaNodes = {};
  };
  /// What Allocate says; `error` not empty is an error of code FAILED_PRECONDITION.
  struct Reply {
    std::string error = {};
    std::size_t containers = 1;
  };

  /// What the plugin says that it can do.
  struct Options {
    bool preStart = false;
    bool preferred = false;
  };
  /// One question for a preference.
  struct Wish {
    std::vector<std::string> available;
    std::vector<std::string> mustInclude;
    int size = 0;
    int containers = 0;  ///< container requests in the message
  };
  /// The preferred ids of the only container response; `containers` 0 is an answer without any.
  struct Preference {
    std::string error = {};
    std::vector<std::string> ids = {};
    std::size_t containers = 1;
  };

  using CallHook =
      std::function<void(const std::string& call, const std::vector<std::string>& ids)>;

  /// Serves at `socketPath`. With `answersOptions` false GetDevicePluginOptions is unimplemented.
  explicit TinyPlugin(const std::string& socketPath, bool answersOptions = true);
  ~TinyPlugin();
  TinyPlugin(const TinyPlugin&) = delete;
  TinyPlugin& operator=(const TinyPlugin&) = delete;

  /// Sends `devices` on every open stream, and first on each to come.
  void show(const std::vector<Device>& devices);
  /// Ends the open streams cleanly; the plugin goes on serving.
  void endStreams();
  /// Told each call as it comes, by its name, and the ids in it.
  void onCall(CallHook told);
  /// Called in each Allocate with its ids, before the reply.
  void onAllocate(std::function<Reply(const std::vector<std::string>&)> act);

  /// What GetDevicePluginOptions says from now on.
  void can(Options options);
  /// Called in each GetPreferredAllocation, before the reply.
  void onPreferred(std::function<Preference(const Wish&)> act);
  /// Called in each PreStartContainer with its ids; what it returns, if not empty, is an error of
  /// code FAILED_PRECONDITION.
  void onPreStart(std::function<std::string(const std::vector<std::string>&)> act);

  int optionsAsked() const;
  /// That the kubelet named when it asked for options last.
  std::string authority() const;
  /// True as soon as `count` streams were opened, ever; false after kPatience.
  bool awaitStreams(int count);
  /// True as soon as the kubelet has hung up on `count` streams, ever; false after kPatience.
  bool awaitCancelled(int count);
  /// Each Allocate's ids, in the order of the calls.
  std::vector<std::vector<std::string>> allocations() const;
  /// Each question for a preference, in the order of the calls.
  std::vector<Wish> wishes() const;
  /// Each PreStartContainer's ids, in the order of the calls.
  std::vector<std::vector<std::string>> preStarts() const;
  /// The number of container requests in each Allocate.
  std::vector<int> containerRequests() const;

private:
  class Service;
  std::unique_ptr<Service> service_;
};

/// Asks the kubelet in `deviceDir` to register; empty on success, "CODE: text" otherwise.
std::string askToRegister(const std::string& deviceDir, const std::string& endpoint,
                          const std::string& resource, const std::string& version = "v1beta1");

}  // namespace vfiogate::sim
