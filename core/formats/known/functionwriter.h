// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/result.h"
#include "core/formats/known/graphfacts.h"
#include "core/formats/onnxschema.pb.h"
#include "core/graph/graph.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace retro::formats
{

/// Version of ai.onnx of nodes that the model's own version does not have in the form in which they are written.
inline constexpr std::int64_t kFunctionOpset = 21;

/// Writes the function that one call of an operator stands for. Values go by their names inside the function.
class FunctionWriter
{
public:
    using Names = std::vector<std::string>;
    using Integers = std::vector<std::int64_t>;
    using Numbers = std::vector<double>;

    /// `call` and `facts` must outlive the writer.
    FunctionWriter(const onnxschema::NodeProto& call, graph::Attributes attributes, const GraphFacts& facts);

    /// True when the call gives operand `slot`, and when somebody reads output `k` or may do so.
    [[nodiscard]] bool isGiven(std::size_t slot) const;
    [[nodiscard]] bool isAsked(std::size_t k) const;
    /// True when output `k` is declared and something reads it, or may do so.
    [[nodiscard]] bool isRead(std::size_t k) const;
    [[nodiscard]] std::size_t operandCount() const { return static_cast<std::size_t>(m_call.input_size()); }
    /// Name of operand `slot`, inside.
    [[nodiscard]] std::string operand(std::size_t slot) const;
    /// Axes of an operand, where they are known.
    [[nodiscard]] std::optional<std::size_t> rank(std::size_t slot) const;
    /// Extents of an operand that is an initializer or a Constant; nothing for others.
    [[nodiscard]] std::optional<std::vector<std::int64_t>> constantShape(std::size_t slot) const;
    /// Extent of an axis of an operand, counted from the end (1: the last), where it is known or declared.
    [[nodiscard]] std::optional<std::int64_t> extentFromEnd(std::size_t slot, std::size_t place) const;
    /// Extent of the last axis of an operand, where it is known.
    [[nodiscard]] std::optional<std::int64_t> width(std::size_t slot) const;
    /// Element type of an operand; nothing where it is not known.
    [[nodiscard]] std::optional<tensor::DType> elementType(std::size_t slot) const;
    /// Operator that makes the operand; empty when it is not known.
    [[nodiscard]] std::string producer(std::size_t slot) const;

    /// True when the call has an attribute of that name.
    [[nodiscard]] bool has(std::string_view attribute) const { return m_attributes.contains(std::string(attribute)); }
    /// Attributes, or the fallback where the call has none of that name and type.
    [[nodiscard]] std::int64_t integer(std::string_view name, std::int64_t other) const { return value(name, other); }
    [[nodiscard]] double number(std::string_view name, double other) const { return value(name, other); }
    [[nodiscard]] std::string text(std::string_view name, std::string other) const { return value(name, other); }
    [[nodiscard]] std::vector<std::int64_t> integers(std::string_view name) const { return value(name, Integers()); }
    [[nodiscard]] std::vector<double> numbers(std::string_view name) const { return value(name, Numbers()); }
    [[nodiscard]] std::vector<std::string> texts(std::string_view name) const { return value(name, Names()); }
    /// The attributes of these names that the call has.
    [[nodiscard]] graph::Attributes pick(const std::vector<std::string>& names) const;

    /// A node of the standard with one result, whose name is returned. The node is named after its operator. Without
    /// `opset`, it has the model's version where the operator has been the same since, else kFunctionOpset.
    std::string add(std::string_view op, const Names& inputs, graph::Attributes attributes = {},
                    std::int64_t opset = 0);
    /// The same, with a name of its own, which errors tell.
    std::string addAs(std::string_view name, std::string_view op, const Names& inputs);
    /// A node of any domain with several results; version 0 is that which the model imports.
    Names addOf(std::string_view domain, std::string_view op, const Names& inputs, graph::Attributes attributes,
                std::int64_t opset, std::size_t results);
    /// Constants: float32 or integers of a shape, or one text per element.
    std::string floats(const std::vector<double>& values, tensor::Shape shape);
    std::string floats(const std::vector<double>& values);
    std::string integers(const std::vector<std::int64_t>& values);
    /// An integer without axes.
    std::string wholeNumber(std::int64_t value);
    /// A number of operand 0's floating type; float32 when that is not known.
    std::string numberLikeOperand(double value);
    std::string textList(const std::vector<std::string>& values);
    /// Floats of a quantised operand; the zero point need not be given.
    std::string dequantised(std::size_t slot, std::size_t scale, std::size_t zeroPoint,
                            graph::Attributes attributes = {});

    /// Output `k` of the call is `value`.
    void output(std::size_t k, const std::string& value);
    /// The function. Errors (Input): somebody reads an output that nothing makes.
    [[nodiscard]] base::Result<onnxschema::FunctionProto> finish() &&;

private:
    template <class T>
    [[nodiscard]] T value(std::string_view name, const T& other) const
    {
        const auto at = m_attributes.find(name);
        const T* value = at == m_attributes.end() ? nullptr : std::get_if<T>(&at->second);
        return value != nullptr ? *value : other;
    }
    std::string unique(std::string_view stem);
    onnxschema::NodeProto& addNode(std::string_view domain, std::string_view op, const Names& inputs,
                                   const graph::Attributes& attributes, std::int64_t opset, std::string_view name = {});

    const onnxschema::NodeProto& m_call;
    graph::Attributes m_attributes;
    const GraphFacts& m_facts;
    onnxschema::FunctionProto m_function;
    std::map<std::string, int, std::less<>> m_taken;
    std::map<std::size_t, std::string> m_outputs;
};

} // namespace retro::formats
