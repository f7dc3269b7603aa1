#include "plugind/core/resource/preferred_allocation.h"

#include <algorithm>
#include <string_view>
#include <tuple>
#include <utility>

namespace vfiogate {
namespace {

/// A NUMA node, or what of it shares a region of GPUs' extended memory.
struct Node {
  std::optional<std::uint32_t> numaNode;
  std::optional<std::uint32_t> egmRegion;

  bool known() const { return numaNode || egmRegion; }
  friend auto operator<=>(const Node&, const Node&) = default;
};

Node nodeOf(const Candidate& candidate) {
  return {candidate.numaNode, candidate.egmRegion};
}

/// Devices that are chosen together or split only for want of better: one group's on one node.
struct Bundle {
  std::vector<std::string> ids;  ///< ascending
  Node node;
  std::optional<IommuGroupId> group;
  bool doubtful = false;
  std::string root;
  bool besideNic = false;
  /// How many devices its node still has, and below its root. The doubtful are not counted.
  std::size_t* leftOnNode = nullptr;
  std::size_t* leftBelowRoot = nullptr;
};

class Choice {
  /// Smaller is better, the first difference decides. No two have the same.
  auto rank(const Bundle& bundle) const {
    const bool startedGroup = bundle.group && groups_.contains(*bundle.group);
    const bool startedNode = nodes_.contains(bundle.node);
    const bool startedRoot = !bundle.root.empty() && roots_.contains(bundle.root);
    const std::size_t left = *bundle.leftOnNode;
    const bool enough = left >= missing();
    const std::size_t leftBelow = *bundle.leftBelowRoot;
    const bool enoughBelow = leftBelow >= missing();
    const bool whole = bundle.ids.size() <= missing();
    // A node that is just large enough leaves the larger ones whole; without one, the largest.
    const std::size_t fit = enough ? left : SIZE_MAX - left;
    const std::size_t fitBelow = enoughBelow ? leftBelow : SIZE_MAX - leftBelow;
    // Of groups that fit the largest, of those that have to be split the smallest.
    const std::size_t size = whole ? SIZE_MAX - bundle.ids.size() : bundle.ids.size();
    return std::tuple(bundle.doubtful, !startedGroup, !startedNode, !enough, fit, !startedRoot,
                      !bundle.besideNic, !enoughBelow, !whole, fitBelow, size,
                      std::string_view(bundle.ids.front()));
  }

public:
  Choice(const PreferredRequest& request, const std::map<std::string, Candidate>& candidates)
      : request_(request), candidates_(candidates) {
    for (const std::string& id : request.beside) begin(candidate(id));
    for (const std::string& id : request.mustInclude) take(id);
    for (const std::string& id : request.available) {
      if (!taken_.contains(id) && !excluded_.contains(id)) addToBundle(id);
    }
  }

  std::vector<std::string> make() {
    while (missing() > 0 && !bundles_.empty()) {
      const Bundle bundle = takeBest();
      for (const std::string& id : bundle.ids) {
        if (missing() > 0 && !excluded_.contains(id)) take(id);
      }
    }
    return {taken_.begin(), taken_.end()};
  }

private:
  const Candidate& candidate(const std::string& id) const {
    static const Candidate kUnknown{.doubtful = true};
    const auto found = candidates_.find(id);
    return found == candidates_.end() ? kUnknown : found->second;
  }

  std::size_t missing() const {
    return taken_.size() < request_.size ? request_.size - taken_.size() : 0;
  }

  void begin(const Candidate& known) {
    if (nodeOf(known).known()) nodes_.insert(nodeOf(known));
    if (!known.root.empty()) roots_.insert(known.root);
  }

  void take(const std::string& id) {
    taken_.insert(id);
    const Candidate& known = candidate(id);
    begin(known);
    if (known.group) groups_.insert(*known.group);
    for (const std::string& other : known.excludes) leaveOut(other);
  }

  /// Nobody can have it beside what is taken.
  void leaveOut(const std::string& id) {
    excluded_.insert(id);
    for (Bundle& bundle : bundles_) discount(bundle, std::erase(bundle.ids, id));
    std::erase_if(bundles_, [](const Bundle& bundle) { return bundle.ids.empty(); });
  }

  /// The best one, which is no longer among the others.
  Bundle takeBest() {
    std::size_t best = 0;
    auto least = rank(bundles_[0]);
    for (std::size_t i = 1; i < bundles_.size(); ++i) {
      auto other = rank(bundles_[i]);
      if (!(other < least)) continue;
      least = other;
      best = i;
    }
    std::swap(bundles_[best], bundles_.back());
    Bundle bundle = std::move(bundles_.back());
    bundles_.pop_back();
    discount(bundle, bundle.ids.size());
    return bundle;
  }

  void addToBundle(const std::string& id) {
    const Candidate& known = candidate(id);
    const Node node = nodeOf(known);
    auto& places = placesOf_[known.group];
    const auto place = std::ranges::find_if(places, [&](std::size_t at) {
      const Bundle& bundle = bundles_[at];
      return bundle.node == node && bundle.doubtful == known.doubtful && bundle.root == known.root;
    });
    if (place != places.end()) {
      bundles_[*place].ids.push_back(id);
      count(bundles_[*place], 1);
      return;
    }
    if (known.group) places.push_back(bundles_.size());
    bundles_.push_back({{id},
                        node,
                        known.group,
                        known.doubtful,
                        known.root,
                        known.besideNic,
                        &leftOnNode_[node],
                        &leftBelowRoot_[{node, known.root}]});
    count(bundles_.back(), 1);
  }

  static void count(const Bundle& bundle, std::size_t devices) {
    if (bundle.doubtful) return;
    *bundle.leftOnNode += devices;
    *bundle.leftBelowRoot += devices;
  }
  static void discount(const Bundle& bundle, std::size_t devices) {
    if (bundle.doubtful) return;
    *bundle.leftOnNode -= devices;
    *bundle.leftBelowRoot -= devices;
  }

  const PreferredRequest& request_;
  const std::map<std::string, Candidate>& candidates_;
  std::set<std::string> taken_;
  std::set<std::string> excluded_;
  std::set<Node> nodes_;
  std::set<std::string> roots_;
  std::set<IommuGroupId> groups_;
  std::vector<Bundle> bundles_;
  /// Where bundles of a group are; none of what is in no group. Not kept once one was taken.
  std::map<std::optional<IommuGroupId>, std::vector<std::size_t>> placesOf_;
  std::map<Node, std::size_t> leftOnNode_;
  std::map<std::pair<Node, std::string>, std::size_t> leftBelowRoot_;
};

}  // namespace

std::vector<std::string> preferredDevices(const PreferredRequest& request,
                                          const std::map<std::string, Candidate>& candidates) {
  return Choice(request, candidates).make();
}

}  // namespace vfiogate
