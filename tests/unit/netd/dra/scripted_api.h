#pragma once
// An API server of answers that were written before.

#include "netd/dra/api/api_retry.h"

#include <deque>
#include <string>
#include <vector>

namespace vfiogate::test {

class ScriptedApi final : public ApiClient {
public:
  struct Asked {
    ApiMethod method;
    std::string path;
    std::string body;
  };

  kj::Promise<ApiOutcome> ask(ApiMethod method, const std::string& path,
                              std::string body) override {
    asked.push_back({method, path, std::move(body)});
    return next();
  }
  kj::Promise<ApiOutcome> watch(const std::string& path,
                                kj::Function<void(const std::string&)>) override {
    asked.push_back({ApiMethod::kGet, path, "watch"});
    return next();
  }

  std::deque<ApiOutcome> answers;  ///< where there is none left: no answer
  std::vector<Asked> asked;

private:
  kj::Promise<ApiOutcome> next() {
    if (answers.empty()) return ApiOutcome(Failure{ApiFailure{"the script has ended"}});
    ApiOutcome answer = answers.front();
    answers.pop_front();
    return answer;
  }
};

}  // namespace vfiogate::test
