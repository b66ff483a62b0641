// SPDX-License-Identifier: Apache-2.0
#include "core/diagnosis/checks/checks.h"
#include "core/diagnosis/numbertext.h"
#include "core/graph/attributes.h"
#include "core/lrp/rules/rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

namespace retro::diagnosis
{

namespace
{

/// Magnitude share of the shift of a BatchNormalization under rule pass (section 4.7, rule.unmerged-bn: > 0.58; the gap
/// is narrow), and e = .7x.
constexpr double kMostShift = 0.58;
constexpr double kShiftEffect = 0.7;

/// Sums of m = Σ|R|·|shift|/(|shift| + |x·scale|) / Σ|R| (section 2).
struct ShiftSums
{
    double of = 0;
    double all = 0;

    void add(const float* x, const float* r, std::int64_t count, float scale, float shift)
    {
        constexpr std::size_t kWidth = 8; // which compilers keep in registers
        std::array<double, kWidth> parts{};
        std::array<double, kWidth> wholes{};
        for (std::int64_t i = 0; i + static_cast<std::int64_t>(kWidth) <= count; i += kWidth) {
            for (std::size_t lane = 0; lane < kWidth; ++lane) {
                const auto k = i + static_cast<std::int64_t>(lane);
                addOne(x[k], r[k], scale, shift, parts[lane], wholes[lane]);
            }
        }
        for (std::int64_t i = count - count % static_cast<std::int64_t>(kWidth); i < count; ++i) {
            addOne(x[i], r[i], scale, shift, of, all);
        }
        of = std::accumulate(parts.begin(), parts.end(), of);
        all = std::accumulate(wholes.begin(), wholes.end(), all);
    }

    static void addOne(float x, float r, float scale, float shift, double& part, double& whole)
    {
        const float size = std::abs(shift);
        const float sum = size + std::abs(x * scale);
        const float arrived = std::abs(r);
        part += static_cast<double>(sum > 0 ? arrived * (size / sum) : 0.0F);
        whole += static_cast<double>(arrived);
    }
};

/// Channels last: one number per channel in turn.
void addRows(ShiftSums& sums, const float* x, const float* r, const MemoryRuns& runs, const float* scale,
             const float* shift)
{
    const auto channels = static_cast<std::size_t>(runs.extent);
    std::vector<double> parts(channels);
    std::vector<double> wholes(channels);
    for (std::int64_t row = 0; row < runs.outer; ++row) {
        for (std::size_t c = 0; c < channels; ++c) {
            ShiftSums::addOne(x[c], r[c], scale[c], shift[c], parts[c], wholes[c]);
        }
        x += channels;
        r += channels;
    }
    sums.of = std::accumulate(parts.begin(), parts.end(), sums.of);
    sums.all = std::accumulate(wholes.begin(), wholes.end(), sums.all);
}

double shiftShare(const Tensor& input, const Tensor& arrived, const ops::Normalisation& normalisation)
{
    const Tensor scale = normalisation.scale().to(tensor::DType::Float32).contiguous();
    const Tensor shift = normalisation.shift().to(tensor::DType::Float32).contiguous();
    if (!input.isValid() || !arrived.isValid() || input.rank() < 2 || input.shape() != arrived.shape() ||
        scale.size() != input.shape()[1] || shift.size() != scale.size() || input.size() == 0) {
        return 0;
    }
    const bool isAlike = input.strides() == arrived.strides() && runsAlong(input, 1).has_value();
    const Tensor x = isAlike ? input.to(tensor::DType::Float32) : input.to(tensor::DType::Float32).contiguous();
    const Tensor r = isAlike ? arrived.to(tensor::DType::Float32) : arrived.to(tensor::DType::Float32).contiguous();
    const auto runs = runsAlong(x, 1);
    if (!runs || x.strides() != r.strides()) {
        return 0;
    }
    ShiftSums sums;
    const float* of = x.data<float>();
    const float* at = r.data<float>();
    if (runs->inner == 1) {
        addRows(sums, of, at, *runs, scale.data<float>(), shift.data<float>());
    } else {
        for (std::int64_t run = 0; run < runs->outer * runs->extent; ++run) {
            const std::int64_t channel = run % runs->extent;
            sums.add(of + run * runs->inner, at + run * runs->inner, runs->inner, scale.data<float>()[channel],
                     shift.data<float>()[channel]);
        }
    }
    return sums.all > 0 ? sums.of / sums.all : 0;
}

/// A convolution with padding that reads the value directly; empty where there is none.
std::string paddedReader(const graph::Graph& graph, ValueId value)
{
    for (const graph::Use& use : graph.uses(value)) {
        const graph::Node& node = graph.node(use.node);
        const std::vector<std::int64_t> pads = graph::intsAttribute(node, "pads");
        const std::string automatic = graph::textAttribute(node, "auto_pad");
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
                            lrp::traitsOf(facts.ruleName(node)).handsOn && facts.balance(node).magnitude > 0;
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
