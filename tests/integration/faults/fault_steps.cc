#include "tests/integration/faults/fault_steps.h"

#include "ipc/gate/gate_answers.h"
#include "ipc/schema/helper.capnp.h"

#include <sys/syscall.h>

#include <algorithm>

namespace vfiogate::test {
namespace {

using Kind = RpcMessage::Kind;

/// Streams of a connection that the kubelet dials: it asks for options first, then watches.
constexpr std::uint32_t kOptions = 1;
constexpr std::uint32_t kWatch = 3;
constexpr std::uint32_t kFirstCall = 5;

struct Method {
  std::uint64_t interface;
  std::uint16_t ordinal;
};
constexpr Method kReread{capnp::typeId<schema::GroupControl>(), 0};

bool hasFrame(const Sight& sight, std::uint8_t type, std::uint32_t from, std::uint32_t to) {
  return std::ranges::any_of(sight.frames, [&](const HttpFrame& frame) {
    return frame.type == type && frame.stream >= from && frame.stream <= to;
  });
}

bool hasCallHead(const Sight& sight) {
  return hasFrame(sight, HttpFrame::kHeaders, kFirstCall, UINT32_MAX);
}

/// plugind's, over this channel, in this direction.
bool isPlugind(const Sight& sight, Channel channel, bool sends, bool returned) {
  return sight.who == Victim::kPlugind && sight.moved && sight.moved->channel == channel &&
         sight.moved->sends == sends && sight.call.returned == returned;
}

bool isAsked(const Sight& sight, const Method& method) {
  if (!isPlugind(sight, Channel::kPrivilege, true, true)) return false;
  return std::ranges::any_of(sight.messages, [&](const RpcMessage& message) {
    return message.kind == Kind::kCall && message.interface == method.interface &&
           message.method == method.ordinal;
  });
}

/// The hardware process is about to send the answer.
bool isAnswered(const Sight& sight, const Questions& open, const Method& method) {
  if (sight.who != Victim::kHardware || sight.call.returned) return false;
  return std::ranges::any_of(sight.messages, [&](const RpcMessage& message) {
    if (message.kind != Kind::kReturn) return false;
    const auto asked = open.ofHardware.find(message.question);
    return asked != open.ofHardware.end() && asked->second.interface == method.interface &&
           asked->second.method == method.ordinal;
  });
}

using Asks = bool (*)(const gate::Request&);

template <typename Request>
bool isA(const gate::Request& request) {
  return std::holds_alternative<Request>(request);
}

bool opensCheckpoint(const gate::Request& request) {
  const auto* open = std::get_if<gate::Open>(&request);
  return open != nullptr && open->file == gate::Open::File::kCheckpoint;
}

bool isAskedOfGate(const Sight& sight, Asks asks) {
  return sight.call.returned && sight.request && asks(*sight.request);
}

/// The gate is about to send the answer.
bool isAnsweredByGate(const Sight& sight, const Questions& open, Asks asks) {
  return !sight.call.returned && sight.gateAnswers && open.ofGate && asks(*open.ofGate);
}

bool isConnected(const Sight& sight, std::string_view directory) {
  return sight.who == Victim::kGate && sight.call.number == SYS_connect && sight.call.returned &&
         sight.call.result == 0 && pathOf(sight.call).find(directory) != std::string::npos;
}

bool isListen(const Sight& sight, bool returned) {
  return sight.who == Victim::kGate && sight.call.number == SYS_listen &&
         sight.call.returned == returned;
}

bool writesFrame(const Sight& sight, bool returned) {
  return isPlugind(sight, Channel::kPlugin, true, returned) &&
         hasFrame(sight, HttpFrame::kData, kWatch, kWatch);
}

bool isReceived(const Sight& sight) {
  return isPlugind(sight, Channel::kPlugin, false, true) && hasCallHead(sight);
}

bool isBeforeReply(const Sight& sight) {
  return isPlugind(sight, Channel::kPlugin, true, false) && hasCallHead(sight);
}

bool isReplied(const Sight& sight) {
  return isPlugind(sight, Channel::kPlugin, true, true) && hasCallHead(sight);
}

constexpr auto kPrivd = Victim::kPrivd;
constexpr auto kHardware = Victim::kHardware;
constexpr auto kBinder = Victim::kBinder;
constexpr auto kGate = Victim::kGate;
constexpr auto kPlugind = Victim::kPlugind;
constexpr auto kKubelet = Victim::kKubelet;

std::vector<Step> registrationSteps() {
  constexpr auto kOp = Operation::kRegister;
  return {
      {"dialled",
       kOp,
       [](const Sight& s, const Questions&) { return isConnected(s, "/device-plugins/"); },
       {}},
      {"before listen",
       kOp,
       [](const Sight& s, const Questions&) { return isListen(s, false); },
       {}},
      {"after listen",
       kOp,
       [](const Sight& s, const Questions&) { return isListen(s, true); },
       {kPrivd}},
      {"listener unanswered",
       kOp,
       [](const Sight& s, const Questions& open) {
         return isAnsweredByGate(s, open, isA<gate::Listen>);
       },
       {kGate}},
      {"Register sent",
       kOp,
       [](const Sight& s, const Questions&) {
         return isPlugind(s, Channel::kRegistration, true, true) &&
                hasFrame(s, HttpFrame::kHeaders, 1, UINT32_MAX);
       },
       {kPlugind}},
      {"options asked",
       kOp,
       [](const Sight& s, const Questions&) {
         return isPlugind(s, Channel::kPlugin, true, false) &&
                hasFrame(s, HttpFrame::kHeaders, kOptions, kOptions);
       },
       {}},
      {"Register answered",
       kOp,
       [](const Sight& s, const Questions&) {
         return isPlugind(s, Channel::kRegistration, false, true) &&
                hasFrame(s, HttpFrame::kHeaders, 1, UINT32_MAX);
       },
       {}},
      {"ListAndWatch opened",
       kOp,
       [](const Sight& s, const Questions&) {
         return isPlugind(s, Channel::kPlugin, false, true) &&
                hasFrame(s, HttpFrame::kHeaders, kWatch, kWatch);
       },
       {kKubelet}},
      {"first frame",
       kOp,
       [](const Sight& s, const Questions&) { return writesFrame(s, false); },
       {kPlugind}},
  };
}

std::vector<Step> allocateSteps() {
  constexpr auto kOp = Operation::kAllocate;
  return {
      {"received", kOp, [](const Sight& s, const Questions&) { return isReceived(s); }, {}},
      {"record asked",
       kOp,
       [](const Sight& s, const Questions&) { return isAskedOfGate(s, isA<gate::Allocate>); },
       {kGate}},
      {"on file, unanswered",
       kOp,
       [](const Sight& s, const Questions& open) {
         return isAnsweredByGate(s, open, isA<gate::Allocate>);
       },
       {kPrivd, kGate, kBinder, kPlugind}},
      {"reread asked",
       kOp,
       [](const Sight& s, const Questions&) { return isAsked(s, kReread); },
       {kHardware}},
      {"reread answered",
       kOp,
       [](const Sight& s, const Questions& open) { return isAnswered(s, open, kReread); },
       {kPlugind}},
      {"frame sent",
       kOp,
       [](const Sight& s, const Questions&) { return writesFrame(s, true); },
       {}},
      {"before reply",
       kOp,
       [](const Sight& s, const Questions&) { return isBeforeReply(s); },
       {kPlugind}},
      {kUnrecorded, kOp, nullptr, {kPlugind, kKubelet}},
      {kRecorded, kOp, nullptr, {}},
      {"checkpoint asked",
       kOp,
       [](const Sight& s, const Questions&) { return isAskedOfGate(s, opensCheckpoint); },
       {}},
      {"checkpoint answered",
       kOp,
       [](const Sight& s, const Questions& open) {
         return isAnsweredByGate(s, open, opensCheckpoint);
       },
       {}},
  };
}

std::vector<Step> sessionSteps() {
  constexpr auto kOp = Operation::kEnter;
  return {
      {"Enter asked",
       kOp,
       [](const Sight& s, const Questions&) { return isAskedOfGate(s, isA<gate::Enter>); },
       {}},
      {"Enter unanswered",
       kOp,
       [](const Sight& s, const Questions& open) {
         return isAnsweredByGate(s, open, isA<gate::Enter>);
       },
       {kGate, kPlugind}},
      {"allocations unanswered",
       kOp,
       [](const Sight& s, const Questions& open) {
         return isAnsweredByGate(s, open, isA<gate::List>);
       },
       {}},
  };
}

// PreStart is judged by what is known already: nobody is asked anything in it.
std::vector<Step> otherSteps() {
  constexpr auto kAdopt = Operation::kAdopt;
  constexpr auto kStart = Operation::kPreStart;
  return {
      {"List asked",
       kAdopt,
       [](const Sight& s, const Questions&) { return isConnected(s, "/pod-resources/"); },
       {}},
      {"resend",
       kAdopt,
       [](const Sight& s, const Questions&) { return writesFrame(s, false); },
       {kPlugind}},
      {"checkpoint answered",
       kAdopt,
       [](const Sight& s, const Questions& open) {
         return isAnsweredByGate(s, open, opensCheckpoint);
       },
       {}},
      {"received", kStart, [](const Sight& s, const Questions&) { return isReceived(s); }, {}},
      {"before reply",
       kStart,
       [](const Sight& s, const Questions&) { return isBeforeReply(s); },
       {kHardware, kBinder, kPlugind}},
      {"replied", kStart, [](const Sight& s, const Questions&) { return isReplied(s); }, {}},

      {"frame being written",
       Operation::kFrame,
       [](const Sight& s, const Questions&) { return writesFrame(s, false); },
       {kPlugind}},
      {"frame written",
       Operation::kFrame,
       [](const Sight& s, const Questions&) { return writesFrame(s, true); },
       {}},
      {"end of stream",
       Operation::kStreamEnd,
       [](const Sight& s, const Questions&) {
         return isPlugind(s, Channel::kPlugin, false, true) &&
                (s.moved->bytes.empty() || hasFrame(s, HttpFrame::kReset, kWatch, kWatch));
       },
       {}},
  };
}

}  // namespace

const char* nameOf(Victim victim) {
  switch (victim) {
    case Victim::kPrivd:
      return "privd";
    case Victim::kHardware:
      return "privd-hardware";
    case Victim::kGate:
      return "privd-gate";
    case Victim::kBinder:
      return "privd-binder";
    case Victim::kPlugind:
      return "plugind";
    case Victim::kKubelet:
      return "kubelet";
  }
  return "nobody";
}

std::string Step::str() const {
  static const std::map<Operation, std::string> kNames{
      {Operation::kRegister, "registration"}, {Operation::kAllocate, "Allocate"},
      {Operation::kAdopt, "adoption"},        {Operation::kPreStart, "PreStart"},
      {Operation::kFrame, "stream"},          {Operation::kStreamEnd, "stream"},
      {Operation::kEnter, "session"}};
  return kNames.at(operation) + ": " + name;
}

const std::vector<Step>& faultSteps() {
  static const std::vector<Step> all = [] {
    std::vector<Step> steps = registrationSteps();
    for (const auto& more : {allocateSteps(), otherSteps(), sessionSteps()}) {
      steps.insert(steps.end(), more.begin(), more.end());
    }
    return steps;
  }();
  return all;
}

bool StepSight::isAt(const SeenCall& call) {
  const Sight sight = sightOf(call);
  note(sight);
  return step_.isAt(sight, open_);
}

Sight StepSight::sightOf(const SeenCall& call) const {
  const auto who = call.process == watched_.hardware ? Victim::kHardware
                   : call.process == watched_.gate   ? Victim::kGate
                                                     : Victim::kPlugind;
  Sight sight{.who = who, .call = call, .moved = passing(call)};
  if (!sight.moved) return sight;
  const Passing& moved = *sight.moved;
  switch (moved.channel) {
    case Channel::kPrivilege:
      sight.messages = messagesIn(moved.bytes);
      break;
    case Channel::kGate:
      if (who == Victim::kPlugind && moved.sends) {
        if (const auto request = gate::decodeRequest(moved.bytes)) sight.request = *request;
      }
      if (who == Victim::kGate && moved.sends) {
        const auto said = gate::decodeFromGate(moved.bytes);
        sight.gateAnswers = said && std::holds_alternative<gate::Answer>(*said);
      }
      break;
    default:
      sight.frames = framesIn(moved.bytes);
  }
  return sight;
}

/// Before it is sent: the answer may come before the call has returned.
void StepSight::note(const Sight& sight) {
  const bool asks = sight.who == Victim::kPlugind && sight.moved && sight.moved->sends;
  if (!asks || sight.call.returned) return;
  for (const RpcMessage& message : sight.messages) {
    if (message.kind == Kind::kCall) open_.ofHardware[message.question] = message;
  }
  if (sight.request && !isA<gate::Seen>(*sight.request)) open_.ofGate = sight.request;
}

}  // namespace vfiogate::test
