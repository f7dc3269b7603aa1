#pragma once
// A file that is replaced whole.

#include "privd/base/open_file.h"

#include <cstdint>
#include <string>
#include <string_view>

namespace vfiogate {

/// Whether the text is on disk before it has its name. Not, for what a reboot ends anyway.
enum class Synced : std::uint8_t { kFirst, kNever };

/// Gives `text` to the file `name`, new or not: whoever opens it has the old text or the new one.
/// It is written, and as `synced` says on disk, under the name `temporary` first, where anything
/// that lies there is taken away. Both are names in `directory` (borrowed), which is the caller's
/// to sync. No link is followed. Error: ENOSPC, EROFS, ...; what was there before is unchanged.
Result<Done, ReadError> replaceFile(int directory, const std::string& temporary,
                                    const std::string& name, const std::string& text, mode_t mode,
                                    Synced synced = Synced::kFirst);

/// 0, or an errno: then nobody knows how much of it is there. `fd` is borrowed, and blocks.
int writeWhole(int fd, std::string_view text);

}  // namespace vfiogate
