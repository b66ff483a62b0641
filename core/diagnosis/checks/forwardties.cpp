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

/// Section 4.4, forward.ties: share of Σ|R| in windows with several equal maxima that are not 0: > 0.3; e = .8x.
constexpr double kMostTied = 0.3;
constexpr double kTiedEffect = 0.8;

using Extents = std::vector<std::int64_t>;

/// Every step-th element from the first on.
struct Elements
{
    std::int64_t first = 0;
    std::int64_t step = 1;
    std::int64_t count = 0;
};

/// The windows of a max pool, along its spatial axes.
struct PoolWindows
{
    Extents kernel;
    Extents strides;
    Extents dilations;
    Extents begin; ///< padding before the first element

    PoolWindows(const graph::Node& node, const tensor::Shape& in, const tensor::Shape& out)
        : kernel(wholesAttribute(node, "kernel_shape")), strides(wholesAttribute(node, "strides")),
          dilations(wholesAttribute(node, "dilations")), begin(wholesAttribute(node, "pads"))
    {
        strides.resize(kernel.size(), 1);
        dilations.resize(kernel.size(), 1);
        begin.resize(kernel.size(), 0);
        const std::string automatic = textAttribute(node, "auto_pad");
        for (std::size_t i = 0; automatic.starts_with("SAME") && i < kernel.size(); ++i) {
            const std::int64_t reach = (out[i + 2] - 1) * strides[i] + (kernel[i] - 1) * dilations[i] + 1;
            const std::int64_t all = std::max<std::int64_t>(0, reach - in[i + 2]);
            begin[i] = automatic == "SAME_LOWER" ? all - all / 2 : all / 2;
        }
    }

    /// The elements of an axis in the window at `at` there, those in the padding left out: a kernel may be much larger
    /// than what it is applied to.
    [[nodiscard]] Elements elements(std::size_t axis, std::int64_t at, std::int64_t extent) const
    {
        const std::int64_t start = at * strides[axis] - begin[axis];
        const std::int64_t step = dilations[axis];
        const std::int64_t skipped = start < 0 ? (-start - 1) / step + 1 : 0;
        const std::int64_t count = start < extent ? (extent - 1 - start) / step + 1 : 0;
        const std::int64_t end = std::min(kernel[axis], count);
        return end > skipped ? Elements{start + skipped * step, step, end - skipped} : Elements{};
    }

    /// True when several elements of the window at `at` (one index per spatial axis) equal `most`, in a plane of x.
    [[nodiscard]] bool hasSecondMaximum(const double* plane, const Extents& in, const Extents& at, double most) const
    {
        std::vector<Elements> axes;
        for (std::size_t i = 0; i < kernel.size(); ++i) {
            axes.push_back(elements(i, at[i], in[i]));
            if (axes.back().count == 0) {
                return false;
            }
        }
        Extents step(kernel.size(), 0);
        for (int count = 0;;) {
            std::int64_t offset = 0;
            for (std::size_t i = 0; i < kernel.size(); ++i) {
                offset = offset * in[i] + axes[i].first + step[i] * axes[i].step;
            }
            count += plane[offset] == most ? 1 : 0;
            std::size_t axis = kernel.size();
            while (axis > 0 && ++step[axis - 1] == axes[axis - 1].count) {
                step[--axis] = 0;
            }
            if (axis == 0 || count > 1) {
                return count > 1;
            }
        }
    }
};

/// The same for a picture, which is what most pools are for.
bool hasSecondMaximum(const PoolWindows& windows, const double* plane, const Extents& in, std::int64_t row,
                      std::int64_t column, double most)
{
    const Elements rows = windows.elements(0, row, in[0]);
    const Elements columns = windows.elements(1, column, in[1]);
    int count = 0;
    for (std::int64_t i = 0; i < rows.count && count < 2; ++i) {
        const double* line = plane + (rows.first + i * rows.step) * in[1] + columns.first;
        for (std::int64_t k = 0; k < columns.count; ++k) {
            count += line[k * columns.step] == most ? 1 : 0;
        }
    }
    return count > 1;
}

/// Share of Σ|R| in windows with ties.
double tiedShare(const graph::Node& node, const Tensor& x, const Tensor& y, const Tensor& relevance)
{
    const bool fits =
        x.isValid() && y.isValid() && relevance.isValid() && x.rank() > 2 && y.shape() == relevance.shape();
    if (!fits || wholesAttribute(node, "kernel_shape").size() + 2 != x.rank()) {
        return 0;
    }
    const PoolWindows windows(node, x.shape(), y.shape());
    const std::vector<double> in = numbersIn(x);
    const std::vector<double> most = numbersIn(y);
    const std::vector<double> arrived = numbersIn(relevance);
    const Extents extents(x.shape().begin() + 2, x.shape().end());
    const Extents results(y.shape().begin() + 2, y.shape().end());
    const auto planeSize = static_cast<std::size_t>(tensor::elementCount(extents));
    const auto windowCount = static_cast<std::size_t>(tensor::elementCount(results));
    double all = 0;
    double tied = 0;
    for (std::size_t i = 0; i < arrived.size(); ++i) {
        all += std::abs(arrived[i]);
        if (arrived[i] == 0 || most[i] == 0) {
            continue;
        }
        const double* plane = in.data() + i / windowCount * planeSize;
        const auto window = static_cast<std::int64_t>(i % windowCount);
        const bool isTied =
            results.size() == 2
                ? hasSecondMaximum(windows, plane, extents, window / results[1], window % results[1], most[i])
                : windows.hasSecondMaximum(plane, extents, indexAt(window, results), most[i]);
        tied += isTied ? std::abs(arrived[i]) : 0;
    }
    return all > 0 ? tied / all : 0;
}

void findTies(const Facts& facts, Probe& probe)
{
    const graph::Graph& graph = facts.graph();
    for (std::size_t i = 0; i < graph.nodeCount(); ++i) {
        const NodeId id(i);
        const graph::Node& node = graph.node(id);
        if (node.op != "MaxPool" || facts.ruleName(id) != "winner-take-all" || !(facts.balance(id).magnitude > 0)) {
            continue;
        }
        const ValueId result = node.outputs.front();
        const double share =
            tiedShare(node, facts.value(node.inputs.front()), facts.value(result), facts.relevance(result));
        probe.measured(node.name, share);
        if (!(share > kMostTied)) {
            continue;
        }
        Finding& finding = probe.warning(2, kTiedEffect * share, facts.place(id));
        finding.what =
            fmt::format("{} of Σ|R| that arrives here goes to windows with several equal maxima", percentText(share));
        finding.means = "Of equal ones the first takes all: the heatmap leans to the upper left by chance.";
        finding.remedy = "Share it among them";
        finding.numbers = {{"tied_share_of_sum_abs_R", share}};
        finding.threshold = kMostTied;
        finding.action = {"change rule",
                          {{"node", node.name}, {"rule", "softmax-weighted"}},
                          ruleOption(node.name, "softmax-weighted")};
    }
}

} // namespace

const Check forwardTies{"forward.ties",
                        "share of Σ|R| of a max pool in windows with several equal maxima that are not 0",
                        kMostTied,
                        "0",
                        Need::Conserved | Need::Forward,
                        true,
                        findTies};

} // namespace retro::diagnosis
