// SPDX-License-Identifier: Apache-2.0
#include "core/diagnosis/checks/checks.h"
#include "core/diagnosis/numbertext.h"
#include "core/diagnosis/outlier.h"
#include "core/diagnosis/siblings.h"
#include "core/graph/reach.h"
#include "core/ops/elements.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <utility>

namespace retro::diagnosis
{

namespace
{

/// Residual sums that say what is usual, beside the one that differs.
constexpr std::size_t kLeastUsualSums = 2;
/// What is multiplied by less is a mask, which hides places from a softmax.
constexpr double kHides = -1000;
constexpr double kSkipBase = 2.4;
constexpr double kSkipEffect = 0.6;
/// Of how many sums and more the size of branch against shortcut is compared, and how far one lies from the others, in
/// deviations of theirs (apartOf()).
constexpr std::size_t kLeastUsualRatios = 4;
constexpr double kMostRatioDeviations = 30;

using enum ops::Elements;

/// A value times lone numbers: what they make together, and the node of the first that is not 1.
struct Scaled
{
    ValueId value;
    double factor = 1;
    NodeId node{};
};

/// The lone number that a node multiplies one operand by, and that operand; nothing for other nodes.
std::optional<std::pair<ValueId, double>> factorOf(const ModelFacts& model, const graph::Node& node)
{
    if (ops::areElements(node, {Kept}) && node.inputs.size() == 1) {
        return std::pair(node.inputs[0], 1.0);
    }
    const bool isQuotient = ops::areElements(node, {Divided});
    const bool isProduct = ops::combinesTwo(node, {Multiplied, Divided});
    for (std::size_t slot = 0; isProduct && slot < 2; ++slot) {
        const Tensor constant = model.constantOperand(node, slot);
        if (constant.isValid() && constant.size() == 1 && (!isQuotient || slot == 1)) {
            const double number = constant.at(0);
            return std::pair(node.inputs[1 - slot], isQuotient ? 1 / number : number);
        }
    }
    return std::nullopt;
}

Scaled withoutFactors(const ModelFacts& model, ValueId value)
{
    constexpr int kMostFactors = 8;
    Scaled scaled{value};
    for (int i = 0; i < kMostFactors && model.graph().value(scaled.value).producer.isValid(); ++i) {
        const NodeId producer = model.graph().value(scaled.value).producer;
        const auto factor = factorOf(model, model.graph().node(producer));
        if (!factor) {
            break;
        }
        scaled.value = factor->first;
        scaled.factor *= factor->second;
        scaled.node = factor->second != 1 && !scaled.node.isValid() ? producer : scaled.node;
    }
    return scaled;
}

/// A sum of a value and of what a branch makes of that value.
struct ResidualSum
{
    NodeId node;
    Scaled skip;
    Scaled branch;

    [[nodiscard]] std::string factors() const { return fmt::format("{:.6g} {:.6g}", skip.factor, branch.factor); }
};

/// Whether `to` is computed from what `from` makes. Nodes stand in the order in which they run, so nothing before
/// `from` is walked through.
bool leadsTo(const graph::Graph& graph, NodeId from, ValueId to)
{
    const graph::Node* first = from.index() < graph.nodeCount() ? &graph.node(from) : nullptr; // none of an input
    const auto isBehind = [first](const graph::Node& node) {
        return (first == nullptr || std::greater<>()(&node, first)) && !ops::readsShapeAlone(node);
    };
    return graph::ancestorsOf(graph, std::array{to}, isBehind).nodes[from.index()];
}

std::optional<ResidualSum> residualSumOf(const ModelFacts& model, NodeId id)
{
    const graph::Graph& graph = model.graph();
    const graph::Node& node = graph.node(id);
    const bool isSum = ops::combinesTwo(node, {Summed}) && graph.value(node.inputs[0]).producer.isValid() &&
                       graph.value(node.inputs[1]).producer.isValid();
    if (!isSum) {
        return std::nullopt;
    }
    const std::array operands{withoutFactors(model, node.inputs[0]), withoutFactors(model, node.inputs[1])};
    if (std::min(operands[0].factor, operands[1].factor) < kHides) {
        return std::nullopt;
    }
    for (const std::size_t skip : {std::size_t{0}, std::size_t{1}}) {
        const ValueId kept = operands[skip].value;
        const NodeId from = graph.nodeOf(kept);
        if (kept != operands[1 - skip].value && from.isValid() && leadsTo(graph, from, operands[1 - skip].value)) {
            return ResidualSum{id, operands[skip], operands[1 - skip]};
        }
    }
    return std::nullopt;
}

void reportSkip(const Facts& facts, const ResidualSum& odd, const ResidualSum& usual, std::size_t others, Probe& probe)
{
    const graph::Graph& graph = facts.model()->graph();
    const bool isSkip = odd.skip.factor != usual.skip.factor;
    const Scaled& differs = isSkip ? odd.skip : odd.branch;
    const std::string& name = graph.node(differs.node.isValid() ? differs.node : odd.node).name;
    const double expected = isSkip ? usual.skip.factor : usual.branch.factor;
    Finding& finding = probe.warning(kSkipBase, kSkipEffect, {PlaceKind::Node, name, facts.nodeOfPass(name)});
    finding.what =
        fmt::format("scales {} of its residual sum by {}; the {} other residual sums by {}",
                    isSkip ? "the shortcut" : "the branch", numberText(differs.factor), others, numberText(expected));
    finding.means = std::abs(differs.factor) < std::abs(expected)
                        ? (isSkip ? "Hardly anything of what lies before the block gets past it: relevance ends here."
                                  : "The block hardly adds anything to what it reads.")
                        : "One way into the sum outweighs the other one.";
    finding.remedy = "Compare the factor with the source of the model";
    finding.numbers = {{"factor", differs.factor}, {"usual_factor", expected}};
    finding.action = {"go to node", {{"node", name}}, {}};
}

/// log of Σ|branch| / Σ|shortcut| of each sum; 0 where one of them is 0, was not kept, or hides places (a mask).
std::vector<double> logRatios(const Facts& facts, const std::vector<ResidualSum>& sums)
{
    const auto amount = [&facts](const Scaled& scaled) {
        const ValueId value = facts.valueOfPass(facts.model()->graph().value(scaled.value).name);
        const bool isMask = value.isValid() && facts.statistics(value).least < kHides;
        return value.isValid() && !isMask ? std::abs(scaled.factor) * facts.statistics(value).magnitude : 0;
    };
    std::vector<double> ratios;
    for (const ResidualSum& sum : sums) {
        const double branch = amount(sum.branch);
        const double skip = amount(sum.skip);
        ratios.push_back(branch > 0 && skip > 0 ? std::log(branch / skip) : 0);
    }
    return ratios;
}

/// A block that adds far more, or far less, to what it reads than the others do. Many sound stacks have one, the first
/// or the last: a note.
void noteRatios(const Facts& facts, const std::vector<ResidualSum>& sums, Probe& probe)
{
    const std::vector<double> ratios = logRatios(facts, sums);
    for (std::size_t one = 0; one < sums.size() && sums.size() > kLeastUsualRatios; ++one) {
        const Apart apart = apartOf(ratios, one);
        if (ratios[one] == 0 || !(apart.deviations > kMostRatioDeviations)) {
            continue;
        }
        const std::string& name = facts.model()->graph().node(sums[one].node).name;
        Finding& finding = probe.note(kSkipEffect, {PlaceKind::Node, name, facts.nodeOfPass(name)});
        finding.what =
            fmt::format("its branch is {} times as large as its shortcut; of the {} other residual sums "
                        "{} times (median)",
                        numberText(std::exp(ratios[one])), sums.size() - 1, numberText(std::exp(apart.median)));
        finding.means = "Most of the relevance takes one of the two ways here, and not in the other blocks.";
        finding.remedy = "Compare the weights of this block with the source of the model";
        finding.numbers = {{"ratio", std::exp(ratios[one])}, {"usual_ratio", std::exp(apart.median)}};
        finding.threshold = kMostRatioDeviations;
        finding.action = {"go to node", {{"node", name}}, {}};
    }
}

void findSkips(const Facts& facts, Probe& probe)
{
    std::vector<ResidualSum> sums;
    std::vector<std::string> factors;
    for (std::size_t i = 0; i < facts.model()->graph().nodeCount(); ++i) {
        if (const std::optional<ResidualSum> sum = residualSumOf(*facts.model(), NodeId(i))) {
            sums.push_back(*sum);
            factors.push_back(sum->factors());
            probe.measured(facts.model()->graph().node(NodeId(i)).name, 0);
        }
    }
    if (const std::optional<std::size_t> odd = oddOneOf(factors, kLeastUsualSums)) {
        reportSkip(facts, sums[*odd], sums[*odd == 0 ? 1 : 0], sums.size() - 1, probe);
    } else if (facts.pass() != nullptr && facts.pass()->hasForward) {
        noteRatios(facts, sums, probe);
    }
}

} // namespace

const Check modelSkip{"model.skip",
                      "factor of a shortcut or branch of a residual sum that differs from that of all others; "
                      "deviations of the others that the size of a branch against its shortcut lies from theirs",
                      0,
                      "0",
                      Need::Model,
                      true,
                      findSkips};

} // namespace retro::diagnosis
