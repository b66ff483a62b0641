// SPDX-License-Identifier: Apache-2.0
#include "core/formats/known/graphfacts.h"

#include "core/formats/onnxschema.pb.h"
#include "core/ops/elements.h"
#include "core/ops/registry.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace retro::formats
{

using onnxschema::AttributeProto;
using onnxschema::GraphProto;
using onnxschema::NodeProto;
using onnxschema::ValueInfoProto;

namespace
{

using Count = std::optional<std::size_t>;

using ops::Elements;

/// Of the operator, or of that of the standard which has its name (Gelu of com.microsoft).
Elements elementsOf(const NodeProto& node)
{
    const Elements own = ops::elementsOf(node.domain(), node.op_type());
    return own == Elements::Mixed ? ops::elementsOf("", node.op_type()) : own;
}

/// Each element of the result is made of those in its place, of all operands.
bool broadcasts(const NodeProto& node)
{
    const Elements elements = elementsOf(node);
    return elements == Elements::Chosen || elements == Elements::Compared || elements >= Elements::Combined ||
           node.op_type() == "QLinearAdd" || node.op_type() == "QLinearMul";
}

/// Results have as many axes as operand 0: the elements say it, or the structure, or the name.
bool keepsRank(const NodeProto& node, std::int64_t opset)
{
    constexpr std::array kElements{Elements::Kept,    Elements::Converted, Elements::Turned,  Elements::Taken,
                                   Elements::Padded,  Elements::Joined,    Elements::Rounded, Elements::Quantised,
                                   Elements::Negated, Elements::Bounded,   Elements::Function};
    constexpr std::array<std::string_view, 4> kStructures{"softmax", "normalisation", "self-normalisation", "pool"};
    constexpr std::array<std::string_view, 20> kNames{"Attention",
                                                      "BiasGelu",
                                                      "Conv",
                                                      "ConvTranspose",
                                                      "DynamicQuantizeLinear",
                                                      "FastGelu",
                                                      "FusedConv",
                                                      "QLinearAveragePool",
                                                      "QLinearConv",
                                                      "QLinearGlobalAveragePool",
                                                      "QLinearLeakyRelu",
                                                      "QLinearSigmoid",
                                                      "QLinearSoftmax",
                                                      "QuickGelu",
                                                      "Resize",
                                                      "ScatterND",
                                                      "SkipLayerNormalization",
                                                      "SkipSimplifiedLayerNormalization",
                                                      "Tile",
                                                      "Upsample"};
    const ops::OperatorDeclaration* known = ops::find("", node.op_type(), opset);
    return std::ranges::count(kElements, elementsOf(node)) > 0 || std::ranges::count(kNames, node.op_type()) > 0 ||
           (known != nullptr && std::ranges::any_of(kStructures, [&](std::string_view word) {
                return known->structure.find(word) != std::string_view::npos;
            }));
}

const AttributeProto* attributeOf(const NodeProto& node, std::string_view name)
{
    const auto at = std::find_if(node.attribute().begin(), node.attribute().end(),
                                 [name](const AttributeProto& attribute) { return attribute.name() == name; });
    return at == node.attribute().end() ? nullptr : &*at;
}

/// Axes of a result, where the name and the attributes of the operator alone say how many there are.
Count rankSaidBy(const NodeProto& node)
{
    const std::string& op = node.op_type();
    if (op == "Constant") {
        const AttributeProto* value = attributeOf(node, "value");
        return value != nullptr && value->has_t() ? Count(static_cast<std::size_t>(value->t().dims_size()))
                                                  : std::nullopt;
    }
    if (op == "Gemm" || op == "FusedGemm" || op == "Flatten") {
        return 2;
    }
    if (op == "Shape") {
        return 1;
    }
    const AttributeProto* order = op == "Transpose" ? attributeOf(node, "perm") : nullptr;
    return order != nullptr ? Count(static_cast<std::size_t>(order->ints_size())) : std::nullopt;
}

/// Extent of a constant of one axis.
Count lengthOfConstant(const NodeProto& node)
{
    const AttributeProto* value = attributeOf(node, "value");
    const AttributeProto* list = attributeOf(node, "value_ints");
    if (value != nullptr && value->t().dims_size() == 1 && value->t().dims(0) >= 0) {
        return static_cast<std::size_t>(value->t().dims(0));
    }
    return list != nullptr ? Count(static_cast<std::size_t>(list->ints_size())) : std::nullopt;
}

} // namespace

GraphFacts::GraphFacts(const GraphProto& graph, std::int64_t opset) : m_opset(opset) { take(graph); }

std::optional<std::size_t> GraphFacts::rank(const std::string& value) const
{
    const auto at = m_ranks.find(value);
    return at == m_ranks.end() ? std::nullopt : Count(at->second);
}

int GraphFacts::elementType(const std::string& value) const
{
    const auto at = m_types.find(value);
    return at == m_types.end() ? 0 : at->second;
}

std::optional<std::vector<std::int64_t>> GraphFacts::constantShape(const std::string& value) const
{
    const auto at = m_shapes.find(value);
    return at == m_shapes.end() ? std::nullopt : std::optional(at->second);
}

std::optional<std::int64_t> GraphFacts::extentFromEnd(const std::string& value, std::size_t place) const
{
    const auto constant = m_shapes.find(value);
    const auto declared = m_declared.find(value);
    const std::vector<std::int64_t>* shape = constant != m_shapes.end()     ? &constant->second
                                             : declared != m_declared.end() ? &declared->second
                                                                            : nullptr;
    if (shape == nullptr || place == 0 || place > shape->size()) {
        return std::nullopt;
    }
    const std::int64_t extent = (*shape)[shape->size() - place];
    return extent > 0 ? std::optional(extent) : std::nullopt;
}

bool GraphFacts::isRead(const std::string& value) const
{
    return m_read.contains(value) || !m_producers.contains(value);
}

std::optional<std::int64_t> GraphFacts::width(const std::string& value) const
{
    const auto at = m_widths.find(value);
    return at == m_widths.end() ? std::nullopt : std::optional(at->second);
}

std::string GraphFacts::producer(const std::string& value) const
{
    const auto at = m_producers.find(value);
    return at == m_producers.end() ? std::string() : at->second;
}

void GraphFacts::take(const GraphProto& graph)
{
    takeDeclared(graph);
    for (const NodeProto& node : graph.node()) {
        m_read.insert(node.input().begin(), node.input().end());
        takeNode(node);
    }
    for (const ValueInfoProto& output : graph.output()) {
        m_read.insert(output.name());
    }
}

void GraphFacts::takeValue(const ValueInfoProto& value)
{
    if (!value.type().has_tensor_type()) {
        return;
    }
    m_types[value.name()] = value.type().tensor_type().elem_type();
    if (!value.type().tensor_type().has_shape()) {
        return;
    }
    const auto& shape = value.type().tensor_type().shape();
    m_ranks[value.name()] = static_cast<std::size_t>(shape.dim_size());
    std::vector<std::int64_t>& extents = m_declared[value.name()];
    extents.clear();
    for (const auto& dimension : shape.dim()) {
        extents.push_back(dimension.dim_value());
    }
    if (shape.dim_size() > 0 && shape.dim(shape.dim_size() - 1).dim_value() > 0) { // else it is open
        m_widths[value.name()] = shape.dim(shape.dim_size() - 1).dim_value();
    }
}

void GraphFacts::takeDeclared(const GraphProto& graph)
{
    for (const auto* list : {&graph.input(), &graph.value_info(), &graph.output()}) {
        for (const ValueInfoProto& value : *list) {
            takeValue(value);
        }
    }
    for (const auto& constant : graph.initializer()) {
        m_types[constant.name()] = constant.data_type();
        m_ranks[constant.name()] = static_cast<std::size_t>(constant.dims_size());
        m_shapes[constant.name()] = {constant.dims().begin(), constant.dims().end()};
        if (constant.dims_size() == 1 && constant.dims(0) >= 0) {
            m_lengths[constant.name()] = static_cast<std::size_t>(constant.dims(0));
        }
    }
}

void GraphFacts::takeNode(const NodeProto& node)
{
    for (const AttributeProto& attribute : node.attribute()) {
        if (attribute.has_g()) {
            take(attribute.g());
        }
    }
    takeLength(node);
    takeWidth(node);
    const Count found = rankOf(node);
    const int type = elementTypeOf(node);
    const AttributeProto* value = node.op_type() == "Constant" ? attributeOf(node, "value") : nullptr;
    if (value != nullptr && value->has_t() && node.output_size() > 0) {
        m_shapes[node.output(0)] = {value->t().dims().begin(), value->t().dims().end()};
    }
    for (const std::string& output : node.output()) {
        m_producers[output] = node.op_type();
        m_types.emplace(output, type);
        if (found) {
            m_ranks.emplace(output, *found);
        }
    }
}

int GraphFacts::elementTypeOf(const NodeProto& node) const
{
    const std::string& op = node.op_type();
    if (const AttributeProto* to = op == "Cast" ? attributeOf(node, "to") : nullptr; to != nullptr) {
        return static_cast<int>(to->i());
    }
    if (const AttributeProto* value = op == "Constant" ? attributeOf(node, "value") : nullptr; value != nullptr) {
        return value->t().data_type();
    }
    if (op == "Shape" || op == "Size" || op == "ArgMax" || op == "ArgMin" || op == "NonZero") {
        return onnxschema::TensorProto::INT64;
    }
    if (elementsOf(node) == Elements::Compared) {
        return onnxschema::TensorProto::BOOL;
    }
    const int slot = elementsOf(node) == Elements::Chosen || op == "CastLike" ? 1 : 0;
    return slot < node.input_size() ? elementType(node.input(slot)) : 0;
}

Count GraphFacts::rankOfOperand(const NodeProto& node, int slot) const
{
    return slot < node.input_size() ? rank(node.input(slot)) : std::nullopt;
}

Count GraphFacts::largestRank(const NodeProto& node) const
{
    std::size_t most = 0;
    for (const std::string& input : node.input()) {
        const Count own = rank(input);
        if (!own) {
            return std::nullopt;
        }
        most = std::max(most, *own);
    }
    return most;
}

Count GraphFacts::rankOfProduct(const NodeProto& node) const
{
    const Count a = rankOfOperand(node, 0);
    const Count b = rankOfOperand(node, 1);
    return a && b && *a >= 2 && *b >= 2 ? Count(std::max(*a, *b)) : std::nullopt;
}

/// Of a reduction that keeps its axes.
Count GraphFacts::rankOfReduced(const NodeProto& node) const
{
    const AttributeProto* keeps = attributeOf(node, "keepdims");
    return keeps == nullptr || keeps->i() != 0 ? rankOfOperand(node, 0) : std::nullopt;
}

/// Of operators that add and take axes.
Count GraphFacts::rankOfMoved(const NodeProto& node) const
{
    const Count x = rankOfOperand(node, 0);
    const std::string& op = node.op_type();
    if (op == "Gather") {
        const Count indices = rankOfOperand(node, 1);
        return x && indices && *x > 0 ? Count(*x + *indices - 1) : std::nullopt;
    }
    const AttributeProto* attribute = attributeOf(node, "axes");
    const Count axes =
        attribute != nullptr ? Count(static_cast<std::size_t>(attribute->ints_size())) : lengthOf(node, 1);
    if (!x || !axes) {
        return std::nullopt;
    }
    if (op == "Unsqueeze") {
        return *x + *axes;
    }
    return *x >= *axes ? Count(*x - *axes) : std::nullopt;
}

Count GraphFacts::rankOf(const NodeProto& node) const
{
    if (const Count said = rankSaidBy(node)) {
        return said;
    }
    const std::string& op = node.op_type();
    if (op == "Reshape" || op == "Expand" || op == "ConstantOfShape") {
        return lengthOf(node, op == "ConstantOfShape" ? 0 : 1);
    }
    if (op == "MatMul" || op == "FusedMatMul") {
        return rankOfProduct(node);
    }
    if (op == "Gather" || op == "Unsqueeze" || op == "Squeeze") {
        return rankOfMoved(node);
    }
    if (op.starts_with("Reduce")) {
        return rankOfReduced(node);
    }
    return broadcasts(node) ? largestRank(node) : keepsRank(node, m_opset) ? rankOfOperand(node, 0) : std::nullopt;
}

Count GraphFacts::lengthOf(const NodeProto& node, int slot) const
{
    const auto at = slot < node.input_size() ? m_lengths.find(node.input(slot)) : m_lengths.end();
    return at == m_lengths.end() ? std::nullopt : Count(at->second);
}

/// Of lists that stand behind each other.
Count GraphFacts::lengthTogether(const NodeProto& node) const
{
    Count length = 0;
    for (int slot = 0; slot < node.input_size(); ++slot) {
        const Count own = lengthOf(node, slot);
        length = length && own ? Count(*length + *own) : std::nullopt;
    }
    return length;
}

Count GraphFacts::lengthMadeBy(const NodeProto& node) const
{
    const std::string& op = node.op_type();
    if (op == "Constant") {
        return lengthOfConstant(node);
    }
    if (op == "Unsqueeze" && rankOfMoved(node) == Count(1)) {
        return 1;
    }
    if (op == "Shape" && node.attribute_size() == 0) {
        return rankOfOperand(node, 0);
    }
    const Elements elements = elementsOf(node);
    if (elements == Elements::Kept || elements == Elements::Converted) {
        return lengthOf(node, 0);
    }
    return elements == Elements::Joined ? lengthTogether(node) : std::nullopt;
}

/// Of layers, whose weights say it, and of sums with a list.
std::optional<std::int64_t> GraphFacts::widthMadeBy(const NodeProto& node) const
{
    const std::string& op = node.op_type();
    if (const AttributeProto* rows = op == "MatMulNBits" ? attributeOf(node, "N") : nullptr; rows != nullptr) {
        return rows->i();
    }
    if (node.input_size() < 2) {
        return std::nullopt;
    }
    if (op == "MatMul") {
        const auto weights = constantShape(node.input(1));
        return weights && weights->size() >= 2 ? std::optional(weights->back()) : std::nullopt;
    }
    const auto a = width(node.input(0));
    const auto b = constantShape(node.input(1));
    const bool isSame =
        elementsOf(node) == Elements::Summed && a && b && (b->empty() || b->back() == *a || b->back() == 1);
    return isSame ? a : std::nullopt;
}

void GraphFacts::takeWidth(const NodeProto& node)
{
    const std::optional<std::int64_t> made = widthMadeBy(node);
    if (made && *made > 0 && node.output_size() > 0) {
        m_widths.emplace(node.output(0), *made);
    }
}

/// Exporters join shapes of single extents.
void GraphFacts::takeLength(const NodeProto& node)
{
    const Count length = lengthMadeBy(node);
    if (length && node.output_size() > 0) {
        m_lengths[node.output(0)] = *length;
    }
}

} // namespace retro::formats
