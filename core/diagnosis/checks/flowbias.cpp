// SPDX-License-Identifier: Apache-2.0
#include "core/diagnosis/checks/checks.h"
#include "core/diagnosis/facts.h"
#include "core/diagnosis/magnitudeshare.h"
#include "core/diagnosis/numbertext.h"
#include "core/diagnosis/ways.h"
#include "core/graph/attributes.h"
#include "core/lrp/rules/rules.h"
#include "core/ops/algebra.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <vector>

namespace retro::diagnosis
{

namespace
{

/// Enough for a median; each costs as much as the node.
constexpr std::size_t kMostSiblings = 9;

enum class LinearKind : std::uint8_t { Depthwise, Convolution, Dense };

LinearKind kindOf(const Facts& facts, NodeId id)
{
    const graph::Node& node = facts.graph().node(id);
    if (node.op != "Conv" && node.op != "ConvTranspose") {
        return LinearKind::Dense;
    }
    const std::int64_t group = graph::intAttribute(node, "group", 1);
    const tensor::Shape shape = facts.shape(node.inputs.front());
    // Of one position, as in a gate over channels: written as a convolution, but dense.
    if (shape.size() > 2 && std::ranges::all_of(shape.begin() + 2, shape.end(), [](auto n) { return n == 1; })) {
        return LinearKind::Dense;
    }
    const bool isOwnGroup = group > 1 && shape.size() > 1 && shape[1] == group;
    return isOwnGroup ? LinearKind::Depthwise : LinearKind::Convolution;
}

std::vector<NodeId> spread(const std::vector<NodeId>& all)
{
    if (all.size() <= kMostSiblings) {
        return all;
    }
    std::vector<NodeId> some;
    for (std::size_t i = 0; i < kMostSiblings; ++i) {
        some.push_back(all[i * (all.size() - 1) / (kMostSiblings - 1)]);
    }
    return some;
}

/// Nodes that a linear map is compared with: of its kind (depthwise convolution, other convolution, dense, as is a
/// convolution of one position) where there are at least two others, else all linear maps; without the node itself. Of
/// more than kMostSiblings those that are spread evenly over the order of the pass.
std::vector<NodeId> siblingsOf(const Facts& facts, NodeId node)
{
    constexpr std::size_t kFewest = 2; // section 2
    std::vector<NodeId> all;
    std::vector<NodeId> same;
    const LinearKind kind = kindOf(facts, node);
    for (std::size_t i = 0; i < facts.graph().nodeCount(); ++i) {
        const NodeId other(i);
        if (other == node || !isLinearMap(facts, other) || !facts.leadsToTarget()[i]) {
            continue;
        }
        all.push_back(other);
        if (kindOf(facts, other) == kind) {
            same.push_back(other);
        }
    }
    return spread(same.size() >= kFewest ? same : all);
}

/// Section 4.6, flow.bias: magnitude share of the bias > 0.6, log10 odds above the median of the siblings > 1.2, and at
/// least 5 % of S arrives; a warning where it takes more than 25 % of Σ|R| and 10 % of S, and not at the last linear
/// map.
constexpr double kMostBias = 0.6;
constexpr double kMostOdds = 1.2;
constexpr double kLeastOfStartForBias = 0.05;
constexpr double kLeastTakenToWarn = 0.25;
constexpr double kLeastOfStartToWarn = 0.1;
constexpr double kBiasBase = 2.1;
/// Of suspects those that take most are looked at (section 7). Beside an explanation that is wanted for its own sake
/// only what could be a warning is one.
constexpr std::size_t kMostSuspects = 8;

struct Suspect
{
    NodeId node;
    double taken = 0; ///< of Σ|R| that arrives
};

const ops::LinearMap& linearMapOf(const Facts& facts, NodeId node)
{
    return static_cast<const ops::LinearMap&>(facts.op(node)->structure());
}

bool hasBias(const Facts& facts, NodeId node) { return isLinearMap(facts, node) && linearMapOf(facts, node).hasBias(); }

/// Magnitude share of the bias of a node: where an upper bound by |z − b| is below `exactFrom`, that bound.
double biasShare(const Facts& facts, NodeId node, double exactFrom)
{
    const ops::LinearMap& map = linearMapOf(facts, node);
    const ValueId result = facts.graph().node(node).outputs.front();
    const Tensor relevance = facts.relevance(result);
    const Tensor z = facts.value(result);
    const Tensor bias = map.bias({});
    if (!z.isValid() || !relevance.isValid() || !bias.isValid()) {
        return 0;
    }
    const Tensor own = ops::algebra::absolute(ops::algebra::addBroadcast(z, ops::algebra::scale(bias, -1)));
    const double bound = magnitudeShare(relevance, bias, own);
    const Tensor x = bound > exactFrom ? facts.value(facts.graph().node(node).inputs[map.operandSlot()]) : Tensor();
    return x.isValid() ? magnitudeShare(relevance, bias, termMagnitudes(map, x)) : bound;
}

/// Linear maps whose bias may be more than kMostBias of their sums, those that take most first.
std::vector<Suspect> suspectsOf(const Facts& facts, Probe& probe)
{
    const double leastTaken = facts.sources().makesPasses ? 0 : kLeastTakenToWarn;
    std::vector<Suspect> suspects;
    for (std::size_t i = 0; i < facts.graph().nodeCount() && !facts.stop().stop_requested(); ++i) {
        const NodeId node(i);
        const double taken = facts.share(node, event::Cause::Bias);
        const bool arrives = facts.balance(node).magnitude >= kLeastOfStartForBias * facts.start();
        if (!(taken > leastTaken) || !arrives || !hasBias(facts, node)) {
            continue;
        }
        const double bound = biasShare(facts, node, 1);
        if (bound > kMostBias) {
            suspects.push_back({node, taken});
        } else {
            probe.measured(facts.graph().labelOf(node), bound);
        }
    }
    std::ranges::stable_sort(suspects, [](const Suspect& a, const Suspect& b) { return a.taken > b.taken; });
    suspects.resize(std::min(suspects.size(), kMostSuspects));
    return suspects;
}

/// Median share of the siblings that have a bias and are reached; nothing where there is none.
std::optional<double> shareOfSiblings(const Facts& facts, NodeId node)
{
    std::vector<double> shares;
    for (const NodeId sibling : siblingsOf(facts, node)) {
        if (hasBias(facts, sibling) && facts.balance(sibling).magnitude > 0 && !facts.stop().stop_requested()) {
            shares.push_back(biasShare(facts, sibling, 0));
        }
    }
    return shares.empty() ? std::nullopt : std::optional(median(shares));
}

void reportBias(const Facts& facts, const Suspect& suspect, double share, double siblings, bool isLast, Probe& probe)
{
    const std::string& name = facts.graph().labelOf(suspect.node);
    const double effect = 0.3 + 0.5 * suspect.taken;
    const double ofStart = suspect.taken * facts.balance(suspect.node).magnitude / facts.start();
    const bool warns = suspect.taken > kLeastTakenToWarn && ofStart > kLeastOfStartToWarn && !isLast;
    Finding& finding = warns ? probe.warning(kBiasBase, effect, facts.place(suspect.node))
                             : probe.note(effect, facts.place(suspect.node));
    finding.what = fmt::format("its bias is {} of the magnitude that its sums are made of ({} at its siblings) and "
                               "takes {} of Σ|R| that arrives here",
                               percentText(share), percentText(siblings), percentText(suspect.taken));
    finding.means = "Little of it is about the input.";
    finding.remedy = "See what remains";
    finding.numbers = {{"bias_share_of_magnitude", share},
                       {"bias_share_of_siblings", siblings},
                       {"odds_above_siblings", logOdds(share) - logOdds(siblings)},
                       {"taken_by_bias_of_sum_abs_R", suspect.taken},
                       {"taken_by_bias_of_start", ofStart}};
    finding.threshold = kMostBias;
    const std::string rule = facts.ruleName(suspect.node);
    const lrp::RuleParameters noBias{{"bias", std::string("zero")}};
    const bool isKept = lrp::makeRule(rule, noBias).ok() && !lrp::traitsOf(rule).isForOneLayer;
    const std::string kept = isKept ? rule : "z-plus";
    finding.action = {
        "change rule", {{"node", name}, {"rule", kept}, {"bias", "zero"}}, ruleOption(name, kept, noBias)};
}

void findBias(const Facts& facts, Probe& probe)
{
    if (!facts.pass()->model) {
        return probe.notRun(std::string(kNoModel));
    }
    const std::vector<bool> hasLinearBehind = linearBehind(facts);
    for (const Suspect& suspect : suspectsOf(facts, probe)) {
        if (facts.stop().stop_requested()) {
            return;
        }
        const double share = biasShare(facts, suspect.node, 0);
        probe.measured(facts.graph().labelOf(suspect.node), share);
        if (!(share > kMostBias)) {
            continue;
        }
        const std::optional<double> siblings = shareOfSiblings(facts, suspect.node);
        if (siblings && logOdds(share) - logOdds(*siblings) > kMostOdds) {
            reportBias(facts, suspect, share, *siblings, !hasLinearBehind[suspect.node.index()], probe);
        }
    }
}

} // namespace

const Check flowBias{"flow.bias",
                     "magnitude share of the bias of a linear map (where it is small, an upper bound)",
                     kMostBias,
                     "up to 0.43 (trained); random weights reach odds of 1.73: narrow",
                     Need::Conserved | Need::Forward,
                     true,
                     findBias};

} // namespace retro::diagnosis
