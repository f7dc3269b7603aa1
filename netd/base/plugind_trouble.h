#pragma once
// Why plugind could not be asked, for people.

#include <kj/exception.h>

#include <string>

namespace vfiogate {

std::string whyNotDialled(const std::string& socket, int error);

/// What fits the question that was asked: "plugind hung up: `hungUp`", "plugind does not know
/// `question`: it is older than netd".
struct QuestionWords {
  const char* hungUp;
  const char* question;
};

/// `failure`: of a question that was waited for 2 s.
std::string whyNoAnswer(const kj::Exception& failure, const QuestionWords& words);

}  // namespace vfiogate
