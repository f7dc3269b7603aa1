#include "plugind/loop/state_loop.h"

#include "plugind/base/log_line.h"
#include "plugind/config/config.h"
#include "plugind/config/settings_review.h"
#include "plugind/control/status_json.h"
#include "plugind/core/ledger/frames/frames.h"
#include "plugind/core/ledger/frames/offers.h"
#include "plugind/core/status/explanation.h"
#include "plugind/loop/kubelet_reader.h"

#include <kj/debug.h>
#include <kj/vector.h>

#include <algorithm>
#include <chrono>
#include <utility>

namespace vfiogate {
namespace {

/// While the kubelet's memory cannot be read at the start.
constexpr auto kBeginPause = 1 * kj::SECONDS;
/// Before a status says what was seen last: who asks waits 100 ms.
constexpr auto kLongestStatusReread = 50 * kj::MILLISECONDS;

LedgerSettings ledgerSettings(const Settings& settings) {
  LedgerSettings wanted;
  wanted.grace = settings.grace;
  wanted.allocateWait = settings.allocateWait;
  wanted.bindDeadline = settings.bindDeadline;
  wanted.emptyResourceAfter = settings.emptyResourceAfter;
  wanted.holdDown = settings.holdDown;
  wanted.refusalDetail = settings.refusalDetail;
  return wanted;
}

ModelNames modelNames(const Node& node) {
  return node.products != nullptr ? ModelNames(node.products) : ModelNames();
}

template <typename T>
std::string wordsOf(const Result<T, std::string>& read) {
  return read ? "read" : read.error();
}

/// Names what of privd should be connected and is not; none where nothing of it is.
std::vector<std::string> missingOf(const std::vector<PrivdRole>& away, bool wantsBinder) {
  std::vector<std::string> missing;
  if (away.size() == kPrivdRoles) return missing;
  for (const PrivdRole role : away) {
    // Where nobody wants to bind, or to select by serial, there need not be a binder.
    if (role != PrivdRole::kBinder || wantsBinder) {
      missing.push_back(std::string("privd-") + nameOf(role));
    }
  }
  return missing;
}

}  // namespace

StateLoop::StateLoop(Settings settings, PrivdLink& privd, const LoopDeps& loop,
                     LedgerJournal& journal, Node node)
    : settings_(std::move(settings)),
      privd_(privd),
      loop_(loop),
      journal_(journal),
      node_(std::move(node)),
      models_(modelNames(node_)),
      ledger_(ledgerSettings(settings_)),
      allocated_(privd),
      changes_(privd, loop.timer,
               [this](EndedChange change) {
                 news_.changes.push_back(std::move(change));
                 advance();
               }),
      specs_(privd, loop.timer, [this]() { advance(); }),
      serials_(privd, loop.timer, [this]() { sortAgain(); }),
      resources_(*this, privd, loop, node_.kubeletUid),
      memory_(privd, loop.timer, memoryListener(), [this]() { return resources_.resend(); }),
      alarm_(loop.timer, [this]() { carryOut(ledger_.tick(now())); }),
      tasks_(*this) {
  tasks_.add(loop_.taskQueue->run(loop_.port));
}

StateLoop::~StateLoop() noexcept(false) {
  loop_.taskQueue->close();
}

MemoryListener StateLoop::memoryListener() {
  return {
      .listRead = [this](const PodList& list,
                         Instant asked) { carryOut(ledger_.listRead(list, asked, now())); },
      .versionRead =
          [this](const CheckpointVersion& version, bool inReconcile, std::optional<Instant> asked) {
            carryOut(ledger_.versionRead(version, inReconcile, now(), asked));
          },
      .reconcileEnded =
          [this](bool proved) {
            metrics_.reconcileEnded(proved);
            carryOut(ledger_.reconcileEnded(proved, now()));
          }};
}

Moment StateLoop::now() const {
  std::uniform_int_distribution<std::uint16_t> draw;
  return {std::chrono::steady_clock::now(), std::chrono::system_clock::now(), draw(loop_.random)};
}

void StateLoop::hardwareSeen(const Snapshot& snapshot) {
  news_.hardware = snapshot;
  specs_.privdCame();
  advance();
}

void StateLoop::advance() {
  const Settings& settings = news_.settings ? *news_.settings : settings_;
  if (settings.naming == Naming::kPciIds && !namesRead_) return readNames();
  const Snapshot& hardware = news_.hardware ? *news_.hardware : ledger_.state().hardware.snapshot;
  const bool there = hardwareKnown_ || news_.hardware;
  if (there) serials_.seen(settings, hardware);
  ResourceCatalog catalog = sortIntoResources(settings, hardware, models_, serials_.numbers());
  if (there) serials_.sorted(catalog);
  if (!specs_.settle(planSpecs(catalog, hardware, ledger_.state().records, specs_.plan()))) return;
  const News news = std::exchange(news_, {});
  if (news.settings) applySettings(*news.settings);
  if (news.hardware) {
    applyHardware(*news.hardware, std::move(catalog));
  } else if (specs_.specs() != ledger_.state().hardware.specs) {
    carryOut(ledger_.specsSeen(specs_.specs(), now()));
    if (ledger_.begun()) show(ledger_.frames());
  }
  for (const EndedChange& change : news.changes) tellEnd(change);
}

void StateLoop::sortAgain() {
  if (!news_.hardware && hardwareKnown_) news_.hardware = ledger_.state().hardware.snapshot;
  advance();
}

void StateLoop::readNames() {
  if (!hardwareKnown_ && !news_.hardware) return;  // privd is away
  if (std::exchange(readingNames_, true)) return;
  tasks_.add(memory_.reader()
                 .version()
                 .then([this](const Result<CheckpointVersion, SocketRefusal>& version) {
                   if (!version && !version.error().absent) return listNames(version.error().why);
                   keepNames(version ? *version : CheckpointVersion());
                   return kj::Promise<void>(kj::READY_NOW);
                 })
                 .then([this]() {
                   readingNames_ = false;
                   advance();
                 }));
}

kj::Promise<void> StateLoop::listNames(const std::string& why) {
  return memory_.reader().list().then(
      [this, why](const Result<PodList, std::string>& list) -> kj::Promise<void> {
        if (list) {
          keepNames(*list);
          return kj::READY_NOW;
        }
        logWarning(LogEvent::kAdoptionWaits, {{"checkpoint", why}, {"list", list.error()}});
        return loop_.timer.afterDelay(kBeginPause);
      });
}

template <typename Memory>
void StateLoop::keepNames(const Memory& memory) {
  if (!hardwareKnown_ && !news_.hardware) return;  // privd went meanwhile
  namesRead_ = true;
  const Snapshot& hardware = news_.hardware ? *news_.hardware : ledger_.state().hardware.snapshot;
  const Settings& settings = news_.settings ? *news_.settings : settings_;
  models_.keep(keptNames(settings, hardware, memory, models_));
  for (const auto& [model, name] : models_.kept()) {
    const std::string made = models_.nameOf(Naming::kPciIds, model);
    if (name.str().ends_with("/" + made)) continue;
    logInfo(LogEvent::kNameKept, {{"resource", name.str()}, {"pci_ids", made}});
  }
}

void StateLoop::tellEnd(const EndedChange& change) {
  carryOut(change.isBind ? ledger_.bindEnded(change.group, change.outcome, now())
                         : ledger_.returnEnded(change.group, change.outcome, now()));
}

void StateLoop::allocationsTold(const RecordedAllocations& recorded) {
  recorded_ = recorded;
}

void StateLoop::rightToBindTold(RightToBind right) {
  changes_.rightTold(right, bindsAny(settings_));
  serials_.binderChanged();
}

void StateLoop::applySettings(const Settings& settings) {
  settings_ = settings;
  logInfo(LogEvent::kConfigApplied, {{"resources", settings_.resources.size()}});
  const Snapshot& hardware = ledger_.state().hardware.snapshot;
  carryOut(ledger_.reconfigured(ledgerSettings(settings_),
                                sortIntoResources(settings_, hardware, models_, serials_.numbers()),
                                specs_.specs(), now()));
  changes_.wantedNow(bindsAny(settings_));
}

void StateLoop::applyHardware(const Snapshot& hardware, ResourceCatalog catalog) {
  if (!std::exchange(hardwareKnown_, true)) logInfo(LogEvent::kAllocationOpened);
  HardwareFacts facts = factsOf(hardware, changes_.right() == RightToBind::kGiven);
  facts.binderAway = changes_.right() == RightToBind::kBinderAway;
  facts.bootId = node_.bootId;
  facts.serials = serials_.numbers().known();
  facts.specs = specs_.specs();
  carryOut(ledger_.hardwareSeen(std::move(facts), std::move(catalog), now()));
  begin();
}

void StateLoop::privdWent() {
  news_.hardware.reset();
  news_.changes.clear();
  specs_.privdWent();
  serials_.privdWent();
  if (!std::exchange(hardwareKnown_, false)) return;  // nothing was ever shown
  allocated_.privdWent();
  carryOut(ledger_.privdWent(now()));
}

void StateLoop::socketsAvailable() {
  resources_.socketsCame();
  if (claims_ != nullptr) claims_->socketsCame();
  begin();
}

void StateLoop::kubeletAppeared(const KubeletIdentity& kubelet) {
  carryOut(ledger_.kubeletSeen(kubelet, now()));
  // It may be privd that is back and says who is there.
  if (std::exchange(kubelet_, kubelet) != kubelet) {
    if (ledger_.begun()) memory_.readBeginning();  // it writes it anew once we register
    resources_.kubeletCame();
  }
  begin();
}

void StateLoop::podResourcesAppeared() {
  begin();
}

void StateLoop::checkpointReplaced() {
  memory_.checkpointReplaced();
  if (!ledger_.begun()) return begin();
  memory_.readVersion();
}

void StateLoop::configurationPosted(const std::string& text) {
  auto posted = parseConfig(text, "the configuration");
  const auto restart =
      posted ? refuseReload(settings_, posted->settings, node_.products != nullptr) : std::nullopt;
  metrics_.configurationPosted(posted.has_value() && !restart);
  if (!posted) {
    for (const ConfigRemark& problem : posted.error()) {
      logError(LogEvent::kConfigRefused,
               {{"why", problem.str()}, {"then", "the one in effect stays"}});
    }
    return;
  }
  if (restart) {
    return logError(LogEvent::kConfigRefused,
                    {{"why", *restart}, {"then", "the one in effect stays"}});
  }
  for (const ConfigRemark& warning : posted->warnings) {
    logWarning(LogEvent::kConfigWarning, {{"why", warning.str()}});
  }
  if (posted->settings == (news_.settings ? *news_.settings : settings_)) return;
  news_.settings = posted->settings;
  advance();
}

void StateLoop::begin() {
  if (ledger_.begun() || beginning_ || !hardwareKnown_) return;
  beginning_ = true;
  tasks_.add(readStartMemory().attach(kj::defer([this]() { beginning_ = false; })));
}

kj::Promise<void> StateLoop::readStartMemory() {
  return readStart(memory_.reader(), privd_)
      .then([this](const StartReadings& read) -> kj::Promise<void> {
        StartMemory memory;
        if (read.version) memory.version = *read.version;
        memory.noCheckpoint = !read.version && read.version.error().absent;
        if (read.list) memory.list = *read.list;
        memory.recorded = recorded_;
        if (read.claims) {
          memory.specs = *read.claims;
          carryOut(ledger_.begin(memory, now()));
        }
        const std::string checkpoint = read.version ? "read" : read.version.error().why;
        if (ledger_.begun()) {
          logInfo(LogEvent::kAdopting, {{"checkpoint", checkpoint},
                                        {"list", wordsOf(read.list)},
                                        {"claims", wordsOf(read.claims)}});
          memory_.readVersion();  // what this kubelet's memory began with, where it is older
          show(ledger_.frames());
          if (claims_ != nullptr) claims_->begun();
          return kj::READY_NOW;
        }
        logWarning(LogEvent::kAdoptionWaits, {{"checkpoint", checkpoint},
                                              {"list", wordsOf(read.list)},
                                              {"claims", wordsOf(read.claims)}});
        return loop_.timer.afterDelay(kBeginPause).then([this]() {
          return hardwareKnown_ ? readStartMemory() : kj::Promise<void>(kj::READY_NOW);
        });
      });
}

void StateLoop::carryOut(Effects effects) {
  for (const JournalEvent& event : effects.journal) {
    journal_.write(event);
    metrics_.count(event);
  }
  if (effects.allocated) allocated_.set(*effects.allocated);
  for (const auto& [group, note] : effects.alsoAllocated) allocated_.add(group, note);
  if (effects.releaseOthers) allocated_.adopted();
  if (ledger_.begun()) show(effects.frames);
  resources_.wantPreStart(
      [this](const ResourceName& name) { return wantsPreStart(ledger_.state(), name); });
  for (const ResourceName& resource : effects.ended) resources_.end(resource);
  for (const Answer& each : effects.answers) answer(each);
  for (const UseQuestion& question : effects.questions) ask(question);
  for (const IommuGroupId group : effects.binds) changes_.bind(group);
  for (const IommuGroupId group : effects.returns) changes_.giveBack(group);
  if (effects.beginReconcile) memory_.beginReconcile();
  if (effects.askList) memory_.askList();
  if (claims_ != nullptr) claims_->carryOut(effects);
  // What a spec was kept for may be over.
  if (specs_.plan().keepsForHolders && !effects.journal.empty()) {
    tasks_.add(kj::evalLater([this]() { advance(); }));
  }
  alarm_.set(ledger_.nextDeadline());
}

void StateLoop::ask(const UseQuestion& question) {
  auto read =
      question.probe ? privd_.rereadAndProbe(question.group) : privd_.reread(question.group);
  tasks_.add(read.then([this, question](GroupReading reading) {
    carryOut(ledger_.groupRead(question.group, reading, question.call, now()));
  }));
}

PluginStatus StateLoop::status() const {
  PluginStatus status = statusOf(ledger_.state(), resources_.facts());
  status.build = node_.build;
  status.privdMissing = missingOf(privd_.away(), bindsAny(settings_) || wantsSerials(settings_));
  if (claims_ != nullptr) status.dra = claims_->status();
  return status;
}

kj::Promise<std::string> StateLoop::statusJson() {
  // Opening a device is no event of the kernel's: else privd would see it at its next rescan.
  kj::Vector<kj::Promise<void>> rereads;
  for (const auto& [held, note] : ledger_.state().told) {
    rereads.add(privd_.reread(held).then([this, group = held](GroupReading reading) {
      carryOut(ledger_.groupRead(group, reading, std::nullopt, now()));
    }));
  }
  auto reread = kj::joinPromises(rereads.releaseAsArray()).fork();
  // What comes too late for this answer is there for the next.
  statusReread_ = reread.addBranch().eagerlyEvaluate(nullptr);
  return reread.addBranch()
      .exclusiveJoin(loop_.timer.afterDelay(kLongestStatusReread))
      .then([this]() { return textOf(toJson(status(), now())); });
}

std::string StateLoop::explainJson(const UnitId& address) const {
  return textOf(toJson(explain(settings_, ledger_.state(), address)));
}

kj::Promise<std::string> StateLoop::metricsText() {
  return privd_.discovery().then([this](const std::optional<DiscoveryCounts>& counts) {
    if (counts) discovery_ = *counts;
    return metrics_.text(status(), discovery_);
  });
}

PluginReadiness StateLoop::readiness() const {
  return readinessOf(status());
}

void StateLoop::taskFailed(kj::Exception&& exception) {
  logError(LogEvent::kTaskFailed, {{"task", "state_loop"}, {"why", kj::str(exception).cStr()}});
}

}  // namespace vfiogate
