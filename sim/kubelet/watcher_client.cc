#include "sim/kubelet/watcher_client.h"

#include <algorithm>
#include <cctype>
#include <string_view>

namespace vfiogate::sim {
namespace {

namespace wire = pluginregistration;
using Clock = std::chrono::system_clock;

std::shared_ptr<grpc::Channel> channelTo(const std::string& socketPath) {
  grpc::ChannelArguments arguments;
  arguments.SetString(GRPC_ARG_DEFAULT_AUTHORITY, encodedAuthority(socketPath));
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  return grpc::CreateCustomChannel("unix:" + socketPath, grpc::InsecureChannelCredentials(),
                                   arguments);
}

}  // namespace

std::string encodedAuthority(const std::string& path) {
  static constexpr std::string_view kPlain = "-_.~!$&'()*+,;=:@";
  static constexpr std::string_view kDigits = "0123456789ABCDEF";
  std::string text;
  for (const char c : path) {
    const auto byte = static_cast<unsigned char>(c);
    if (std::isalnum(byte) != 0 || kPlain.find(c) != std::string_view::npos) {
      text += c;
    } else {
      text += {'%', kDigits[byte >> 4U], kDigits[byte & 0xfU]};
    }
  }
  return text;
}

WatcherClient::WatcherClient(const std::string& socketPath)
    : channel_(channelTo(socketPath)), stub_(wire::Registration::NewStub(channel_)) {}

bool WatcherClient::connect(Limit within) {
  const auto deadline = Clock::now() + within;
  do {
    {
      const std::lock_guard lock(mutex_);
      if (cancelled_) return false;
    }
    // Nothing wakes who waits for a connection: look for cancel() now and then.
    const auto soon = Clock::now() + std::chrono::milliseconds(20);
    if (channel_->WaitForConnected(std::min(soon, deadline))) return true;
  } while (Clock::now() < deadline);
  return false;
}

template <typename Call>
grpc::Status WatcherClient::call(Limit within, Call call) {
  grpc::ClientContext context;
  context.set_deadline(Clock::now() + within);
  {
    const std::lock_guard lock(mutex_);
    if (cancelled_) return grpc::Status::CANCELLED;
    current_ = &context;
  }
  const grpc::Status status = call(context);
  const std::lock_guard lock(mutex_);
  current_ = nullptr;
  return status;
}

grpc::Status WatcherClient::info(wire::PluginInfo& info, Limit within) {
  return call(within, [&](grpc::ClientContext& context) {
    return stub_->GetInfo(&context, wire::InfoRequest(), &info);
  });
}

grpc::Status WatcherClient::notify(const std::string& error, Limit within) {
  wire::RegistrationStatus told;
  told.set_plugin_registered(error.empty());
  told.set_error(error);
  return call(within, [&](grpc::ClientContext& context) {
    wire::RegistrationStatusResponse nothing;
    return stub_->NotifyRegistrationStatus(&context, told, &nothing);
  });
}

void WatcherClient::cancel() {
  const std::lock_guard lock(mutex_);
  cancelled_ = true;
  if (current_ != nullptr) current_->TryCancel();
}

}  // namespace vfiogate::sim
