// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tests/core/rewrite/graphs.h"

#include <QTest>

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

namespace retro::rewrite::testing
{

/// Writes attention in the forms of exporters. Inputs q, k, v of 2 heads, 3 tokens and width 4.
class AttentionWriter
{
public:
    using Axes = std::vector<std::int64_t>;
    static constexpr double kScale = 0.3;

    AttentionWriter() : q(heads("q")), k(heads("k")), v(heads("v")) {}

    ValueId heads(const std::string& name, const Shape& shape = {1, 2, 3, 4})
    {
        inputs.push_back(randomTensor(shape, static_cast<unsigned>(inputs.size()) + 7));
        return writer.input(name, shape);
    }
    ValueId node(const std::string& op, std::vector<ValueId> operands, Attributes attributes = {})
    {
        return writer.node(op, fmt::format("{}{}", op, m_count++), std::move(operands), std::move(attributes), opset);
    }
    ValueId number(double value)
    {
        const std::vector<double> values{value};
        return writer.constant(fmt::format("c{}", m_count++), Tensor::of<double>({}, values));
    }
    ValueId ints(const Axes& values)
    {
        return writer.constant(fmt::format("i{}", m_count++),
                               Tensor::of<std::int64_t>({static_cast<std::int64_t>(values.size())}, values));
    }
    ValueId transposed(ValueId x, const Axes& order) { return node("Transpose", {x}, {{"perm", order}}); }
    ValueId swapped(ValueId x) { return transposed(x, {0, 1, 3, 2}); }
    ValueId product(ValueId a, ValueId b) { return node("MatMul", {a, b}); }
    ValueId scaled(ValueId x) { return node("Mul", {x, number(kScale)}); }
    /// softmax(logits)·v, the end of every form.
    ValueId attended(ValueId logits, ValueId values, std::int64_t axis = -1)
    {
        return writer.node("MatMul", "mix", {probabilities(logits, axis), values}, {}, opset);
    }
    ValueId probabilities(ValueId logits, std::int64_t axis)
    {
        if (!writesSoftmax) {
            return node("Softmax", {logits}, {{"axis", axis}});
        }
        const ValueId power = node("Exp", {logits});
        return node("Div", {power, writer.node("ReduceSum", "sum", {power, ints({axis})}, {}, 13)});
    }
    /// True on and below the diagonal of 3 × 3.
    ValueId lowerTriangle(bool isNegated = false)
    {
        std::vector<double> values;
        for (int i = 0; i < 9; ++i) {
            values.push_back((i % 3 <= i / 3) != isNegated ? 1 : 0);
        }
        return writer.constant(fmt::format("t{}", m_count++), Tensor::of<double>({3, 3}, values).to(DType::Bool));
    }
    SharedGraph finish(ValueId result)
    {
        writer.output(result);
        return writer.finish();
    }

    Writer writer;
    std::vector<Tensor> inputs;
    ValueId q;
    ValueId k;
    ValueId v;
    std::int64_t opset = 17;
    bool writesSoftmax = false; ///< as Exp, ReduceSum and Div

private:
    int m_count = 0;
};

/// A row of test data for each form, by its place.
template <class Form>
void addRows(const std::vector<Form>& forms)
{
    QTest::addColumn<int>("form");
    for (std::size_t i = 0; i < forms.size(); ++i) {
        QTest::newRow(forms[i].name) << static_cast<int>(i);
    }
}

inline std::size_t opCount(const Graph& graph, const std::string& op)
{
    return static_cast<std::size_t>(
        std::ranges::count_if(graph.nodes(), [&](const auto& node) { return node.op == op; }));
}

inline Rewritten fusedAttention(const SharedGraph& graph)
{
    auto result = rewrite(graph, only(&RewriteOptions::fuseAttention));
    return result.ok() ? std::move(result).value() : Rewritten{};
}

} // namespace retro::rewrite::testing
