#include "plugind/privd/hardware_client.h"

#include <kj/debug.h>

namespace vfiogate {
namespace {

BindOutcome outcomeOf(schema::BindAnswer::Reader answer) {
  switch (answer.which()) {
    case schema::BindAnswer::DONE:
      return {};
    case schema::BindAnswer::REFUSED:
      return {BindOutcome::Answer::kRefused, answer.getRefused().cStr()};
    case schema::BindAnswer::FAILED:
      return {BindOutcome::Answer::kFailed, answer.getFailed().cStr()};
    case schema::BindAnswer::STUCK:
      return {BindOutcome::Answer::kStuck, answer.getStuck().cStr()};
    case schema::BindAnswer::VANISHED:
      return {BindOutcome::Answer::kVanished, {}};
    case schema::BindAnswer::DENIED:
      return {BindOutcome::Answer::kDenied, "see privd's --plugind-rights"};
  }
  return {BindOutcome::Answer::kFailed, "privd's answer makes no sense"};
}

BindAnswered readAnswer(schema::BindAnswer::Reader answer) {
  return {outcomeOf(answer), answer.getGeneration()};
}

}  // namespace

kj::Promise<BindAnswered> askToBind(schema::GroupControl::Client control) {
  return control.bindRequest().send().then(
      [](capnp::Response<schema::GroupControl::BindResults> response) {
        return readAnswer(response.getAnswer());
      });
}

kj::Promise<BindAnswered> askToGiveBack(schema::GroupControl::Client control) {
  return control.giveBackRequest().send().then(
      [](capnp::Response<schema::GroupControl::GiveBackResults> response) {
        return readAnswer(response.getAnswer());
      });
}

}  // namespace vfiogate
