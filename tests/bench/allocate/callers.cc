#include "tests/bench/allocate/callers.h"

#include <barrier>
#include <future>

namespace vfiogate::bench {

Callers::Callers(const std::string& kubeletDirectory, unsigned count) {
  for (unsigned i = 0; i < count; ++i) clients_.emplace_back(kubeletDirectory);
}

std::vector<Took> Callers::allocate(const std::vector<Devices>& requests) {
  return atOnce([&requests](PluginClient& client, std::size_t caller) {
    const PluginClient::Answer answer = client.allocate(requests.at(caller));
    if (!answer.status.ok()) {
      giveUp(requests[caller].front() + " was refused: " + answer.status.error_message());
    }
    return answer.took;
  });
}

std::vector<Took> Callers::callEmpty() {
  return atOnce([](PluginClient& client, std::size_t) { return client.callEmpty(); });
}

std::vector<Took> Callers::atOnce(const Call& call) {
  std::barrier all(static_cast<std::ptrdiff_t>(clients_.size()));
  std::vector<std::future<Took>> calls;
  for (std::size_t caller = 0; caller < clients_.size(); ++caller) {
    calls.push_back(std::async(std::launch::async, [&, caller]() {
      all.arrive_and_wait();
      return call(clients_[caller], caller);
    }));
  }
  std::vector<Took> took;
  for (std::future<Took>& one : calls) took.push_back(one.get());
  return took;
}

}  // namespace vfiogate::bench
