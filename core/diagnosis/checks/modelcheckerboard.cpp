// SPDX-License-Identifier: Apache-2.0
#include "core/diagnosis/checks/checks.h"
#include "core/diagnosis/numbertext.h"
#include "core/graph/attributes.h"

#include <fmt/format.h>

#include <cmath>

namespace retro::diagnosis
{

namespace
{

/// Deviation/mean, over the phases of the strides, of the mean |R| of a result N×C×spatial; 0 where there is none.
double phaseSpread(const Tensor& relevance, const std::vector<std::int64_t>& strides)
{
    if (!relevance.isValid() || relevance.rank() != strides.size() + 2) {
        return 0;
    }
    std::int64_t phases = 1;
    for (const std::int64_t stride : strides) {
        phases *= stride;
    }
    std::vector<double> sums(static_cast<std::size_t>(phases));
    std::vector<double> counts(sums.size());
    const std::vector<double> numbers = numbersIn(relevance);
    for (std::size_t i = 0; i < numbers.size(); ++i) {
        const std::vector<std::int64_t> index = indexAt(static_cast<std::int64_t>(i), relevance.shape());
        std::int64_t phase = 0;
        for (std::size_t axis = 0; axis < strides.size(); ++axis) {
            phase = phase * strides[axis] + index[axis + 2] % strides[axis];
        }
        sums[static_cast<std::size_t>(phase)] += std::abs(numbers[i]);
        counts[static_cast<std::size_t>(phase)] += 1;
    }
    std::vector<float> means;
    for (std::size_t i = 0; i < sums.size(); ++i) {
        means.push_back(static_cast<float>(counts[i] > 0 ? sums[i] / counts[i] : 0));
    }
    const Statistics of = statisticsOf(Tensor::of<float>({phases}, std::span<const float>(means)));
    return of.mean > 0 ? std::sqrt(of.variance) / of.mean : 0;
}

/// True where the windows of a transposed convolution overlap unevenly.
bool isUneven(const std::vector<std::int64_t>& kernel, const std::vector<std::int64_t>& strides)
{
    for (std::size_t i = 0; i < strides.size() && i < kernel.size(); ++i) {
        if (strides[i] > 1 && kernel[i] % strides[i] != 0) {
            return true;
        }
    }
    return false;
}

void findCheckerboards(const Facts& facts, Probe& probe)
{
    const ModelFacts& model = *facts.model();
    for (const graph::Node& node : model.graph().nodes()) {
        if (node.op != "ConvTranspose" || !node.domain.empty()) {
            continue;
        }
        std::vector<std::int64_t> kernel = graph::intsAttribute(node, "kernel_shape");
        const Tensor weight = model.constantOperand(node, 1);
        if (kernel.empty() && weight.isValid() && weight.rank() > 2) {
            kernel.assign(weight.shape().begin() + 2, weight.shape().end());
        }
        const std::vector<std::int64_t> strides = graph::intsAttribute(node, "strides");
        const std::string& result = model.graph().value(node.outputs.front()).name;
        const ValueId value = facts.valueOfPass(result);
        const bool hasRelevance = facts.pass() != nullptr && facts.pass()->hasRelevance && value.isValid();
        const double spread = hasRelevance ? phaseSpread(facts.relevance(value), strides) : 0;
        probe.measured(node.name, isUneven(kernel, strides) ? spread : 0);
        if (!isUneven(kernel, strides)) {
            continue;
        }
        Finding& finding = probe.note(spread, {PlaceKind::Node, node.name, facts.nodeOfPass(node.name)});
        finding.what = fmt::format("kernel {}, stride {}: its windows overlap unevenly; mean |R| differs by {} between "
                                   "the phases of the stride",
                                   extentsText(kernel), extentsText(strides), percentText(spread));
        finding.means = "A pattern of squares in the heatmap is that of this layer, not of the input.";
        finding.remedy = "A kernel that is a multiple of the stride overlaps evenly";
        finding.numbers = {{"spread_over_phases", spread}};
        finding.action = {"go to node", {{"node", node.name}}, {}};
    }
}

} // namespace

const Check modelCheckerboard{"model.checkerboard",
                              "spread (deviation/mean) of mean |R| over the phases of the stride of a ConvTranspose "
                              "whose kernel is no multiple of it",
                              0,
                              "up to 0.56: users train such models, so it is a note",
                              Need::Model,
                              true,
                              findCheckerboards};

} // namespace retro::diagnosis
