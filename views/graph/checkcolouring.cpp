// SPDX-License-Identifier: Apache-2.0
#include "views/graph/checkcolouring.h"

#include "views/common/numbertext.h"
#include "views/graph/graphtranslation.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace retro::views
{

using layout::Index;

namespace
{

// Classes of both: four that grow, a kink (in float against double: an overflow), no finite slope, and what was not
// checked.
constexpr std::size_t kKink = 4;
constexpr std::size_t kOverflow = 4;
constexpr std::size_t kSingular = 5;
constexpr std::size_t kNot = 7;
// By finding: error, difference, warning, note are classes 0 to 3, levels 3 to 0.
constexpr std::size_t kErrorClass = 3;
// By reach: class 0 is in the gradient, then the reasons in their order.
constexpr std::size_t kReasons = 1;

// Up to where a reverse rule agrees with a difference, is good enough for float, is in doubt.
constexpr std::array kErrors{1e-6, 1e-4, 1e-3};
constexpr std::array<std::uint64_t, 3> kUlps{1, 16, 1024};

struct Grade
{
    std::size_t which = kNot;
    double figure = std::numeric_limits<double>::quiet_NaN(); ///< what the box says
};

/// NaN is beyond every limit.
template <class T, std::size_t N>
std::size_t classOf(const std::array<T, N>& limits, T value)
{
    return static_cast<std::size_t>(std::ranges::find_if(limits, [value](T limit) { return value <= limit; }) -
                                    limits.begin());
}

Grade gradeOf(ColourBy by, const CheckedNode* node)
{
    if (node == nullptr) {
        return {};
    }
    if (by == ColourBy::Ulp && node->overflows) {
        return {kOverflow, std::numeric_limits<double>::infinity()};
    }
    if (by == ColourBy::Ulp) {
        return node->ulps ? Grade{classOf(kUlps, *node->ulps), static_cast<double>(*node->ulps)} : Grade();
    }
    if (node->isSingular) {
        return {kSingular, std::numeric_limits<double>::quiet_NaN()};
    }
    if (!node->error) {
        return {};
    }
    return {node->isKink ? kKink : classOf(kErrors, *node->error), *node->error};
}

/// A kink or a pole says nothing about its rule, so any error is worse than it; an overflow, whose figure is infinite,
/// is worse than any distance.
bool isWorse(ColourBy by, const Grade& a, const Grade& b)
{
    const auto rank = [by](const Grade& one) {
        if (one.which == kNot) {
            return -2;
        }
        return by == ColourBy::Check && (one.which == kKink || one.which == kSingular) ? -1 : 0;
    };
    return rank(a) != rank(b) ? rank(a) > rank(b) : !(a.figure <= b.figure);
}

void grade(const GraphScene& scene, const Verification* verification, Colouring& out)
{
    const std::size_t boxes = scene.visible.nodes.size();
    std::vector<Grade> worst(boxes);
    for (std::size_t i = 0; verification != nullptr && i < verification->nodes.size(); ++i) {
        const CheckedNode& node = verification->nodes[i];
        const Grade grade = gradeOf(out.by, &node);
        const bool isThere = node.node.index() < scene.visible.visibleOf.size();
        const Index box = isThere ? scene.visible.visibleOf[node.node.index()] : layout::kNone;
        if (box != layout::kNone && grade.which != kNot &&
            isWorse(out.by, grade, worst[static_cast<std::size_t>(box)])) {
            worst[static_cast<std::size_t>(box)] = grade;
        }
    }
    out.boxes.assign(boxes, ClassCounts{});
    out.shares.assign(boxes, std::numeric_limits<double>::quiet_NaN());
    for (std::size_t box = 0; box < boxes; ++box) {
        out.boxes[box][worst[box].which] = scene.visible.nodes[box].memberCount;
        out.shares[box] = worst[box].figure;
    }
}

void reach(const GraphScene& scene, const GradientReach* reach, Colouring& out)
{
    out.boxes.assign(scene.visible.nodes.size(), ClassCounts{});
    const std::size_t operators = scene.graph().nodeCount();
    for (std::size_t node = 0; node < scene.visible.visibleOf.size(); ++node) {
        const Index box = scene.visible.visibleOf[node];
        if (box == layout::kNone) {
            continue;
        }
        std::size_t which = kNot;
        if (reach != nullptr && node < operators) {
            const LeftOutFact* fact = reach->find(base::NodeId(node));
            which = fact == nullptr ? 0 : kReasons + static_cast<std::size_t>(fact->why);
        }
        ++out.boxes[static_cast<std::size_t>(box)][which];
    }
}

/// A group has the class of its worst member.
void findings(const GraphScene& scene, const std::vector<FoundNode>* found, Colouring& out)
{
    const std::size_t boxes = scene.visible.nodes.size();
    std::vector<std::size_t> worst(boxes, kNot);
    for (std::size_t i = 0; found != nullptr && i < found->size(); ++i) {
        const FoundNode& one = (*found)[i];
        const bool isThere = one.node.index() < scene.visible.visibleOf.size();
        const Index box = isThere ? scene.visible.visibleOf[one.node.index()] : layout::kNone;
        if (box != layout::kNone) {
            std::size_t& which = worst[static_cast<std::size_t>(box)];
            which = std::min(which, kErrorClass - std::min<std::size_t>(one.level, kErrorClass));
        }
    }
    out.boxes.assign(boxes, ClassCounts{});
    for (std::size_t box = 0; box < boxes; ++box) {
        out.boxes[box][worst[box]] = scene.visible.nodes[box].memberCount;
    }
}

/// Shares from which on a value puts a little, some, much of the region's relevance there.
constexpr std::array kRegionShares{0.01, 0.1, 0.5};
constexpr std::size_t kAgainst = 4;

/// What each box puts into a region, a group as its member that puts most there; NaN where nobody knows.
std::vector<double> largestShares(const GraphScene& scene, const RegionFacts* region)
{
    std::vector<double> shares(scene.visible.nodes.size(), std::numeric_limits<double>::quiet_NaN());
    for (std::size_t i = 0; region != nullptr && i < region->parts.size(); ++i) {
        const base::NodeId node = scene.graph().nodeOf(region->parts[i].value);
        const bool isThere = node.isValid() && node.index() < scene.visible.visibleOf.size();
        const Index box = isThere ? scene.visible.visibleOf[node.index()] : layout::kNone;
        const std::optional<double> share = region->shareOf(region->parts[i].value);
        if (box == layout::kNone || !share) {
            continue;
        }
        double& most = shares[static_cast<std::size_t>(box)];
        most = std::isnan(most) || std::abs(*share) > std::abs(most) ? *share : most;
    }
    return shares;
}

/// A group has the class of the member that puts most there.
void regions(const GraphScene& scene, const RegionFacts* region, Colouring& out)
{
    const std::size_t boxes = scene.visible.nodes.size();
    out.shares = largestShares(scene, region);
    out.boxes.assign(boxes, ClassCounts{});
    for (std::size_t box = 0; box < boxes; ++box) {
        const double share = out.shares[box];
        std::size_t which = kNot;
        if (!std::isnan(share)) {
            which = share <= -kRegionShares.front() ? kAgainst : classOf(kRegionShares, share);
        }
        out.boxes[box][which] = scene.visible.nodes[box].memberCount;
    }
}

QString ruleTip(const CheckedNode& node)
{
    if (node.isSingular) {
        return graphText("\nits reverse rule: no finite slope to compare with (singular)");
    }
    if (!node.error) {
        return {};
    }
    return graphText(node.isKink ? "\nits reverse rule: %1 from a difference, at a kink"
                                 : "\nits reverse rule: %1 from a difference")
        .arg(valueText(*node.error, 2));
}

QString distanceTip(const CheckedNode& node)
{
    if (node.overflows) {
        return graphText("\nfloat from double: overflow, not finite in one of the two alone");
    }
    return node.ulps ? graphText("\nfloat from double: %1 ulp, %2 of the largest value")
                           .arg(countText(static_cast<std::int64_t>(*node.ulps)), valueText(node.relative, 2))
                     : QString();
}

QString foundTip(const std::vector<FoundNode>* found, base::NodeId node)
{
    if (found == nullptr) {
        return {};
    }
    const auto at = std::ranges::find(*found, node, &FoundNode::node);
    return at == found->end() ? QString() : QLatin1Char('\n') + at->text;
}

QString regionTip(const RegionFacts* region, base::NodeId node)
{
    if (region == nullptr) {
        return {};
    }
    QString text;
    for (const base::ValueId value : region->run->graph->outputsOf(node)) {
        const RegionPart* part = value.isValid() ? region->partOf(value) : nullptr;
        if (part != nullptr) {
            text += QLatin1Char('\n') + graphText("%1 of its %2 ends in the region (%3 of what the region has)")
                                            .arg(valueText(part->total), valueText(part->relevance),
                                                 percentText(region->shareOf(value).value_or(0)));
        }
    }
    return text;
}

} // namespace

bool isOfChecks(ColourBy by)
{
    return by == ColourBy::Check || by == ColourBy::Ulp || by == ColourBy::Reach || by == ColourBy::Finding ||
           by == ColourBy::Region;
}

std::vector<base::NodeId> nodesOfRegion(const RegionFacts& region)
{
    std::vector<base::NodeId> nodes;
    for (const RegionPart& part : region.parts) {
        const std::optional<double> share = region.shareOf(part.value);
        if (share && std::abs(*share) >= kRegionShares.front()) {
            nodes.push_back(region.run->graph->nodeOf(part.value));
        }
    }
    return nodes;
}

QString findingSign(std::size_t which)
{
    constexpr std::array kSigns{"✕", "◆", "▲", "●"};
    return which < kSigns.size() ? QString::fromUtf8(kSigns[which]) : QString();
}

void colourByChecks(const GraphScene& scene, const GraphChecks& checks, Colouring& out)
{
    if (out.by == ColourBy::Finding) {
        out.names = {graphText("error"),
                     graphText("difference"),
                     graphText("warning"),
                     graphText("note"),
                     {},
                     {},
                     {},
                     checks.found ? graphText("nothing found") : graphText("run the model first")};
        findings(scene, checks.found.get(), out);
        return;
    }
    if (out.by == ColourBy::Region) {
        out.names = {graphText("below 1 % of the region"),
                     graphText("1 – 10 %"),
                     graphText("10 – 50 %"),
                     graphText("over 50 %"),
                     graphText("takes from it"),
                     {},
                     {},
                     checks.region ? graphText("out of its sight") : graphText("mark a region first")};
        regions(scene, checks.region.get(), out);
        return;
    }
    if (out.by == ColourBy::Reach) {
        out.names = {graphText("a gradient passes"),
                     wordOf(WhyLeftOut::Stops),
                     wordOf(WhyLeftOut::NoPath),
                     wordOf(WhyLeftOut::NotPassed),
                     wordOf(WhyLeftOut::NoInput),
                     wordOf(WhyLeftOut::InputStopped),
                     {},
                     checks.reach ? QString() : graphText("run the model first")};
        reach(scene, checks.reach.get(), out);
        return;
    }
    const QString nothing = checks.verification ? graphText("not checked") : graphText("press Verify first");
    out.names = out.by == ColourBy::Check ? std::vector<QString>{graphText("error below 1e−6"),
                                                                 graphText("up to 1e−4"),
                                                                 graphText("up to 1e−3"),
                                                                 graphText("over 1e−3"),
                                                                 graphText("at a kink"),
                                                                 graphText("singular"),
                                                                 {},
                                                                 nothing}
                                          : std::vector<QString>{graphText("up to 1 ulp"),
                                                                 graphText("2 – 16 ulp"),
                                                                 graphText("17 – 1,024 ulp"),
                                                                 graphText("over 1,024 ulp"),
                                                                 graphText("overflow"),
                                                                 {},
                                                                 {},
                                                                 nothing};
    grade(scene, checks.verification.get(), out);
}

QColor checkColor(ColourBy by, std::size_t which, const Theme& theme)
{
    if (by == ColourBy::Finding) {
        constexpr std::array kRoles{Role::AlarmLine, Role::FulfilLine, Role::SearchLine, Role::Strong};
        return theme[which < kRoles.size() ? kRoles[which] : Role::Base];
    }
    constexpr std::array kShares{0.0, 0.35, 0.65, 1.0};
    if (which < kShares.size()) {
        return blended(theme[Role::AlarmLine], theme[Role::Grid], kShares[which]);
    }
    if (by == ColourBy::Region) {
        return theme[which == kAgainst ? Role::SearchLine : Role::Base];
    }
    const bool isApart = (by == ColourBy::Check && which == kKink) || (by == ColourBy::Ulp && which == kOverflow);
    if (by == ColourBy::Check && which == kSingular) {
        return theme[Role::Strong];
    }
    return theme[isApart ? Role::SearchLine : Role::Base];
}

QString checkText(const Colouring& colouring, Index box)
{
    const std::size_t which = mainClass(colouring.boxes[static_cast<std::size_t>(box)]);
    if (colouring.by == ColourBy::Finding) {
        return which == kNot ? QString() : colouring.names[which];
    }
    if (colouring.by == ColourBy::Reach) {
        return which == 0 || which == kNot ? QString() : colouring.names[which];
    }
    const double figure = colouring.shares[static_cast<std::size_t>(box)];
    if (which == kNot) {
        return {};
    }
    if (colouring.by == ColourBy::Region) {
        return percentText(figure);
    }
    if (colouring.by == ColourBy::Ulp) {
        return which == kOverflow ? graphText("overflow") : countText(static_cast<std::int64_t>(figure));
    }
    if (which == kSingular) {
        return graphText("singular");
    }
    return which == kKink ? graphText("kink") : valueText(figure, 2);
}

QString checkTip(const GraphChecks& checks, base::NodeId node)
{
    const CheckedNode* found = checks.verification ? checks.verification->find(node) : nullptr;
    const QString text = (found != nullptr ? ruleTip(*found) + distanceTip(*found) : QString()) +
                         foundTip(checks.found.get(), node) + regionTip(checks.region.get(), node);
    const LeftOutFact* leftOut = checks.reach ? checks.reach->find(node) : nullptr;
    return leftOut == nullptr ? text
                              : text + QLatin1Char('\n') + graphText("no gradient: %1").arg(wordOf(leftOut->why));
}

} // namespace retro::views
