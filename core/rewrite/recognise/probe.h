// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/ops/boundoperator.h"
#include "core/rewrite/recognise/cone.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace retro::rewrite
{

/// An operator of the standard, as a node would have it.
struct KnownOperator
{
    std::string_view op;
    std::int64_t opset = 1;
    graph::Attributes attributes = {};
    std::vector<tensor::Tensor> parameters = {}; ///< operands behind the first, float64
};

/// A function of one tensor that is computed in double: the nodes of a cone, or an operator that they may be.
class Probe
{
public:
    /// A cone for a leaf of this shape. With `areNumbers`, constants that are one number throughout are taken as that
    /// number alone; without it, constants that are longer than the leaf are cut. Nothing where a node of it cannot
    /// take the shape.
    [[nodiscard]] static std::optional<Probe> of(const Cone& cone, const tensor::Shape& shape, bool areNumbers);
    /// An operator for an operand of this shape. Nothing where it cannot take it.
    [[nodiscard]] static std::optional<Probe> of(const graph::Graph& graph, const KnownOperator& known,
                                                 const tensor::Shape& shape);

    /// Float64, row-major.
    [[nodiscard]] tensor::Tensor operator()(const tensor::Tensor& x) const;
    [[nodiscard]] const tensor::Shape& resultShape() const { return m_types.back().shape; }

private:
    struct Step
    {
        std::unique_ptr<ops::BoundOperator> op;
        std::vector<std::size_t> operands; ///< positions in the list of values; kAbsent: none
    };
    [[nodiscard]] bool add(const graph::Graph& graph, NodeId id, const graph::Node& node,
                           std::vector<std::size_t> operands);
    std::size_t addValue(const tensor::Tensor& data);

    std::vector<tensor::Tensor> m_values; // the operand first, constants, then results
    std::vector<ops::TensorType> m_types; // per value
    std::vector<std::pair<std::size_t, Step>> m_steps;
};

/// `data`, floats, no longer than `shape` along the axes that it is broadcast to; other data as they are.
[[nodiscard]] tensor::Tensor cutTo(const tensor::Shape& shape, tensor::Tensor data);
/// Numbers of −1.8 … 2.2, the same ones for a shape and a seed every time.
[[nodiscard]] tensor::Tensor scattered(const tensor::Shape& shape, unsigned seed);
/// x times a number.
[[nodiscard]] tensor::Tensor scaled(const tensor::Tensor& x, double factor);
/// max|a − b| / max(|b|, 1) over all elements; infinite where shapes differ or a number is none.
[[nodiscard]] double distance(const tensor::Tensor& a, const tensor::Tensor& b);

} // namespace retro::rewrite
