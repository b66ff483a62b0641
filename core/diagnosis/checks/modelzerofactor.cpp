// SPDX-License-Identifier: Apache-2.0
#include "core/diagnosis/checks/checks.h"
#include "core/diagnosis/numbertext.h"
#include "core/diagnosis/ways.h"
#include "core/ops/elements.h"

#include <fmt/format.h>

#include <limits>
#include <utility>

namespace retro::diagnosis
{

namespace
{

/// As forward.dead: a branch hands nothing on.
constexpr double kFactorBase = 2.9;
constexpr double kZeroEffect = 0.9;
constexpr double kNoEnd = std::numeric_limits<double>::infinity();

/// The constant of a product that is 0 throughout; invalid where there is none.
ValueId zeroFactor(const graph::Graph& graph, const graph::Node& node)
{
    if (!ops::areElements(node, {ops::Elements::Multiplied}) || node.inputs.size() != 2) {
        return {};
    }
    for (const ValueId factor : node.inputs) {
        const Tensor& constant = graph.value(factor).constant;
        const bool isZero = constant.isValid() && tensor::isFloating(constant.dtype()) && constant.size() > 0 &&
                            zerosIn(constant) == constant.size();
        if (isZero) {
            return factor;
        }
    }
    return {};
}

/// A product with nothing, of something: that another node hands on 0 is no fault of the constant. Where a rewrite took
/// the product into a node, nobody knows what it read.
void findProduct(const Facts& facts, const graph::Graph& graph, const graph::Node& node, Probe& probe)
{
    const ValueId factor = zeroFactor(graph, node);
    const NodeId id = factor.isValid() ? facts.nodeOfPass(node.name) : NodeId();
    if (!id.isValid() || !reachesTarget(facts, id) || facts.graph().opOf(id) == "Gate") { // a cell's state before it
        return;
    }
    const graph::Value& beside = graph.value(node.inputs[node.inputs[0] == factor ? 1 : 0]);
    if (beside.constant.isValid()) {
        return;
    }
    const ValueId read = facts.valueOfPass(beside.name);
    const Statistics& operand = read.isValid() ? facts.statistics(read) : Statistics();
    const bool isKept = facts.graph().labelOf(id) == node.name;
    if (isKept && operand.least == 0 && operand.largest == 0) {
        return;
    }
    probe.measured(node.name, 1);
    Place place = facts.place(id);
    place.name = node.name;
    Finding& finding = probe.warning(kFactorBase, kZeroEffect, std::move(place));
    finding.what = fmt::format("multiplies by 0 throughout ({}): all its outputs are 0", graph.value(factor).name);
    finding.means = "The branch before it hands nothing on; relevance goes along other paths.";
    finding.remedy = "Look whether that constant was ever loaded, or switches a branch off on purpose";
    finding.numbers = {{"zero_factors", 1}};
    if (isKept) {
        finding.chart =
            histogramOf("What it reads; all of it becomes 0", numbersIn(facts.value(read)), {0}, {-kNoEnd, kNoEnd});
    }
    finding.action = {"go to node", {{"node", facts.graph().labelOf(id)}}, {}};
}

void findZeroFactors(const Facts& facts, Probe& probe)
{
    const graph::Graph& graph = facts.model() != nullptr ? facts.model()->graph() : facts.graph();
    for (const graph::Node& node : graph.nodes()) {
        findProduct(facts, graph, node, probe);
    }
}

} // namespace

const Check modelZeroFactor{"model.zero-factor",
                            "products with a constant that is 0 throughout, of something that is not",
                            0,
                            "0",
                            Need::Forward,
                            true,
                            findZeroFactors};

} // namespace retro::diagnosis
