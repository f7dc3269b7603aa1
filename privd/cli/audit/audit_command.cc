#include <CLI/CLI.hpp>
#include <iostream>

#include "cli/common_options.h"
#include "cli/device_name.h"
#include "privd/audit/record_end.h"
#include "privd/cli/audit/log_chain.h"
#include "privd/cli/audit/log_files.h"
#include "privd/cli/audit/record_view.h"
#include "privd/cli/audit/since.h"
#include "privd/cli/commands.h"

namespace vfiogate {
namespace {

constexpr int kNotGood = 1;

struct AuditOptions {
  std::string file = "/var/log/vfiogate/audit.jsonl";
  std::string since;
  std::string device;
  std::string anchor;
  std::string form;
};

int failAudit(const char* command, const std::string& what) {
  std::cerr << "privd audit " << command << ": " << what << "\n";
  return kNotGood;
}

/// Calls `take(file, number, line)` for all lines of the log, the oldest first. Error: in words.
template <typename Take>
Result<std::vector<LogFile>, std::string> forEachLine(const std::string& path, Take take) {
  auto files = openLog(path);
  if (!files) return files;
  for (std::size_t i = 0; i < files->size(); ++i) {
    const LogFile& file = (*files)[i];
    const auto read = readLines(
        file, [&](std::uint64_t number, std::string_view line) { take(i, file, number, line); });
    if (!read) return Failure{read.error()};
  }
  return files;
}

std::string placeOf(const LogFile& file, std::uint64_t number) {
  return file.path + " line " + std::to_string(number);
}

/// A list, written as it grows: a log may be long.
class ListPrinter {
public:
  explicit ListPrinter(bool yaml) : yaml_(yaml) {}

  void add(const nlohmann::ordered_json& item) {
    if (yaml_) {
      std::cout << documentText(nlohmann::ordered_json::array({item}), "yaml");
    } else {
      std::cout << (isEmpty_ ? "[\n" : ",\n")
                << item.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
    }
    isEmpty_ = false;
  }
  void end() const {
    if (isEmpty_) {
      std::cout << "[]\n";
    } else if (!yaml_) {
      std::cout << "\n]\n";
    }
  }

private:
  bool yaml_;
  bool isEmpty_ = true;
};

int showRecords(const AuditOptions& options, const RecordFilter& filter) {
  RecordPicker picker(filter);
  const std::int64_t now = secondsSince1970();
  std::vector<std::vector<Cell>> rows;
  ListPrinter list(options.form == "yaml");
  const auto read = forEachLine(options.file, [&](std::size_t, const LogFile& file,
                                                  std::uint64_t number, std::string_view line) {
    const auto record = parseRecord(line);
    if (record && !picker.wants(*record)) return;
    if (isDocument(options.form)) {
      list.add(record
                   ? *record
                   : nlohmann::ordered_json{{"kind", "no record"}, {"at", placeOf(file, number)}});
    } else {
      rows.push_back(record ? recordRow(*record, now) : brokenRow(placeOf(file, number)));
    }
  });
  if (!read) return failAudit("show", read.error());
  if (isDocument(options.form)) {
    list.end();
  } else {
    std::cout << formatTable(recordColumns(), rows, terminalWidth(), wantsColours());
  }
  return 0;
}

int printHead(const AuditOptions& options) {
  std::string head;
  bool isLast = false;
  const auto read = forEachLine(
      options.file, [&](std::size_t, const LogFile&, std::uint64_t, std::string_view line) {
        const auto end = recordEnd(line);
        isLast = end && hashIsOwn(*end);
        if (isLast) head = std::to_string(end->sequence) + ":" + std::string(end->hash);
      });
  if (!read) return failAudit("head", read.error());
  if (head.empty()) return failAudit("head", options.file + ": no record");
  if (!isLast) std::cerr << "privd audit head: what stands behind this record is none\n";
  std::cout << head << "\n";
  return 0;
}

void printKnowledge(const ChainReport& report, const std::optional<AuditHead>& anchor) {
  for (const std::string& remark : report.remarks) std::cout << "remark: " << remark << "\n";
  std::cout << "checked: the hash of each record, and that each names its predecessor's\n";
  if (report.anchored) {
    std::cout << "anchor: record " << anchor->sequence
              << " is the one that the anchor names; up to it nothing was changed since\n"
              << "cannot know: whether root wrote anew, or cut off, what is younger than the "
                 "anchor\n";
  } else if (!anchor) {
    std::cout << "cannot know: whether records were cut off at the end, or root wrote everything "
                 "anew; give --anchor a head that was kept elsewhere (event=audit_head)\n";
  }
}

int verifyLog(const AuditOptions& options, const std::optional<AuditHead>& anchor) {
  std::vector<ChainLine> lines;
  const auto files = forEachLine(options.file, [&](std::size_t index, const LogFile&,
                                                   std::uint64_t number, std::string_view line) {
    lines.push_back(examine(line));
    lines.back().file = static_cast<std::uint32_t>(index);
    lines.back().line = number;
  });
  if (!files) return failAudit("verify", files.error());
  const ChainReport report = verifyChain(lines, anchor);
  if (report.bad) {
    const bool hasPlace = report.bad->at < lines.size();
    const std::string place =
        hasPlace ? placeOf((*files)[lines[report.bad->at].file], lines[report.bad->at].line)
                 : options.file;
    std::cout << "not good: " << place << ", record " << report.bad->sequence << ": "
              << nameOf(report.bad->fault) << ": " << report.bad->why << "\n";
  }
  std::cout << (report.bad ? "before that: " : "good: ") << report.good << " records";
  if (report.good > 0) std::cout << ", " << report.first << " to " << report.last;
  std::cout << ", in " << files->size() << (files->size() == 1 ? " file\n" : " files\n");
  printKnowledge(report, anchor);
  return report.bad ? kNotGood : 0;
}

RecordFilter filterOf(const AuditOptions& options) {
  RecordFilter filter;
  timespec now = {};
  clock_gettime(CLOCK_REALTIME, &now);
  if (!options.since.empty()) {
    const auto since = timeSince(options.since, now.tv_sec * std::int64_t{1'000'000'000});
    if (!since) {
      throw CLI::ValidationError("--since", "write 2026-11-22T05:35:09Z, or 30m, 2h, 1d");
    }
    filter.since = *since;
  }
  if (!options.device.empty()) {
    const auto device = findDevice(options.device, "/sys");
    if (!device) throw CLI::ValidationError("--device", device.error());
    filter.device = *device;
  }
  return filter;
}

}  // namespace

void addAuditCommand(CLI::App& app, int& exitCode) {
  CLI::App* audit = app.add_subcommand("audit", "reads and checks the log of what was changed");
  audit->require_subcommand(1);
  const auto options = std::make_shared<AuditOptions>();
  const auto add = [&](const char* name, const char* help) {
    CLI::App* command = audit->add_subcommand(name, help);
    command
        ->add_option("FILE,--audit-log", options->file,
                     "the log; files rotated away from it (FILE.1, ...) are read with it")
        ->capture_default_str();
    return command;
  };
  CLI::App* records = add("show", "the records, the oldest first");
  records->add_option("--since", options->since, "RFC 3339, or an age: 30m, 2h, 1d")
      ->type_name("TIME");
  records->add_option("--device", options->device, "only what is about this device")
      ->type_name("ADDRESS");
  addOutputForm(*records, options->form, {"table", "json", "yaml"});
  records->callback(
      [options, &exitCode]() { exitCode = showRecords(*options, filterOf(*options)); });
  add("head", "the last record as SEQ:HASH, to be kept elsewhere as an anchor")
      ->callback([options, &exitCode]() { exitCode = printHead(*options); });
  CLI::App* verify =
      add("verify", "whether anything was edited, removed, inserted, reordered or torn");
  verify->add_option("--anchor", options->anchor, "a head that was kept elsewhere")
      ->type_name("SEQ:HASH");
  verify->callback([options, &exitCode]() {
    const auto anchor = parseAnchor(options->anchor);
    if (!anchor && !options->anchor.empty()) {
      throw CLI::ValidationError("--anchor", "write SEQ:HASH, as `privd audit head` does");
    }
    exitCode = verifyLog(*options, anchor);
  });
}

}  // namespace vfiogate
