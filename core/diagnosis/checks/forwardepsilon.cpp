// SPDX-License-Identifier: Apache-2.0
#include "core/diagnosis/checks/checks.h"
#include "core/diagnosis/numbertext.h"
#include "core/diagnosis/ways.h"
#include "core/graph/attributes.h"
#include "core/ops/layerkind.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>

namespace retro::diagnosis
{

namespace
{

/// Section 4.4, forward.epsilon: median over rows of ε/(variance + ε): > 0.5; e = .8x.
constexpr double kMostEpsilon = 0.5;
constexpr double kEpsilonEffect = 0.8;
/// What the operator takes where the file says nothing.
constexpr double kUsualEpsilon = 1e-5;

bool isCentring(const graph::Node& node) { return ops::isLayerNormalisation(node); }

bool isRowNormalisation(const graph::Node& node) { return isCentring(node) || ops::isRmsNormalisation(node); }

/// Of `count` rows that follow each other; in lanes, which are added at once.
template <class T>
std::vector<double> variancesOfRows(const T* row, std::int64_t count, std::int64_t length, bool isCentred)
{
    constexpr std::int64_t kLanesOfRow = 8;
    const auto sum = [length](const T* x, double from, auto&& f) {
        std::array<double, kLanesOfRow> lanes{};
        std::int64_t i = 0;
        for (; i + kLanesOfRow <= length; i += kLanesOfRow) {
            for (std::size_t lane = 0; lane < kLanesOfRow; ++lane) {
                lanes[lane] += f(static_cast<double>(x[i + static_cast<std::int64_t>(lane)]) - from);
            }
        }
        double all = std::accumulate(lanes.begin(), lanes.end(), 0.0);
        for (; i < length; ++i) {
            all += f(static_cast<double>(x[i]) - from);
        }
        return all / static_cast<double>(length);
    };
    std::vector<double> variances;
    for (std::int64_t r = 0; r < count; ++r, row += length) {
        const double mean = isCentred ? sum(row, 0, [](double x) { return x; }) : 0;
        variances.push_back(sum(row, mean, [](double x) { return x * x; }));
    }
    return variances;
}

/// Variances of the rows, or means of their squares.
std::vector<double> variancesOf(const Tensor& x, std::int64_t axis, bool isCentred)
{
    const auto rank = static_cast<std::int64_t>(x.rank());
    const std::int64_t from = axis < 0 ? axis + rank : axis;
    std::int64_t length = 1;
    for (std::int64_t i = std::max<std::int64_t>(0, from); i < rank; ++i) {
        length *= x.shape()[static_cast<std::size_t>(i)];
    }
    const auto step = std::max<std::int64_t>(1, length);
    if (x.dtype() == tensor::DType::Float32 && x.isContiguous()) {
        return variancesOfRows(x.data<float>(), x.size() / step, step, isCentred);
    }
    const std::vector<double> numbers = numbersIn(x);
    return variancesOfRows(numbers.data(), static_cast<std::int64_t>(numbers.size()) / step, step, isCentred);
}

/// Variances of the rows beside the epsilon.
Chart epsilonChart(const std::vector<double>& variances, double epsilon)
{
    std::vector<double> sizes;
    for (const double variance : variances) {
        if (variance > 0) {
            sizes.push_back(std::log10(variance));
        }
    }
    const double limit = std::log10(epsilon);
    return histogramOf("log10 of the variance of its rows, and of its epsilon", sizes, {limit},
                       {limit, std::numeric_limits<double>::infinity()});
}

void findEpsilon(const Facts& facts, Probe& probe)
{
    const graph::Graph& graph = facts.graph();
    for (std::size_t i = 0; i < graph.nodeCount(); ++i) {
        const NodeId id(i);
        const graph::Node& node = graph.node(id);
        const double epsilon = graph::floatAttribute(node, "epsilon", kUsualEpsilon);
        if (!isRowNormalisation(node) || !reachesTarget(facts, id) || !(epsilon > 0)) {
            continue;
        }
        const Tensor x = facts.value(node.inputs.front());
        std::vector<double> shares = x.isValid()
                                         ? variancesOf(x, graph::intAttribute(node, "axis", -1), isCentring(node))
                                         : std::vector<double>();
        const double variance = median(shares);
        const std::vector<double> variances = shares;
        std::ranges::for_each(shares, [epsilon](double& v) { v = epsilon / (v + epsilon); });
        const double share = median(shares);
        probe.measured(node.name, share);
        if (!(share > kMostEpsilon)) {
            continue;
        }
        Finding& finding = probe.warning(2, kEpsilonEffect * share, facts.place(id));
        finding.what = fmt::format("its epsilon {} is {} of what it divides by (the variance of its rows is {})",
                                   numberText(epsilon), percentText(share), numberText(variance));
        finding.means = "It hardly normalises: what it reads is small beside its epsilon.";
        finding.remedy = "Compare the epsilon with that of the training, and the scale of what is before it";
        finding.numbers = {{"share_of_epsilon", share}, {"epsilon", epsilon}, {"median_variance", variance}};
        finding.threshold = kMostEpsilon;
        finding.chart = epsilonChart(variances, epsilon);
        finding.action = {"go to node", {{"node", node.name}}, {}};
    }
}

} // namespace

const Check forwardEpsilon{
    "forward.epsilon", "median over the rows of a LayerNormalization of epsilon/(variance + epsilon)",
    kMostEpsilon,      "up to 1e-5 (trained), 0.03 (random weights)",
    Need::Forward,     true,
    findEpsilon};

} // namespace retro::diagnosis
