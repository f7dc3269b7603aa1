#include "plugind/cli/command_line.h"

#include "cli/common_options.h"
#include "cli/device_name.h"
#include "cli/usage.h"
#include "seccomp/print_policy.h"

#include <CLI/CLI.hpp>

#include <optional>
#include <sstream>
#include <string_view>
#include <vector>

namespace vfiogate {
namespace {

constexpr unsigned kPatienceMs = 100;
/// A probe that fails may cost a restart: a busy machine is no reason for it.
constexpr unsigned kProbePatienceMs = 1000;

void addOptions(CLI::App& app, CommandLine& line, bool& checkConfig) {
  app.add_option("--listen", line.listen, "the socket that privd dials")->capture_default_str();
  app.add_option("--pci-ids", line.pciIds,
                 "what models are called, with naming: pci-ids and in the DRA driver's pool")
      ->capture_default_str();
  app.add_option("--config", line.configFile, "configuration, a YAML file");
  app.add_flag("--check-config", checkConfig,
               "print the configuration as it takes effect, or what is wrong with it");
  addUserOption(app, "UID[:GID] to become before listening, in numbers [64532:64532]",
                [&line](uid_t uid, gid_t gid) {
                  line.user = {uid, gid};
                });
  addLogFormat(app, line.logForm);
  CLI::Option* netd = app.add_option("--netd-uid", line.netdUid,
                                     "the user of netd, who may ask for metrics and readiness")
                          ->capture_default_str();
  takeNumber(*netd, "UID", "uid", 1, ~0U - 1);
  CLI::Option* hardware =
      app.add_option("--hardware-uid", line.hardwareUid,
                     "the user of privd-hardware, which tells what devices there are")
          ->capture_default_str();
  takeNumber(*hardware, "UID", "uid", 1, ~0U - 1);
}

/// What every question to the running plugind takes.
void addAskOptions(CLI::App& command, CommandLine& line, unsigned patienceMs) {
  command.fallthrough();  // --listen and --user may stand behind it
  command.preparse_callback([&line, patienceMs](std::size_t /*arguments*/) {
    line.timeout = std::chrono::milliseconds(patienceMs);
  });
  CLI::Option* timeout = command.add_option_function<unsigned>(
      "--timeout", [&line](unsigned wanted) { line.timeout = std::chrono::milliseconds(wanted); },
      "how long to wait for the answer [" + std::to_string(patienceMs) + "]");
  takeNumber(*timeout, "MILLISECONDS", "number of milliseconds", 1, 60'000);
}

CLI::Option* addAddress(CLI::App& command, CommandLine& line, const std::string& help) {
  return command.add_option_function<std::string>(
      "ADDRESS",
      [&line](const std::string& text) {
        const auto device = findUnit(text, "/sys");
        if (!device) throw CLI::ValidationError("ADDRESS", device.error());
        line.address = *device;
      },
      help);
}

void addExplain(CLI::App& app, CommandLine& line) {
  CLI::App* explain = app.add_subcommand(
      "explain", "which resource a device falls into and what the kubelet sees of it, and why");
  addAddress(*explain, line, kUnitHelp)->required();
  addOutputForm(*explain, line.form, {"table", "json", "yaml"});
  addAskOptions(*explain, line, kPatienceMs);
  explain->callback([&line]() { line.act = CommandLine::Act::kExplain; });
}

void addStatus(CLI::App& app, CommandLine& line) {
  CLI::App* status = app.add_subcommand(
      "status",
      "what the running plugind allocates to whom, and how it stands with privd and kubelet");
  addOutputForm(*status, line.form, {"table", "json", "yaml", "metrics", "svg"});
  addAskOptions(*status, line, kPatienceMs);
  status->callback([&line]() { line.act = CommandLine::Act::kStatus; });
}

void addProbe(CLI::App& app, CommandLine& line) {
  CLI::App* probe = app.add_subcommand(
      "probe",
      "exit code 0 if the running plugind is ready, else 1; prints why. Of a device: 0 if "
      "it is offered");
  addAddress(*probe, line, std::string("of one device instead: ") + kUnitHelp);
  addAskOptions(*probe, line, kProbePatienceMs);
  CLI::Option* wait = probe->add_option_function<unsigned>(
      "--wait", [&line](unsigned wanted) { line.wait = std::chrono::milliseconds(wanted); },
      "look again until it is so, for at most so long [0]");
  takeNumber(*wait, "MILLISECONDS", "number of milliseconds", 0, 60'000);
  probe->callback([&line]() { line.act = CommandLine::Act::kProbe; });
}

void addFragment(CLI::App& app, CommandLine& line) {
  CLI::App* fragment = app.add_subcommand(
      "fragment", "configuration of KubeVirt or Kata for the resources that are served now");
  takeOneOf(*fragment->add_option("FOR", line.fragment, "kubevirt or kata")
                 ->type_name("TEXT:{kubevirt,kata}")
                 ->required(),
            "consumer", {"kubevirt", "kata"});
  addAskOptions(*fragment, line, kPatienceMs);
  fragment->callback([&line]() { line.act = CommandLine::Act::kFragment; });
}

void addPartitions(CLI::App& app, CommandLine& line) {
  CLI::App* partitions = app.add_subcommand(
      "partitions",
      "sets for the configuration, from NVIDIA Fabric Manager's partition table; asks nobody");
  partitions
      ->add_option("FILE", line.partitionTable, "what `fmpm -l` printed; - for standard input")
      ->required();
  partitions
      ->add_option_function<std::vector<std::string>>(
          "--module",
          [&line](const std::vector<std::string>& texts) {
            for (const std::string& text : texts) {
              const auto module = moduleIn(text);
              if (!module) {
                throw CLI::ValidationError(
                    "--module",
                    "found \"" + text + "\"" + "; write ID=ADDRESS, such as 1=0000:17:00.0");
              }
              line.partitions.modules.insert(*module);
            }
          },
          "address of the GPU with this Module ID, where the table has none")
      ->type_name("ID=ADDRESS");
  partitions
      ->add_option_function<std::string>(
          "--name",
          [&line](const std::string& text) {
            const auto name = ResourceName::parse(text);
            if (!name || !ResourceName::parse(text + "_64")) {
              throw CLI::ValidationError("--name", "found \"" + text + "\"" +
                                                       "; write PREFIX/NAME, such as "
                                                       "vfiogate.dev/h100");
            }
            line.partitions.resource = *name;
          },
          "resource of the partitions of N GPUs, with _N added [vfiogate.dev/gpus]")
      ->type_name("NAME");
  partitions->callback([&line]() { line.act = CommandLine::Act::kPartitions; });
}

const std::string kSelfTestHelp =
    "run plugind in a child under its filter, beside a kubelet and a privd that are played, on "
    "scratch sockets; prints the call that was killed";

void addPolicy(CLI::App& app, CommandLine& line) {
  CLI::App* policy = app.add_subcommand(
      "policy", "the system calls that plugind may make; and whether it can live with them here");
  addOutputForm(*policy, line.policyForm, {kPolicyForms.begin(), kPolicyForms.end()});
  policy->add_flag("--self-test", kSelfTestHelp);
  policy->callback([&line, policy]() {
    line.act = CommandLine::Act::kPrintPolicy;
    if (policy->count("--self-test") == 0) return;
    checkSelfTestForm(line.policyForm);
    line.act = CommandLine::Act::kSelfTest;
  });
}

EarlyEnd endBy(const CLI::App& app, const CLI::ParseError& error) {
  std::ostringstream out;
  std::ostringstream err;
  const int code = app.exit(error, out, err);
  if (code == 0) return {0, out.str()};
  return {kExitUsage, usageError(app, error)};
}

}  // namespace

Result<CommandLine, EarlyEnd> readCommandLine(int argc, const char* const* argv,
                                              const BuildInfo& build) {
  if (!arePrintable(argc, argv)) {
    return Failure{EarlyEnd{kExitUsage, std::string("plugind: ") + kUnprintableArgument + "\n"}};
  }
  CommandLine line{.build = build};
  bool checkConfig = false;
  CLI::App app("Allocates PCI devices to the kubelet's pods, one IOMMU group at a time.",
               "plugind");
  app.footer(exitStatusText(false));
  app.set_version_flag("--version", std::string(build.text));
  addOptions(app, line, checkConfig);
  addPolicy(app, line);
  addStatus(app, line);
  addExplain(app, line);
  addProbe(app, line);
  addFragment(app, line);
  addPartitions(app, line);
  putBehind(app, {"policy", "fragment", "partitions", "--pci-ids", "--user", "--netd-uid",
                  "--hardware-uid", "--timeout"});
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return Failure{endBy(app, error)};
  }
  if (checkConfig) line.act = CommandLine::Act::kCheckConfig;
  return line;
}

}  // namespace vfiogate
