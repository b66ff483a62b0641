// SPDX-License-Identifier: Apache-2.0
#include "core/ops/boundoperator.h"

#include "core/graph/attributes.h"
#include "core/ops/kernel/roundnumbers.h"

#include <fmt/format.h>

#include <algorithm>

namespace retro::ops
{

namespace
{

std::string operandShapesText(const BindContext& context)
{
    std::string text;
    for (std::size_t slot = 0; slot < context.operandTypes.size(); ++slot) {
        text += text.empty() ? "" : ", ";
        text += context.present(slot) ? '[' + tensor::toText(context.operandTypes[slot].shape) + ']' : "[absent]";
    }
    return text.empty() ? "no operands" : "operand shapes " + text;
}

} // namespace

base::Error BindContext::error(std::string message) const
{
    const std::string domain = node.domain.empty() ? std::string{} : node.domain + '.';
    return base::inputError(std::move(message), fmt::format("node '{}' ({}{}, opset {}): {}", node.name, domain,
                                                            node.op, node.opset, operandShapesText(*this)));
}

std::int64_t BindContext::intAttribute(std::string_view name, std::int64_t fallback) const
{
    return graph::attributeOr(node, name, fallback);
}

double BindContext::floatAttribute(std::string_view name, double fallback) const
{
    return graph::attributeOr(node, name, fallback);
}

std::string BindContext::textAttribute(std::string_view name, std::string fallback) const
{
    return graph::attributeOr(node, name, std::move(fallback));
}

std::vector<std::int64_t> BindContext::intsAttribute(std::string_view name, std::vector<std::int64_t> fallback) const
{
    return graph::attributeOr(node, name, std::move(fallback));
}

base::Result<Tensor> BindContext::known(std::size_t slot) const
{
    if (constant(slot)) {
        return constants[slot];
    }
    base::Result<Tensor> found = base::inputError("it is not constant");
    if (source != nullptr) {
        found = source->operand(slot);
    }
    if (!found.ok()) {
        return error(fmt::format("operand {} ('{}') must be known before the run: {}; fold the part of the model that "
                                 "computes it, or export the model with fixed shapes",
                                 slot, graph.value(node.inputs[slot]).name, found.error().message));
    }
    return found;
}

base::Result<std::vector<std::int64_t>> BindContext::constantInts(std::size_t slot) const
{
    if (!present(slot)) {
        return std::vector<std::int64_t>{};
    }
    if (tensor::isFloating(operandTypes[slot].dtype)) {
        return error(
            fmt::format("operand {} must hold integers, not {}", slot, tensor::nameOf(operandTypes[slot].dtype)));
    }
    if (operandTypes[slot].shape.size() > 1) {
        return error(fmt::format("operand {} must be a list of integers or one integer", slot));
    }
    RETRO_TRY(const Tensor data, known(slot));
    const Tensor wide = data.to(tensor::DType::Int64).contiguous();
    const auto values = wide.span<std::int64_t>();
    return std::vector<std::int64_t>(values.begin(), values.end());
}

namespace
{

void roundToNumbers(std::vector<Tensor>& results, std::span<const std::optional<tensor::DType>> types,
                    Overflow* overflow)
{
    for (std::size_t k = 0; k < std::min(results.size(), types.size()); ++k) {
        if (!types[k] || !results[k].isValid()) {
            continue;
        }
        const std::int64_t beyond = roundNumbers(results[k], *types[k]);
        if (overflow != nullptr && beyond > 0 && overflow->count == 0) {
            *overflow = {k, beyond};
        }
    }
}

} // namespace

std::vector<Tensor> BoundOperator::run(std::span<const Tensor> operands, Overflow* overflow) const
{
    std::vector<Tensor> results = forward(operands);
    roundToNumbers(results, m_rounded, overflow);
    return results;
}

std::vector<Tensor> BoundOperator::runOver(std::span<Tensor> operands, Overflow* overflow) const
{
    std::vector<Tensor> results = forwardOver(operands);
    roundToNumbers(results, m_rounded, overflow);
    return results;
}

Tensor BoundOperator::runThrough(std::span<Tensor> operands, const BoundOperator& next) const
{
    const RowsOver* rows = next.rowsOver();
    const bool fits = rows != nullptr && m_rounded.empty() && next.m_rounded.empty() && m_outputTypes.size() == 1 &&
                      m_outputTypes == next.m_outputTypes && m_outputTypes[0].dtype == tensor::DType::Float32;
    return fits ? forwardThrough(operands, *rows) : Tensor();
}

} // namespace retro::ops
