// SPDX-License-Identifier: Apache-2.0
// If, Loop and Scan with their data at hand (the ONNX standard's operator texts).
#include "core/base/cancel.h"
#include "core/execute/control/unroll.h"
#include "core/execute/control/walker.h"
#include "core/graph/attributes.h"
#include "core/tensor/checkedshape.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

namespace retro::execute
{

using base::Result;
using graph::Subgraph;

namespace
{

/// A list of `count` integers; all 0 where the node has none.
Result<std::vector<std::int64_t>> intsOf(const graph::Node& node, const char* name, std::size_t count)
{
    const auto* given = graph::attributeOf<std::vector<std::int64_t>>(node, name);
    if (given == nullptr) {
        return std::vector<std::int64_t>(count, 0);
    }
    if (given->size() != count) {
        return controlError(node,
                            fmt::format("attribute '{}' has {} entries, but must have {}", name, given->size(), count));
    }
    return *given;
}

/// As intsOf: 0 is forwards, 1 is backwards.
Result<std::vector<std::int64_t>> directionsOf(const graph::Node& node, const char* name, std::size_t count)
{
    RETRO_TRY(std::vector<std::int64_t> values, intsOf(node, name, count));
    for (const std::int64_t value : values) {
        if (value != 0 && value != 1) {
            return controlError(node, fmt::format("attribute '{}' contains {}, but a direction is 0 (forwards) or 1 "
                                                  "(backwards)",
                                                  name, value));
        }
    }
    return values;
}

/// The one number of a condition or a count, which has the type `type`.
Result<double> numberOf(const graph::Node& node, const LiveValue& value, const char* what, tensor::DType type)
{
    if (value.data.dtype() != type) {
        return controlError(
            node, fmt::format("its {} is {}, but must be {}", what, nameOf(value.data.dtype()), nameOf(type)));
    }
    if (value.data.size() != 1) {
        return controlError(node, fmt::format("its {} has {} elements; it must have one", what, value.data.size()));
    }
    return value.data.at(0);
}

/// Axis of `rank` axes, counted from the end when negative.
Result<std::int64_t> axisOf(const graph::Node& node, std::int64_t axis, std::size_t rank)
{
    const auto count = static_cast<std::int64_t>(rank);
    if (axis < -count || axis >= count) {
        return controlError(node, fmt::format("axis {} is outside a tensor of rank {}", axis, rank));
    }
    return axis < 0 ? axis + count : axis;
}

/// Both branches have no inputs and as many outputs as the node.
Result<void> expectBranchesAlike(const graph::Node& node)
{
    for (const char* name : {"then_branch", "else_branch"}) {
        const Subgraph* branch = graph::attributeOf<Subgraph>(node, name);
        if (branch != nullptr && branch->graph->inputs().size() != branch->captured) {
            return controlError(node, fmt::format("its {} has inputs, but a branch takes none", name));
        }
    }
    const Subgraph* taken = graph::attributeOf<Subgraph>(node, "then_branch");
    const Subgraph* other = graph::attributeOf<Subgraph>(node, "else_branch");
    if (taken == nullptr || other == nullptr) {
        return {}; // its schema needs both
    }
    const std::size_t thens = taken->graph->outputs().size();
    const std::size_t elses = other->graph->outputs().size();
    if (thens != elses || thens != node.outputs.size()) {
        return controlError(node, fmt::format("then_branch has {} outputs, else_branch {} and the node {}; they must "
                                              "have as many",
                                              thens, elses, node.outputs.size()));
    }
    return {};
}

/// True when a branch that made `made` and one that declares `declared` cannot both stand for one value. A file need
/// not declare types there; then float32 without a shape stands for any type.
bool areOfOtherTypes(tensor::DType made, const graph::Value& declared)
{
    if (tensor::isNarrow(made) || tensor::isNarrow(declared.dtype) ||
        (declared.dtype == tensor::DType::Float32 && !declared.shape)) {
        return false;
    }
    const bool areFloats = tensor::isFloating(made) && tensor::isFloating(declared.dtype);
    return !areFloats && made != declared.dtype;
}

/// The branch that is not taken gives the types that the other one made.
Result<void> expectSameTypes(const graph::Node& node, std::span<const LiveValue> made, const char* notTaken)
{
    const Subgraph* other = graph::attributeOf<Subgraph>(node, notTaken);
    for (std::size_t k = 0; other != nullptr && k < made.size(); ++k) {
        const graph::Value& declared = other->graph->value(other->graph->outputs()[k]);
        if (made[k].data.isValid() && areOfOtherTypes(made[k].data.dtype(), declared)) {
            return controlError(node, fmt::format("output {} is {} in one branch, but {} declares {}; both must have "
                                                  "one type",
                                                  k, nameOf(made[k].data.dtype()), notTaken, nameOf(declared.dtype)));
        }
    }
    return {};
}

} // namespace

Result<Walker::Values> Walker::runIf(const Call& call)
{
    RETRO_TRY(const double condition, numberOf(call.node, call.operands.front(), "condition", tensor::DType::Bool));
    const char* name = condition != 0 ? "then_branch" : "else_branch";
    const Subgraph* branch = graph::attributeOf<Subgraph>(call.node, name);
    if (branch == nullptr) {
        return controlError(call.node, fmt::format("it has no {}", name));
    }
    RETRO_CHECK(expectBranchesAlike(call.node));
    decide(call, name);
    RETRO_TRY(Values results, walk(*branch->graph, std::span(call.operands).last(branch->captured), call.place));
    RETRO_CHECK(expectSameTypes(call.node, results, condition != 0 ? "else_branch" : "then_branch"));
    return results;
}

Result<Walker::LoopPlan> Walker::planLoop(const Call& call) const
{
    const Subgraph* body = graph::attributeOf<Subgraph>(call.node, "body");
    const std::size_t operands = call.operands.size();
    if (body == nullptr || operands < 2 + body->captured || body->graph->inputs().size() != operands) {
        return controlError(call.node, "its body does not take what the node gives it");
    }
    LoopPlan plan{*body, operands - 2 - body->captured, std::numeric_limits<std::int64_t>::max()};
    if (body->graph->outputs().size() < 1 + plan.states) {
        return controlError(call.node, "its body gives back fewer values than it carries from step to step");
    }
    if (body->graph->outputs().size() != 1 + call.node.outputs.size()) {
        return controlError(call.node,
                            fmt::format("its body has {} outputs, but must have {}: a condition, and one for "
                                        "each output of the node",
                                        body->graph->outputs().size(), 1 + call.node.outputs.size()));
    }
    if (call.operands[0].id.isValid()) {
        RETRO_TRY(const double given, numberOf(call.node, call.operands[0], "number of steps", tensor::DType::Int64));
        plan.most = given < 9e18 ? static_cast<std::int64_t>(given) : plan.most; // exporters write the largest int64
    }
    return plan;
}

/// The body once; `inputs` are the condition and what is carried from step to step, captured values included.
Result<Walker::Values> Walker::loopStep(const Call& call, const LoopPlan& plan, std::int64_t step, const Values& inputs)
{
    RETRO_CHECK(base::checkStop(m_emitter.stop()));
    if (static_cast<std::size_t>(step) >= m_emitter.mostNodes()) {
        return controlError(call.node, fmt::format("it has run {} times and does not end, {}; check its condition, or "
                                                   "give it fewer steps",
                                                   step, kTooLong));
    }
    const Place place{fmt::format("{}{}/", call.place.prefix, step), call.place.scope};
    Values all{m_emitter.addConstant(place.prefix + "step", Tensor::scalar(step))};
    all.insert(all.end(), inputs.begin(), inputs.end());
    return walk(*plan.body.graph, all, place);
}

Result<Walker::Values> Walker::runLoop(const Call& call)
{
    RETRO_TRY(const LoopPlan plan, planLoop(call));
    Values inputs(call.operands.begin() + 1, call.operands.end());
    if (!inputs[0].id.isValid()) {
        inputs[0] = m_emitter.addConstant(call.place.prefix + "condition", Tensor::scalar(true));
    }
    std::vector<Values> collected(plan.body.graph->outputs().size() - 1 - plan.states);
    std::int64_t step = 0;
    for (; step < plan.most; ++step) {
        RETRO_TRY(const double goesOn, numberOf(call.node, inputs[0], "condition", tensor::DType::Bool));
        if (goesOn == 0) {
            break;
        }
        RETRO_TRY(Values results, loopStep(call, plan, step, inputs));
        std::copy_n(results.begin(), 1 + plan.states, inputs.begin());
        for (std::size_t k = 0; k < collected.size(); ++k) {
            collected[k].push_back(results[1 + plan.states + k]);
        }
    }
    decide(call, fmt::format("{} times", step));
    Values outputs(inputs.begin() + 1, inputs.begin() + 1 + static_cast<std::ptrdiff_t>(plan.states));
    for (std::size_t k = 0; k < collected.size(); ++k) {
        const graph::Value& declared = plan.body.graph->value(plan.body.graph->outputs()[1 + plan.states + k]);
        RETRO_TRY(LiveValue all, stack(collected[k], 0, declared, fmt::format("{}all{}", call.place.prefix, k)));
        outputs.push_back(std::move(all));
    }
    return outputs;
}

Result<Walker::Values> Walker::runScan(const Call& call)
{
    const Subgraph* body = graph::attributeOf<Subgraph>(call.node, "body");
    const auto* scans = graph::attributeOf<std::int64_t>(call.node, "num_scan_inputs");
    const bool isOld = call.node.opset < 9; // with a batch axis in front, and lengths as operand 0
    const std::size_t own = body == nullptr ? 0 : call.operands.size() - body->captured - (isOld ? 1 : 0);
    if (body == nullptr || scans == nullptr || *scans < 1 || static_cast<std::size_t>(*scans) > own ||
        body->graph->inputs().size() != own + body->captured) {
        return controlError(call.node, "its body does not take what the node gives it");
    }
    ScanPlan plan{*body, own - static_cast<std::size_t>(*scans), static_cast<std::size_t>(*scans), {}, {}, {}, {}};
    if (body->graph->outputs().size() < plan.states) {
        return controlError(call.node, "its body gives back fewer values than it carries from step to step");
    }
    if (body->graph->outputs().size() != call.node.outputs.size()) {
        return controlError(call.node, fmt::format("its body has {} outputs, but the node has {}",
                                                   body->graph->outputs().size(), call.node.outputs.size()));
    }
    const std::size_t results = body->graph->outputs().size() - plan.states;
    RETRO_TRY(plan.inputAxes, intsOf(call.node, "scan_input_axes", plan.scans));
    RETRO_TRY(plan.inputDirections,
              directionsOf(call.node, isOld ? "directions" : "scan_input_directions", plan.scans));
    RETRO_TRY(plan.outputAxes, intsOf(call.node, "scan_output_axes", results));
    RETRO_TRY(plan.outputDirections, directionsOf(call.node, "scan_output_directions", results));
    return isOld ? scanBatch(call, plan) : scanOnce(call, plan, std::span(call.operands).first(own), call.place.prefix);
}

/// Operator set 8: each element of the batch by itself.
Result<Walker::Values> Walker::scanBatch(const Call& call, const ScanPlan& plan)
{
    if (call.operands[0].id.isValid()) {
        return controlError(call.node, "sequence lengths (operand 0) are not supported; export the model at operator "
                                       "set 9 or later");
    }
    const Values own(call.operands.begin() + 1, call.operands.end() - static_cast<std::ptrdiff_t>(plan.body.captured));
    const std::int64_t batch = own.back().data.rank() == 0 ? 0 : own.back().data.shape()[0];
    std::vector<Values> parts(plan.body.graph->outputs().size());
    for (std::int64_t b = 0; b < batch; ++b) {
        const std::string prefix = fmt::format("{}batch{}/", call.place.prefix, b);
        Values element;
        for (std::size_t i = 0; i < own.size(); ++i) {
            RETRO_TRY(LiveValue value, pick(own[i], 0, b, fmt::format("{}in{}", prefix, i)));
            element.push_back(std::move(value));
        }
        RETRO_TRY(Values results, scanOnce(call, plan, element, prefix));
        for (std::size_t k = 0; k < parts.size(); ++k) {
            parts[k].push_back(std::move(results[k]));
        }
    }
    Values outputs;
    for (std::size_t k = 0; k < parts.size(); ++k) {
        const graph::Value& declared = plan.body.graph->value(plan.body.graph->outputs()[k]);
        RETRO_TRY(LiveValue all, stack(parts[k], 0, declared, fmt::format("{}batch{}", call.place.prefix, k)));
        outputs.push_back(std::move(all));
    }
    return outputs;
}

/// The slices of one step.
Result<Walker::Values> Walker::scanInputs(const ScanPlan& plan, std::span<const LiveValue> own, std::int64_t step,
                                          std::int64_t length, const std::string& prefix)
{
    Values slices;
    for (std::size_t i = 0; i < plan.scans; ++i) {
        const LiveValue& sequence = own[plan.states + i];
        const std::int64_t index = plan.inputDirections[i] == 0 ? step : length - 1 - step;
        RETRO_TRY(LiveValue slice, pick(sequence, plan.inputAxes[i], index, fmt::format("{}slice{}", prefix, i)));
        slices.push_back(std::move(slice));
    }
    return slices;
}

Result<Walker::Values> Walker::scanOnce(const Call& call, const ScanPlan& plan, std::span<const LiveValue> own,
                                        const std::string& prefix)
{
    const LiveValue& first = own[plan.states];
    RETRO_TRY(const std::int64_t axis, axisOf(call.node, plan.inputAxes[0], first.data.rank()));
    const std::int64_t length = first.data.shape()[static_cast<std::size_t>(axis)];
    if (length == 0) {
        return controlError(call.node, fmt::format("axis {} of its first sequence has no elements; a Scan needs at "
                                                   "least one step",
                                                   axis));
    }
    Values states(own.begin(), own.begin() + static_cast<std::ptrdiff_t>(plan.states));
    std::vector<Values> collected(plan.body.graph->outputs().size() - plan.states);
    for (std::int64_t step = 0; step < length; ++step) {
        RETRO_CHECK(base::checkStop(m_emitter.stop()));
        const Place place{fmt::format("{}{}/", prefix, step), call.place.scope};
        RETRO_TRY(const Values slices, scanInputs(plan, own, step, length, place.prefix));
        Values inputs = states;
        inputs.insert(inputs.end(), slices.begin(), slices.end());
        inputs.insert(inputs.end(), call.operands.end() - static_cast<std::ptrdiff_t>(plan.body.captured),
                      call.operands.end());
        RETRO_TRY(const Values results, walk(*plan.body.graph, inputs, place));
        states.assign(results.begin(), results.begin() + static_cast<std::ptrdiff_t>(plan.states));
        for (std::size_t k = 0; k < collected.size(); ++k) {
            collected[k].push_back(results[plan.states + k]);
        }
    }
    decide(call, fmt::format("{} times", length));
    Values outputs = std::move(states);
    for (std::size_t k = 0; k < collected.size(); ++k) {
        if (plan.outputDirections[k] != 0) {
            std::reverse(collected[k].begin(), collected[k].end());
        }
        const graph::Value& declared = plan.body.graph->value(plan.body.graph->outputs()[plan.states + k]);
        RETRO_TRY(LiveValue all, stack(collected[k], plan.outputAxes[k], declared, fmt::format("{}all{}", prefix, k)));
        outputs.push_back(std::move(all));
    }
    return outputs;
}

/// The slice at `index` of `axis`, without that axis.
Result<LiveValue> Walker::pick(const LiveValue& value, std::int64_t axis, std::int64_t index, const std::string& name)
{
    graph::Node gather;
    gather.op = "Gather";
    gather.name = name;
    gather.attributes["axis"] = axis;
    const LiveValue operands[] = {value, m_emitter.addConstant(name + "/index", Tensor::scalar(index))};
    return m_emitter.runHelper(std::move(gather), operands, name);
}

/// The parts side by side along a new axis. Without parts: no elements, of the type that the body declares.
Result<LiveValue> Walker::stack(const Values& parts, std::int64_t axis, const graph::Value& declared,
                                const std::string& name)
{
    if (parts.empty()) {
        tensor::Shape shape{0};
        for (const graph::Dimension& dimension : declared.shape.value_or(std::vector<graph::Dimension>())) {
            shape.push_back(dimension.extent.value_or(0));
        }
        const auto bytes =
            tensor::checkedBytes(shape, tensor::DType::Float64, std::numeric_limits<std::int64_t>::max());
        if (!bytes.ok()) {
            return base::within(bytes.error(), fmt::format("result '{}' of a loop that never runs", declared.name));
        }
        return m_emitter.addConstant(name, Tensor::zeros(declared.dtype, shape));
    }
    const std::int64_t axes[] = {axis};
    const LiveValue where = m_emitter.addConstant(name + "/axis", Tensor::of<std::int64_t>({1}, axes));
    Values rows;
    for (std::size_t i = 0; i < parts.size(); ++i) {
        graph::Node unsqueeze;
        unsqueeze.op = "Unsqueeze";
        unsqueeze.name = fmt::format("{}/{}", name, i);
        const LiveValue operands[] = {parts[i], where};
        RETRO_TRY(LiveValue row, m_emitter.runHelper(unsqueeze, operands, unsqueeze.name));
        rows.push_back(std::move(row));
    }
    graph::Node concat;
    concat.op = "Concat";
    concat.name = name;
    concat.attributes["axis"] = axis;
    return m_emitter.runHelper(std::move(concat), rows, name);
}

} // namespace retro::execute
