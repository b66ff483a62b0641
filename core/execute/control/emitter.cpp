// SPDX-License-Identifier: Apache-2.0
#include "core/execute/control/emitter.h"

#include "core/base/cancel.h"
#include "core/ops/numbertypes.h"
#include "core/ops/registry.h"
#include "core/ops/runoperator.h"

#include <fmt/format.h>

#include <algorithm>

namespace retro::execute
{

using base::Result;

namespace
{

ops::TensorType typeOf(const Tensor& tensor)
{
    return tensor.isValid() ? ops::TensorType{tensor.dtype(), tensor.shape()} : ops::TensorType{};
}

} // namespace

Emitter::Emitter(const graph::Graph& model, Precision precision, std::stop_token stop, std::size_t mostNodes)
    : m_model(model), m_precision(precision), m_stop(std::move(stop)), m_builder(model.name()), m_mostNodes(mostNodes)
{
    m_builder.setOpsets(model);
}

std::string Emitter::unique(const std::string& wanted)
{
    if (m_taken.insert(wanted).second) {
        return wanted;
    }
    std::size_t& last = m_counts.try_emplace(wanted, 1).first->second; // a body that is repeated wants its names again
    std::string name;
    do {
        name = fmt::format("{}~{}", wanted, ++last);
    } while (!m_taken.insert(name).second);
    return name;
}

LiveValue Emitter::addInput(const graph::Value& declared, const Tensor& data)
{
    const ValueId id = m_builder.addInput(unique(declared.name), declared.dtype, declared.shape);
    const bool isFloat = tensor::isFloating(data.dtype());
    return {id, isFloat ? data.to(dtypeOf(m_precision)) : data, false, declared.dtype};
}

LiveValue Emitter::addConstant(const graph::Value& declared)
{
    const ValueId id = m_builder.addConstant(unique(declared.name), declared.constant);
    m_builder.declare(id, declared.dtype, declared.shape);
    const bool isFloat = tensor::isFloating(declared.constant.dtype());
    return {id, isFloat ? declared.constant.to(dtypeOf(m_precision)) : declared.constant, true, declared.dtype};
}

LiveValue Emitter::addConstant(const std::string& name, Tensor data)
{
    const ValueId id = m_builder.addConstant(unique(name), data);
    const tensor::DType type = data.dtype();
    return {id, tensor::isFloating(type) ? data.to(dtypeOf(m_precision)) : std::move(data), true, type};
}

Result<std::vector<LiveValue>> Emitter::run(const graph::Graph& source, base::NodeId id, graph::Node node,
                                            std::span<const LiveValue> operands,
                                            std::span<const std::string> resultNames)
{
    RETRO_CHECK(base::checkStop(m_stop));
    std::vector<ops::TensorType> types;
    std::vector<Tensor> data; // everything is known, so every operand may be read as a constant
    std::vector<tensor::DType> numbers;
    for (const LiveValue& operand : operands) {
        types.push_back(typeOf(operand.data));
        data.push_back(operand.data);
        numbers.push_back(operand.numbers);
    }
    const std::span<const tensor::DType> rounded =
        m_precision == Precision::Double ? std::span<const tensor::DType>() : numbers;
    RETRO_TRY(const auto op, ops::bind({source, id, node, types, data, dtypeOf(m_precision), nullptr, rounded}));
    RETRO_TRY(std::vector<Tensor> results, ops::runForward(*op, node, data));
    if (++m_nodes > m_mostNodes) {
        return base::inputError(fmt::format("with its loops written out the model has more than {} nodes, {}; "
                                            "give a shorter input",
                                            m_mostNodes, kTooLong),
                                fmt::format("node '{}' ({})", node.name, node.op));
    }
    const std::vector<tensor::DType> made = ops::resultNumbers(node, numbers);
    return addNode(std::move(node), operands, resultNames, std::move(results), made);
}

std::vector<LiveValue> Emitter::addNode(graph::Node node, std::span<const LiveValue> operands,
                                        std::span<const std::string> names, std::vector<Tensor> results,
                                        std::span<const tensor::DType> made)
{
    node.inputs.clear();
    for (const LiveValue& operand : operands) {
        node.inputs.push_back(operand.id);
    }
    node.outputs.clear();
    std::vector<LiveValue> values;
    for (std::size_t k = 0; k < names.size(); ++k) {
        LiveValue value;
        if (!names[k].empty() && k < results.size()) {
            value.id = m_builder.addResult(unique(names[k]));
            value.data = std::move(results[k]);
            const bool isFloat = tensor::isFloating(value.data.dtype()) && k < made.size();
            value.numbers = isFloat ? made[k] : value.data.dtype();
            const bool isWide = m_precision == Precision::Double; // whatever the model declares
            m_builder.declare(value.id, isWide ? value.data.dtype() : value.numbers, std::nullopt);
        }
        node.outputs.push_back(value.id);
        values.push_back(std::move(value));
    }
    m_origins.emplace_back();
    m_builder.addNode(std::move(node));
    return values;
}

Result<LiveValue> Emitter::runHelper(graph::Node node, std::span<const LiveValue> operands,
                                     const std::string& resultName)
{
    node.opset = 13;                                              // the version that the helpers below are written for
    node.inputs.assign(operands.size(), ValueId(std::size_t{0})); // present; run() puts in the true ones
    node.outputs.assign(1, ValueId(std::size_t{0}));
    RETRO_TRY(auto values,
              run(m_model, base::NodeId(std::size_t{0}), std::move(node), operands, std::span(&resultName, 1)));
    return std::move(values[0]);
}

void Emitter::addOutput(const LiveValue& value) { m_builder.addOutput(value.id); }

Result<graph::Graph> Emitter::finish() && { return std::move(m_builder).build(); }

} // namespace retro::execute
