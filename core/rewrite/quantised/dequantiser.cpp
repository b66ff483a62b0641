// SPDX-License-Identifier: Apache-2.0
#include "core/rewrite/quantised/dequantiser.h"

#include "core/graph/attributes.h"
#include "core/graph/graph.h"
#include "core/ops/elements.h"
#include "core/ops/layerkind.h"
#include "core/ops/registry.h"
#include "core/rewrite/passes.h"
#include "core/tensor/checkedshape.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <numeric>
#include <string>
#include <string_view>
#include <vector>

namespace retro::rewrite
{

using graph::Attributes;
using graph::Node;
using tensor::DType;
using tensor::Tensor;

namespace
{

using ops::Elements;

bool hasOneResult(const graph::Node& node)
{
    return std::all_of(node.outputs.begin() + 1, node.outputs.end(), [](auto id) { return !id.isValid(); });
}

/// A pad that repeats no part of the picture.
bool padsWithNumber(const graph::Node& node)
{
    return ops::areElements(node, {Elements::Padded}) &&
           attributeOr<std::string>(node, "mode", "constant") == "constant";
}

/// Whether a node fills places up with the level 0, which is no operand of it.
bool padsWithZeroLevel(const graph::Node& node) { return padsWithNumber(node) && !operandOf(node, 2).isValid(); }

/// Whether the node moves elements of its first operand alone.
bool movesFirst(const graph::Node& node)
{
    if (node.op == "Resize") {
        return attributeOr<std::string>(node, "mode", "nearest") == "nearest";
    }
    const bool isWinner = ops::isMaxPool(node) || node.op == "GlobalMaxPool";
    return (ops::movesElements(node) || isWinner) && (ops::areElements(node, {Elements::Taken}) || hasOneResult(node));
}

/// The operands whose elements a node of the standard moves, whatever they stand for (Reshape, Transpose, MaxPool …);
/// empty for a node that does more, or fills in numbers of its own.
std::vector<std::size_t> movedOperands(const graph::Node& node)
{
    const bool isWhole = std::ranges::all_of(node.outputs, [](auto id) { return id.isValid(); });
    if (!node.domain.empty() || node.inputs.empty() || !isWhole) {
        return {};
    }
    if (ops::areElements(node, {Elements::Joined})) {
        std::vector<std::size_t> all(node.inputs.size());
        std::iota(all.begin(), all.end(), std::size_t{0});
        return all;
    }
    if (ops::areElements(node, {Elements::Padded})) { // a number that it pads with is a level, too
        return padsWithNumber(node) && operandOf(node, 2).isValid() ? std::vector<std::size_t>{0, 2}
                                                                    : std::vector<std::size_t>{0};
    }
    return movesFirst(node) ? std::vector<std::size_t>{0} : std::vector<std::size_t>{};
}

constexpr const char* kRewriteText = "dequantise";
/// Nodes that move elements between a value and what quantised it, at most.
constexpr int kMostMoves = 64;
constexpr std::int64_t kQuantizeOpset = 21;

/// Those that decide what a QuantizeLinear gives.
Attributes quantizeAttributes(const Node& node)
{
    Attributes attributes = node.attributes;
    std::erase_if(attributes, [](const auto& entry) {
        constexpr std::array<std::string_view, 4> kKept{"axis", "block_size", "output_dtype", "saturate"};
        return std::ranges::find(kKept, entry.first) == kKept.end();
    });
    return attributes;
}

NodeForm fakeQuantize(Attributes attributes = {}) { return {"retrograde", "FakeQuantize", 1, std::move(attributes)}; }

std::vector<ValueId> withGrid(ValueId value, const Grid& grid)
{
    return grid.zero.isValid() ? std::vector{value, grid.scale, grid.zero} : std::vector{value, grid.scale};
}

} // namespace

Grid gridOf(const graph::Node& node)
{
    return {operandOf(node, 1), operandOf(node, 2), intAttribute(node, "axis", 1), intAttribute(node, "block_size", 0)};
}

namespace
{

bool isSameValue(const Draft& draft, ValueId a, ValueId b)
{
    if (a == b || !a.isValid() || !b.isValid()) {
        return a == b;
    }
    if (!draft.isConstant(a) || !draft.isConstant(b)) {
        return false;
    }
    const Tensor& left = draft.value(a).constant;
    const Tensor& right = draft.value(b).constant;
    return left.dtype() == right.dtype() && left.size() == right.size() &&
           left.contiguous().reshaped({left.size()}).bitEqual(right.contiguous().reshaped({right.size()}));
}

/// Missing, or a constant of zeros.
bool isZero(const Draft& draft, ValueId id)
{
    if (!id.isValid() || !draft.isConstant(id)) {
        return !id.isValid();
    }
    const Tensor data = wideConstant(draft, id);
    const double* numbers = data.data<double>();
    return std::all_of(numbers, numbers + data.size(), [](double number) { return number == 0; });
}

bool isSameZero(const Draft& draft, ValueId a, ValueId b)
{
    return isSameValue(draft, a, b) || (isZero(draft, a) && isZero(draft, b));
}

} // namespace

bool isSame(const Draft& draft, const Grid& a, const Grid& b)
{
    const bool isShared = isOfTensor(draft, a) && isOfTensor(draft, b);
    return isSameValue(draft, a.scale, b.scale) && isSameZero(draft, a.zero, b.zero) &&
           (isShared || (a.axis == b.axis && a.block == b.block));
}

bool isOfTensor(const Draft& draft, const Grid& grid)
{
    if (!grid.scale.isValid() || grid.block != 0) {
        return false;
    }
    if (draft.isConstant(grid.scale)) {
        return draft.value(grid.scale).constant.size() == 1;
    }
    const NodeId producer = draft.value(grid.scale).producer;
    return producer.isValid() && ops::isDynamicQuantize(draft.node(producer));
}

Tensor wideConstant(const Draft& draft, ValueId id)
{
    return draft.isConstant(id) ? draft.value(id).constant.to(DType::Float64).contiguous() : Tensor();
}

ValueId operandOf(const graph::Node& node, std::size_t slot)
{
    return slot < node.inputs.size() ? node.inputs[slot] : ValueId();
}

namespace
{

/// One scale becomes one for each zero point, as DequantizeLinear wants them.
void spreadScale(Tensor& scale, const tensor::Shape& zeros)
{
    if (scale.size() == 1 && tensor::elementCount(zeros) > 1) {
        const std::vector<double> same(static_cast<std::size_t>(tensor::elementCount(zeros)), scale.at(0));
        scale = Tensor::of<double>(zeros, same);
    }
}

} // namespace

Tensor dequantised(const Draft& draft, ValueId levels, const Grid& grid)
{
    if (!draft.isConstant(levels) || !draft.isConstant(grid.scale) ||
        (grid.zero.isValid() && !draft.isConstant(grid.zero))) {
        return {};
    }
    const Tensor& data = draft.value(levels).constant;
    if (!tensor::checkedBytes(data.shape(), DType::Float64, kMaxFoldedBytes).ok()) {
        return {};
    }
    graph::Node node;
    node.op = "DequantizeLinear";
    node.opset = ops::kNewestOpset;
    node.inputs = {levels, grid.scale, grid.zero};
    node.outputs = {levels};
    node.attributes = {{"axis", grid.axis}, {"block_size", grid.block}};
    const auto asGiven = [](Tensor t) { return t.size() == 1 && t.rank() > 1 ? t.reshaped({1}) : t; };
    std::array<Tensor, 3> operands{data, asGiven(wideConstant(draft, grid.scale)), {}};
    std::array<ops::TensorType, 3> types{ops::TensorType{data.dtype(), data.shape()},
                                         ops::TensorType{DType::Float64, operands[1].shape()}, ops::TensorType{}};
    if (grid.zero.isValid()) {
        operands[2] = asGiven(draft.value(grid.zero).constant.contiguous());
        types[2] = {operands[2].dtype(), operands[2].shape()};
        spreadScale(operands[1], operands[2].shape());
        types[1].shape = operands[1].shape();
    }
    const auto op = ops::bind({draft.before(), NodeId(std::size_t{0}), node, types, operands, DType::Float64});
    return op.ok() ? (*op)->forward(operands)[0].contiguous() : Tensor();
}

Dequantiser::Working::Working(Dequantiser& dequantiser, NodeId id)
    : m_dequantiser(dequantiser), m_name(dequantiser.m_name), m_scope(dequantiser.m_scope), m_step(dequantiser.m_step)
{
    const Node& node = dequantiser.m_draft.node(id);
    dequantiser.m_name = node.name;
    dequantiser.m_scope = node.scope;
    dequantiser.m_step = dequantiser.m_steps.size();
    dequantiser.m_steps.push_back({kRewriteText, fmt::format("{} ({})", node.name, node.op), {node.name}, {}, false});
}

Dequantiser::Working::~Working()
{
    m_dequantiser.m_name = std::move(m_name);
    m_dequantiser.m_scope = std::move(m_scope);
    m_dequantiser.m_step = m_step;
}

void Dequantiser::run()
{
    m_to.assign(m_draft.before().valueCount(), ValueId());
    const std::size_t first = m_steps.size();
    for (std::size_t i = 0; i < m_draft.before().nodeCount() && !m_draft.isStopped(); ++i) {
        if (!m_draft.isRemoved(NodeId(i)) && !m_written.contains(NodeId(i))) {
            visit(NodeId(i));
        }
    }
    if (m_steps.size() == first) {
        return;
    }
    restoreLevels();
    m_draft.redirect(m_to);
    for (std::size_t i = first; i < m_steps.size(); ++i) {
        RewriteStep& step = m_steps[i];
        if (!step.isNote) {
            step.text += step.added.empty() ? " goes: floats take the place of its levels"
                                            : fmt::format(" → {}", fmt::join(step.added, ", "));
        }
    }
}

namespace
{

/// A node whose result has as many axes as any operand of several axes.
bool keepsRank(const Node& node)
{
    return ops::isElementByElement(node) || ops::areElements(node, {Elements::Joined}) || node.op == "Softmax";
}

/// Axes of a value that the draft or the node that makes it says; 0 where they do not.
std::size_t knownRank(const Draft& draft, ValueId id)
{
    if (const auto& declared = draft.value(id).shape) {
        return declared->size();
    }
    const NodeId producer = draft.value(id).producer;
    if (!producer.isValid()) {
        return 0;
    }
    const Node& node = draft.node(producer);
    const auto list = [&](std::string_view name) {
        return attributeOr<std::vector<std::int64_t>>(node, name, {}).size();
    };
    return ops::areElements(node, {Elements::Turned}) ? list("perm")
           : list("kernel_shape") > 0                 ? list("kernel_shape") + 2
                                                      : 0;
}

} // namespace

std::size_t Dequantiser::rankOf(ValueId id)
{
    std::vector<ValueId> waiting{id};
    for (std::size_t at = 0; at < waiting.size() && at < kMostMoves; ++at) {
        if (const std::size_t rank = knownRank(m_draft, waiting[at]); rank > 1) {
            return rank;
        }
        const NodeId producer = m_draft.value(waiting[at]).producer;
        const bool isSame = producer.isValid() && keepsRank(m_draft.node(producer));
        for (const ValueId operand : isSame ? m_draft.node(producer).inputs : std::vector<ValueId>()) {
            if (operand.isValid()) {
                waiting.push_back(operand);
            }
        }
    }
    const auto shape = m_shapes.of(id);
    return shape ? shape->size() : 0;
}

void Dequantiser::visit(NodeId id)
{
    const Node& node = m_draft.node(id);
    const bool hasOne = node.outputs.size() == 1 && node.outputs[0].isValid();
    if (!hasOne && node.op != "DynamicQuantizeLSTM") {
        return;
    }
    if (ops::isDequantize(node)) {
        dequantise(id);
        return;
    }
    if (const DequantiseFunction function = layerDequantiser(node)) {
        function(*this, id);
    }
}

void Dequantiser::dequantise(NodeId id)
{
    const Node node = m_draft.node(id);
    const ValueId levels = operandOf(node, 0);
    if (!levels.isValid() || m_draft.isConstant(levels)) { // folding computes it
        return;
    }
    const ValueId floats = tracedFloatsOf(levels, gridOf(node));
    if (!floats.isValid()) {
        return;
    }
    const Working working(*this, id);
    if (m_draft.isOutput(node.outputs[0])) {
        finish(id, {"", "Identity", 13, {}}, "", {floats}, node.outputs);
        return;
    }
    m_to[node.outputs[0].index()] = floats;
    m_draft.removeNode(id);
}

ValueId Dequantiser::floatsOf(ValueId levels, const Grid& grid)
{
    const ValueId floats = tracedFloatsOf(levels, grid);
    if (floats.isValid() || !levels.isValid()) {
        return floats;
    }
    const auto known = m_floats.find(levels);
    const bool isFloat = known != m_floats.end() && known->second.floats == levels;
    const std::string suffix = "/" + m_draft.value(levels).name;
    const ValueId source = isFloat ? levelsOf(levels) : levels;
    return add({"", "DequantizeLinear", kQuantizeOpset, {{"axis", grid.axis}, {"block_size", grid.block}}}, suffix,
               withGrid(source, withScalePerZero(grid)), levels);
}

Grid Dequantiser::withScalePerZero(Grid grid)
{
    if (grid.zero.isValid() && m_draft.isConstant(grid.zero) && m_draft.isConstant(grid.scale)) {
        const Tensor& given = m_draft.value(grid.scale).constant;
        Tensor scale = given.to(DType::Float64).contiguous();
        spreadScale(scale, m_draft.value(grid.zero).constant.shape());
        if (scale.size() != given.size()) {
            grid.scale = m_draft.addConstant(m_draft.value(grid.scale).name + ".spread", scale, floatTypeOf(grid));
        }
    }
    return grid;
}

ValueId Dequantiser::tracedFloatsOf(ValueId levels, const Grid& grid) { return traced(levels, grid, 0); }

/// Whether a DynamicQuantizeLinear makes these levels, by this grid.
bool Dequantiser::isDynamicOf(const Node& node, ValueId levels, const Grid& grid) const
{
    const auto result = [&](std::size_t k) { return k < node.outputs.size() ? node.outputs[k] : ValueId(); };
    const Grid own{result(1), result(2)};
    return result(0) == levels && isSame(m_draft, own, grid);
}

ValueId Dequantiser::traced(ValueId levels, const Grid& grid, int depth)
{
    if (!levels.isValid() || !grid.scale.isValid()) {
        return {};
    }
    if (m_draft.isConstant(levels)) {
        return ofConstant(levels, grid);
    }
    if (const auto known = m_floats.find(levels); known != m_floats.end()) {
        return isSame(m_draft, known->second.grid, grid) ? known->second.floats : ValueId();
    }
    const NodeId producer = m_draft.value(levels).producer;
    return producer.isValid() && !m_written.contains(producer) ? madeBy(producer, levels, grid, depth) : ValueId();
}

ValueId Dequantiser::madeBy(NodeId producer, ValueId levels, const Grid& grid, int depth)
{
    const Node& node = m_draft.node(producer);
    if (ops::isQuantize(node)) {
        const bool isOne = node.outputs.size() == 1;
        return isOne && isSame(m_draft, gridOf(node), grid) ? ofQuantize(producer, gridOf(node)) : ValueId();
    }
    if (ops::isDynamicQuantize(node)) {
        return isDynamicOf(node, levels, grid) ? ofDynamic(producer, grid) : ValueId();
    }
    const bool isMoved = depth < kMostMoves && isOfTensor(m_draft, grid) && ofMover(producer, grid, depth);
    const auto moved = m_floats.find(levels);
    return isMoved && moved != m_floats.end() ? moved->second.floats : ValueId();
}

std::optional<Grid> Dequantiser::knownGrid(ValueId levels) const
{
    for (int moves = 0; moves < kMostMoves; ++moves) {
        if (const auto known = m_floats.find(levels); known != m_floats.end()) {
            return known->second.grid;
        }
        const NodeId producer = levels.isValid() ? m_draft.value(levels).producer : NodeId();
        if (!producer.isValid()) {
            return std::nullopt;
        }
        const Node& node = m_draft.node(producer);
        const std::vector<std::size_t> moved = movedOperands(node);
        if (ops::isQuantize(node)) {
            return gridOf(node);
        }
        if (moved.empty()) {
            const bool isWhole = ops::isDynamicQuantize(node) && node.outputs.size() == 3 && node.outputs[0] == levels;
            return isWhole ? std::optional(Grid{node.outputs[1], node.outputs[2]}) : std::nullopt;
        }
        levels = node.inputs[moved.front()];
    }
    return std::nullopt;
}

bool Dequantiser::isOfInput(ValueId levels) const
{
    for (int moves = 0; moves < kMostMoves && levels.isValid(); ++moves) {
        const graph::Value& value = m_draft.value(levels);
        if (!value.producer.isValid()) {
            return value.kind == graph::ValueKind::Input && !tensor::isFloating(value.dtype);
        }
        const Node& node = m_draft.node(value.producer);
        const std::vector<std::size_t> moved = movedOperands(node);
        levels = moved.empty() ? ValueId() : node.inputs[moved.front()];
    }
    return false;
}

DType Dequantiser::floatTypeOf(const Grid& grid) const
{
    const DType type = m_draft.value(grid.scale).dtype;
    return tensor::isFloating(type) ? type : DType::Float32;
}

ValueId Dequantiser::ofConstant(ValueId levels, const Grid& grid)
{
    for (const auto& [known, floats] : m_constants[levels]) {
        if (isSame(m_draft, known, grid)) {
            return floats;
        }
    }
    Tensor data = dequantised(m_draft, levels, grid);
    if (!data.isValid()) {
        return {};
    }
    const ValueId floats = constant(m_draft.value(levels).name + ".dequantised", std::move(data));
    m_constants[levels].emplace_back(grid, floats);
    return floats;
}

ValueId Dequantiser::ofQuantize(NodeId id, const Grid& grid)
{
    const Node node = m_draft.node(id);
    const ValueId x = operandOf(node, 0);
    const ValueId levels = node.outputs[0];
    if (!x.isValid() || !tensor::isFloating(m_draft.value(x).dtype)) {
        return {};
    }
    const Working working(*this, id);
    const Attributes attributes = quantizeAttributes(node);
    if (m_draft.isOutput(levels)) {
        m_steps[m_step].removed.clear(); // it stays
        const ValueId floats = add(fakeQuantize(attributes), "/dequantised", node.inputs, levels);
        m_floats[levels] = {floats, grid, attributes};
        return floats;
    }
    finish(id, fakeQuantize(attributes), "", node.inputs, {levels});
    becomeFloats(levels, grid, attributes);
    return levels;
}

ValueId Dequantiser::ofDynamic(NodeId id, const Grid& grid)
{
    Node node = m_draft.node(id);
    const ValueId levels = node.outputs[0];
    const Working working(*this, id);
    if (m_draft.isOutput(levels)) {
        m_steps[m_step].removed.clear();
        const ValueId floats = add(fakeQuantize(), "/dequantised", withGrid(node.inputs[0], grid), levels);
        m_floats[levels] = {floats, grid, {}};
        return floats;
    }
    node.outputs[0] = m_draft.addResultLike(m_draft.value(levels).name + "/levels", DType::UInt8, levels);
    m_steps[m_step].added.push_back(node.name);
    const ValueId x = node.inputs[0];
    m_draft.replaceNode(id, std::move(node));
    Node fake = made(fakeQuantize(), "/quantise", withGrid(x, grid), {levels});
    m_written.insert(m_draft.addNode(std::move(fake)));
    becomeFloats(levels, grid, {});
    return levels;
}

bool Dequantiser::ofMover(NodeId id, const Grid& grid, int depth)
{
    const Node node = m_draft.node(id);
    const std::vector<std::size_t> slots = movedOperands(node);
    std::vector<ValueId> inputs = node.inputs;
    for (const std::size_t slot : slots) {
        inputs[slot] = traced(inputs[slot], grid, depth + 1);
        if (!inputs[slot].isValid()) {
            return false;
        }
    }
    if (padsWithZeroLevel(node)) {
        const DType type = grid.zero.isValid() ? m_draft.value(grid.zero).dtype : DType::UInt8;
        const Tensor zero = Tensor::zeros(type, {});
        inputs.resize(std::max<std::size_t>(inputs.size(), 3));
        inputs[2] = ofConstant(m_draft.addConstant(node.name + "/level 0", zero, zero.dtype()), grid);
        if (!inputs[2].isValid()) {
            return false;
        }
    }
    if (slots.empty()) {
        return false;
    }
    const Working working(*this, id);
    const NodeForm form{node.domain, node.op, node.opset, node.attributes};
    const bool makesOutput = std::ranges::any_of(node.outputs, [&](ValueId v) { return m_draft.isOutput(v); });
    if (!makesOutput) {
        finish(id, form, "", inputs, node.outputs);
        for (const ValueId levels : node.outputs) {
            becomeFloats(levels, grid, {});
        }
        return true;
    }
    if (node.outputs.size() > 1) {
        return false;
    }
    m_steps[m_step].removed.clear();
    const ValueId floats = add(form, "/dequantised", inputs, node.outputs[0]);
    m_floats[node.outputs[0]] = {floats, grid, {}};
    return true;
}

void Dequantiser::becomeFloats(ValueId levels, const Grid& grid, const Attributes& attributes)
{
    m_floats[levels] = {levels, grid, attributes};
    m_draft.retype(levels, floatTypeOf(grid));
}

Node Dequantiser::made(const NodeForm& form, const std::string& suffix, std::vector<ValueId> inputs,
                       std::vector<ValueId> results)
{
    Node node;
    node.op = form.op;
    node.domain = form.domain;
    node.opset = form.opset;
    node.attributes = form.attributes;
    node.name = m_name + suffix;
    node.scope = m_scope;
    node.inputs = std::move(inputs);
    node.outputs = std::move(results);
    m_steps[m_step].added.push_back(node.name);
    return node;
}

ValueId Dequantiser::add(const NodeForm& form, const std::string& suffix, std::vector<ValueId> inputs, ValueId like)
{
    const std::string stem = m_draft.value(like).name + (suffix.empty() ? "/unrounded" : suffix);
    const ValueId result = m_draft.addResultLike(stem, form.type, like);
    m_written.insert(m_draft.addNode(made(form, suffix, std::move(inputs), {result})));
    return result;
}

std::vector<ValueId> Dequantiser::addFreeOf(const NodeForm& form, const std::string& suffix,
                                            std::vector<ValueId> inputs, const std::vector<std::string>& results)
{
    std::vector<ValueId> values;
    for (const std::string& result : results) {
        values.push_back(m_draft.addResult(fmt::format("{}{}/{}", m_name, suffix, result), form.type));
    }
    addMaking(form, suffix, std::move(inputs), values);
    return values;
}

ValueId Dequantiser::addFree(const NodeForm& form, const std::string& suffix, std::vector<ValueId> inputs)
{
    return addFreeOf(form, suffix, std::move(inputs), {"result"}).front();
}

void Dequantiser::addMaking(const NodeForm& form, const std::string& suffix, std::vector<ValueId> inputs,
                            std::vector<ValueId> results)
{
    m_written.insert(m_draft.addNode(made(form, suffix, std::move(inputs), std::move(results))));
}

void Dequantiser::finish(NodeId id, const NodeForm& form, const std::string& suffix, std::vector<ValueId> inputs,
                         std::vector<ValueId> results)
{
    m_draft.replaceNode(id, made(form, suffix, std::move(inputs), std::move(results)));
    m_written.insert(id);
}

void Dequantiser::finishQuantised(NodeId id, ValueId floats, const Grid& grid)
{
    const ValueId levels = m_draft.node(id).outputs[0];
    if (m_draft.isOutput(levels)) {
        m_floats[levels] = {add(fakeQuantize(), "/dequantised", withGrid(floats, grid), levels), grid, {}};
        finish(id, {"", "QuantizeLinear", kQuantizeOpset, {}}, "/quantise", withGrid(floats, grid), {levels});
        return;
    }
    finish(id, fakeQuantize(), "/quantise", withGrid(floats, grid), {levels});
    becomeFloats(levels, grid, {});
}

void Dequantiser::finishTruncated(NodeId id, ValueId floats, const Grid& grid)
{
    const ValueId levels = m_draft.node(id).outputs[0];
    const NodeForm form = fakeQuantize({{"truncates", std::int64_t{1}}});
    if (m_draft.isOutput(levels)) {
        m_steps[m_step].removed.clear(); // it stays
        m_floats[levels] = {add(form, "/dequantised", withGrid(floats, grid), levels), grid, {}};
        return;
    }
    finish(id, form, "/quantise", withGrid(floats, grid), {levels});
    becomeFloats(levels, grid, {});
}

std::pair<ValueId, Grid> Dequantiser::dynamicOf(ValueId x)
{
    const ValueId levels = m_draft.addResultLike(m_name + "/levels", DType::UInt8, x);
    const Grid grid{m_draft.addResult(m_name + "/scale", floatTypeOf({x, {}})),
                    m_draft.addResult(m_name + "/zero point", DType::UInt8)};
    m_written.insert(
        m_draft.addNode(made({"", "DynamicQuantizeLinear", 11, {}}, "/range", {x}, {levels, grid.scale, grid.zero})));
    return {add(fakeQuantize(), "/quantise", withGrid(x, grid), x), grid};
}

ValueId Dequantiser::constant(const std::string& stem, Tensor data)
{
    return m_draft.addConstant(stem, std::move(data), DType::Float32);
}

void Dequantiser::remove(NodeId id)
{
    m_steps[m_step].removed.push_back(m_draft.node(id).name);
    m_draft.removeNode(id);
}

void Dequantiser::note(NodeId id, const std::string& why)
{
    const Node& node = m_draft.node(id);
    m_steps.push_back({kRewriteText,
                       fmt::format("{} ({}) stays, and passes no relevance: {}", node.name, node.op, why),
                       {},
                       {},
                       true});
}

ValueId Dequantiser::levelsOf(ValueId floats)
{
    const auto made = m_levels.find(floats);
    if (made != m_levels.end()) {
        return made->second;
    }
    const Floats& known = m_floats.at(floats);
    const std::string name = m_draft.value(floats).name + "/levels";
    const ValueId levels = m_draft.addResultLike(name, DType::UInt8, floats);
    Node node;
    node.op = "QuantizeLinear";
    node.opset = kQuantizeOpset;
    node.name = name;
    node.inputs = withGrid(floats, known.grid);
    node.outputs = {levels};
    node.attributes = known.attributes;
    m_written.insert(m_draft.addNode(std::move(node)));
    m_levels[floats] = levels;
    return levels;
}

/// Operands of the node that became floats are levels again; false where there is none.
bool Dequantiser::giveLevels(Node& node)
{
    bool isChanged = false;
    for (ValueId& input : node.inputs) {
        const auto known = input.isValid() ? m_floats.find(input) : m_floats.end();
        if (known != m_floats.end() && known->second.floats == input) {
            input = levelsOf(input);
            isChanged = true;
        }
    }
    return isChanged;
}

/// Nodes that were not rewritten go on reading levels.
void Dequantiser::restoreLevels()
{
    for (std::size_t i = 0; i < m_draft.before().nodeCount() && !m_draft.isStopped(); ++i) {
        if (m_draft.isRemoved(NodeId(i)) || m_written.contains(NodeId(i))) {
            continue;
        }
        Node node = m_draft.node(NodeId(i));
        if (giveLevels(node)) {
            m_draft.replaceNode(NodeId(i), std::move(node));
        }
    }
}

void dequantise(Draft& draft, std::vector<RewriteStep>& steps) { Dequantiser(draft, steps).run(); }

} // namespace retro::rewrite
