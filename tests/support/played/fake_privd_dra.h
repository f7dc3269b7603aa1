#pragma once
// What a played privd does for a DRA driver.

#include "tests/support/played/fake_privd_gate.h"

#include <string>

namespace vfiogate::test {

/// Where the real one makes the sockets; directories are made where they are missing.
PlayedAnswer listenForDra(const Play& play, const gate::Listen& listener);

/// Kept, not written.
PlayedAnswer writeClaim(Play& play, const ClaimSpecText& text);
PlayedAnswer unlinkClaim(Play& play, const std::string& uid);
PlayedAnswer listClaims(const Play& play);
/// The text of a claim's spec, or one that lies on its disk besides.
PlayedAnswer openClaim(const Play& play, const std::string& uid);

}  // namespace vfiogate::test
