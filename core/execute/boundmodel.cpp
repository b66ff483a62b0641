// SPDX-License-Identifier: Apache-2.0
#include "core/execute/boundmodel.h"

#include "core/base/bytesize.h"
#include "core/base/cancel.h"
#include "core/base/failure.h"
#include "core/base/leftovers.h"
#include "core/base/memorylimit.h"
#include "core/execute/earlyvalues.h"
#include "core/execute/sizesonly.h"
#include "core/graph/placeholder.h"
#include "core/ops/bind/bindcheck.h"
#include "core/ops/kernel/roundnumbers.h"
#include "core/ops/linear/storedweight.h"
#include "core/ops/lookup.h"
#include "core/ops/numbertypes.h"
#include "core/ops/registry.h"
#include "core/ops/runoperator.h"
#include "core/ops/shape/known.h"
#include "core/tensor/checkedshape.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

namespace retro::execute
{

namespace
{

using graph::Node;
using graph::ValueId;

/// Walks over the nodes in order.
class Tracker
{
public:
    Tracker(const graph::Graph& graph, std::span<const ops::TensorType> types,
            const std::map<ValueId, TokenPlaces>& tokens)
        : m_types(types), m_tokens(tokens), m_tracked(graph.valueCount(), false)
    {
        for (const ValueId input : graph.inputs()) {
            m_tracked[input.index()] = isFloating(input);
        }
    }

    void visit(const Node& node, std::span<const std::unique_ptr<ops::BoundOperator>> operators, std::size_t at)
    {
        const ops::Structure& structure = operators[at]->structure();
        if (structure.kind() == ops::StructureKind::NoRelevance) {
            return;
        }
        bool carries = std::any_of(node.inputs.begin(), node.inputs.end(), [this](ValueId operand) {
            return operand.isValid() && isFloating(operand) && m_tracked[operand.index()];
        });
        if (ops::isTokenSlot(structure, ops::Lookup::kIndices)) {
            carries = true;
            const auto tokens = m_tokens.find(node.inputs[ops::Lookup::kIndices]);
            if (tokens != m_tokens.end()) {
                m_tracked[tokens->second.input.index()] = true;
            }
        }
        for (const ValueId output : node.outputs) {
            if (output.isValid()) {
                m_tracked[output.index()] = carries && isFloating(output);
            }
        }
    }

    [[nodiscard]] std::vector<bool> take() && { return std::move(m_tracked); }

private:
    [[nodiscard]] bool isFloating(ValueId value) const { return tensor::isFloating(m_types[value.index()].dtype); }

    std::span<const ops::TensorType> m_types;
    const std::map<ValueId, TokenPlaces>& m_tokens;
    std::vector<bool> m_tracked;
};

/// Per value of the graph: does it carry relevance? A floating graph input does, an integer one when an embedding is
/// looked up by it, the result of an embedding, and a floating result of an operator that passes relevance and has an
/// operand that carries it. Operators per node, types per value, tokens by indices.
std::vector<bool> trackedValues(const graph::Graph& graph,
                                std::span<const std::unique_ptr<ops::BoundOperator>> operators,
                                std::span<const ops::TensorType> types, const std::map<ValueId, TokenPlaces>& tokens)
{
    Tracker tracker(graph, types, tokens);
    for (std::size_t i = 0; i < graph.nodeCount(); ++i) {
        tracker.visit(graph.node(graph::NodeId(i)), operators, i);
    }
    return std::move(tracker).take();
}

/// The tokens of the indices of each embedding that has some.
std::map<ValueId, TokenPlaces> tokensByIndices(const graph::Graph& graph,
                                               std::span<const std::unique_ptr<ops::BoundOperator>> operators,
                                               std::span<const ops::TensorType> types,
                                               std::span<const Tensor> constants)
{
    TokenFinder finder(graph, operators, types, constants);
    std::map<ValueId, TokenPlaces> all;
    for (std::size_t i = 0; i < graph.nodeCount(); ++i) {
        const Node& node = graph.node(NodeId(i));
        const bool isFloating = !node.outputs.empty() && node.outputs.front().isValid() &&
                                tensor::isFloating(types[node.outputs.front().index()].dtype);
        if (isFloating && ops::isTokenSlot(operators[i]->structure(), ops::Lookup::kIndices)) {
            if (auto found = finder.find(node.inputs[ops::Lookup::kIndices])) {
                all.emplace(node.inputs[ops::Lookup::kIndices], std::move(*found));
            }
        }
    }
    return all;
}

std::string declaredText(const std::vector<graph::Dimension>& shape)
{
    std::string text;
    for (const graph::Dimension& dimension : shape) {
        text += text.empty() ? "" : " × ";
        if (dimension.extent) {
            text += std::to_string(*dimension.extent);
        } else {
            text += dimension.symbol.empty() ? "?" : dimension.symbol;
        }
    }
    return text.empty() ? "scalar" : text;
}

// Extent of each symbolic dimension ("N") that inputs have given so far.
using Symbols = std::map<std::string, std::int64_t>;

bool fits(const graph::Dimension& declared, std::int64_t extent, Symbols& symbols)
{
    if (declared.extent.value_or(0) != 0) {
        return *declared.extent == extent;
    }
    if (declared.extent || graph::isPlaceholder(declared.symbol)) {
        return true; // 0 is what some exporters write for an extent that they do not know
    }
    return symbols.emplace(declared.symbol, extent).first->second == extent;
}

bool fits(const std::vector<graph::Dimension>& declared, const tensor::Shape& shape, Symbols& symbols)
{
    if (declared.size() != shape.size()) {
        return false;
    }
    for (std::size_t axis = 0; axis < shape.size(); ++axis) {
        if (!fits(declared[axis], shape[axis], symbols)) {
            return false;
        }
    }
    return true;
}

bool sameKind(tensor::DType declared, tensor::DType given)
{
    return declared == given || (tensor::isFloating(declared) && tensor::isFloating(given));
}

base::Result<void> checkInput(const graph::Value& input, const ops::TensorType& given, Symbols& symbols)
{
    const std::string where = fmt::format("input \"{}\"", input.name);
    if (!sameKind(input.dtype, given.dtype)) {
        return base::inputError(fmt::format("the model expects {}, but the data is {}; convert the data",
                                            tensor::nameOf(input.dtype), tensor::nameOf(given.dtype)),
                                where);
    }
    if (input.shape && !fits(*input.shape, given.shape, symbols)) {
        return base::inputError(fmt::format("the model expects the shape {}, but the data has {}; reshape or crop the "
                                            "data, or export the model for this shape",
                                            declaredText(*input.shape), tensor::toText(given.shape)),
                                where);
    }
    return {};
}

/// No input has more; what is beyond is no size but a fault in a file.
constexpr std::uint64_t kMaxInputBytes = static_cast<std::uint64_t>(ops::kMaxElements) * sizeof(double);

/// Narrower constants of fewer bytes are widened once: copies for each reader would cost more than they take.
constexpr std::int64_t kLeastNarrowBytes = 16 << 10;

Tensor inRun(const Tensor& constant, tensor::DType floatType)
{
    return tensor::isFloating(constant.dtype()) ? constant.to(floatType) : constant;
}

/// Type of a constant whose data is not there, as it is declared: a model is bound to plan for it, not to run it.
ops::TensorType typeWithoutData(const graph::Value& value, tensor::DType floatType)
{
    ops::TensorType type{tensor::isFloating(value.dtype) ? floatType : value.dtype, {}};
    for (const graph::Dimension& dimension : value.shape.value_or(std::vector<graph::Dimension>())) {
        type.shape.push_back(dimension.extent.value_or(1));
    }
    return type;
}

bool staysNarrow(const Tensor& constant)
{
    const bool isHalf = constant.dtype() == tensor::DType::Float16 || constant.dtype() == tensor::DType::BFloat16;
    return isHalf && constant.bytes() >= kLeastNarrowBytes;
}

// Operands of one node, by their values.
class NodeOperands final : public ops::OperandSource
{
public:
    NodeOperands(const graph::Node& node, EarlyValues& early) : m_node(node), m_early(early) {}

    [[nodiscard]] base::Result<Tensor> operand(std::size_t slot) const override
    {
        return m_early.value(m_node.inputs[slot]);
    }

private:
    const graph::Node& m_node;
    EarlyValues& m_early;
};

/// Weights may be packed and turned round while a node is bound; anything else that is made is small.
std::uint64_t allowanceFor(std::span<const Tensor> constants)
{
    constexpr std::uint64_t kCopies = 4;
    std::uint64_t bytes = base::MemoryLimit::beforeRun();
    for (const Tensor& constant : constants) {
        bytes += constant.isValid() ? kCopies * static_cast<std::uint64_t>(constant.bytes()) : 0;
    }
    return bytes;
}

/// Each result alone fits into the memory that may be used; said before anything is computed.
base::Result<void> expectMemory(const graph::Node& node, std::span<const ops::TensorType> results)
{
    for (const ops::TensorType& type : results) {
        const auto bytes = tensor::checkedBytes(type.shape, type.dtype, base::MemoryLimit::bytes());
        if (!bytes.ok()) {
            const double wanted =
                static_cast<double>(tensor::elementCount(type.shape)) * static_cast<double>(tensor::sizeOf(type.dtype));
            return base::memoryError(
                fmt::format("its result {} of {} needs {}, but {} may be used; allow more (--memory SIZE, or "
                            "Preferences in the window), or give a smaller input",
                            tensor::toText(type.shape), tensor::nameOf(type.dtype),
                            base::bytesText(static_cast<std::uint64_t>(wanted)),
                            base::bytesText(base::MemoryLimit::bytes())),
                ops::placeOf(node));
        }
    }
    return {};
}

/// Weights of 16 bits are not widened for operators that hold them as they are stored.
Tensor constantForBinding(const BoundModel& model, const graph::Node& node, std::size_t slot)
{
    const Tensor& stored = model.storedConstant(node.inputs[slot]);
    const bool isShapeEnough = stored.isValid() && staysNarrow(stored) && ops::takesStored(node, slot);
    return isShapeEnough ? ops::shapeOnly(dtypeOf(model.precision()), stored.shape())
                         : model.constant(node.inputs[slot]);
}

bool areKnownSizes(std::span<const ops::TensorType> types)
{
    return std::ranges::all_of(types, [](const ops::TensorType& type) {
        return tensor::checkedBytes(type.shape, type.dtype, ops::kMaxKnownBytes).ok();
    });
}

} // namespace

tensor::DType dtypeOf(Precision precision)
{
    return precision == Precision::Float ? tensor::DType::Float32 : tensor::DType::Float64;
}

Precision insideOf(Precision precision) { return precision == Precision::Declared ? Precision::Double : precision; }

std::vector<Tensor> inRun(const graph::Graph& graph, std::span<const Tensor> inputs, Precision precision)
{
    std::vector<Tensor> converted;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
        if (!tensor::isFloating(inputs[i].dtype())) {
            converted.push_back(inputs[i]);
            continue;
        }
        converted.push_back(inputs[i].to(dtypeOf(precision)));
        if (precision != Precision::Double && i < graph.inputs().size()) {
            ops::roundNumbers(converted.back(), graph.value(graph.inputs()[i]).dtype);
        }
    }
    return converted;
}

base::Result<std::shared_ptr<const BoundModel>> BoundModel::bind(std::shared_ptr<const graph::Graph> graph,
                                                                 std::span<const ops::TensorType> inputTypes,
                                                                 Precision precision, std::span<const Tensor> inputs,
                                                                 const std::stop_token& stop)
{
    auto model = std::make_shared<BoundModel>();
    model->m_precision = precision;
    model->m_types.resize(graph->valueCount());
    model->m_numbers.resize(graph->valueCount());
    model->m_constants.resize(graph->valueCount());
    model->m_operators.resize(graph->nodeCount());
    model->m_graph = std::move(graph);
    RETRO_CHECK(model->takeInputs(inputTypes));
    model->takeConstants();
    EarlyValues early(*model, inputs);
    for (std::size_t i = 0; i < model->m_graph->nodeCount(); ++i) {
        if (stop.stop_requested()) {
            base::Leftovers::add(model);
        }
        RETRO_CHECK(base::checkStop(stop));
        RETRO_CHECK(base::caughtAt([&] { return ops::placeOf(model->m_graph->node(NodeId(i))); },
                                   [&] { return model->bindNode(NodeId(i), early); }));
    }
    model->m_tokens = tokensByIndices(*model->m_graph, model->m_operators, model->m_types, model->m_constants);
    model->m_tracked = trackedValues(*model->m_graph, model->m_operators, model->m_types, model->m_tokens);
    model->m_boundInputs.resize(inputTypes.size());
    for (const std::size_t position : early.readInputs()) {
        model->m_boundInputs[position] = inputs[position];
    }
    return std::shared_ptr<const BoundModel>(std::move(model));
}

base::Result<void> BoundModel::takeInputs(std::span<const ops::TensorType> inputTypes)
{
    const std::span<const ValueId> inputs = m_graph->inputs();
    if (inputs.size() != inputTypes.size()) {
        return base::inputError(
            fmt::format("the model has {} inputs, but {} were given", inputs.size(), inputTypes.size()),
            m_graph->name());
    }
    Symbols symbols;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
        RETRO_CHECK(checkInput(m_graph->value(inputs[i]), inputTypes[i], symbols));
        const auto bytes = tensor::checkedBytes(inputTypes[i].shape, tensor::DType::Float64, kMaxInputBytes);
        if (!bytes.ok()) {
            return base::within(bytes.error(), fmt::format("input \"{}\"", m_graph->value(inputs[i]).name));
        }
        const bool floating = tensor::isFloating(inputTypes[i].dtype);
        m_types[inputs[i].index()] = {floating ? dtypeOf(m_precision) : inputTypes[i].dtype, inputTypes[i].shape};
        m_numbers[inputs[i].index()] = m_graph->value(inputs[i]).dtype;
    }
    return {};
}

std::vector<tensor::DType> BoundModel::operandNumbers(NodeId node) const
{
    return m_precision == Precision::Double ? std::vector<tensor::DType>() : operandTypes(m_graph->node(node));
}

std::vector<tensor::DType> BoundModel::operandTypes(const graph::Node& node) const
{
    std::vector<tensor::DType> types;
    for (const ValueId input : node.inputs) {
        types.push_back(input.isValid() ? numbersOf(input) : tensor::DType::Bool); // an absent one decides nothing
    }
    return types;
}

Tensor BoundModel::inModelType(ValueId value, const Tensor& tensor) const
{
    const tensor::DType type = numbersOf(value);
    const bool isKept = m_precision == Precision::Double || !ops::isWiderThan(tensor.dtype(), type);
    return isKept ? tensor : tensor.to(type);
}

const TokenPlaces* BoundModel::tokensOf(ValueId indices) const
{
    const auto found = m_tokens.find(indices);
    return found == m_tokens.end() ? nullptr : &found->second;
}

const TokenPlaces* BoundModel::tokensAt(NodeId node, std::size_t slot) const
{
    return ops::isTokenSlot(op(node).structure(), slot) ? tokensOf(m_graph->node(node).inputs[slot]) : nullptr;
}

bool BoundModel::isOfTokens(ValueId input) const
{
    return std::ranges::any_of(m_tokens, [input](const auto& one) { return one.second.input == input; });
}

Tensor BoundModel::constant(ValueId value) const
{
    const Tensor& stored = storedConstant(value);
    return stored.isValid() ? inRun(stored, dtypeOf(m_precision)) : stored;
}

void BoundModel::takeConstants()
{
    for (std::size_t i = 0; i < m_graph->valueCount(); ++i) {
        const graph::Value& value = m_graph->value(ValueId(i));
        if (value.kind == graph::ValueKind::Constant) {
            if (!value.constant.isValid()) {
                m_types[i] = typeWithoutData(value, dtypeOf(m_precision));
                continue;
            }
            const tensor::DType stored = value.constant.dtype();
            const tensor::DType floatType = dtypeOf(m_precision);
            m_constants[i] = staysNarrow(value.constant) ? value.constant : inRun(value.constant, floatType);
            m_types[i] = {tensor::isFloating(stored) ? floatType : stored, value.constant.shape()};
            m_numbers[i] = value.dtype; // computed constants may be stored with more digits
        }
    }
}

base::Result<void> BoundModel::bindNode(NodeId id, EarlyValues& early)
{
    const graph::Node& node = m_graph->node(id);
    std::vector<ops::TensorType> types(node.inputs.size());
    std::vector<Tensor> constants(node.inputs.size());
    for (std::size_t slot = 0; slot < node.inputs.size(); ++slot) {
        if (node.inputs[slot].isValid()) {
            types[slot] = m_types[node.inputs[slot].index()];
            constants[slot] = constantForBinding(*this, node, slot);
        }
    }
    const NodeOperands operands(node, early);
    const base::MemoryAllowance allowance(allowanceFor(constants));
    const std::vector<tensor::DType> numbers = operandNumbers(id);
    RETRO_TRY(auto op, ops::bind({*m_graph, id, node, types, constants, dtypeOf(m_precision), &operands, numbers}));
    const std::vector<ops::TensorType>& outputs = op->outputTypes();
    if (!SizesOnly::isOn()) {
        RETRO_CHECK(expectMemory(node, outputs));
    }
    const std::vector<tensor::DType> made = ops::resultNumbers(node, operandTypes(node));
    for (std::size_t k = 0; k < std::min(outputs.size(), node.outputs.size()); ++k) {
        if (!node.outputs[k].isValid()) {
            continue; // an optional result that nobody asked for
        }
        m_types[node.outputs[k].index()] = outputs[k];
        m_numbers[node.outputs[k].index()] = tensor::isFloating(outputs[k].dtype) ? made[k] : outputs[k].dtype;
    }
    RETRO_CHECK(keepKnownResults(node, *op, constants));
    m_operators[id.index()] = std::move(op);
    return {};
}

/// Integers that are known before the run (Shape of anything, and what is computed from it) are constants for the
/// operators that follow: Reshape wants its shape when it is bound.
base::Result<void> BoundModel::keepKnownResults(const graph::Node& node, const ops::BoundOperator& op,
                                                std::span<const Tensor> constants)
{
    const auto isInteger = [](const ops::TensorType& type) { return !tensor::isFloating(type.dtype); };
    if (!std::all_of(op.outputTypes().begin(), op.outputTypes().end(), isInteger)) {
        return {};
    }
    std::vector<Tensor> results = op.knownResults();
    bool isKnown = !constants.empty();
    for (std::size_t slot = 0; slot < constants.size(); ++slot) {
        isKnown = isKnown && (constants[slot].isValid() || !node.inputs[slot].isValid());
    }
    if (results.empty() && isKnown && areKnownSizes(op.outputTypes()) && op.check(constants).ok()) {
        RETRO_TRY(results, ops::runForward(op, node, constants));
    }
    for (std::size_t k = 0; k < std::min(results.size(), node.outputs.size()); ++k) {
        if (node.outputs[k].isValid()) {
            m_constants[node.outputs[k].index()] = results[k];
        }
    }
    return {};
}

} // namespace retro::execute
