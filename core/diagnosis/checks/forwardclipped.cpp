// SPDX-License-Identifier: Apache-2.0
#include "core/diagnosis/biasbefore.h"
#include "core/diagnosis/checks/checks.h"
#include "core/diagnosis/numbertext.h"
#include "core/diagnosis/samplechecks.h"
#include "core/diagnosis/ways.h"
#include "core/graph/attributes.h"
#include "core/ops/elements.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <span>

namespace retro::diagnosis
{

namespace
{

/// Section 4.4, forward.clipped: share at the upper bound, of elements or of Σ|R| there: > 0.5; > 0.95: base 2.6;
/// e = .9x.
constexpr double kMostClipped = 0.5;
constexpr double kFullyClipped = 0.95;
constexpr double kFullyClippedBase = 2.6;
constexpr double kClippedEffect = 0.9;

std::optional<double> numberOf(const Tensor& constant)
{
    return constant.isValid() && constant.size() == 1 ? std::optional(constant.at(0)) : std::nullopt;
}

/// The upper bound of a Clip, or of a Min with a constant; nothing where there is none.
std::optional<double> upperBound(const Facts& facts, const graph::Node& node)
{
    if (ops::areElements(node, {ops::Elements::Bounded})) {
        if (node.attributes.contains("max")) {
            return graph::floatAttribute(node, "max", std::numeric_limits<double>::max());
        }
        return node.inputs.size() > 2 && node.inputs[2].isValid() ? numberOf(facts.value(node.inputs[2]))
                                                                  : std::nullopt;
    }
    if (node.op == "Min" && node.inputs.size() == 2) {
        const auto constant =
            std::ranges::find_if(node.inputs, [&](ValueId input) { return !facts.graph().nodeOf(input).isValid(); });
        return constant != node.inputs.end() ? numberOf(facts.value(*constant)) : std::nullopt;
    }
    return std::nullopt;
}

double shareAt(double bound, std::span<const double> numbers)
{
    const auto at = static_cast<float>(bound); // as a run in float32 has it
    const auto cut = std::ranges::count_if(numbers, [at](double y) { return static_cast<float>(y) >= at; });
    return numbers.empty() ? 0 : static_cast<double>(cut) / static_cast<double>(numbers.size());
}

/// The same of a whole value, without a copy where it is of float32.
double shareAt(double bound, const Tensor& value)
{
    if (value.dtype() != tensor::DType::Float32 || !value.isDense()) {
        return shareAt(bound, numbersIn(value));
    }
    const std::span<const float> numbers{value.data<float>(), static_cast<std::size_t>(value.size())};
    const auto at = static_cast<float>(bound);
    return static_cast<double>(std::ranges::count_if(numbers, [at](float y) { return y >= at; })) /
           static_cast<double>(numbers.size());
}

/// Share of the relevance of a value that lies where it is at the bound; 0 where none is known, and of gradients.
double relevanceAt(double bound, const Facts& facts, ValueId value)
{
    const Pass& pass = *facts.pass();
    const Tensor relevance = pass.hasRelevance && !pass.isGradient ? facts.relevance(value) : Tensor();
    const std::vector<double> numbers = relevance.isValid() ? numbersIn(facts.value(value)) : std::vector<double>();
    if (numbers.empty() || relevance.shape() != facts.value(value).shape()) {
        return 0;
    }
    const auto at = static_cast<float>(bound);
    const std::vector<double> shares = numbersIn(relevance);
    double all = 0;
    double cut = 0;
    for (std::size_t i = 0; i < shares.size(); ++i) {
        all += std::abs(shares[i]);
        cut += static_cast<float>(numbers[i]) >= at ? std::abs(shares[i]) : 0;
    }
    return all > 0 ? cut / all : 0;
}

void findClipped(const Facts& facts, Probe& probe)
{
    const graph::Graph& graph = facts.graph();
    const std::vector<bool> isInside = linearBehind(facts);
    for (std::size_t i = 0; i < graph.nodeCount(); ++i) {
        const NodeId id(i);
        const graph::Node& node = graph.node(id);
        const std::optional<double> bound = isInside[i] ? upperBound(facts, node) : std::nullopt;
        const Tensor value = bound ? facts.value(node.outputs.front()) : Tensor();
        if (!value.isValid() || value.size() == 0 || !tensor::isFloating(value.dtype())) {
            continue;
        }
        const double elements = shareAt(*bound, value);
        const double relevance = elements > 0 ? relevanceAt(*bound, facts, node.outputs.front()) : 0;
        const double share = std::max(elements, relevance);
        probe.measured(node.name, share);
        if (!(share > kMostClipped)) {
            continue;
        }
        const std::string which = samplesText(facts, value, clippedCheck(facts, id));
        const Statistics& operand = facts.statistics(node.inputs.front());
        Finding& finding =
            probe.warning(share > kFullyClipped ? kFullyClippedBase : 2, kClippedEffect * share, facts.place(id));
        finding.what = fmt::format(
            "cuts {} of its {} outputs off at its upper bound {} {} (its input is {} … {}){}", percentText(elements),
            value.size(), numberText(*bound), which, numberText(operand.least), numberText(operand.largest),
            relevance > elements ? fmt::format("; {} of Σ|R| lies there", percentText(relevance)) : std::string());
        finding.means = "What lies above the bound looks all the same to what follows; gradients are 0 there.";
        finding.remedy = adviceBefore(
            facts, id, "Look at the bound, at the scale of the weights before it, and at that of the input");
        finding.numbers = {{"share_at_bound", elements}, {"share_of_sum_abs_R", relevance}, {"bound", *bound}};
        finding.threshold = kMostClipped;
        finding.chart = histogramOf("What it reads, and its upper bound", numbersIn(facts.value(node.inputs.front())),
                                    {*bound}, {-std::numeric_limits<double>::infinity(), *bound});
        finding.action = {"go to node", {{"node", node.name}}, {}};
    }
}

} // namespace

SampleCheck clippedCheck(const Facts& facts, NodeId node)
{
    const std::optional<double> bound = upperBound(facts, facts.graph().node(node));
    if (!bound || !linearBehind(facts)[node.index()]) {
        return {};
    }
    return [bound](std::span<const double> sample) { return shareAt(*bound, sample) > kMostClipped; };
}

const Check forwardClipped{
    "forward.clipped", "share of a Clip, or of Σ|R| there, at its upper bound, inside of a model",
    kMostClipped,      "up to 0.02 of elements (trained), 0 (random weights)",
    Need::Forward,     true,
    findClipped};

} // namespace retro::diagnosis
