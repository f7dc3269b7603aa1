// Whatever bytes come as an order to change drivers, or as the report on one: decoding refuses them
// in words, or what it makes of them keeps to every bound and is the same once more over RPC.

#include "ipc/codec/limits.h"
#include "ipc/codec/request_messages.h"
#include "ipc/types/binding_change.h"
#include "tests/fuzz/aligned_words.h"

#include <capnp/message.h>
#include <capnp/serialize.h>
#include <kj/exception.h>

#include <cstdlib>

namespace vfiogate {
namespace {

void require(bool holds) {
  if (!holds) std::abort();
}

template <typename Schema, typename Value>
void requireSameAgain(const Value& value) {
  capnp::MallocMessageBuilder message;
  encode(value, message.initRoot<Schema>());
  require(*decode(message.getRoot<Schema>().asReader()) == value);
}

void decodeOrder(kj::ArrayPtr<const capnp::word> words) {
  capnp::FlatArrayMessageReader reader(words, kFromPeer);
  const auto order = decode(reader.getRoot<schema::BindControl::ChangeParams>().getOrder());
  if (!order) return require(!order.error().what.empty());
  require(!order->addresses.empty() && order->addresses.size() <= kMostOrdered);
  require(order->overrides.size() <= kMostOrdered);
  require(order->driver.empty() || isDriverName(order->driver));
  requireSameAgain<schema::ChangeOrder>(*order);
}

void decodeReport(kj::ArrayPtr<const capnp::word> words) {
  capnp::FlatArrayMessageReader reader(words, kFromPrivd);
  const auto report = decode(reader.getRoot<schema::BindControl::ChangeResults>().getReport());
  if (!report) return require(!report.error().what.empty());
  require(report->error.size() <= kMaxText && report->writes.size() <= kMaxFunctions);
  requireSameAgain<schema::ChangeReport>(*report);
}

}  // namespace
}  // namespace vfiogate

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto words = vfiogate::alignedWords(data, size);
  const auto message = kj::arrayPtr(words.data(), words.size());
  kj::Maybe<kj::Exception> badOrder =
      kj::runCatchingExceptions([message]() { vfiogate::decodeOrder(message); });
  kj::Maybe<kj::Exception> badReport =
      kj::runCatchingExceptions([message]() { vfiogate::decodeReport(message); });
  return 0;
}
