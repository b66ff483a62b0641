// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/graph/attributes.h"
#include "core/graph/graphbuilder.h"
#include "core/rewrite/body/functionbody.h"

#include <optional>
#include <string>
#include <utility>

namespace retro::rewrite
{

using graph::ValueId;
using tensor::Shape;

/// Writes the body of one node, which must outlive it. Values are named `<node>/<what they are>`.
class BodyBuilder
{
public:
    BodyBuilder(const graph::Node& node, std::span<const BodyOperand> operands);

    [[nodiscard]] const graph::Node& node() const { return m_node; }
    [[nodiscard]] bool isGiven(std::size_t slot) const { return slot < m_operands.size() && m_operands[slot].isGiven; }
    /// The operand as it was asked with.
    [[nodiscard]] const BodyOperand& given(std::size_t slot) const { return m_operands[slot]; }
    /// Shape of an operand.
    [[nodiscard]] const Shape& shapeOf(std::size_t slot) const { return m_operands[slot].type.shape; }
    /// An attribute of the node, or the fallback when it has none of that name and type.
    template <class T>
    [[nodiscard]] T attribute(std::string_view name, T fallback) const
    {
        return graph::attributeOr(m_node, name, std::move(fallback));
    }

    /// An operand that is given: a constant, an input of the body, or what Detach makes of one.
    ValueId operand(std::size_t slot);
    /// A node of the standard with one result of that name.
    ValueId add(const std::string& op, const std::string& name, std::vector<ValueId> inputs,
                graph::Attributes attributes = {});
    /// A node of any domain.
    ValueId addOf(const std::string& domain, const std::string& op, const std::string& name,
                  std::vector<ValueId> inputs, graph::Attributes attributes = {});
    /// The value, which takes no relevance from here on.
    ValueId detached(ValueId value, const std::string& name);
    /// Consecutive parts along an axis.
    std::vector<ValueId> split(const std::string& name, ValueId x, std::int64_t axis,
                               const std::vector<std::int64_t>& extents);
    ValueId reshape(const std::string& name, ValueId x, const Shape& shape);
    ValueId transpose(const std::string& name, ValueId x, const Shape& order);
    ValueId constant(const std::string& name, tensor::Tensor data);
    ValueId number(const std::string& name, double value);
    ValueId ints(const std::string& name, const std::vector<std::int64_t>& values);

    /// Output k of the node.
    void output(std::size_t k, ValueId value);
    [[nodiscard]] base::Result<FunctionBody> finish() &&;

private:
    const graph::Node& m_node;
    std::span<const BodyOperand> m_operands;
    std::string m_prefix;
    graph::GraphBuilder m_builder;
    std::vector<ValueId> m_made; // per operand slot
    FunctionBody m_body;
};

/// The bodies by operator.
[[nodiscard]] base::Result<FunctionBody> attentionBody(BodyBuilder body);
[[nodiscard]] base::Result<FunctionBody> rnnBody(BodyBuilder body);
[[nodiscard]] base::Result<FunctionBody> gruBody(BodyBuilder body);
[[nodiscard]] base::Result<FunctionBody> lstmBody(BodyBuilder body);
[[nodiscard]] base::Result<FunctionBody> deformConvolutionBody(BodyBuilder body);

} // namespace retro::rewrite
