// SPDX-License-Identifier: Apache-2.0
#include "core/diagnosis/checks/checks.h"
#include "core/diagnosis/numbertext.h"
#include "core/graph/attributes.h"
#include "core/lrp/rules/rules.h"
#include "core/ops/layerkind.h"
#include "core/ops/threads.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

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
        : kernel(graph::intsAttribute(node, "kernel_shape")), strides(graph::intsAttribute(node, "strides")),
          dilations(graph::intsAttribute(node, "dilations")), begin(graph::intsAttribute(node, "pads"))
    {
        strides.resize(kernel.size(), 1);
        dilations.resize(kernel.size(), 1);
        begin.resize(kernel.size(), 0);
        const std::string automatic = graph::textAttribute(node, "auto_pad");
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

/// First and last index of a window along one axis that lie inside of the operand.
struct Span
{
    std::int64_t first = 0;
    std::int64_t count = 0;

    Span(const PoolWindows& windows, std::size_t axis, std::int64_t at, std::int64_t extent)
    {
        const std::int64_t dilation = windows.dilations[axis];
        const std::int64_t from = at * windows.strides[axis] - windows.begin[axis];
        const std::int64_t skipped = from < 0 ? (-from + dilation - 1) / dilation : 0;
        first = from + skipped * dilation;
        const std::int64_t fitting = first < extent ? (extent - 1 - first) / dilation + 1 : 0;
        count = std::max<std::int64_t>(0, std::min(windows.kernel[axis] - skipped, fitting));
    }
};

/// Of pictures of float32, in any order in memory.
class TiesOfPicture
{
public:
    TiesOfPicture(const PoolWindows& windows, const Tensor& x, const Tensor& y, const Tensor& relevance)
        : m_windows(windows), m_x(x), m_y(y), m_relevance(relevance)
    {}

    /// Share of Σ|R| in windows with ties. Each row is added up by one thread, so it does not depend on their number.
    [[nodiscard]] double share() const
    {
        const std::int64_t rows = m_y.shape()[0] * m_y.shape()[2];
        std::vector<double> all(static_cast<std::size_t>(rows));
        std::vector<double> tied(static_cast<std::size_t>(rows));
        ops::parallelFor(rows, 1, [&](std::int64_t begin, std::int64_t end) {
            for (std::int64_t i = begin; i < end; ++i) {
                addRow(i / m_y.shape()[2], i % m_y.shape()[2], all[static_cast<std::size_t>(i)],
                       tied[static_cast<std::size_t>(i)]);
            }
        });
        const double sum = std::accumulate(all.begin(), all.end(), 0.0);
        return sum > 0 ? std::accumulate(tied.begin(), tied.end(), 0.0) / sum : 0;
    }

private:
    void addRow(std::int64_t sample, std::int64_t row, double& all, double& tied) const
    {
        const Span rows(m_windows, 0, row, m_x.shape()[2]);
        const auto& into = m_x.strides();
        const std::int64_t channels = m_y.shape()[1];
        for (std::int64_t column = 0; column < m_y.shape()[3]; ++column) {
            const Span columns(m_windows, 1, column, m_x.shape()[3]);
            const float* most = at(m_y, sample, row, column);
            const float* arrived = at(m_relevance, sample, row, column);
            const float* window = m_x.data<float>() + sample * into[0] + rows.first * into[2] + columns.first * into[3];
            for (std::int64_t channel = 0; channel < channels; ++channel) {
                const auto size = std::abs(static_cast<double>(*arrived));
                all += size;
                tied += size != 0 && *most != 0 && countIn(window, rows.count, columns.count, *most) > 1 ? size : 0;
                most += m_y.strides()[1];
                arrived += m_relevance.strides()[1];
                window += into[1];
            }
        }
    }

    static const float* at(const Tensor& tensor, std::int64_t sample, std::int64_t row, std::int64_t column)
    {
        return tensor.data<float>() + sample * tensor.strides()[0] + row * tensor.strides()[2] +
               column * tensor.strides()[3];
    }

    [[nodiscard]] int countIn(const float* window, std::int64_t rows, std::int64_t columns, float most) const
    {
        const std::int64_t down = m_x.strides()[2] * m_windows.dilations[0];
        const std::int64_t right = m_x.strides()[3] * m_windows.dilations[1];
        int count = 0;
        for (std::int64_t i = 0; i < rows && count < 2; ++i) {
            for (std::int64_t k = 0; k < columns && count < 2; ++k) {
                count += window[i * down + k * right] == most ? 1 : 0;
            }
        }
        return count;
    }

    const PoolWindows& m_windows;
    const Tensor& m_x;
    const Tensor& m_y;
    const Tensor& m_relevance;
};

/// Share of Σ|R| in windows with ties.
double tiedShare(const graph::Node& node, const Tensor& x, const Tensor& y, const Tensor& relevance)
{
    const bool fits =
        x.isValid() && y.isValid() && relevance.isValid() && x.rank() > 2 && y.shape() == relevance.shape();
    if (!fits || graph::intsAttribute(node, "kernel_shape").size() + 2 != x.rank()) {
        return 0;
    }
    const PoolWindows windows(node, x.shape(), y.shape());
    const auto isPlain = [](const Tensor& tensor) { return tensor.dtype() == tensor::DType::Float32; };
    if (x.rank() == 4 && isPlain(x) && isPlain(y) && isPlain(relevance)) {
        return TiesOfPicture(windows, x, y, relevance).share();
    }
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
        const bool isTied = windows.hasSecondMaximum(plane, extents, indexAt(window, results), most[i]);
        tied += isTied ? std::abs(arrived[i]) : 0;
    }
    return all > 0 ? tied / all : 0;
}

/// True where a max pool with overlapping windows stands before: neighbours are then copies of one element, and equal
/// by design. GoogLeNet is built so: 0.49 with random weights.
bool readsCopies(const Facts& facts, const graph::Node& node)
{
    const NodeId before = facts.graph().value(node.inputs.front()).producer;
    if (!before.isValid() || !ops::isMaxPool(facts.graph().node(before))) {
        return false;
    }
    const Extents kernel = graph::intsAttribute(facts.graph().node(before), "kernel_shape");
    Extents strides = graph::intsAttribute(facts.graph().node(before), "strides");
    strides.resize(kernel.size(), 1);
    for (std::size_t i = 0; i < kernel.size(); ++i) {
        if (kernel[i] > strides[i]) {
            return true;
        }
    }
    return false;
}

void findTies(const Facts& facts, Probe& probe)
{
    const graph::Graph& graph = facts.graph();
    for (std::size_t i = 0; i < graph.nodeCount(); ++i) {
        const NodeId id(i);
        const graph::Node& node = graph.node(id);
        if (!ops::isMaxPool(node) || !lrp::traitsOf(facts.ruleName(id)).firstTakesAll ||
            !(facts.balance(id).magnitude > 0)) {
            continue;
        }
        const ValueId result = node.outputs.front();
        const double share =
            tiedShare(node, facts.value(node.inputs.front()), facts.value(result), facts.relevance(result));
        probe.measured(node.name, share);
        if (!(share > kMostTied)) {
            continue;
        }
        const bool isByDesign = readsCopies(facts, node);
        Finding& finding = isByDesign ? probe.note(kTiedEffect * share, facts.place(id))
                                      : probe.warning(2, kTiedEffect * share, facts.place(id));
        finding.what =
            fmt::format("{} of Σ|R| that arrives here goes to windows with several equal maxima", percentText(share));
        finding.means = "Of equal ones the first takes all: the heatmap leans to the upper left by chance.";
        if (isByDesign) {
            finding.means = "The pool before it has overlapping windows, so neighbours are often one element twice.";
        }
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
