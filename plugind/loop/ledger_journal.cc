#include "plugind/loop/ledger_journal.h"

#include "plugind/control/status_json.h"

#include <nlohmann/json.hpp>

#include <ostream>
#include <set>

namespace vfiogate {
namespace {

using nlohmann::ordered_json;

std::vector<std::string> texts(const std::set<Bdf>& addresses) {
  std::vector<std::string> list;
  for (const Bdf& address : addresses) list.push_back(address.str());
  return list;
}

void writeLine(std::ostream& out, const ordered_json& event) {
  // Ids come from outside and need not be UTF-8. One write, so that lines stay whole.
  out << event.dump(-1, ' ', false, ordered_json::error_handler_t::replace) + "\n" << std::flush;
}

}  // namespace

void LedgerJournal::write(const JournalEvent& event) {
  ordered_json line{
      {"time", utcText(event.time)}, {"event", event.event}, {"reason", event.reason}};
  if (event.resource) line["resource"] = event.resource->str();
  if (event.group) line["group"] = event.group->number();
  if (!event.ids.empty()) line["devices"] = texts(event.ids);
  if (!event.rest.empty()) line["rest"] = texts(event.rest);
  if (!event.members.empty()) line["members"] = texts(event.members);
  if (!event.foreignIds.empty()) line["ids"] = event.foreignIds;
  if (event.ref) line["ref"] = event.ref->str();
  if (event.podName) line["pod"] = *event.podName;
  if (event.podUid) line["podUid"] = *event.podUid;
  if (event.claim) {
    line["claim"] = event.claim->claimNamespace + "/" + event.claim->name;
    line["claimUid"] = event.claim->uid;
  }
  if (!event.text.empty()) line["text"] = event.text;
  writeLine(out_, line);
}

}  // namespace vfiogate
