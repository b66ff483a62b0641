// SPDX-License-Identifier: Apache-2.0
#include "core/diagnosis/checks/checks.h"
#include "core/diagnosis/compared.h"
#include "core/diagnosis/numbertext.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace retro::diagnosis
{

namespace
{

/// Relative difference of a forward value (section 4.8, diff.forward: 1e-5 of its largest); base and e.
constexpr double kForwardTolerance = 1e-5;
constexpr double kForwardBase = 2.4;
constexpr double kForwardEffect = 0.3;

struct ForwardGap
{
    double relative = 0;
    std::int64_t position = 0;
};

/// Infinite where one of the two alone is not finite.
double distanceBetween(double a, double b)
{
    const bool isSame = a == b || (std::isnan(a) && std::isnan(b));
    const double distance = isSame ? 0 : std::abs(a - b);
    return std::isfinite(distance) ? distance : std::numeric_limits<double>::infinity();
}

double finiteSize(double x) { return std::isfinite(x) ? std::abs(x) : 0; }

ForwardGap forwardGap(const Tensor& own, const Tensor& other)
{
    const std::vector<double> a = numbersIn(own);
    const std::vector<double> b = numbersIn(other);
    double largest = 0;
    double gap = 0;
    ForwardGap found;
    for (std::size_t i = 0; i < a.size(); ++i) {
        const double distance = distanceBetween(a[i], b[i]);
        largest = std::max({largest, finiteSize(a[i]), finiteSize(b[i])});
        if (distance > gap) {
            gap = distance;
            found.position = static_cast<std::int64_t>(i);
        }
    }
    found.relative = gap == 0 ? 0 : gap / (largest > 0 ? largest : 1);
    return found;
}

/// Where the two are apart: over the two last axes, the others added up; of fewer axes by element.
Chart forwardChart(const Tensor& own, const Tensor& other)
{
    std::vector<double> distances = numbersIn(own);
    const std::vector<double> theirs = numbersIn(other);
    for (std::size_t i = 0; i < distances.size(); ++i) {
        distances[i] = std::abs(distances[i] - theirs[i]);
    }
    const std::size_t rank = own.rank();
    const std::size_t columns = rank > 0 ? static_cast<std::size_t>(own.shape()[rank - 1]) : 1;
    const std::size_t rows = rank > 1 ? static_cast<std::size_t>(own.shape()[rank - 2]) : 1;
    if (rows < 2 || columns < 2) {
        return barsOf("How far the two are apart, by element", std::move(distances), {});
    }
    std::vector<double> sums(rows * columns, 0);
    for (std::size_t i = 0; i < distances.size(); ++i) {
        sums[i % sums.size()] += distances[i];
    }
    return mapOf("How far the two are apart, over the two last axes", sums, columns, false);
}

/// True when the value is not that of the reference.
bool partsAt(const Facts& facts, Probe& probe, const ComparedPasses& compared, NodeId node, ValueId value)
{
    const graph::Graph& graph = facts.graph();
    const ValueId partner = value.isValid() ? compared.match.valueToOther[value.index()] : ValueId();
    const Tensor own = partner.isValid() ? facts.value(value) : Tensor();
    const Tensor other = partner.isValid() ? facts.reference()->value(partner) : Tensor();
    if (!own.isValid() || !other.isValid() || own.shape() != other.shape()) {
        return false;
    }
    const ForwardGap gap = forwardGap(own, other);
    probe.measured(graph.labelOf(node), gap.relative);
    if (!(gap.relative > kForwardTolerance)) {
        return false;
    }
    Finding& finding = probe.difference(kForwardBase, kForwardEffect, facts.place(node));
    const auto index = indexAt(gap.position, own.shape());
    finding.what = fmt::format("is the first node whose forward value differs: {} at {}, in the reference {}",
                               numberText(own.at(gap.position)), indexText(index), numberText(other.at(gap.position)));
    finding.means = "Here the two part; why stands in what differs before it.";
    finding.numbers = {{"relative_difference", gap.relative}};
    finding.threshold = kForwardTolerance;
    finding.action = {"go to node", {{"node", graph.labelOf(node)}}, {}};
    finding.evidence = {{graph.value(value).name, index}};
    finding.chart = forwardChart(own, other);
    return true;
}

void findForward(const Facts& facts, Probe& probe)
{
    const ComparedPasses* compared = facts.comparedPasses();
    if (compared == nullptr || !facts.reference()->pass()->hasForward) {
        return probe.notRun("the reference has no forward values");
    }
    const graph::Graph& graph = facts.graph();
    for (std::size_t i = 0; i < graph.nodeCount() && !facts.stop().stop_requested(); ++i) {
        for (const ValueId value : graph.node(NodeId(i)).outputs) {
            if (partsAt(facts, probe, *compared, NodeId(i), value)) {
                return;
            }
        }
    }
}

} // namespace

const Check diffForward{"diff.forward",
                        "relative difference of the first forward value that is not that of the reference",
                        kForwardTolerance,
                        "0",
                        Need::Reference | Need::Forward,
                        true,
                        findForward};

} // namespace retro::diagnosis
