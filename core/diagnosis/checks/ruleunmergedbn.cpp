// SPDX-License-Identifier: Apache-2.0
#include "core/diagnosis/checks/checks.h"
#include "core/diagnosis/numbertext.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace retro::diagnosis
{

namespace
{

/// Magnitude share of the shift of a BatchNormalization under rule pass (section 4.7, rule.unmerged-bn: > 0.58; the gap
/// is narrow), and e = .7x.
constexpr double kMostShift = 0.58;
constexpr double kShiftEffect = 0.7;

/// m = Σ|R|·|shift|/(|shift| + |x·scale|) / Σ|R| (section 2).
double shiftShare(const Tensor& x, const Tensor& relevance, const ops::Normalisation& normalisation)
{
    const std::vector<double> numbers = numbersIn(x);
    const std::vector<double> arrived = numbersIn(relevance);
    const std::vector<double> scale = numbersIn(normalisation.scale());
    const std::vector<double> shift = numbersIn(normalisation.shift());
    if (x.rank() < 2 || arrived.size() != numbers.size() || scale.size() != shift.size() || scale.empty()) {
        return 0;
    }
    const std::int64_t inner = x.size() / std::max<std::int64_t>(1, x.shape()[0] * x.shape()[1]);
    double of = 0;
    double all = 0;
    for (std::size_t i = 0; i < numbers.size(); ++i) {
        const std::size_t channel = static_cast<std::size_t>(static_cast<std::int64_t>(i) / inner) % scale.size();
        const double part = std::abs(shift[channel]);
        const double whole = part + std::abs(numbers[i] * scale[channel]);
        of += whole > 0 ? std::abs(arrived[i]) * part / whole : 0;
        all += std::abs(arrived[i]);
    }
    return all > 0 ? of / all : 0;
}

/// A convolution with padding that reads the value directly; empty where there is none.
std::string paddedReader(const graph::Graph& graph, ValueId value)
{
    for (const graph::Use& use : graph.uses(value)) {
        const graph::Node& node = graph.node(use.node);
        const std::vector<std::int64_t> pads = wholesAttribute(node, "pads");
        const std::string automatic = textAttribute(node, "auto_pad");
        const bool isPadded =
            std::ranges::any_of(pads, [](std::int64_t pad) { return pad > 0; }) || automatic.starts_with("SAME");
        if (node.op == "Conv" && isPadded) {
            return node.name;
        }
    }
    return {};
}

void findUnmerged(const Facts& facts, Probe& probe)
{
    const graph::Graph& graph = facts.graph();
    for (std::size_t i = 0; i < graph.nodeCount(); ++i) {
        const NodeId node(i);
        const ops::BoundOperator* op = facts.op(node);
        const bool isSite = op != nullptr && op->structure().kind() == ops::StructureKind::Normalisation &&
                            facts.ruleName(node) == "pass" && facts.balance(node).magnitude > 0;
        if (!isSite) {
            continue;
        }
        const auto& normalisation = static_cast<const ops::Normalisation&>(op->structure());
        const ValueId result = graph.node(node).outputs.front();
        const double share =
            shiftShare(facts.value(graph.node(node).inputs.front()), facts.relevance(result), normalisation);
        probe.measured(graph.labelOf(node), share);
        if (!(share > kMostShift)) {
            continue;
        }
        const std::string reader = paddedReader(graph, result);
        const double effect = kShiftEffect * share;
        Finding& finding =
            reader.empty() ? probe.note(effect, facts.place(node)) : probe.warning(2, effect, facts.place(node));
        finding.what = fmt::format("is not merged{}; its shift is {} of the magnitude of its result, and rule pass "
                                   "hands that on as input",
                                   reader.empty() ? std::string() : fmt::format(" (before the padded {})", reader),
                                   percentText(share));
        finding.means = "The heatmap differs from that of a model whose BatchNormalization is merged.";
        finding.remedy = "Let the shift take its share";
        finding.numbers = {{"shift_share_of_magnitude", share}};
        finding.threshold = kMostShift;
        finding.action = {"change rule",
                          {{"node", graph.labelOf(node)}, {"rule", "epsilon"}},
                          ruleOption(graph.labelOf(node), "epsilon")};
    }
}

} // namespace

const Check ruleUnmergedBn{"rule.unmerged-bn",
                           "magnitude share of the shift of a BatchNormalization that is not merged, under rule pass",
                           kMostShift,
                           "up to 0.50 (trained), 0.47 (random weights): narrow",
                           Need::Conserved | Need::Forward,
                           true,
                           findUnmerged};

} // namespace retro::diagnosis
