#include "ipc/codec/request_messages.h"

#include "ipc/codec/bounded_lists.h"
#include "ipc/codec/checked_fields.h"
#include "ipc/types/binding_change.h"

namespace vfiogate {
namespace {

// The enumerations have the same words in the same order.
static_assert(static_cast<int>(schema::Guard::PLATFORM) == static_cast<int>(Guard::kPlatform));
static_assert(static_cast<int>(schema::ChangeKind::UNBIND) ==
              static_cast<int>(ChangeKind::kUnbind));
static_assert(static_cast<int>(schema::ChangeOutcome::STUCK) ==
              static_cast<int>(ChangeOutcome::kStuck));

template <typename Value, typename Wire>
Value wordOf(CheckedFields& fields, std::string_view field, Wire wire, Wire last) {
  if (wire <= last) return static_cast<Value>(wire);
  fields.refuse(field, "is " + std::to_string(static_cast<unsigned>(wire)) + ", not a known word");
  return Value{};
}

void writeTexts(const std::vector<std::string>& texts, capnp::List<capnp::Text>::Builder out) {
  for (capnp::uint i = 0; i < out.size(); ++i) out.set(i, cut(texts[i]));
}

Bdf readAddress(CheckedFields& fields, bool there, schema::Address::Reader in) {
  if (!there) fields.refuse("address", "is missing");
  return fields.address("address", in);
}

GuardOverride readOverride(CheckedFields& fields, schema::GuardOverride::Reader in) {
  GuardOverride read{wordOf<Guard>(fields, "guard", in.getGuard(), schema::Guard::PLATFORM),
                     std::nullopt};
  if (in.hasAddress()) read.address = fields.address("address", in.getAddress());
  return read;
}

Objection readObjection(CheckedFields& fields, schema::Objection::Reader in) {
  return {.guard = wordOf<Guard>(fields, "guard", in.getGuard(), schema::Guard::PLATFORM),
          .address = readAddress(fields, in.hasAddress(), in.getAddress()),
          .verdict = in.getUnknown() ? Verdict::kUnknown : Verdict::kBlocked,
          .reason = fields.text("reason", in.getReason()),
          .lift = fields.text("lift", in.getLift()),
          .overridden = in.getOverridden()};
}

void readWrites(CheckedFields& fields, schema::ChangeReport::Reader in, ChangeReport& report) {
  fields.each("writes", in.getWrites(), kMaxFunctions, [&](schema::SysfsWrite::Reader one) {
    report.writes.push_back({readAddress(fields, one.hasAddress(), one.getAddress()),
                             fields.text("attribute", one.getAttribute()),
                             fields.text("text", one.getText())});
  });
  fields.each("leftAlone", in.getLeftAlone(), kMaxFunctions, [&](schema::LeftAlone::Reader one) {
    report.leftAlone.push_back({readAddress(fields, one.hasAddress(), one.getAddress()),
                                fields.text("why", one.getWhy())});
  });
}

}  // namespace

void encode(const ChangeOrder& order, schema::ChangeOrder::Builder out) {
  out.setKind(static_cast<schema::ChangeKind>(order.kind));
  encodeList(
      order.addresses, kMostOrdered, [&](auto size) { return out.initAddresses(size); },
      encodeAddress);
  out.setDriver(cut(order.driver));
  encodeList(
      order.overrides, kMostOrdered, [&](auto size) { return out.initOverrides(size); },
      [](const GuardOverride& one, schema::GuardOverride::Builder to) {
        to.setGuard(static_cast<schema::Guard>(one.guard));
        if (one.address) encodeAddress(*one.address, to.initAddress());
      });
  out.setDryRun(order.dryRun);
  out.setKeep(order.keep);
}

void encode(const ChangeReport& report, schema::ChangeReport::Builder out) {
  out.setOutcome(static_cast<schema::ChangeOutcome>(report.outcome));
  out.setError(cut(report.error));
  encodeList(
      report.writes, kMaxFunctions, [&](auto size) { return out.initWrites(size); },
      [](const SysfsWrite& one, schema::SysfsWrite::Builder to) {
        encodeAddress(one.address, to.initAddress());
        to.setAttribute(cut(one.attribute));
        to.setText(cut(one.text));
      });
  encodeList(
      report.leftAlone, kMaxFunctions, [&](auto size) { return out.initLeftAlone(size); },
      [](const LeftAlone& one, schema::LeftAlone::Builder to) {
        encodeAddress(one.address, to.initAddress());
        to.setWhy(cut(one.why));
      });
  encodeList(
      report.objections, kMaxFunctions, [&](auto size) { return out.initObjections(size); },
      [](const Objection& one, schema::Objection::Builder to) {
        to.setGuard(static_cast<schema::Guard>(one.guard));
        encodeAddress(one.address, to.initAddress());
        to.setUnknown(one.verdict == Verdict::kUnknown);
        to.setReason(cut(one.reason));
        to.setLift(cut(one.lift));
        to.setOverridden(one.overridden);
      });
  writeTexts(report.differences,
             out.initDifferences(bounded(report.differences.size(), kMaxFunctions)));
  writeTexts(report.remarks, out.initRemarks(bounded(report.remarks.size(), kMaxFunctions)));
  out.setAuditSequence(report.auditSequence);
}

Result<ChangeOrder, DecodeError> decode(schema::ChangeOrder::Reader in) {
  CheckedFields fields;
  ChangeOrder order;
  order.kind = wordOf<ChangeKind>(fields, "kind", in.getKind(), schema::ChangeKind::UNBIND);
  fields.each("addresses", in.getAddresses(), kMostOrdered, [&](schema::Address::Reader one) {
    order.addresses.push_back(fields.address("address", one));
  });
  if (order.addresses.empty()) fields.refuse("addresses", "are none");
  order.driver = fields.text("driver", in.getDriver());
  if (!order.driver.empty() && !isDriverName(order.driver)) {
    fields.refuse("driver", "is no driver's name");
  }
  fields.each("overrides", in.getOverrides(), kMostOrdered, [&](schema::GuardOverride::Reader one) {
    order.overrides.push_back(readOverride(fields, one));
  });
  order.dryRun = in.getDryRun();
  order.keep = in.getKeep();
  if (order.kind == ChangeKind::kUnbind && (order.keep || !order.driver.empty())) {
    fields.refuse("kind", "is unbind, which takes neither driver nor keep");
  }
  if (fields.error()) return Failure{DecodeError{*fields.error()}};
  return order;
}

Result<ChangeReport, DecodeError> decode(schema::ChangeReport::Reader in) {
  CheckedFields fields;
  ChangeReport report;
  report.outcome =
      wordOf<ChangeOutcome>(fields, "outcome", in.getOutcome(), schema::ChangeOutcome::STUCK);
  report.error = fields.text("error", in.getError());
  readWrites(fields, in, report);
  fields.each("objections", in.getObjections(), kMaxFunctions, [&](schema::Objection::Reader one) {
    report.objections.push_back(readObjection(fields, one));
  });
  const auto readTexts = [&](std::string_view name, capnp::List<capnp::Text>::Reader texts,
                             std::vector<std::string>& into) {
    fields.each(name, texts, kMaxFunctions,
                [&](capnp::Text::Reader one) { into.push_back(fields.text("text", one)); });
  };
  readTexts("differences", in.getDifferences(), report.differences);
  readTexts("remarks", in.getRemarks(), report.remarks);
  report.auditSequence = in.getAuditSequence();
  if (fields.error()) return Failure{DecodeError{*fields.error()}};
  return report;
}

}  // namespace vfiogate
