// SPDX-License-Identifier: Apache-2.0
#include "views/verify/nodesheets.h"

#include "views/common/numbertext.h"
#include "views/verify/verificationtranslation.h"

#include <algorithm>

namespace retro::views
{

namespace
{

/// Errors above which a reverse rule is wrong (engine::kPoorGradient).
constexpr double kPoor = 1e-3;

bool counts(const CheckedNode& node) { return node.error && !node.isKink; }

/// By the error of what counts, then by the distance of float from double; NaN is the worst.
bool isWorse(const CheckedNode* a, const CheckedNode* b)
{
    if (counts(*a) != counts(*b)) {
        return counts(*a);
    }
    if (counts(*a) && *a->error != *b->error) {
        return !(*a->error <= *b->error) && *b->error == *b->error;
    }
    if (a->overflows != b->overflows) {
        return a->overflows;
    }
    return a->relative != b->relative ? a->relative > b->relative : a->node.index() < b->node.index();
}

QString errorText(const CheckedNode& node)
{
    if (node.isSingular) {
        return verificationText("singular");
    }
    if (!node.error) {
        return QStringLiteral("–");
    }
    return node.isKink ? verificationText("kink") : valueText(*node.error, 2);
}

QString ulpText(const CheckedNode& node)
{
    if (!node.ulps) {
        return QStringLiteral("–");
    }
    return node.overflows ? verificationText("overflow") : countText(static_cast<std::int64_t>(*node.ulps));
}

FactRow rowOf(const RunModel& model, const CheckedNode& node)
{
    FactRow row;
    row.cells = {model.label(node.node), model.op(node.node), errorText(node), ulpText(node),
                 node.ulps ? valueText(node.relative, 2) : QStringLiteral("–")};
    row.node = node.node;
    row.tip = node.note; // why it was not checked
    row.isStrong = counts(node) && !(*node.error <= kPoor);
    row.role = row.isStrong ? Role::AlarmText : counts(node) ? Role::Text : Role::Text2;
    return row;
}

/// "showing the worst 5,000"; empty when all are there.
QString cutText(std::size_t all)
{
    return all <= kMostListed
               ? QString()
               : verificationText("; the worst %1 are listed").arg(countText(static_cast<std::int64_t>(kMostListed)));
}

} // namespace

FactSheet nodesSheet(const RunModel& model, const VerificationPointer& verification)
{
    FactSheet sheet;
    sheet.columns = {{verificationText("Node"), 0},
                     {verificationText("Operator"), 110},
                     {verificationText("Rule error"), 88, true},
                     {verificationText("Float, ulp"), 88, true},
                     {verificationText("Float error"), 88, true}};
    if (!verification) {
        return sheet;
    }
    std::vector<const CheckedNode*> nodes;
    for (const CheckedNode& node : verification->nodes) {
        if (node.node.index() < model.graph().runNodeCount()) {
            nodes.push_back(&node);
        }
    }
    const std::size_t all = nodes.size();
    std::ranges::sort(nodes, isWorse);
    nodes.resize(std::min(all, kMostListed));
    for (const CheckedNode* node : nodes) {
        sheet.rows.push_back(rowOf(model, *node));
    }
    const auto checked = std::ranges::count_if(verification->nodes, counts);
    const auto kinks = std::ranges::count_if(verification->nodes, &CheckedNode::isKink);
    sheet.message = verificationText("%1 reverse rules compared with differences, %2 at a kink")
                        .arg(countText(checked), countText(kinks)) +
                    cutText(all);
    if (sheet.rows.empty()) {
        sheet.empty = verificationText("No node could be checked.");
    }
    return sheet;
}

FactSheet reachSheet(const RunModel& model, const GradientReachPointer& reach, const QString& refusal)
{
    FactSheet sheet;
    sheet.columns = {{verificationText("Node"), 0},
                     {verificationText("Operator"), 110},
                     {verificationText("Why no gradient visits it"), 0}};
    if (!reach) {
        sheet.empty = refusal;
        return sheet;
    }
    const std::size_t all = reach->leftOut.size();
    for (std::size_t i = 0; i < std::min(all, kMostListed); ++i) {
        const LeftOutFact& fact = reach->leftOut[i];
        if (fact.node.index() < model.graph().runNodeCount()) {
            FactRow row;
            row.cells = {model.label(fact.node), model.op(fact.node), fact.reason};
            row.node = fact.node;
            sheet.rows.push_back(std::move(row));
        }
    }
    sheet.message = verificationText("%1 of %2 operators are visited from %3 to %4")
                        .arg(countText(static_cast<std::int64_t>(reach->critical)),
                             countText(static_cast<std::int64_t>(reach->critical + all)), reach->from, reach->to) +
                    cutText(all);
    if (sheet.rows.empty()) {
        sheet.empty = verificationText("A gradient from %1 to %2 visits every operator.").arg(reach->from, reach->to);
    }
    return sheet;
}

} // namespace retro::views
