// SPDX-License-Identifier: Apache-2.0
#include "core/diagnosis/checks/checks.h"
#include "core/diagnosis/numbertext.h"
#include "core/diagnosis/wayofinput.h"
#include "core/ops/elements.h"

#include <fmt/format.h>

namespace retro::diagnosis
{

namespace
{

/// Section 4.6, flow.cut: a connected input with Σ|R| = 0; base and e.
constexpr double kNothing = 0;
constexpr double kCutBase = 2.8;
constexpr double kCutEffect = 0.9;
/// e where the input itself is 0 everywhere: then it has nothing to show.
constexpr double kEmptyInputEffect = 0.3;

/// The product with a constant 0 of the file that a rewrite took into a node of the pass; null where there is none.
const graph::Node* zeroFactorWithin(const Facts& facts, NodeId node)
{
    const ModelFacts* model = facts.model();
    if (model == nullptr) {
        return nullptr;
    }
    for (const graph::Node& own : model->graph().nodes()) {
        for (std::size_t slot = 0; ops::areElements(own, {ops::Elements::Multiplied}) && slot < own.inputs.size();
             ++slot) {
            const Tensor factor = model->constantOperand(own, slot);
            const bool isZero = factor.isValid() && factor.size() > 0 && zerosIn(factor) == factor.size();
            if (isZero && facts.nodeOfPass(own.name) == node) {
                return &own;
            }
        }
    }
    return nullptr;
}

void reportCut(const Facts& facts, ValueId input, const Cut& cut, Probe& probe)
{
    const std::string& name = facts.graph().value(input).name;
    Finding& finding = cut.kind == CutKind::EmptyInput ? probe.note(kEmptyInputEffect, facts.place(input))
                                                       : probe.warning(kCutBase, kCutEffect, facts.place(cut.node));
    switch (cut.kind) {
    case CutKind::EmptyInput:
        finding.what = "is 0 everywhere, so no relevance goes to it";
        finding.means = "What is 0 adds nothing to a sum.";
        finding.remedy = "Give another input, if it is not meant to be empty";
        break;
    case CutKind::ZeroFactor:
        finding.what = fmt::format("multiplies what comes from {} by 0 ({}): {} gets no relevance", name,
                                   facts.graph().value(cut.value).name, name);
        finding.means = "The prediction does not depend on this input.";
        finding.remedy = "Look at the constant";
        break;
    case CutKind::AllZero:
        finding.what = fmt::format("all {} values here are 0, on the way from {}: {} gets no relevance",
                                   facts.statistics(cut.value).count, name, name);
        finding.means = "Nothing of this input gets on.";
        finding.remedy = "Look at what is before it";
        break;
    case CutKind::LeftOut:
        finding.what = fmt::format("leaves out what comes from {}: {} gets no relevance", name, name);
        finding.means = "The prediction does not depend on this input.";
        finding.remedy = "Look at the range or the indices that it takes";
        break;
    case CutKind::NothingHandedOn:
        if (const graph::Node* factor = zeroFactorWithin(facts, cut.node)) {
            finding.place.name = factor->name;
            finding.what = fmt::format("multiplies what comes from {} by 0: {} gets no relevance", name, name);
            finding.means = "The prediction does not depend on this input.";
            finding.remedy = "Look at the constant";
            break;
        }
        finding.what = fmt::format("has relevance and hands nothing of it on towards {}", name);
        finding.means = "Nothing of this input takes part in the explanation.";
        finding.remedy = "Look at the rule of this node and at its operands";
        break;
    }
    finding.numbers = {{"sum_abs_R", 0}, {"start", facts.start()}};
    finding.threshold = kNothing;
    finding.action = {"go to node", {{"node", finding.place.name}, {"input", name}}, {}};
}

void findCuts(const Facts& facts, Probe& probe)
{
    const double start = facts.start();
    if (!(start > 0)) {
        return probe.notRun("no relevance started");
    }
    for (const ValueId input : facts.graph().inputs()) {
        const NodeId node = facts.graph().inputNode(input);
        const bool isThere = facts.statistics(input).count > 0; // a past without tokens has nothing to show
        if (!isThere || !carriesRelevance(facts, input) || !facts.leadsToTarget()[node.index()]) {
            continue;
        }
        const double arrived = facts.magnitude(input);
        probe.measured(facts.graph().value(input).name, 1 - std::min(1.0, arrived / start));
        if (arrived == kNothing) {
            if (const std::optional<Cut> cut = cutOf(facts, input)) {
                reportCut(facts, input, *cut, probe);
            }
        }
    }
}

} // namespace

const Check flowCut{"flow.cut",
                    "1 − Σ|R| of a connected input / what started: 1 is a cut",
                    1,
                    "up to 0.95 (trained), 0.99995 (random weights)",
                    Need::Conserved | Need::Forward,
                    true,
                    findCuts};

} // namespace retro::diagnosis
