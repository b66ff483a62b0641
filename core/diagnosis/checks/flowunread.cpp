// SPDX-License-Identifier: Apache-2.0
#include "core/diagnosis/checks/checks.h"
#include "core/diagnosis/lostshare.h"
#include "core/diagnosis/modelfacts.h"
#include "core/diagnosis/numbertext.h"
#include "core/graph/attributes.h"
#include "core/ops/elements.h"

#include <fmt/format.h>

namespace retro::diagnosis
{

namespace
{

/// Share of Σ|R| of a node, and of what started (section 4.6, flow.unread: > 0.3 and > 0.2 of S).
constexpr double kMostUnread = 0.3;
constexpr double kMostUnreadOfStart = 0.2;
/// Less is a note of a Pad with a constant that is not 0, which no healthy model of those measured has at a computed
/// value: 0.13 and more was seen where one was planted.
constexpr double kMostUnreadOfFill = 0.1;
constexpr double kFillOfStart = 0.05;
/// Base of the score and e = .4 + .5x (section 4.6).
constexpr double kUnreadBase = 2.2;

/// What a Pad fills with, in words; empty for other nodes and for zeros.
std::string fillOf(const Facts& facts, NodeId node)
{
    const graph::Node& pad = facts.graph().node(node);
    if (!ops::areElements(pad, {ops::Elements::Padded})) {
        return {};
    }
    double fill = graph::floatAttribute(pad, "value", 0);
    if (pad.inputs.size() > 2 && pad.inputs[2].isValid()) {
        const Tensor constant = facts.value(pad.inputs[2]);
        fill = constant.isValid() && constant.size() == 1 ? constant.at(0) : fill;
    }
    return fill == 0 ? std::string() : fmt::format(" (it pads with {})", numberText(fill));
}

void findUnread(const Facts& facts, Probe& probe)
{
    forLostShares(facts, probe, event::Cause::Unread, [&](const LostShare& lost) {
        const std::string fill = fillOf(facts, lost.node);
        const bool warns = lost.share > kMostUnread && lost.ofStart > kMostUnreadOfStart;
        const bool isNoted = !fill.empty() && lost.share > kMostUnreadOfFill && lost.ofStart > kFillOfStart;
        if (!warns && !isNoted) {
            return;
        }
        const double effect = 0.4 + 0.5 * lost.share;
        Finding& finding = warns ? probe.warning(kUnreadBase, effect, facts.place(lost.node))
                                 : probe.note(effect, facts.place(lost.node));
        finding.what = fmt::format("{} of Σ|R| that arrives here falls on elements that come from nowhere: unread{}",
                                   percentText(lost.share), fill);
        finding.means = "Padding takes part in the prediction, so that much of it is not about the input.";
        finding.remedy = "Pad with 0, or with what the model was trained with";
        finding.numbers = {{"lost_of_sum_abs_R", lost.share}};
        finding.threshold = warns ? kMostUnread : kMostUnreadOfFill;
        finding.action = {"go to node", {{"node", facts.graph().labelOf(lost.node)}}, {}};
    });
}

} // namespace

const Check flowUnread{
    "flow.unread", "share of Σ|R| of a node that falls on padding", kMostUnread, "0", Need::Conserved, true,
    findUnread};

} // namespace retro::diagnosis
