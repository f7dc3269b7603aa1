#include "privd/options/serve_options.h"

#include "ipc/base/kube_names.h"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <fstream>

namespace vfiogate {
namespace {

std::string checkUid(const std::string& text) {
  if (text == "0") return "plugind must not run as root: give the uid that it drops to";
  return {};
}

std::string checkRights(const std::string& text) {
  for (const std::string& right : CLI::detail::split(text, ',')) {
    if (right != "watch" && right != "kubelet" && right != "cdi" && right != "bind") {
      return "unknown right '" + right +
             "': give some of watch, kubelet, cdi, bind, with commas between";
    }
  }
  return {};
}

std::string checkPrefix(const std::string& text) {
  if (text.find('/') == std::string::npos) {
    return "'" + text + "' has no '/': give what resource names begin with, such as vfiogate.dev/";
  }
  return {};
}

std::string checkDraDriver(const std::string& text) {
  if (!isDraDriver(text)) {
    return "'" + text +
           "' is no DRA driver's name: give a lower-case DNS name that begins with a letter and "
           "has "
           "at most 63 characters, such as vfio.vfiogate.dev";
  }
  return {};
}

std::string trimmed(std::string text) {
  return CLI::detail::trim(text);
}

using Wanted = std::function<bool(const std::string&)>;

/// They are said again in errors, on terminals and in logs.
void demandPrintable(const std::string& argument) {
  if (std::ranges::all_of(argument, [](char c) { return c >= 0x20 && c < 0x7f; })) return;
  throw CLI::ValidationError("arguments", "one has a character that is not printable ASCII");
}

void appendOptions(const std::string& path, const Wanted& wanted,
                   std::vector<std::string>& arguments) {
  std::ifstream file(path);
  if (!file) throw CLI::FileError("--options: cannot read " + path);
  std::string line;
  for (int number = 1; std::getline(file, line); ++number) {
    line = trimmed(line);
    if (line.empty() || line.front() == '#') continue;
    demandPrintable(line);
    const std::size_t end = line.find_first_of(" \t=");
    const std::string name = line.substr(0, end);
    if (name.starts_with("-") || name == "options") {
      throw CLI::FileError("--options: " + path + " line " + std::to_string(number) + ": '" + name +
                           "': write long options without the dashes, and no options in options");
    }
    if (!wanted("--" + name)) continue;
    arguments.push_back("--" + name);
    if (end == std::string::npos) continue;
    const std::size_t value = std::min(line.find_first_not_of(" \t=", end), line.size());
    arguments.back() += "=" + trimmed(line.substr(value));
  }
}

}  // namespace

void addServeOptions(CLI::App& serve, ServeOptions& options) {
  // Later ones win, so that the command line can correct an options file before it.
  serve.option_defaults()->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  serve.add_option("--socket", options.socket, "where the command line reaches this daemon")
      ->capture_default_str();
  serve.add_option("--plugind", options.plugind, "the socket on which plugind listens")
      ->capture_default_str();
  serve.add_option("--plugind-uid", options.plugindUid, "the only uid taken for plugind")
      ->check(checkUid)
      ->capture_default_str();
  serve
      .add_option("--plugind-rights", options.plugindRights,
                  "what plugind may: watch, kubelet, cdi, bind")
      ->check(checkRights)
      ->capture_default_str();
  serve.add_option("--sysfs", options.sysfs, "the root below which sysfs is found")
      ->capture_default_str();
  serve.add_option("--dev", options.dev, "the root below which device nodes are looked for")
      ->capture_default_str();
  serve.add_option("--kubelet-dir", options.kubeletDir, "the kubelet's directory")
      ->capture_default_str();
  serve
      .add_option("--cdi-dir", options.cdiDir,
                  "where container runtimes look for CDI specs; made where plugind may have them")
      ->capture_default_str();
  serve
      .add_option("--state-dir", options.stateDir,
                  "the directory of what survives restarts; one a node")
      ->capture_default_str();
  serve
      .add_option("--resource-prefix", options.resourcePrefixes,
                  "what the resources that plugind may serve begin with; repeatable")
      ->check(checkPrefix)
      ->take_all()
      ->capture_default_str();
  serve
      .add_option("--dra-driver", options.draDriver,
                  "the DRA driver that plugind may be: its sockets and claims' CDI specs")
      ->check(checkDraDriver)
      ->type_name("NAME");
  serve
      .add_option("--plugind-config", options.plugindConfig,
                  "plugind's configuration: watched, and handed to plugind when it changes")
      ->type_name("FILE");
  serve.add_option("--uevents", options.uevents, "listen to the kernel's hints: on, off")
      ->check(CLI::IsMember({"on", "off"}))
      ->capture_default_str();
  serve.add_option("--rescan", options.rescanSeconds, "seconds between rereads without a hint")
      ->check(CLI::Range(1, 86400))
      ->capture_default_str();
  addAuditOption(serve, options.binding);
  addGuardOptions(serve, options.binding);
  addOverrideOption(serve, options.binding.overrides);
  addDeclareOption(serve, options.declared);
  serve.add_flag("--require-landlock", options.requireLandlock,
                 "do not start where the kernel's Landlock cannot confine this daemon's files");
  serve.add_option("--options", "file with more options: one a line, without the dashes")
      ->type_name("FILE");
}

std::vector<std::string> expandOptionFiles(const std::vector<std::string>& arguments,
                                           const Wanted& wanted) {
  std::vector<std::string> expanded;
  std::ranges::for_each(arguments, demandPrintable);
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i] == "--options" && i + 1 < arguments.size()) {
      appendOptions(arguments[++i], wanted, expanded);
    } else if (arguments[i].starts_with("--options=")) {
      appendOptions(arguments[i].substr(10), wanted, expanded);
    } else {
      expanded.push_back(arguments[i]);
    }
  }
  return expanded;
}

}  // namespace vfiogate
