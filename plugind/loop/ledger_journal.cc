#include "plugind/loop/ledger_journal.h"

#include "plugind/control/status_json.h"

#include <nlohmann/json.hpp>

#include <ostream>
#include <set>
#include <utility>

namespace vfiogate {
namespace {

using nlohmann::ordered_json;

/// With these a line stays below 16 KiB, which runtimes and log stores take whole, even where each
/// byte is escaped as \u0000.
constexpr std::size_t kMostAddresses = 64;
constexpr std::size_t kMostIds = 16;
constexpr std::size_t kLongestId = 64;
constexpr std::size_t kLongestText = 1024;

/// One line of the journal, of which too long texts and lists are cut.
class BoundedLine {
public:
  explicit BoundedLine(ordered_json line) : line_(std::move(line)) {}

  template <typename Value>
  void put(const char* key, Value&& value) {
    line_[key] = std::forward<Value>(value);
  }
  void putText(const char* key, const std::string& text) {
    if (!text.empty()) line_[key] = cutTo(kLongestText, text);
  }
  void putAddresses(const char* key, const std::set<UnitId>& addresses) {
    for (const UnitId& address : addresses) add(key, address.str(), kMostAddresses);
  }
  void putIds(const char* key, const std::vector<std::string>& ids) {
    for (const std::string& id : ids) add(key, cutTo(kLongestId, id), kMostIds);
  }
  ordered_json take() {
    if (cut_) line_["cut"] = true;
    return std::move(line_);
  }

private:
  std::string cutTo(std::size_t longest, const std::string& text) {
    if (text.size() <= longest) return text;
    cut_ = true;
    return text.substr(0, longest) + "...";
  }
  void add(const char* key, std::string item, std::size_t most) {
    ordered_json& list = line_[key];
    if (list.size() < most) {
      list.push_back(std::move(item));
    } else {
      cut_ = true;
    }
  }

  ordered_json line_;
  bool cut_ = false;
};

void writeLine(std::ostream& out, const ordered_json& event) {
  // Ids come from outside and need not be UTF-8. One write, so that lines stay whole.
  out << event.dump(-1, ' ', false, ordered_json::error_handler_t::replace) + "\n" << std::flush;
}

}  // namespace

void LedgerJournal::write(const JournalEvent& event) {
  BoundedLine line(ordered_json{
      {"time", utcText(event.time)}, {"event", event.event}, {"reason", event.reason}});
  if (event.resource) line.put("resource", event.resource->str());
  if (event.group) line.put("group", event.group->number());
  line.putAddresses("devices", event.ids);
  line.putAddresses("rest", event.rest);
  line.putAddresses("members", event.members);
  line.putIds("ids", event.foreignIds);
  if (event.ref) line.put("ref", event.ref->str());
  if (event.podName) line.putText("pod", *event.podName);
  if (event.podUid) line.putText("podUid", *event.podUid);
  if (event.claim) {
    line.putText("claim", event.claim->claimNamespace + "/" + event.claim->name);
    line.putText("claimUid", event.claim->uid);
  }
  line.putText("text", event.text);
  writeLine(out_, line.take());
}

}  // namespace vfiogate
