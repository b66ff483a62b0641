// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/execute/boundmodel.h"
#include "core/graph/graphbuilder.h"

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace retro::tape
{

using graph::ValueId;

/// Adds nodes of the ONNX standard to a graph that is being built, and the constants that they read. Names are made up
/// of a prefix and a number.
class Emitter
{
public:
    /// `opset` of ai.onnx; `floatType` of every constant that scalar() makes.
    Emitter(graph::GraphBuilder& builder, std::int64_t opset, tensor::DType floatType, std::string prefix = "gradient/")
        : m_builder(builder), m_opset(opset), m_floatType(floatType), m_prefix(std::move(prefix))
    {}

    [[nodiscard]] std::int64_t opset() const { return m_opset; }
    /// Of the constants that scalar() and filled() make from now on.
    void setFloatType(tensor::DType type) { m_floatType = type; }
    [[nodiscard]] tensor::DType floatType() const { return m_floatType; }
    /// What every node that is added from now on carries.
    void setMetadata(std::map<std::string, std::string> metadata) { m_metadata = std::move(metadata); }
    /// A node with one output.
    ValueId node(std::string_view op, std::vector<ValueId> inputs, graph::Attributes attributes = {});
    /// A node with several.
    std::vector<ValueId> node(std::string_view op, std::vector<ValueId> inputs, graph::Attributes attributes,
                              std::size_t outputs);
    /// A node with this output.
    void named(std::string_view op, std::vector<ValueId> inputs, ValueId output, graph::Attributes attributes = {});
    /// A vector of int64.
    ValueId ints(const std::vector<std::int64_t>& values);
    /// A tensor as it is.
    ValueId constant(tensor::Tensor value);
    /// A number of rank 0 in the graph's floating type.
    ValueId scalar(double value);
    /// A filled tensor in the graph's floating type.
    ValueId filled(const tensor::Shape& shape, double value);
    /// One number in a shape that a value holds, and in the shape of another value.
    ValueId filledBy(ValueId shape, double value);
    ValueId filledLike(ValueId like, double value) { return filledBy(node("Shape", {like}), value); }
    ValueId reshape(ValueId value, const tensor::Shape& shape);
    /// ReduceSum or ReduceMean that keeps the axes.
    ValueId reduce(std::string_view op, ValueId value, const std::vector<std::int64_t>& axes);
    /// Undoes a broadcast from `from`, the shape of `value`, to `to`; axes that are equal may be free.
    ValueId sumTo(ValueId value, const tensor::Shape& from, const tensor::Shape& to);
    /// The matrix (row-major, rows × extent of the axis) times every line of `value` along one axis.
    ValueId alongAxis(ValueId value, const tensor::Shape& shape, std::size_t axis, const std::vector<double>& matrix,
                      std::int64_t rows);
    /// From `starts` up to `ends` along `axes`; `steps` (1 where there are none) need operator set 10.
    ValueId slice(ValueId value, const std::vector<std::int64_t>& starts, const std::vector<std::int64_t>& ends,
                  const std::vector<std::int64_t>& axes, const std::vector<std::int64_t>& steps = {});
    /// Zeros around a value, so many at the start and at the end of each axis.
    ValueId pad(ValueId value, std::vector<std::int64_t> before, const std::vector<std::int64_t>& after);
    /// ScatterElements along an axis, without a reduction.
    ValueId scatter(ValueId data, ValueId places, ValueId updates, std::int64_t axis);
    /// Swaps the last two axes of a value of this rank.
    ValueId swapLast(ValueId value, std::size_t rank);

    /// A name that nothing has.
    std::string nextName();

private:
    graph::GraphBuilder& m_builder;
    std::int64_t m_opset;
    tensor::DType m_floatType;
    std::string m_prefix;
    std::map<std::string, std::string> m_metadata;
    std::size_t m_count = 0;
};

} // namespace retro::tape
