#include "plugind/ledger_journal.h"

#include <nlohmann/json.hpp>

#include <ctime>
#include <ostream>
#include <set>

namespace vfiogate {
namespace {

using nlohmann::ordered_json;

std::string utc(std::chrono::sys_seconds time) {
  const std::time_t seconds = std::chrono::system_clock::to_time_t(time);
  std::tm parts{};
  gmtime_r(&seconds, &parts);
  std::string text(sizeof("2026-01-01T00:00:00Z"), '\0');
  text.resize(strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &parts));
  return text;
}

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

void LedgerJournal::lent(const Grant& grant) {
  for (const HolderRecord& record : grant.records) {
    writeLine(out_, {{"time", utc(record.answeredAt)},
                     {"event", grant.again ? "lent-again" : "lent"},
                     {"resource", record.resource.str()},
                     {"devices", texts(record.ids)},
                     {"rest", texts(record.rest)},
                     {"members", texts(record.members)},
                     {"ref", record.ref.str()}});
  }
}

void LedgerJournal::refused(std::chrono::sys_seconds now, const ResourceName& resource,
                            const std::vector<std::string>& ids, const Refusal& refusal) {
  writeLine(out_, {{"time", utc(now)},
                   {"event", "refused"},
                   {"resource", resource.str()},
                   {"ids", ids},
                   {"reason", refusal.reason},
                   {"text", refusal.text}});
}

}  // namespace vfiogate
