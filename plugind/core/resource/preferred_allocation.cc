#include "plugind/core/resource/preferred_allocation.h"

#include <algorithm>
#include <tuple>

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
};

class Choice {
  /// Smaller is better, the first difference decides.
  auto rank(const Bundle& bundle) const {
    const bool startedGroup = bundle.group && groups_.contains(*bundle.group);
    const bool startedNode = nodes_.contains(bundle.node);
    const bool startedRoot = !bundle.root.empty() && roots_.contains(bundle.root);
    const std::size_t left = leftOnNode(bundle);
    const bool enough = left >= missing();
    const std::size_t leftBelow = leftBelowRoot(bundle);
    const bool enoughBelow = leftBelow >= missing();
    const bool whole = bundle.ids.size() <= missing();
    // A node that is just large enough leaves the larger ones whole; without one, the largest.
    const std::size_t fit = enough ? left : SIZE_MAX - left;
    const std::size_t fitBelow = enoughBelow ? leftBelow : SIZE_MAX - leftBelow;
    // Of groups that fit the largest, of those that have to be split the smallest.
    const std::size_t size = whole ? SIZE_MAX - bundle.ids.size() : bundle.ids.size();
    return std::tuple(bundle.doubtful, !startedGroup, !startedNode, !enough, fit, !startedRoot,
                      !bundle.besideNic, !enoughBelow, !whole, fitBelow, size, bundle.ids.front());
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
      const auto best = std::ranges::min_element(
          bundles_,
          [this](const Bundle& left, const Bundle& right) { return rank(left) < rank(right); });
      const Bundle bundle = *best;
      bundles_.erase(best);
      for (const std::string& id : bundle.ids) {
        if (missing() > 0 && !excluded_.contains(id)) take(id);
      }
    }
    return {taken_.begin(), taken_.end()};
  }

private:
  Candidate candidate(const std::string& id) const {
    const auto found = candidates_.find(id);
    return found == candidates_.end() ? Candidate{.doubtful = true} : found->second;
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
    const Candidate known = candidate(id);
    begin(known);
    if (known.group) groups_.insert(*known.group);
    for (const std::string& other : known.excludes) leaveOut(other);
  }

  /// Nobody can have it beside what is taken.
  void leaveOut(const std::string& id) {
    excluded_.insert(id);
    for (Bundle& bundle : bundles_) std::erase(bundle.ids, id);
    std::erase_if(bundles_, [](const Bundle& bundle) { return bundle.ids.empty(); });
  }

  void addToBundle(const std::string& id) {
    const Candidate known = candidate(id);
    const auto found = std::ranges::find_if(bundles_, [&known](const Bundle& bundle) {
      return known.group && bundle.group == known.group && bundle.node == nodeOf(known) &&
             bundle.doubtful == known.doubtful && bundle.root == known.root;
    });
    if (found != bundles_.end()) {
      found->ids.push_back(id);
    } else {
      bundles_.push_back(
          {{id}, nodeOf(known), known.group, known.doubtful, known.root, known.besideNic});
    }
  }

  /// How many devices the node of `bundle` still has.
  std::size_t leftOnNode(const Bundle& bundle) const {
    std::size_t left = 0;
    for (const Bundle& other : bundles_) {
      if (other.node == bundle.node && !other.doubtful) left += other.ids.size();
    }
    return left;
  }

  /// The same below its root, on its node.
  std::size_t leftBelowRoot(const Bundle& bundle) const {
    std::size_t left = 0;
    for (const Bundle& other : bundles_) {
      const bool same = other.node == bundle.node && other.root == bundle.root;
      if (same && !other.doubtful) left += other.ids.size();
    }
    return left;
  }

  const PreferredRequest& request_;
  const std::map<std::string, Candidate>& candidates_;
  std::set<std::string> taken_;
  std::set<std::string> excluded_;
  std::set<Node> nodes_;
  std::set<std::string> roots_;
  std::set<IommuGroupId> groups_;
  std::vector<Bundle> bundles_;
};

}  // namespace

std::vector<std::string> preferredDevices(const PreferredRequest& request,
                                          const std::map<std::string, Candidate>& candidates) {
  return Choice(request, candidates).make();
}

}  // namespace vfiogate
