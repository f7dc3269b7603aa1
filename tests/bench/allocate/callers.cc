#include "tests/bench/allocate/callers.h"

#include <barrier>
#include <future>

namespace vfiogate::bench {
namespace {

/// `call`: takes a client and its place among them.
template <typename Call>
auto atOnce(std::vector<PluginClient>& clients, const Call& call) {
  using Answer = std::invoke_result_t<Call, PluginClient&, std::size_t>;
  std::barrier all(static_cast<std::ptrdiff_t>(clients.size()));
  std::vector<std::future<Answer>> calls;
  for (std::size_t caller = 0; caller < clients.size(); ++caller) {
    calls.push_back(std::async(std::launch::async, [&, caller]() {
      all.arrive_and_wait();
      return call(clients[caller], caller);
    }));
  }
  std::vector<Answer> answers;
  for (std::future<Answer>& one : calls) answers.push_back(one.get());
  return answers;
}

}  // namespace

Callers::Callers(const std::string& socket, unsigned count) {
  for (unsigned i = 0; i < count; ++i) clients_.emplace_back(socket);
}

std::vector<PluginClient::Answer> Callers::allocate(const std::vector<Devices>& requests) {
  return atOnce(clients_, [&requests](PluginClient& client, std::size_t caller) {
    return client.allocate(requests.at(caller));
  });
}

std::vector<Took> Callers::callEmpty() {
  return atOnce(clients_, [](PluginClient& client, std::size_t) { return client.callEmpty(); });
}

}  // namespace vfiogate::bench
