#include "privd/cli/audit/log_chain.h"

#include "privd/audit/record_end.h"

#include <algorithm>
#include <charconv>
#include <functional>
#include <utility>

namespace vfiogate {
namespace {

using Kind = ChainLine::Kind;

ChainLine::Hash hashOf(std::string_view digits) {
  ChainLine::Hash hash = {};
  std::ranges::copy(digits.substr(0, hash.size()), hash.begin());
  return hash;
}

std::string spanText(std::uint64_t first, std::uint64_t last) {
  return first == last
             ? "record " + std::to_string(first) + " is missing"
             : "records " + std::to_string(first) + " to " + std::to_string(last) + " are missing";
}

/// Walks the lines up to the first bad one.
class ChainWalk {
public:
  explicit ChainWalk(const std::vector<ChainLine>& lines) : lines_(lines), hash_(hashOf(kNoHash)) {}

  ChainReport run() {
    begin();
    for (std::size_t i = 0; i < lines_.size(); ++i) {
      if (follows(lines_[i])) {
        take(lines_[i]);
      } else if (!isClosedTear(i)) {
        report_.bad = judge(i);
        break;
      }
    }
    report_.last = sequence_;
    return std::move(report_);
  }

private:
  void begin() {
    if (lines_.empty()) return;
    const ChainLine& first = lines_.front();
    if (first.kind != Kind::kRotated || first.sequence < 2) return;
    sequence_ = first.sequence - 1;
    hash_ = first.previous;
    report_.remarks.push_back("begins with record " + std::to_string(first.sequence) +
                              ": the records before it were rotated away, or their files removed");
  }

  bool follows(const ChainLine& line) const {
    return line.isGood() && line.sequence == sequence_ + 1 && line.previous == hash_;
  }

  void take(const ChainLine& line) {
    if (report_.first == 0) report_.first = line.sequence;
    if (line.kind == Kind::kRecovered) {
      report_.remarks.push_back("record " + std::to_string(line.sequence) +
                                " says that privd met damage before it, and went on");
    }
    sequence_ = line.sequence;
    hash_ = line.hash;
    ++report_.good;
  }

  /// The first line behind this one that is a record; null: there is none.
  const ChainLine* recordAfter(std::size_t at) const {
    const auto later = lines_.begin() + static_cast<std::ptrdiff_t>(at) + 1;
    const auto found = std::find_if(later, lines_.end(), std::mem_fn(&ChainLine::isRecord));
    return found == lines_.end() ? nullptr : &*found;
  }

  bool isClosedTear(std::size_t at) const {
    const ChainLine* next = recordAfter(at);
    return lines_[at].kind == Kind::kBroken && next != nullptr && follows(*next) &&
           next->closesTorn;
  }

  ChainFinding judge(std::size_t at) const {
    if (lines_[at].isGood()) return judgeStranger(at);
    const auto [fault, why] = judgeNoRecord(lines_[at], recordAfter(at));
    return {fault, at, sequence_ + 1, why};
  }

  std::pair<ChainFault, std::string> judgeNoRecord(const ChainLine& line,
                                                   const ChainLine* next) const {
    if (next != nullptr && follows(*next) && next->kind != Kind::kRecovered) {
      return {ChainFault::kInserted, "the chain goes on around this line"};
    }
    if (line.kind == Kind::kForged) return {ChainFault::kEdited, "its hash is not its own"};
    if (next != nullptr && next->kind == Kind::kRecovered && next->sequence > sequence_ + 1) {
      return {ChainFault::kRemoved, spanText(sequence_ + 1, next->sequence - 1) +
                                        ", and the recovered record after it knows so"};
    }
    if (line.kind == Kind::kForeign && (next == nullptr || follows(*next))) {
      return {ChainFault::kInserted, "it is no record"};
    }
    if (next != nullptr) return {ChainFault::kEdited, "it is no record any more"};
    return {ChainFault::kTorn,
            "it has no end: it is being written, or its writer ended in the middle"};
  }

  /// A record whose hash is its own, in a place that is not.
  ChainFinding judgeStranger(std::size_t at) const {
    const ChainLine& line = lines_[at];
    const auto later = lines_.begin() + static_cast<std::ptrdiff_t>(at) + 1;
    if (line.sequence == sequence_ + 1) {
      return {ChainFault::kEdited, at, line.sequence,
              "it names another predecessor: it, or the one before it, is not what was written"};
    }
    if (line.sequence <= sequence_) {
      return {ChainFault::kInserted, at, line.sequence,
              "a record of this number stands before it; one of the two was inserted"};
    }
    if (std::any_of(later, lines_.end(),
                    [&line](const ChainLine& other) { return other.hash == line.hash; })) {
      return {ChainFault::kInserted, at, line.sequence, "it stands twice"};
    }
    if (std::any_of(later, lines_.end(),
                    [this](const ChainLine& other) { return follows(other); })) {
      return {ChainFault::kReordered, at, line.sequence,
              "record " + std::to_string(sequence_ + 1) + " stands behind it"};
    }
    return {ChainFault::kRemoved, at, sequence_ + 1, spanText(sequence_ + 1, line.sequence - 1)};
  }

  const std::vector<ChainLine>& lines_;
  ChainReport report_;
  std::uint64_t sequence_ = 0;
  ChainLine::Hash hash_;
};

/// What is wrong with a good chain to someone who knows one of its records.
void compare(const std::vector<ChainLine>& lines, const AuditHead& anchor, ChainReport& report) {
  const auto found = std::ranges::find(lines, anchor.sequence, &ChainLine::sequence);
  const bool isBefore = !lines.empty() && anchor.sequence + 1 == report.first;
  if (found == lines.end() && !isBefore) {
    const std::string what = "the anchor knows record " + std::to_string(anchor.sequence);
    const bool isYounger = anchor.sequence > report.last;
    report.bad = {
        ChainFault::kRemoved, lines.empty() || !isYounger ? 0 : lines.size() - 1, anchor.sequence,
        what + (isYounger ? ", and the log ends at " + std::to_string(report.last) +
                                ": its end was cut off"
                          : ", which was rotated away or removed: take a younger anchor")};
    return;
  }
  const auto& hash = found == lines.end() ? lines.front().previous : found->hash;
  report.anchored = hash == hashOf(anchor.hash);
  if (report.anchored) return;
  report.bad = {ChainFault::kEdited,
                found == lines.end() ? 0 : static_cast<std::size_t>(found - lines.begin()),
                anchor.sequence,
                "the anchor knows it with another hash: it, or one before it, was written anew"};
}

}  // namespace

ChainLine examine(std::string_view text) {
  ChainLine line;
  const auto end = recordEnd(text);
  if (!end && isTear(text)) line.kind = Kind::kBroken;
  if (!end) return line;
  line.sequence = end->sequence;
  line.previous = hashOf(end->previous);
  line.hash = hashOf(end->hash);
  // Quotes in texts are escaped, so these can only be names of the record's own fields.
  constexpr std::string_view kRecovered = ",\"kind\":\"recovered\",\"reason\":\"";
  const std::size_t recovered = text.find(kRecovered);
  if (!hashIsOwn(*end)) {
    line.kind = Kind::kForged;
  } else if (recovered != std::string_view::npos) {
    line.kind = Kind::kRecovered;
    line.closesTorn = text.substr(recovered + kRecovered.size()).starts_with("torn\"");
  } else {
    line.kind = text.find(",\"kind\":\"rotated\",") == std::string_view::npos ? Kind::kRecord
                                                                              : Kind::kRotated;
  }
  return line;
}

std::string_view nameOf(ChainFault fault) {
  static constexpr std::array<std::string_view, 5> kNames{"edited", "removed", "inserted",
                                                          "reordered", "torn"};
  return kNames.at(static_cast<std::size_t>(fault));
}

ChainReport verifyChain(const std::vector<ChainLine>& lines,
                        const std::optional<AuditHead>& anchor) {
  ChainReport report = ChainWalk(lines).run();
  if (anchor && !report.bad) compare(lines, *anchor, report);
  return report;
}

std::optional<AuditHead> parseAnchor(std::string_view text) {
  AuditHead anchor;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), anchor.sequence);
  if (read.ec != std::errc() || anchor.sequence == 0) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(read.ptr - text.data()));
  const auto isDigit = [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); };
  if (text.size() != 1 + kNoHash.size() || text[0] != ':') return std::nullopt;
  anchor.hash = text.substr(1);
  if (!std::ranges::all_of(anchor.hash, isDigit)) return std::nullopt;
  return anchor;
}

}  // namespace vfiogate
