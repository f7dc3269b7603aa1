#include "privd/audit/chain_follower.h"

#include "privd/audit/record_end.h"

namespace vfiogate {
namespace {

constexpr std::size_t kLongestTear = std::size_t{2} << 20U;
// Quotes in texts are escaped, so this can only be a record's own field.
constexpr std::string_view kRecovered = ",\"kind\":\"recovered\",";

}  // namespace

void ChainFollower::beginFile() {
  met_ = false;
  lacksNewline_ = false;
  bytesBehind_ = 0;
  behind_.clear();
  line_.clear();
}

void ChainFollower::take(std::string_view piece) {
  lacksNewline_ = !piece.ends_with('\n');
  line_.append(piece);
  std::size_t begin = 0;
  for (std::size_t newline = line_.find('\n'); newline != std::string::npos;
       newline = line_.find('\n', begin)) {
    judge(std::string_view(line_).substr(begin, newline - begin), newline + 1 - begin);
    begin = newline + 1;
  }
  line_.erase(0, begin);
  // No record is so long: it is not kept in memory.
  if (line_.size() <= kLongestTear) return;
  judge(line_, line_.size());
  line_.clear();
}

void ChainFollower::end() {
  judge(line_, line_.size());
  line_.clear();
}

bool ChainFollower::isTorn() const {
  return bytesBehind_ <= kLongestTear && isTear(behind_);
}

bool ChainFollower::continues(std::string_view line) {
  const auto record = recordEnd(line);
  if (!record) return false;
  if (record->hash == head_.hash) return record->sequence == head_.sequence;
  const bool isNext = record->sequence == head_.sequence + 1 && record->previous == head_.hash;
  const bool goesOn =
      record->sequence > head_.sequence && line.find(kRecovered) != std::string_view::npos;
  if ((!isNext && !goesOn) || !hashIsOwn(*record)) return false;
  head_ = {record->sequence, std::string(record->hash)};
  return true;
}

void ChainFollower::judge(std::string_view line, std::size_t bytes) {
  if (line.empty()) return;
  if (continues(line)) {
    met_ = true;
    bytesBehind_ = 0;
    behind_.clear();
    return;
  }
  bytesBehind_ += bytes;
  if (behind_.size() <= kLongestTear) behind_.append(line).append("\n");
}

}  // namespace vfiogate
