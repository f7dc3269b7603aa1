#include "tests/bench/allocate/refused_calls.h"

#include <chrono>
#include <memory>

namespace vfiogate::bench {
namespace {

constexpr const char* kNowhere = "0000:ff:1f.7";

}  // namespace

RefusedCalls::RefusedCalls(const std::string& socket, unsigned connections) {
  for (unsigned i = 0; i < connections; ++i) {
    auto client = std::make_shared<PluginClient>(socket);
    threads_.emplace_back([this, client]() { ask(*client); });
  }
}

RefusedCalls::~RefusedCalls() {
  over_ = true;
  for (std::thread& thread : threads_) thread.join();
}

double RefusedCalls::perSecond() const {
  return static_cast<double>(refused_) /
         std::chrono::duration<double>(Clock::now() - began_).count();
}

void RefusedCalls::ask(PluginClient& client) {
  while (!over_) {
    // One that is given, or gets no answer, is not what is counted here.
    const grpc::Status status = client.allocate({kNowhere}).status;
    if (!status.ok() && status.error_code() != grpc::StatusCode::UNAVAILABLE) ++refused_;
  }
}

}  // namespace vfiogate::bench
