// SPDX-License-Identifier: Apache-2.0
#include "core/rewrite/body/bodybuilder.h"

#include "core/base/failure.h"

#include <fmt/format.h>

namespace retro::rewrite
{

namespace
{

constexpr std::int64_t kOpset = 24;
const std::string kOwnDomain = "retrograde";

} // namespace

BodyBuilder::BodyBuilder(const graph::Node& node, std::span<const BodyOperand> operands)
    : m_node(node), m_operands(operands), m_prefix(node.name + "/"), m_builder(node.name), m_made(operands.size())
{
    m_builder.setOpset("", kOpset);
    m_builder.setOpset(kOwnDomain, 1);
}

ValueId BodyBuilder::operand(std::size_t slot)
{
    base::guard(isGiven(slot), "a body reads only operands that are given");
    if (m_made[slot].isValid()) {
        return m_made[slot];
    }
    const BodyOperand& own = m_operands[slot];
    const std::string name = fmt::format("operand {}", slot);
    if (own.constant.isValid()) {
        m_made[slot] = constant(name, own.constant);
        return m_made[slot];
    }
    m_made[slot] = m_builder.addInput(m_prefix + name, own.type.dtype, own.type.shape);
    m_body.operands.push_back(slot);
    if (own.isDetached && tensor::isFloating(own.type.dtype)) {
        m_made[slot] = detached(m_made[slot], name);
    }
    return m_made[slot];
}

ValueId BodyBuilder::add(const std::string& op, const std::string& name, std::vector<ValueId> inputs,
                         graph::Attributes attributes)
{
    return m_builder.addOp(op, m_prefix + name, std::move(inputs), m_prefix + name, std::move(attributes));
}

ValueId BodyBuilder::addOf(const std::string& domain, const std::string& op, const std::string& name,
                           std::vector<ValueId> inputs, graph::Attributes attributes)
{
    const ValueId result = m_builder.addResult(m_prefix + name);
    m_builder.addNode({op, domain, m_prefix + name, "", 1, std::move(inputs), {result}, std::move(attributes)});
    return result;
}

ValueId BodyBuilder::detached(ValueId value, const std::string& name)
{
    return addOf(kOwnDomain, "Detach", name + ", detached", {value});
}

std::vector<ValueId> BodyBuilder::split(const std::string& name, ValueId x, std::int64_t axis,
                                        const std::vector<std::int64_t>& extents)
{
    std::vector<ValueId> parts;
    for (std::size_t i = 0; i < extents.size(); ++i) {
        parts.push_back(m_builder.addResult(fmt::format("{}{} {}", m_prefix, name, i)));
    }
    m_builder.addNode(
        {"Split", "", m_prefix + name, "", kOpset, {x, ints(name + ", extents", extents)}, parts, {{"axis", axis}}});
    return parts;
}

ValueId BodyBuilder::reshape(const std::string& name, ValueId x, const Shape& shape)
{
    return add("Reshape", name, {x, ints(name + ", shape", shape)}, {{"allowzero", std::int64_t{1}}});
}

ValueId BodyBuilder::transpose(const std::string& name, ValueId x, const Shape& order)
{
    return add("Transpose", name, {x}, {{"perm", order}});
}

ValueId BodyBuilder::constant(const std::string& name, tensor::Tensor data)
{
    return m_builder.addConstant(m_prefix + name, std::move(data));
}

ValueId BodyBuilder::number(const std::string& name, double value)
{
    const std::vector<double> values{value};
    return constant(name, tensor::Tensor::of<double>({}, values));
}

ValueId BodyBuilder::ints(const std::string& name, const std::vector<std::int64_t>& values)
{
    return constant(name, tensor::Tensor::of<std::int64_t>({static_cast<std::int64_t>(values.size())}, values));
}

void BodyBuilder::output(std::size_t k, ValueId value)
{
    m_builder.addOutput(value);
    m_body.results.push_back(k);
}

base::Result<FunctionBody> BodyBuilder::finish() &&
{
    RETRO_TRY(graph::Graph built, std::move(m_builder).build());
    m_body.graph = std::make_shared<const graph::Graph>(std::move(built));
    return std::move(m_body);
}

} // namespace retro::rewrite
