#pragma once
// How a record is known again by its first and last bytes, without reading JSON.

#include <cstdint>
#include <optional>
#include <string_view>

namespace vfiogate {

inline constexpr std::string_view kRecordBegin = "{\"seq\":";
inline constexpr std::string_view kRecordEnd = "\"}";

inline constexpr std::string_view kNoHash =
    "0000000000000000000000000000000000000000000000000000000000000000";

/// What chains a record to others; views into its line.
struct RecordEnd {
  std::uint64_t sequence;
  std::string_view previous;  ///< 64 bytes
  std::string_view hash;      ///< 64 bytes
  std::string_view hashed;    ///< what the hash is of
};

/// Null: `line`, without its newline, does not begin and end as a record does.
std::optional<RecordEnd> recordEnd(std::string_view line);

/// True: the record's hash is its own.
bool hashIsOwn(const RecordEnd& end);

/// The last record in `text` whose hash is its own, and how many bytes follow its line.
struct LastRecord {
  RecordEnd end;
  std::size_t bytesAfter;
};
std::optional<LastRecord> lastRecordOf(std::string_view text);

/// True: `text` holds at most beginnings of records, as a writer leaves that ends in the middle.
bool isTear(std::string_view text);

}  // namespace vfiogate
