#include "tests/support/test_certificates.h"

#include <cstdlib>
#include <fstream>
#include <stdexcept>

namespace vfiogate::test {
namespace {

void openssl(const std::string& arguments) {
  const std::string command = "openssl " + arguments + " >/dev/null 2>&1";
  // NOLINTNEXTLINE(cert-env33-c): names of the test's own, in a directory of its own
  if (std::system(command.c_str()) != 0) throw std::runtime_error("failed: " + command);
}

constexpr const char* kNewKey = " -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes ";

}  // namespace

TestCertificates makeCertificates(const std::filesystem::path& directory,
                                  const std::string& serverName) {
  std::filesystem::create_directories(directory);
  const auto in = [&directory](const char* name) { return (directory / name).string(); };
  openssl("req -x509" + std::string(kNewKey) + "-days 2 -subj /CN=authority -keyout " +
          in("ca.key") + " -out " + in("ca.crt"));
  openssl("req" + std::string(kNewKey) + "-subj /CN=server -keyout " + in("server.key") + " -out " +
          in("server.csr"));
  std::ofstream(in("names")) << "subjectAltName=DNS:" << serverName << "\n";
  openssl("x509 -req -days 2 -CAcreateserial -in " + in("server.csr") + " -CA " + in("ca.crt") +
          " -CAkey " + in("ca.key") + " -extfile " + in("names") + " -out " + in("server.crt"));
  return {in("ca.crt"), in("server.crt"), in("server.key")};
}

}  // namespace vfiogate::test
