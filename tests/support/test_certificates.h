#pragma once
// An authority and a server's certificate, made anew for each test with the `openssl` program.

#include <filesystem>
#include <string>

namespace vfiogate::test {

/// Files in PEM, readable by everybody.
struct TestCertificates {
  std::string ca;
  std::string certificate;  ///< of the server, signed by `ca`
  std::string key;
};

/// Makes them in `directory`, for a server of this DNS name. Throws where there is no openssl.
TestCertificates makeCertificates(const std::filesystem::path& directory,
                                  const std::string& serverName = "kubernetes.default.svc");

}  // namespace vfiogate::test
