#include "privd/rpc/servers.h"

#include "ipc/base/kube_names.h"
#include "ipc/codec/bounded_lists.h"
#include "ipc/codec/request_messages.h"

namespace vfiogate {
namespace {

void encode(const SpecOutcome& outcome, schema::SpecOutcome::Builder to) {
  switch (outcome.kind) {
    case SpecOutcome::Kind::kBadName:
      return to.setBadName();
    case SpecOutcome::Kind::kNotKind:
      return to.setNotKind();
    case SpecOutcome::Kind::kForeignPrefix:
      return to.setForeignPrefix();
    case SpecOutcome::Kind::kFailed:
      return to.setFailed(static_cast<std::uint16_t>(outcome.error));
    case SpecOutcome::Kind::kInPlace:
      break;
  }
  auto devices = to.initInPlace(static_cast<capnp::uint>(outcome.devices.size()));
  for (capnp::uint i = 0; i < devices.size(); ++i) {
    const auto& nodes = outcome.devices[i].nodes;
    auto told = devices.init(i, static_cast<capnp::uint>(nodes.size()));
    for (capnp::uint k = 0; k < told.size(); ++k) told.set(k, nodes[k].c_str());
  }
}

template <typename List>
void fill(List list, const std::vector<std::string>& texts) {
  for (capnp::uint i = 0; i < list.size(); ++i) list.set(i, texts[i]);
}

void tell(const ClaimFault& fault, schema::ClaimSpecAnswer::Builder to) {
  if (const auto* bad = std::get_if<std::string>(&fault)) {
    to.setBad(*bad);
  } else if (const auto* unreachable = std::get_if<Bdf>(&fault)) {
    encodeAddress(*unreachable, to.initUnreachable());
  } else {
    to.setFailed(static_cast<std::uint16_t>(std::get<ReadError>(fault).error));
  }
}

}  // namespace

void encode(const std::vector<SpecOutcome>& outcomes, schema::SpecsAnswer::Builder to) {
  auto told = to.initOutcomes(static_cast<capnp::uint>(outcomes.size()));
  for (capnp::uint i = 0; i < told.size(); ++i) encode(outcomes[i], told[i]);
}

void writeClaimSpec(ClaimStore& store, schema::ClaimSpec::Reader spec, const Snapshot& hardware,
                    schema::ClaimSpecAnswer::Builder to) {
  const auto wanted = decode(spec);
  if (!wanted) return to.setBad(wanted.error().what);
  const auto written = store.write(*wanted, hardware);
  if (!written) return tell(written.error(), to);
  fill(to.initInPlace(static_cast<capnp::uint>(written->size())), *written);
}

void unlinkClaimSpec(ClaimStore& store, capnp::Text::Reader uid, schema::UnlinkAnswer::Builder to) {
  const std::string text(uid.begin(), uid.size());
  if (!isUid(text)) return to.setBad("uid: no UUID in lower case");
  const auto done = store.unlink(text);
  if (!done) return to.setFailed(static_cast<std::uint16_t>(done.error().error));
  to.setGone();
}

void tellClaimSpecs(const ClaimStore& store, schema::ClaimSpecsAnswer::Builder to) {
  const auto texts = store.texts();
  if (!texts) return to.setFailed(static_cast<std::uint16_t>(texts.error().error));
  fill(to.initTexts(static_cast<capnp::uint>(texts->size())), *texts);
}

}  // namespace vfiogate
