#pragma once
// Enough of a kubelet to test plugind alone: registers plugins, watches their frames, allocates. It
// knows no pods; the faithful stand-in is another.

#include "proto/deviceplugin.grpc.pb.h"

#include <chrono>
#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace vfiogate::test {

/// How long a test waits for what must come; long, since it costs only where something is broken.
constexpr std::chrono::seconds kKubeletPatience{30};

class SmallKubelet {
public:
  /// What Register does.
  enum class Manner {
    kRegisters,  ///< dials back, asks for options, opens ListAndWatch, answers
    kRefuses,    ///< answers with an error
    kSilent,     ///< takes the call and never answers
  };

  /// Device id to health, as the last frame of a resource said.
  using Devices = std::map<std::string, std::string>;

  struct Allocated {
    grpc::Status status;
    v1beta1::AllocateResponse response;
  };

  explicit SmallKubelet(std::string directory, Manner manner = Manner::kRegisters);
  /// Ends as a killed kubelet does: its socket stays, its connections close.
  ~SmallKubelet();
  SmallKubelet(const SmallKubelet&) = delete;
  SmallKubelet& operator=(const SmallKubelet&) = delete;

  /// True as soon as the last frame of `resource` is `wanted`, within kKubeletPatience.
  bool shows(const std::string& resource, const Devices& wanted);
  /// The last frame of a resource, for failure texts.
  Devices lastFrame(const std::string& resource);
  /// How many frames came for a resource so far.
  std::size_t frames(const std::string& resource);
  /// True as soon as this many Registers came for `resource`, within kKubeletPatience.
  bool registered(const std::string& resource, std::size_t times = 1);

  Allocated allocate(const std::string& resource, const std::vector<std::string>& ids);
  /// Starts an Allocate and hangs up after `patience`.
  Allocated allocateImpatiently(const std::string& resource, const std::vector<std::string>& ids,
                                std::chrono::milliseconds patience);

  /// Ends the ListAndWatch of a resource, as a kubelet does that lost faith in it.
  void dropStream(const std::string& resource);

private:
  class Desk;
  class Client;

  template <typename Holds>
  bool await(Holds holds);

  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::string, Devices> frames_;
  std::map<std::string, std::size_t> frameCounts_;
  std::map<std::string, std::size_t> registrations_;
  std::map<std::string, std::shared_ptr<Client>> clients_;
  std::vector<std::shared_ptr<Client>> retired_;
  std::unique_ptr<Desk> desk_;
  std::unique_ptr<grpc::Server> server_;
};

}  // namespace vfiogate::test
