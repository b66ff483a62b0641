// SPDX-License-Identifier: Apache-2.0
#include "core/formats/known/functionwriter.h"

#include "core/formats/onnxattributes.h"
#include "core/formats/onnxtensor.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace retro::formats
{

using onnxschema::AttributeProto;
using onnxschema::FunctionProto;
using onnxschema::NodeProto;
using onnxschema::TensorProto;

namespace
{

/// Since when an operator means what known functions write it for.
struct StableOperator
{
    std::string_view op;
    std::int64_t since;
};

constexpr std::array kStable{
    StableOperator{"Abs", 6},
    StableOperator{"Add", 7},
    StableOperator{"ArgMax", 11},
    StableOperator{"Cast", 6},
    StableOperator{"Clip", 11},
    StableOperator{"Concat", 4},
    StableOperator{"Constant", 1},
    StableOperator{"Conv", 1},
    StableOperator{"Div", 7},
    StableOperator{"Elu", 6},
    StableOperator{"Equal", 11},
    StableOperator{"Exp", 6},
    StableOperator{"Expand", 8},
    StableOperator{"Gather", 11},
    StableOperator{"Gemm", 11},
    StableOperator{"Greater", 9},
    StableOperator{"HardSigmoid", 6},
    StableOperator{"HardSwish", 14},
    StableOperator{"IsNaN", 9},
    StableOperator{"LeakyRelu", 6},
    StableOperator{"LpNormalization", 1},
    StableOperator{"MatMul", 1},
    StableOperator{"MaxPool", 10},
    StableOperator{"Mul", 7},
    StableOperator{"Neg", 6},
    StableOperator{"ReduceSum", 13},
    StableOperator{"Relu", 6},
    StableOperator{"Reshape", 5},
    StableOperator{"Selu", 6},
    StableOperator{"Shape", 15},
    StableOperator{"Sigmoid", 6},
    StableOperator{"Slice", 10},
    StableOperator{"Softmax", 13},
    StableOperator{"Softplus", 1},
    StableOperator{"Softsign", 1},
    StableOperator{"Sub", 7},
    StableOperator{"Tanh", 6},
    StableOperator{"ThresholdedRelu", 10},
    StableOperator{"Transpose", 1},
    StableOperator{"Unsqueeze", 13},
    StableOperator{"Where", 9},
    StableOperator{"GroupNormalization", 21},
    StableOperator{"LayerNormalization", 1},           // onnxruntime had it before the standard
    StableOperator{"SimplifiedLayerNormalization", 1}, // of onnxruntime alone
};

/// Version of a node in a model that imports `own`.
std::int64_t opsetOf(std::string_view op, std::int64_t own)
{
    const auto at = std::find_if(kStable.begin(), kStable.end(), [op](const auto& one) { return one.op == op; });
    return at != kStable.end() && own >= at->since ? own : kFunctionOpset;
}

} // namespace

FunctionWriter::FunctionWriter(const NodeProto& call, graph::Attributes attributes, const GraphFacts& facts)
    : m_call(call), m_attributes(std::move(attributes)), m_facts(facts)
{
    for (std::size_t slot = 0; slot < operandCount(); ++slot) {
        m_function.add_input(operand(slot));
    }
}

bool FunctionWriter::isGiven(std::size_t slot) const
{
    return slot < operandCount() && !m_call.input(static_cast<int>(slot)).empty();
}

bool FunctionWriter::isAsked(std::size_t k) const
{
    return k < static_cast<std::size_t>(m_call.output_size()) && !m_call.output(static_cast<int>(k)).empty();
}

bool FunctionWriter::isRead(std::size_t k) const
{
    return isAsked(k) && m_facts.isRead(m_call.output(static_cast<int>(k)));
}

std::string FunctionWriter::operand(std::size_t slot) const { return fmt::format("operand {}", slot); }

std::optional<std::size_t> FunctionWriter::rank(std::size_t slot) const
{
    return isGiven(slot) ? m_facts.rank(m_call.input(static_cast<int>(slot))) : std::nullopt;
}

std::optional<std::vector<std::int64_t>> FunctionWriter::constantShape(std::size_t slot) const
{
    return isGiven(slot) ? m_facts.constantShape(m_call.input(static_cast<int>(slot))) : std::nullopt;
}

std::optional<std::int64_t> FunctionWriter::extentFromEnd(std::size_t slot, std::size_t place) const
{
    return isGiven(slot) ? m_facts.extentFromEnd(m_call.input(static_cast<int>(slot)), place) : std::nullopt;
}

std::optional<std::int64_t> FunctionWriter::width(std::size_t slot) const
{
    return isGiven(slot) ? m_facts.width(m_call.input(static_cast<int>(slot))) : std::nullopt;
}

std::optional<tensor::DType> FunctionWriter::elementType(std::size_t slot) const
{
    const int type = isGiven(slot) ? m_facts.elementType(m_call.input(static_cast<int>(slot))) : 0;
    const base::Result<tensor::DType> known = dtypeOfOnnx(type);
    return type != 0 && known.ok() ? std::optional(*known) : std::nullopt;
}

std::string FunctionWriter::producer(std::size_t slot) const
{
    return isGiven(slot) ? m_facts.producer(m_call.input(static_cast<int>(slot))) : std::string();
}

graph::Attributes FunctionWriter::pick(const std::vector<std::string>& names) const
{
    graph::Attributes picked;
    for (const std::string& name : names) {
        if (const auto at = m_attributes.find(name); at != m_attributes.end()) {
            picked.insert(*at);
        }
    }
    return picked;
}

std::string FunctionWriter::unique(std::string_view stem)
{
    int& count = m_taken[std::string(stem)];
    ++count;
    return count == 1 ? std::string(stem) : fmt::format("{} {}", stem, count);
}

NodeProto& FunctionWriter::addNode(std::string_view domain, std::string_view op, const Names& inputs,
                                   const graph::Attributes& attributes, std::int64_t opset, std::string_view name)
{
    NodeProto& node = *m_function.add_node();
    node.set_domain(std::string(domain));
    node.set_op_type(std::string(op));
    node.set_name(unique(name.empty() ? op : name));
    if (opset > 0) { // else as the model imports the domain
        node.set_resolved_opset(opset);
    }
    for (const std::string& input : inputs) {
        node.add_input(input);
    }
    for (const auto& [key, value] : attributes) {
        writeAttribute(key, value, *node.add_attribute());
    }
    return node;
}

std::string FunctionWriter::add(std::string_view op, const Names& inputs, graph::Attributes attributes,
                                std::int64_t opset)
{
    return addOf("", op, inputs, std::move(attributes), opset, 1).front();
}

std::string FunctionWriter::addAs(std::string_view name, std::string_view op, const Names& inputs)
{
    NodeProto& node = addNode("", op, inputs, {}, opsetOf(op, m_facts.opset()), name);
    node.add_output(node.name());
    return node.name();
}

FunctionWriter::Names FunctionWriter::addOf(std::string_view domain, std::string_view op, const Names& inputs,
                                            graph::Attributes attributes, std::int64_t opset, std::size_t results)
{
    const std::int64_t version = opset == 0 && domain.empty() ? opsetOf(op, m_facts.opset()) : opset;
    NodeProto& node = addNode(domain, op, inputs, attributes, version);
    Names names;
    for (std::size_t k = 0; k < results; ++k) {
        names.push_back(k == 0 ? node.name() : fmt::format("{}, output {}", node.name(), k));
        node.add_output(names.back());
    }
    return names;
}

std::string FunctionWriter::floats(const std::vector<double>& values, tensor::Shape shape)
{
    const std::vector<float> narrow(values.begin(), values.end());
    return add("Constant", {}, {{"value", tensor::Tensor::of<float>(std::move(shape), narrow)}});
}

std::string FunctionWriter::floats(const std::vector<double>& values)
{
    return floats(values, {static_cast<std::int64_t>(values.size())});
}

std::string FunctionWriter::integers(const std::vector<std::int64_t>& values)
{
    return add("Constant", {},
               {{"value", tensor::Tensor::of<std::int64_t>({static_cast<std::int64_t>(values.size())}, values)}});
}

std::string FunctionWriter::wholeNumber(std::int64_t value)
{
    return add("Constant", {}, {{"value", tensor::Tensor::of<std::int64_t>({}, std::vector<std::int64_t>{value})}});
}

std::string FunctionWriter::numberLikeOperand(double value)
{
    const tensor::DType given = elementType(0).value_or(tensor::DType::Float32);
    const tensor::DType type = tensor::isFloating(given) ? given : tensor::DType::Float32;
    return add("Constant", {}, {{"value", tensor::Tensor::scalar(value).to(type)}});
}

std::string FunctionWriter::textList(const std::vector<std::string>& values)
{
    NodeProto& node = addNode("", "Constant", {}, {}, opsetOf("Constant", m_facts.opset()));
    AttributeProto& value = *node.add_attribute();
    value.set_name("value");
    value.set_type(AttributeProto::TENSOR);
    value.mutable_t()->set_data_type(TensorProto::STRING);
    value.mutable_t()->add_dims(static_cast<std::int64_t>(values.size()));
    for (const std::string& one : values) {
        value.mutable_t()->add_string_data(one);
    }
    node.add_output(node.name());
    return node.name();
}

std::string FunctionWriter::dequantised(std::size_t slot, std::size_t scale, std::size_t zeroPoint,
                                        graph::Attributes attributes)
{
    Names operands{operand(slot), operand(scale)};
    if (isGiven(zeroPoint)) {
        operands.push_back(operand(zeroPoint));
    }
    return add("DequantizeLinear", operands, std::move(attributes));
}

void FunctionWriter::output(std::size_t k, const std::string& value) { m_outputs[k] = value; }

base::Result<FunctionProto> FunctionWriter::finish() &&
{
    for (int k = 0; k < m_call.output_size(); ++k) {
        const auto made = m_outputs.find(static_cast<std::size_t>(k));
        if (made == m_outputs.end() && isRead(static_cast<std::size_t>(k))) {
            return base::inputError(
                fmt::format("output {} of {} is not computed; take it out of the model where nobody "
                            "reads it",
                            k, m_call.op_type()));
        }
        m_function.add_output(made == m_outputs.end() ? fmt::format("no output {}", k) : made->second);
    }
    return std::move(m_function);
}

} // namespace retro::formats
