// SPDX-License-Identifier: Apache-2.0
#include "core/graph/attributes.h"
#include "core/ops/algebra.h"
#include "core/rewrite/body/recurrentsteps.h"
#include "core/rewrite/quantised/dequantiser.h"
#include "core/rewrite/quantised/integernode.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

namespace retro::rewrite
{

using graph::Node;
using tensor::Tensor;

namespace
{

using tensor::DType;
using tensor::Shape;

constexpr std::size_t kWeightScale = 8;
constexpr std::size_t kStateScale = 10;
constexpr std::int64_t kScanOpset = 16;

/// What the node is, with weights as LSTM has them.
struct QuantisedLstm
{
    Node node; ///< with the name and attributes of the node
    RecurrentSetting setting;
    std::vector<BodyOperand> operands; ///< of an LSTM
};

/// (level − zero)·scale of directions × inputs × gates, as directions × gates × inputs. There is a scale for each gate
/// of a direction, or for each direction.
Tensor turnedNumbers(const Tensor& levels, const Tensor& scale, const Tensor& zero, bool isPerGate)
{
    const std::int64_t directions = levels.shape()[0];
    const std::int64_t depth = levels.shape()[1];
    const std::int64_t gates = levels.shape()[2];
    tensor::TensorBuffer buffer(DType::Float64, {directions, gates, depth});
    double* out = buffer.data<double>();
    for (std::int64_t d = 0; d < directions; ++d) {
        for (std::int64_t g = 0; g < gates; ++g) {
            const std::int64_t at = isPerGate ? d * gates + g : d;
            for (std::int64_t k = 0; k < depth; ++k) {
                *out++ = (levels.data<double>()[(d * depth + k) * gates + g] - zero.data<double>()[at]) *
                         scale.data<double>()[at];
            }
        }
    }
    return std::move(buffer).freeze();
}

/// directions × inputs × gates of levels, as directions × gates × inputs of numbers; invalid where they do not fit.
Tensor floatWeights(Dequantiser& to, const Node& node, std::size_t slot, std::size_t scaleSlot)
{
    const Tensor levels = wideConstant(to.draft(), operandOf(node, slot));
    const Tensor scale = wideConstant(to.draft(), operandOf(node, scaleSlot));
    const ValueId zeroId = operandOf(node, scaleSlot + 1);
    const Tensor zero = zeroId.isValid() ? wideConstant(to.draft(), zeroId)
                                         : (scale.isValid() ? Tensor::zeros(DType::Float64, scale.shape()) : Tensor());
    if (!levels.isValid() || !scale.isValid() || !zero.isValid() || levels.rank() != 3) {
        return {};
    }
    const std::int64_t directions = levels.shape()[0];
    const bool isPerGate = scale.size() == directions * levels.shape()[2];
    if ((!isPerGate && scale.size() != directions) || zero.size() != scale.size()) {
        return {};
    }
    return turnedNumbers(levels, scale, zero, isPerGate);
}

/// Why the node stays; empty when it can be written.
std::string obstacleOf(Dequantiser& to, const Node& node)
{
    const auto isFixed = [&](std::size_t slot) {
        const ValueId id = operandOf(node, slot);
        return !id.isValid() || to.draft().isConstant(id);
    };
    if (intAttribute(node, "layout", 0) != 0) {
        return "its batch comes first (layout 1)";
    }
    for (const std::size_t slot : {kBiases, kPeepholes}) {
        if (!isFixed(slot)) {
            return fmt::format("operand {} is computed", static_cast<std::size_t>(slot));
        }
    }
    return {};
}

/// The operands of an LSTM: a row of one step, and everything constant.
std::vector<BodyOperand> lstmOperands(const Draft& draft, const Node& node, const Tensor& weights, const Tensor& state)
{
    std::vector<BodyOperand> operands(kPeepholes + 1);
    for (BodyOperand& operand : operands) {
        operand.isGiven = false;
    }
    const Shape row{1, state.shape()[2]};
    operands[kInput] = {{DType::Float32, {1, weights.shape()[2]}}, {}, true, false};
    operands[kInitialState] = {{DType::Float32, row}, {}, true, false};
    operands[kInitialCell] = {{DType::Float32, row}, {}, true, false};
    if (operandOf(node, kLengths).isValid()) {
        operands[kLengths] = {{DType::Int64, {1}}, {}, true, false}; // 1 where a row has this step, else 0
    }
    const auto give = [&](std::size_t slot, const Tensor& data) { // in the type of the model, which results have
        operands[slot] = {{DType::Float32, data.shape()}, data.to(DType::Float32), true, false};
    };
    give(kWeights, weights);
    give(kStateWeights, state);
    for (const std::size_t slot : {kBiases, kPeepholes}) {
        if (const Tensor data = wideConstant(draft, operandOf(node, slot)); data.isValid()) {
            give(slot, data);
        }
    }
    return operands;
}

/// Biases and peepholes, where there are some, fit the weights of the state.
bool hasExtents(const Draft& draft, const Node& node, const Tensor& state)
{
    const auto fits = [&](std::size_t slot, std::int64_t rows) {
        const ValueId id = operandOf(node, slot);
        const Shape wanted{state.shape()[0], rows * state.shape()[2]};
        return !id.isValid() || draft.value(id).constant.shape() == wanted;
    };
    return fits(kBiases, 8) && fits(kPeepholes, 3);
}

std::optional<QuantisedLstm> lstmOf(Dequantiser& to, NodeId id)
{
    QuantisedLstm lstm{to.draft().node(id), {}, {}};
    const Tensor weights = floatWeights(to, lstm.node, kWeights, kWeightScale);
    const Tensor state = floatWeights(to, lstm.node, kStateWeights, kStateScale);
    auto isReverse = ops::recurrentDirections(lstm.node);
    const bool fits = weights.isValid() && state.isValid() && isReverse.ok() &&
                      weights.shape()[0] == static_cast<std::int64_t>(isReverse->size()) &&
                      state.shape()[0] == weights.shape()[0] && state.shape()[1] == 4 * state.shape()[2] &&
                      weights.shape()[1] == state.shape()[1];
    if (!fits || weights.size() == 0 || !hasExtents(to.draft(), lstm.node, state)) {
        return std::nullopt;
    }
    auto activations = ops::recurrentActivations(lstm.node, ops::RecurrentKind::Lstm, isReverse->size());
    if (!activations.ok()) {
        return std::nullopt;
    }
    lstm.setting.kind = ops::RecurrentKind::Lstm;
    lstm.setting.isReverse = std::move(*isReverse);
    lstm.setting.activations = std::move(*activations);
    lstm.setting.inputs = weights.shape()[2];
    lstm.setting.hidden = state.shape()[2];
    lstm.setting.steps = 1;
    lstm.setting.batch = -1; // as many as come: a shape of a Reshape
    lstm.setting.isCoupled = intAttribute(lstm.node, "input_forget", 0) != 0;
    lstm.setting.clip = floatAttribute(lstm.node, "clip", lstm.setting.clip);
    lstm.operands = lstmOperands(to.draft(), lstm.node, weights, state);
    return lstm;
}

/// One step: state, cell, input, and with lengths whether a row has the step → state, cell, result.
base::Result<FunctionBody> stepOf(const QuantisedLstm& lstm, std::size_t direction)
{
    BodyBuilder body(lstm.node, lstm.operands);
    const ValueId state = body.operand(kInitialState);
    const ValueId cell = body.operand(kInitialCell);
    const ValueId x = body.operand(kInput);
    RecurrentLengths lengths(body, lstm.setting);
    const ValueId rounded = body.addOf("retrograde", "FakeQuantize", "state quantised", {state});
    RecurrentSteps steps(body, lstm.setting, direction);
    const RecurrentState after = steps.step(0, x, {rounded, cell});
    body.output(0, lengths.valueOrKept("state", 0, after.hidden, state));
    body.output(1, lengths.valueOrKept("cell", 0, after.cell, cell));
    body.output(2, body.add("Identity", "result", {lengths.orZero("within the row", 0, after.hidden)}));
    return std::move(body).finish();
}

class LstmWriter
{
public:
    LstmWriter(Dequantiser& to, NodeId id, const QuantisedLstm& lstm)
        : m_to(to), m_draft(to.draft()), m_id(id), m_lstm(lstm), m_x(to.dynamicOf(operandOf(lstm.node, kInput)).first)
    {}

    void write(const std::vector<FunctionBody>& bodies)
    {
        findLengths();
        for (std::size_t d = 0; d < bodies.size(); ++d) {
            addScan(d, bodies[d]);
        }
        finish(0, m_sequences, 1);
        finish(1, m_states, 0);
        finish(2, m_cells, 0);
    }

private:
    [[nodiscard]] ValueId ints(const std::string& name, std::vector<std::int64_t> values)
    {
        const Tensor data = Tensor::of<std::int64_t>({static_cast<std::int64_t>(values.size())}, values);
        return m_draft.addConstant(m_lstm.node.name + name, data, DType::Int64);
    }

    /// A node of the standard with one result.
    ValueId add(const std::string& op, const std::string& suffix, std::vector<ValueId> inputs,
                graph::Attributes attributes = {}, DType type = DType::Float32)
    {
        return m_to.addFree({"", op, kScanOpset, std::move(attributes), type}, suffix, std::move(inputs));
    }

    /// batch × hidden of the direction: a part of the operand, or zeros.
    ValueId initial(std::size_t slot, std::size_t direction)
    {
        const std::string what = fmt::format("/{}/{}", slot == kInitialState ? "state" : "cell", direction);
        const ValueId given = operandOf(m_lstm.node, slot);
        if (given.isValid()) {
            const ValueId at =
                m_draft.addConstant(m_lstm.node.name + what + "/at",
                                    Tensor::scalar<std::int64_t>(static_cast<std::int64_t>(direction)), DType::Int64);
            return add("Gather", what, {given, at}, {{"axis", std::int64_t{0}}});
        }
        const ValueId shape = add("Shape", what + "/extents", {m_x},
                                  {{"start", std::int64_t{1}}, {"end", std::int64_t{2}}}, DType::Int64);
        const ValueId both = add("Concat", what + "/shape", {shape, ints(what + "/hidden", {m_lstm.setting.hidden})},
                                 {{"axis", std::int64_t{0}}}, DType::Int64);
        return add("ConstantOfShape", what, {both});
    }

    /// Where rows end early: their lengths, and steps × batch of 1 where a row has the step, else 0.
    void findLengths()
    {
        const ValueId given = operandOf(m_lstm.node, kLengths);
        if (!given.isValid()) {
            return;
        }
        const auto whole = [this](const std::string& suffix, std::int64_t value) {
            return m_draft.addConstant(m_lstm.node.name + suffix, Tensor::scalar<std::int64_t>(value), DType::Int64);
        };
        const graph::Attributes wide{{"to", std::int64_t{7}}};
        m_lengths = add("Cast", "/lengths", {given}, wide, DType::Int64);
        const ValueId extent =
            add("Shape", "/lengths/steps", {m_x}, {{"start", std::int64_t{0}}, {"end", std::int64_t{1}}}, DType::Int64);
        const ValueId count =
            add("Squeeze", "/lengths/step count", {extent, ints("/lengths/axis", {0})}, {}, DType::Int64);
        const ValueId steps = add("Range", "/lengths/each step",
                                  {whole("/lengths/first", 0), count, whole("/lengths/next", 1)}, {}, DType::Int64);
        const ValueId column =
            add("Unsqueeze", "/lengths/step column", {steps, ints("/lengths/column axis", {1})}, {}, DType::Int64);
        const ValueId isWithin = add("Less", "/lengths/is within", {column, m_lengths}, {}, DType::Bool);
        m_runs = add("Cast", "/lengths/runs", {isWithin}, wide, DType::Int64);
    }

    /// The first steps of each row, as many as it has, from back to front.
    ValueId turned(const std::string& suffix, ValueId x)
    {
        return add("ReverseSequence", suffix, {x, m_lengths},
                   {{"time_axis", std::int64_t{0}}, {"batch_axis", std::int64_t{1}}});
    }

    void addScan(std::size_t direction, const FunctionBody& body)
    {
        const bool isReverse = m_lstm.setting.isReverse[direction];
        const bool isTurned = isReverse && m_lengths.isValid(); // a row ends where its length says
        const std::string suffix = fmt::format("/{}", direction);
        std::vector<ValueId> operands{initial(kInitialState, direction), initial(kInitialCell, direction),
                                      isTurned ? turned(suffix + "/turned", m_x) : m_x};
        std::vector<std::int64_t> order{isReverse && !isTurned ? 1 : 0};
        const std::vector<std::int64_t> resultOrder = order;
        if (m_runs.isValid()) {
            operands.push_back(m_runs);
            order.push_back(0);
        }
        const graph::Attributes attributes{{"body", graph::Subgraph{body.graph, 0}},
                                           {"num_scan_inputs", static_cast<std::int64_t>(order.size())},
                                           {"scan_input_directions", order},
                                           {"scan_output_directions", resultOrder}};
        const std::vector<ValueId> results =
            m_to.addFreeOf({"", "Scan", kScanOpset, attributes}, suffix, operands, {"state", "cell", "states"});
        m_states.push_back(results[0]);
        m_cells.push_back(results[1]);
        m_sequences.push_back(isTurned ? turned(suffix + "/turned back", results[2]) : results[2]);
    }

    /// Result k of the node: that of each direction, along a new axis.
    void finish(std::size_t k, const std::vector<ValueId>& parts, std::int64_t axis)
    {
        const ValueId result = k < m_lstm.node.outputs.size() ? m_lstm.node.outputs[k] : ValueId();
        if (!result.isValid()) {
            return;
        }
        std::vector<ValueId> whole;
        for (std::size_t d = 0; d < parts.size(); ++d) {
            const std::string suffix = fmt::format("/result {}/{}", k, d);
            whole.push_back(add("Unsqueeze", suffix, {parts[d], ints(suffix + "/axis", {axis})}));
        }
        const NodeForm form{"", "Concat", kScanOpset, {{"axis", axis}}};
        const std::string suffix = fmt::format("/result {}", k);
        if (m_isReplaced) {
            m_to.addMaking(form, suffix, whole, {result});
        } else {
            m_to.finish(m_id, form, suffix, whole, {result});
            m_isReplaced = true;
        }
    }

    Dequantiser& m_to;
    Draft& m_draft;
    NodeId m_id;
    const QuantisedLstm& m_lstm;
    ValueId m_x;
    ValueId m_lengths; // of the rows; invalid where all have every step
    ValueId m_runs;
    std::vector<ValueId> m_sequences; // per direction
    std::vector<ValueId> m_states;
    std::vector<ValueId> m_cells;
    bool m_isReplaced = false;
};

/// DynamicQuantizeLSTM with constant weights → a Scan per direction, whose step is the one that an LSTM has, of the
/// input and the state as their own ranges quantise them.
bool dynamicQuantizeLstm(Dequantiser& to, NodeId id)
{
    const Node node = to.draft().node(id);
    if (!operandOf(node, 0).isValid() || !operandOf(node, kStateScale).isValid()) {
        return false; // binding says what is missing
    }
    if (const std::string why = obstacleOf(to, node); !why.empty()) {
        to.note(id, why);
        return false;
    }
    const std::optional<QuantisedLstm> lstm = lstmOf(to, id);
    if (!lstm) {
        to.note(id, "its weights are computed, or do not fit its scales and directions");
        return false;
    }
    std::vector<FunctionBody> bodies;
    for (std::size_t d = 0; d < lstm->setting.isReverse.size(); ++d) {
        base::Result<FunctionBody> body = stepOf(*lstm, d);
        if (!body.ok()) {
            to.note(id, body.error().message);
            return false;
        }
        bodies.push_back(std::move(*body));
    }
    const Dequantiser::Working working(to, id);
    LstmWriter(to, id, *lstm).write(bodies);
    return true;
}

constexpr std::int64_t kLastAxis = -1;

/// B·factor·scale…, as the bias that levels of int32 stand for; an invalid id where `levels` is absent. Nothing when
/// one of them is computed.
std::optional<ValueId> biasOf(Dequantiser& to, ValueId levels, std::initializer_list<ValueId> scales, double factor = 1)
{
    if (!levels.isValid()) {
        return ValueId();
    }
    Tensor bias = wideConstant(to.draft(), levels);
    for (const ValueId id : scales) {
        const Tensor scale = wideConstant(to.draft(), id);
        if (!bias.isValid() || bias.rank() == 0 || !scale.isValid() ||
            (scale.size() != 1 && scale.size() != bias.shape().back())) {
            return std::nullopt;
        }
        bias = ops::algebra::multiplyBroadcast(bias, scale.reshaped({scale.size()}));
    }
    return bias.isValid() ? std::optional(to.constant(to.draft().value(levels).name + ".dequantised",
                                                      ops::algebra::scale(bias, factor)))
                          : std::nullopt;
}

bool qLinearConv(Dequantiser& to, NodeId id)
{
    const Node node = to.draft().node(id);
    const auto at = [&](std::size_t slot) { return operandOf(node, slot); };
    const ValueId weight = at(3);
    if (!weight.isValid() || !at(6).isValid()) {
        return false;
    }
    const std::optional<ValueId> bias = biasOf(to, at(8), {at(1), at(4)});
    if (!bias) {
        to.note(id, "its bias or a scale of it is computed");
        return false;
    }
    const Dequantiser::Working working(to, id);
    const ValueId x = to.floatsOf(at(0), {at(1), at(2)});
    const ValueId w = to.floatsOf(weight, {at(4), at(5), 0});
    const IntegerLayer layer = integerLayer(to, {"Conv", x, w, *bias, at(1), at(4), node.attributes});
    to.finishQuantised(id, to.add(layer.form, "", layer.inputs, node.outputs[0]), {at(6), at(7)});
    return true;
}

bool qLinearMatMul(Dequantiser& to, NodeId id)
{
    const Node node = to.draft().node(id);
    const auto at = [&](std::size_t slot) { return operandOf(node, slot); };
    if (!at(3).isValid() || !at(6).isValid()) {
        return false;
    }
    const Dequantiser::Working working(to, id);
    const ValueId a = to.floatsOf(at(0), {at(1), at(2), -2});
    const ValueId b = to.floatsOf(at(3), {at(4), at(5), kLastAxis});
    const IntegerLayer layer = integerLayer(to, {"MatMul", a, b, {}, at(1), at(4), {}});
    to.finishQuantised(id, to.add(layer.form, "", layer.inputs, node.outputs[0]), {at(6), at(7)});
    return true;
}

/// A constant times a factor; the constant itself for 1.
ValueId scaledConstant(Dequantiser& to, ValueId id, double factor)
{
    const Tensor data = factor == 1 ? Tensor() : wideConstant(to.draft(), id);
    return data.isValid() ? to.constant(to.draft().value(id).name + ".scaled", ops::algebra::scale(data, factor)) : id;
}

/// QGemm: alpha·(a − za)·sa·(b − zb)·sb + c, of which alpha goes into the scale of b.
bool qGemm(Dequantiser& to, NodeId id)
{
    const Node node = to.draft().node(id);
    const auto at = [&](std::size_t slot) { return operandOf(node, slot); };
    const double alpha = floatAttribute(node, "alpha", 1);
    const std::optional<ValueId> bias = biasOf(to, at(6), {at(1), at(4)}, alpha);
    if (!at(4).isValid() || !bias || (alpha != 1 && !to.draft().isConstant(at(4)))) {
        to.note(id, "its bias or a scale is computed");
        return false;
    }
    if (at(7).isValid() != at(8).isValid()) { // onnxruntime takes the result as floats, divided by the scale
        to.note(id, "of the scale of its result and the zero point one is missing");
        return false;
    }
    const bool isTransposed = intAttribute(node, "transB", 0) != 0;
    const Dequantiser::Working working(to, id);
    const ValueId scale = scaledConstant(to, at(4), alpha);
    ValueId a = to.floatsOf(at(0), {at(1), at(2)});
    if (intAttribute(node, "transA", 0) != 0) {
        a = to.addFree({"", "Transpose", 13, {{"perm", std::vector<std::int64_t>{1, 0}}}}, "/turned", {a});
    }
    const ValueId b = to.floatsOf(at(3), {scale, at(5), isTransposed ? 0 : kLastAxis});
    const IntegerLayer layer =
        integerLayer(to, {"Gemm", a, b, *bias, at(1), scale, {{"transB", std::int64_t{isTransposed ? 1 : 0}}}});
    if (at(7).isValid()) {
        to.finishQuantised(id, to.add(layer.form, "", layer.inputs, node.outputs[0]), {at(7), at(8)});
    } else {
        to.finish(id, layer.form, "", layer.inputs, node.outputs);
    }
    return true;
}

/// False, with a note, for a bias that the layer cannot have: one that is computed, or whose weight is.
bool hasFixedLayer(Dequantiser& to, NodeId id, ValueId weight, ValueId bias)
{
    const bool isFixed = !bias.isValid() || (to.draft().isConstant(weight) && to.draft().isConstant(bias));
    if (!isFixed) {
        to.note(id, "it has a bias, and that or its weight is computed");
    }
    return isFixed;
}

/// MatMulIntegerToFloat(a, b, sa, sb, za, zb, bias).
bool matMulIntegerToFloat(Dequantiser& to, NodeId id)
{
    const Node node = to.draft().node(id);
    const auto at = [&](std::size_t slot) { return operandOf(node, slot); };
    if (!at(2).isValid() || !at(3).isValid() || !hasFixedLayer(to, id, at(1), at(6))) {
        return false;
    }
    const Dequantiser::Working working(to, id);
    const ValueId a = to.floatsOf(at(0), {at(2), at(4)});
    const ValueId b = to.floatsOf(at(1), {at(3), at(5), kLastAxis});
    const IntegerLayer layer = integerLayer(to, {"MatMul", a, b, at(6), at(2), at(3), {}});
    to.finish(id, layer.form, "", layer.inputs, node.outputs);
    return true;
}

/// DynamicQuantizeMatMul(a, b, sb, zb, bias): a is quantised by its own range.
bool dynamicQuantizeMatMul(Dequantiser& to, NodeId id)
{
    const Node node = to.draft().node(id);
    const auto at = [&](std::size_t slot) { return operandOf(node, slot); };
    if (!at(1).isValid() || !at(2).isValid() || !hasFixedLayer(to, id, at(1), at(4))) {
        return false;
    }
    const Dequantiser::Working working(to, id);
    const auto [floats, grid] = to.dynamicOf(at(0));
    const ValueId b = to.floatsOf(at(1), {at(2), at(3), kLastAxis});
    const IntegerLayer layer = integerLayer(to, {"MatMul", floats, b, at(4), grid.scale, at(2), {}});
    to.finish(id, layer.form, "", layer.inputs, node.outputs);
    return true;
}

/// Resize of levels that mixes neighbours: Resize of the floats, whose result is levels again, without what is behind
/// their decimal point.
bool resizedLevels(Dequantiser& to, NodeId id)
{
    const Node node = to.draft().node(id);
    const ValueId levels = operandOf(node, 0);
    const std::optional<Grid> grid = to.knownGrid(levels);
    const bool fillsIn =
        attributeOr<std::string>(node, "coordinate_transformation_mode", "half_pixel") == "tf_crop_and_resize";
    const bool mixes = attributeOr<std::string>(node, "mode", "nearest") != "nearest";
    if (!mixes || !grid || fillsIn || !isOfTensor(to.draft(), *grid)) {
        return false;
    }
    std::vector<ValueId> inputs = node.inputs;
    inputs[0] = to.tracedFloatsOf(levels, *grid);
    if (!inputs[0].isValid()) {
        return false;
    }
    const Dequantiser::Working working(to, id);
    const ValueId resized = to.add({"", node.op, node.opset, node.attributes}, "", inputs, node.outputs[0]);
    to.finishTruncated(id, resized, *grid);
    return true;
}

struct LayerFamily
{
    std::string_view op;
    bool isStandard;
    DequantiseFunction function;
};

constexpr std::array kLayers{
    LayerFamily{"QLinearConv", true, qLinearConv},
    LayerFamily{"QLinearMatMul", true, qLinearMatMul},
    LayerFamily{"QGemm", false, qGemm},
    LayerFamily{"ConvInteger", true, integerProduct},
    LayerFamily{"MatMulInteger", true, integerProduct},
    LayerFamily{"MatMulIntegerToFloat", false, matMulIntegerToFloat},
    LayerFamily{"DynamicQuantizeMatMul", false, dynamicQuantizeMatMul},
    LayerFamily{"MatMulNBits", false, matMulNBits},
    LayerFamily{"GatherBlockQuantized", false, gatherBlockQuantized},
    LayerFamily{"DynamicQuantizeLSTM", false, dynamicQuantizeLstm},
    LayerFamily{"Resize", true, resizedLevels},
    LayerFamily{"Upsample", true, resizedLevels},
};

} // namespace

DequantiseFunction layerDequantiser(const Node& node)
{
    const auto at = std::ranges::find_if(kLayers, [&](const LayerFamily& layer) {
        return layer.op == node.op && node.domain == (layer.isStandard ? "" : "com.microsoft");
    });
    return at == kLayers.end() ? nullptr : at->function;
}

} // namespace retro::rewrite
