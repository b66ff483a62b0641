// SPDX-License-Identifier: Apache-2.0
#include "core/diagnosis/checks/checks.h"
#include "core/diagnosis/magnitudeshare.h"
#include "core/diagnosis/numbertext.h"
#include "core/ops/algebra.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace retro::diagnosis
{

namespace
{

/// Section 4.6, flow.constant: Add of a constant that differs by position: magnitude share > 0.7, and it takes more
/// than 0.75 of S; base, e = .3 + .6x.
constexpr double kMostConstant = 0.7;
constexpr double kConstantOfStart = 0.75;
constexpr double kConstantBase = 2.2;
/// What nearly nothing else is added to is worth a note from here on: 0.58 of S was seen with random weights alone.
constexpr double kNearlyConstant = 0.9;
constexpr double kNearlyConstantOfStart = 0.4;

/// More than a bias, which differs along one axis alone.
bool differsByPosition(const tensor::Shape& shape)
{
    return std::ranges::count_if(shape, [](std::int64_t extent) { return extent > 1; }) > 1;
}

/// The operand of a sum that takes no relevance; invalid where there is none, or several.
ValueId constantOf(const Facts& facts, const graph::Node& node)
{
    const execute::BoundModel& model = *facts.pass()->model;
    ValueId constant;
    for (const ValueId input : node.inputs) {
        if (input.isValid() && !model.isTracked(input)) {
            if (constant.isValid()) {
                return {};
            }
            constant = input;
        }
    }
    return constant;
}

/// Σ|t| of the operands beside the constant.
Tensor othersOf(const Facts& facts, const graph::Node& node, ValueId constant)
{
    const Tensor result = facts.value(node.outputs.front());
    Tensor sum = result.isValid() ? ops::algebra::filledLike(result, 0) : Tensor();
    for (const ValueId input : node.inputs) {
        const Tensor value = input.isValid() && input != constant ? facts.value(input) : Tensor();
        if (value.isValid() && sum.isValid()) {
            sum = ops::algebra::addBroadcast(sum, ops::algebra::absolute(value));
        }
    }
    return sum;
}

/// The name of the data: through nodes that move or choose it, as positions are looked up.
std::string dataName(const Facts& facts, ValueId value)
{
    const graph::Graph& graph = facts.graph();
    for (std::size_t i = 0; i < graph.nodeCount(); ++i) {
        const NodeId producer = graph.value(value).producer;
        if (!producer.isValid() || graph.node(producer).inputs.empty() || !graph.node(producer).inputs[0].isValid()) {
            break;
        }
        value = graph.node(producer).inputs[0];
    }
    return graph.value(value).name;
}

/// What a constant takes at a sum: of its magnitude, and of what started.
struct ConstantShare
{
    NodeId node;
    ValueId constant;
    double share = 0;
    double taken = 0;
};

void noteConstant(const Facts& facts, Probe& probe, const ConstantShare& found)
{
    const bool warns = found.share > kMostConstant && found.taken > kConstantOfStart;
    if (!warns && !(found.share > kNearlyConstant)) {
        return;
    }
    const std::string name = dataName(facts, found.constant);
    const double effect = 0.3 + 0.6 * found.share;
    Finding& finding = warns ? probe.warning(kConstantBase, effect, facts.place(found.node))
                             : probe.note(effect, facts.place(found.node));
    finding.what = fmt::format("its constant {} is {} of the magnitude of its sums and takes {} of what started", name,
                               percentText(found.share), percentText(found.taken));
    finding.means = "Most of the score is about the position, not about what stands there.";
    finding.remedy = "Compare the scale of the constant with that of what it is added to";
    finding.numbers = {{"constant_share_of_magnitude", found.share}, {"taken_by_constant_of_start", found.taken}};
    finding.threshold = kMostConstant;
    finding.action = {"go to weights", {{"node", facts.graph().node(found.node).name}, {"value", name}}, {}};
}

void findConstants(const Facts& facts, Probe& probe)
{
    if (!facts.pass()->model) {
        return probe.notRun(std::string(kNoModel));
    }
    const graph::Graph& graph = facts.graph();
    for (std::size_t i = 0; i < graph.nodeCount(); ++i) {
        const NodeId id(i);
        const graph::Node& node = graph.node(id);
        if (!facts.isKind(id, ops::StructureKind::SumOfOperands) || !(facts.balance(id).magnitude > 0)) {
            continue;
        }
        const ValueId constant = constantOf(facts, node);
        if (!constant.isValid() || !differsByPosition(facts.shape(constant))) {
            continue;
        }
        const double amount = facts.balance(id).causes[static_cast<std::size_t>(event::Cause::Constant)];
        const double taken = facts.start() > 0 ? std::abs(amount) / facts.start() : 0;
        if (!(taken > kNearlyConstantOfStart)) {
            probe.measured(node.name, 0);
            continue;
        }
        const double share = magnitudeShare(facts.relevance(node.outputs.front()), facts.value(constant),
                                            othersOf(facts, node, constant));
        probe.measured(node.name, share);
        noteConstant(facts, probe, {id, constant, share, taken});
    }
}

} // namespace

const Check flowConstant{"flow.constant",
                         "magnitude share of a constant that differs by position, where it takes 0.4 of S and more",
                         kMostConstant,
                         "0.50 (trained), 0.99 where it takes less than 0.75 of S (random weights)",
                         Need::Conserved | Need::Forward,
                         true,
                         findConstants};

} // namespace retro::diagnosis
