#pragma once
// The files of an audit log, read line by line.

#include "ipc/base/result.h"
#include "privd/base/open_file.h"

#include <kj/io.h>

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace vfiogate {

/// One file, open.
struct LogFile {
  std::string path;
  kj::AutoCloseFd fd;
};

/// Opens one file.
using OpenLogFile = std::function<Result<RegularFile, ReadError>(const std::string& path)>;
Result<RegularFile, ReadError> openLogFile(const std::string& path);

/// `path` and the files that were rotated away from it, the oldest first, as they all were at one
/// moment. Error, in words: there is none, one is a link or no regular file, or they were rotated
/// whenever they were opened.
Result<std::vector<LogFile>, std::string> openLog(const std::string& path,
                                                  const OpenLogFile& open = openLogFile);

/// Gets a line without its newline, and its number from 1.
using TakeLine = std::function<void(std::uint64_t number, std::string_view line)>;

/// Calls `take` with each line that is not empty; of one above 2 MiB, which is no record, with its
/// beginning. Error: in words.
Result<Done, std::string> readLines(const LogFile& file, const TakeLine& take);

}  // namespace vfiogate
