// SPDX-License-Identifier: Apache-2.0
#include "core/ops/numbertypes.h"

#include "core/ops/elements.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <string_view>

namespace retro::ops
{

using graph::Graph;
using graph::Node;
using graph::Subgraph;
using graph::ValueId;
using graph::ValueKind;
using tensor::DType;

namespace
{

/// ONNX's numbers of element types (TensorProto.DataType), and their names, as operator sets before 6 write them.
struct TypeNumber
{
    std::int64_t number;
    std::string_view name;
    DType type;
};
constexpr std::array kTypes{
    TypeNumber{1, "FLOAT", DType::Float32},
    TypeNumber{2, "UINT8", DType::UInt8},
    TypeNumber{3, "INT8", DType::Int8},
    TypeNumber{4, "UINT16", DType::UInt16},
    TypeNumber{5, "INT16", DType::Int16},
    TypeNumber{6, "INT32", DType::Int32},
    TypeNumber{7, "INT64", DType::Int64},
    TypeNumber{9, "BOOL", DType::Bool},
    TypeNumber{10, "FLOAT16", DType::Float16},
    TypeNumber{11, "DOUBLE", DType::Float64},
    TypeNumber{12, "UINT32", DType::UInt32},
    TypeNumber{13, "UINT64", DType::UInt64},
    TypeNumber{16, "BFLOAT16", DType::BFloat16},
    TypeNumber{17, "FLOAT8E4M3FN", DType::Float8E4M3FN},
    TypeNumber{18, "FLOAT8E4M3FNUZ", DType::Float8E4M3FNUZ},
    TypeNumber{19, "FLOAT8E5M2", DType::Float8E5M2},
    TypeNumber{20, "FLOAT8E5M2FNUZ", DType::Float8E5M2FNUZ},
    TypeNumber{21, "UINT4", DType::UInt4},
    TypeNumber{22, "INT4", DType::Int4},
    TypeNumber{23, "FLOAT4E2M1", DType::Float4E2M1},
    TypeNumber{24, "FLOAT8E8M0", DType::Float8E8M0},
    TypeNumber{25, "UINT2", DType::UInt2},
    TypeNumber{26, "INT2", DType::Int2},
    TypeNumber{27, "FLOAT6E2M3", DType::Float6E2M3},
    TypeNumber{28, "FLOAT6E3M2", DType::Float6E3M2},
};

/// Outputs whose type is not that of the floating operands.
struct TypeRule
{
    enum class From : std::uint8_t {
        Operand,   ///< operand number `slot`
        Attribute, ///< the attribute names it by ONNX's number; where it is missing or 0, `otherwise`
        Fixed      ///< `otherwise`
    };
    std::string_view domain;
    std::string_view op;
    std::size_t firstOutput = 0; ///< this output and those behind it …
    std::size_t lastOutput = 0;  ///< … up to this one
    From from = From::Fixed;
    std::size_t slot = 0;
    std::string_view attribute = {};
    /// Nothing: that of the floating operands, else float32.
    std::optional<DType> otherwise = {};
};

constexpr std::size_t kAll = 1U << 16U;
constexpr std::string_view kMicrosoft = "com.microsoft";
constexpr std::string_view kMl = "ai.onnx.ml";

constexpr TypeRule ofOperand(std::string_view op, std::size_t slot, std::size_t output = 0)
{
    return {"", op, output, output, TypeRule::From::Operand, slot};
}
constexpr TypeRule byAttribute(std::string_view op, std::string_view attribute, std::optional<DType> otherwise = {})
{
    return {"", op, 0, kAll, TypeRule::From::Attribute, 0, attribute, otherwise};
}
constexpr TypeRule always(std::string_view domain, std::string_view op, DType type, std::size_t first = 0,
                          std::size_t last = kAll)
{
    return {domain, op, first, last, TypeRule::From::Fixed, 0, {}, type};
}

constexpr std::array kRules{
    byAttribute("Cast", "to"),
    ofOperand("CastLike", 1),
    ofOperand("Where", 1),
    ofOperand("OneHot", 2),
    ofOperand("RMSNormalization", 1),
    ofOperand("Attention", 2, 2),
    ofOperand("Attention", 0, 0),
    ofOperand("Attention", 0, 1),
    ofOperand("Attention", 0, 3),
    ofOperand("BatchNormalization", 0),
    ofOperand("Dropout", 0),
    ofOperand("GridSample", 0),
    ofOperand("Pow", 0),
    ofOperand("Resize", 0),
    ofOperand("SimplifiedLayerNormalization", 1),
    ofOperand("Upsample", 0),
    byAttribute("EyeLike", "dtype"),
    byAttribute("Bernoulli", "dtype"),
    byAttribute("RandomNormal", "dtype", DType::Float32),
    byAttribute("RandomUniform", "dtype", DType::Float32),
    byAttribute("RandomNormalLike", "dtype"),
    byAttribute("RandomUniformLike", "dtype"),
    byAttribute("BlackmanWindow", "output_datatype", DType::Float32),
    byAttribute("HammingWindow", "output_datatype", DType::Float32),
    byAttribute("HannWindow", "output_datatype", DType::Float32),
    byAttribute("MelWeightMatrix", "output_datatype", DType::Float32),
    byAttribute("DequantizeLinear", "output_dtype"),
    TypeRule{"", "LayerNormalization", 1, kAll, TypeRule::From::Attribute, 0, "stash_type", DType::Float32},
    always("", "DynamicQuantizeLinear", DType::Float32, 1, 1),
    always(kMl, "SVMClassifier", DType::Float32),
    always(kMl, "SVMRegressor", DType::Float32),
    always(kMl, "TreeEnsembleClassifier", DType::Float32),
    always(kMl, "TreeEnsembleRegressor", DType::Float32),
    // Results that are never floating, so that no reader takes them for such.
    always("", "ArgMax", DType::Int64),
    always("", "ArgMin", DType::Int64),
    always("", "MaxPool", DType::Int64, 1, 1),
    always("", "NonMaxSuppression", DType::Int64),
    always("", "NonZero", DType::Int64),
    always("", "Shape", DType::Int64),
    always("", "Size", DType::Int64),
    always("", "TopK", DType::Int64, 1, 1),
    always("", "Unique", DType::Int64, 1, 3),
    always("", "DynamicQuantizeLinear", DType::UInt8, 0, 0),
    always("", "DynamicQuantizeLinear", DType::UInt8, 2, 2),
    always("", "QuantizeLinear", DType::UInt8),
    always("retrograde", "CacheAppend", DType::Int64, 2, 3),
    always("retrograde", "CacheAppend", DType::Bool, 4, 4),
    TypeRule{"retrograde", "ExpertProduct", 0, 0, TypeRule::From::Operand, 0},
    TypeRule{kMicrosoft, "RotaryEmbedding", 0, 0, TypeRule::From::Operand, 0},
    TypeRule{kMicrosoft, "MatMulNBits", 0, 0, TypeRule::From::Operand, 0},
};

bool isOf(std::string_view domain, const Node& node)
{
    return domain == (node.domain == "ai.onnx" ? std::string_view() : std::string_view(node.domain));
}

const TypeRule* ruleOf(const Node& node, std::size_t output)
{
    const auto* at = std::ranges::find_if(kRules, [&](const TypeRule& rule) {
        return rule.op == node.op && isOf(rule.domain, node) && rule.firstOutput <= output && output <= rule.lastOutput;
    });
    return at == kRules.end() ? nullptr : at;
}

/// The type that an attribute names, floating or not; nothing where it names none.
std::optional<DType> namedType(const Node& node, std::string_view attribute)
{
    const auto at = node.attributes.find(attribute);
    if (at == node.attributes.end()) {
        return std::nullopt;
    }
    const auto* number = std::get_if<std::int64_t>(&at->second);
    const auto* name = std::get_if<std::string>(&at->second);
    if (number != nullptr && *number == 0) {
        return std::nullopt;
    }
    const std::optional<DType> known = number != nullptr ? dtypeOfOnnx(*number)
                                       : name != nullptr ? dtypeOfOnnx(*name)
                                                         : std::nullopt;
    return known && tensor::isFloating(*known) ? known : DType::Int64; // some type that is not floating
}

/// The standard has one floating type per operator, but for those above. What stores its weights narrower than the
/// values that it takes (which the standard does not allow) keeps the digits of the values.
DType widestFloating(std::span<const DType> operands)
{
    std::optional<DType> widest;
    for (const DType type : operands) {
        if (tensor::isFloating(type) && (!widest || tensor::sizeOf(type) > tensor::sizeOf(*widest))) {
            widest = type;
        }
    }
    return widest.value_or(DType::Float32);
}

DType resultType(const Node& node, std::size_t output, std::span<const DType> operands)
{
    const TypeRule* rule = ruleOf(node, output);
    if (rule == nullptr) {
        return elementsOf(node) == Elements::Compared ? DType::Bool : widestFloating(operands);
    }
    switch (rule->from) {
    case TypeRule::From::Operand:
        return rule->slot < operands.size() ? operands[rule->slot] : widestFloating(operands);
    case TypeRule::From::Attribute:
        if (const std::optional<DType> named = namedType(node, rule->attribute)) {
            return *named;
        }
        break;
    case TypeRule::From::Fixed:
        break;
    }
    return rule->otherwise.value_or(widestFloating(operands));
}

std::vector<DType> typesIn(const Graph& graph, std::span<const DType> inputs);

/// Types of the inputs of a graph inside a node: the node's operands come in the same order and end with the same one.
std::vector<DType> bodyInputs(const Graph& body, std::span<const DType> operands)
{
    std::vector<DType> types;
    for (const ValueId input : body.inputs()) {
        types.push_back(body.value(input).dtype);
    }
    const std::size_t common = std::min(types.size(), operands.size());
    for (std::size_t i = 1; i <= common; ++i) {
        const DType given = operands[operands.size() - i];
        DType& own = types[types.size() - i];
        own = tensor::isFloating(given) ? given : own;
    }
    return types;
}

/// Types of the results of an If, Loop or Scan; nothing for other nodes.
std::optional<std::vector<DType>> controlTypes(const Node& node, std::span<const DType> operands)
{
    for (const auto& [name, value] : node.attributes) {
        const auto* body = std::get_if<Subgraph>(&value);
        if (body == nullptr) {
            continue;
        }
        const std::vector<DType> inner = typesIn(*body->graph, bodyInputs(*body->graph, operands));
        const std::span<const ValueId> outputs = body->graph->outputs();
        const std::size_t first = node.op == "Loop" ? 1 : 0; // a body of Loop also gives its condition
        std::vector<DType> types(node.outputs.size(), DType::Float32);
        for (std::size_t k = 0; k < types.size() && k + first < outputs.size(); ++k) {
            types[k] = inner[outputs[k + first].index()];
        }
        return types;
    }
    return std::nullopt;
}

std::vector<DType> operandTypes(const Node& node, std::span<const DType> types)
{
    std::vector<DType> operands;
    for (const ValueId input : node.inputs) {
        operands.push_back(input.isValid() ? types[input.index()] : DType::Bool); // an absent one decides nothing
    }
    return operands;
}

/// `inputs` per input of the graph.
std::vector<DType> typesIn(const Graph& graph, std::span<const DType> inputs)
{
    std::vector<DType> types;
    for (const graph::Value& value : graph.values()) {
        types.push_back(value.dtype);
    }
    for (std::size_t i = 0; i < inputs.size(); ++i) {
        types[graph.inputs()[i].index()] = inputs[i];
    }
    for (const Node& node : graph.nodes()) {
        const std::vector<DType> results = resultNumbers(node, operandTypes(node, types));
        for (std::size_t k = 0; k < results.size(); ++k) {
            if (node.outputs[k].isValid()) {
                types[node.outputs[k].index()] = results[k];
            }
        }
    }
    return types;
}

bool hasFloat64(const Graph& graph, std::span<const DType> inputs)
{
    const std::vector<DType> types = typesIn(graph, inputs);
    for (std::size_t i = 0; i < types.size(); ++i) {
        if (types[i] == DType::Float64 && graph.value(ValueId(i)).kind != ValueKind::Constant) {
            return true;
        }
    }
    if (std::ranges::any_of(graph.outputs(), [&types](ValueId id) { return types[id.index()] == DType::Float64; })) {
        return true; // a constant
    }
    const auto isWide = [&types](const Node& node, const graph::Attribute& attribute) {
        const auto* body = std::get_if<Subgraph>(&attribute);
        return body != nullptr && hasFloat64(*body->graph, bodyInputs(*body->graph, operandTypes(node, types)));
    };
    return std::ranges::any_of(graph.nodes(), [&isWide](const Node& node) {
        return std::ranges::any_of(node.attributes, [&](const auto& entry) { return isWide(node, entry.second); });
    });
}

std::vector<DType> declaredInputs(const Graph& graph)
{
    std::vector<DType> types;
    for (const ValueId input : graph.inputs()) {
        types.push_back(graph.value(input).dtype);
    }
    return types;
}

} // namespace

std::vector<DType> resultNumbers(const Node& node, std::span<const DType> operands)
{
    if (std::optional<std::vector<DType>> inner = controlTypes(node, operands)) {
        return std::move(*inner);
    }
    const auto value = node.op == "ConstantOfShape" ? node.attributes.find("value") : node.attributes.end();
    std::vector<DType> types;
    for (std::size_t k = 0; k < node.outputs.size(); ++k) {
        types.push_back(resultType(node, k, operands));
    }
    if (const auto* filled = value == node.attributes.end() ? nullptr : std::get_if<tensor::Tensor>(&value->second)) {
        types.assign(types.size(), filled->dtype());
    }
    return types;
}

std::vector<DType> numberTypes(const Graph& graph) { return typesIn(graph, declaredInputs(graph)); }

bool computesInFloat64(const Graph& graph) { return hasFloat64(graph, declaredInputs(graph)); }

std::optional<DType> dtypeOfOnnx(std::int64_t number)
{
    const auto* at = std::ranges::find(kTypes, number, &TypeNumber::number);
    return at == kTypes.end() ? std::nullopt : std::optional(at->type);
}

std::optional<DType> dtypeOfOnnx(std::string_view name)
{
    const auto* at = std::ranges::find(kTypes, name, &TypeNumber::name);
    return at == kTypes.end() ? std::nullopt : std::optional(at->type);
}

std::int64_t onnxOf(DType type) { return std::ranges::find(kTypes, type, &TypeNumber::type)->number; }

} // namespace retro::ops
