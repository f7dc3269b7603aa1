#include "privd/rpc/parcel_delivery.h"

#include "privd/base/log_line.h"

namespace vfiogate {
namespace {

constexpr auto kRetryPause = 50 * kj::MILLISECONDS;
constexpr int kRetries = 40;  // 2 s: any process of root's can make the kernel say ETOOMANYREFS

/// Owns `fd` until it went over the channel or was given up.
kj::Promise<DescriptorSender::Sent> sendPatiently(DescriptorSender& channel, kj::Timer& timer,
                                                  DescriptorParcel parcel, int retries) {
  const auto sent = channel.send(parcel.ticket, parcel.kind, parcel.fd.get());
  if (sent != DescriptorSender::Sent::kTooManyRefs || retries == 0) return sent;
  return timer.afterDelay(kRetryPause)
      .then([&channel, &timer, parcel = kj::mv(parcel), retries]() mutable {
        return sendPatiently(channel, timer, kj::mv(parcel), retries - 1);
      });
}

}  // namespace

kj::Promise<bool> deliver(DescriptorSender& channel, kj::Timer& timer, DescriptorParcel parcel) {
  return sendPatiently(channel, timer, kj::mv(parcel), kRetries)
      .then([](DescriptorSender::Sent sent) {
        if (sent == DescriptorSender::Sent::kSent) return true;
        const bool refs = sent == DescriptorSender::Sent::kTooManyRefs;
        logLine(LogEvent::kDescriptorNotSent,
                {{"reason", kj::str(refs ? "the kernel says too many references for 2 s"
                                         : "the peer does not take its descriptors")}});
        return false;
      });
}

}  // namespace vfiogate
