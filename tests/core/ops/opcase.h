// SPDX-License-Identifier: Apache-2.0
// One operator, bound and ready: builds the graph around it, and the checks that every family needs.
#pragma once

#include "core/graph/graphbuilder.h"
#include "core/ops/algebra.h"
#include "core/ops/registry.h"
#include "core/ops/threads.h"

#include <QString>

#include <fmt/format.h>

#include <cmath>
#include <memory>
#include <random>
#include <string>
#include <vector>

namespace retro::tests
{

using tensor::DType;
using tensor::Shape;
using tensor::Tensor;

/// A text of the engine as Qt compares and shows it.
inline QString q(std::string text) { return QString::fromStdString(std::move(text)); }

inline Tensor doubles(Shape shape, const std::vector<double>& values)
{
    return Tensor::of<double>(std::move(shape), values);
}

inline Tensor ints(const std::vector<std::int64_t>& values)
{
    return Tensor::of<std::int64_t>({static_cast<std::int64_t>(values.size())}, values);
}

/// Normal numbers from a fixed seed.
inline Tensor randomTensor(Shape shape, DType dtype = DType::Float64, std::uint32_t seed = 1)
{
    std::mt19937 generator(seed);
    std::normal_distribution<double> normal;
    std::vector<double> values(static_cast<std::size_t>(tensor::elementCount(shape)));
    for (double& value : values) {
        value = normal(generator);
    }
    return doubles(std::move(shape), values).to(dtype);
}

/// The same values with the axes laid out in reverse order in memory.
inline Tensor inOtherOrder(const Tensor& t)
{
    Shape reversed(t.rank());
    for (std::size_t i = 0; i < t.rank(); ++i) {
        reversed[i] = static_cast<std::int64_t>(t.rank() - 1 - i);
    }
    return t.permuted(reversed).contiguous().permuted(reversed);
}

/// Largest |a − b|, relative to the largest |b|; infinity when shapes or types differ.
inline double distance(const Tensor& a, const Tensor& b)
{
    if (a.shape() != b.shape() || a.dtype() != b.dtype()) {
        return INFINITY;
    }
    double largest = 1e-30;
    double difference = 0;
    for (std::int64_t i = 0; i < a.size(); ++i) {
        largest = std::max(largest, std::abs(b.at(i)));
        const double d = std::abs(a.at(i) - b.at(i));
        difference = std::max(difference, std::isnan(d) ? INFINITY : d);
    }
    return difference / largest;
}

/// "[2 × 3] 1 2 3 4 5 6", so that a failed comparison shows both.
inline std::string textOf(const Tensor& t)
{
    std::string text = fmt::format("[{}]", tensor::toText(t.shape()));
    for (std::int64_t i = 0; i < t.size(); ++i) {
        std::string number = fmt::format("{:.6f}", t.at(i));
        number.erase(number.find_last_not_of('0') + 1);
        text += fmt::format(" {}", number.back() == '.' ? number.substr(0, number.size() - 1) : number);
    }
    return text;
}

/// Small cases are faster alone; the determinism test asks for more.
inline const bool kIsOnOneThread = (ops::setThreads(1), true);

/// A node under construction, with its operands.
class OpCase
{
public:
    explicit OpCase(std::string op, std::int64_t opset = 13, std::string domain = {})
    {
        m_node.op = std::move(op);
        m_node.domain = std::move(domain);
        m_node.opset = opset;
        m_node.name = std::string("n");
    }

    OpCase& operand(Tensor t)
    {
        m_operands.push_back(std::move(t));
        m_isConstant.push_back(false);
        return *this;
    }
    OpCase& constant(Tensor t)
    {
        m_operands.push_back(std::move(t));
        m_isConstant.push_back(true);
        return *this;
    }
    OpCase& absent()
    {
        m_operands.emplace_back();
        m_isConstant.push_back(false);
        return *this;
    }
    OpCase& with(const std::string& name, graph::Attribute value)
    {
        m_node.attributes[name] = std::move(value);
        return *this;
    }
    /// Operands that are no constants are known all the same while the node is bound, as those of a model that is bound
    /// to its inputs.
    OpCase& known()
    {
        m_isKnown = true;
        return *this;
    }
    /// Another tensor for operand `slot`.
    void replaceOperand(std::size_t slot, Tensor t) { m_operands[slot] = std::move(t); }
    void setConstant(std::size_t slot, bool isConstant) { m_isConstant[slot] = isConstant; }
    void copyAttributesTo(OpCase& other) const { other.m_node.attributes = m_node.attributes; }
    OpCase& outputs(std::size_t count)
    {
        m_outputs = count;
        return *this;
    }

    /// The graph around the node: its operands that are no constants are inputs x0, x1 …, in order.
    [[nodiscard]] std::shared_ptr<const graph::Graph> makeGraph() const
    {
        graph::GraphBuilder builder("case");
        builder.setOpset(m_node.domain, m_node.opset);
        graph::Node node = m_node;
        for (std::size_t i = 0; i < m_operands.size(); ++i) {
            const Tensor& t = m_operands[i];
            const std::string name = fmt::format("x{}", i);
            if (!t.isValid()) {
                node.inputs.emplace_back();
            } else {
                node.inputs.push_back(m_isConstant[i] ? builder.addConstant(name, t)
                                                      : builder.addInput(name, t.dtype(), t.shape()));
            }
        }
        for (std::size_t k = 0; k < m_outputs; ++k) {
            node.outputs.push_back(builder.addResult(fmt::format("y{}", k)));
        }
        builder.addOutput(node.outputs.front());
        builder.addNode(std::move(node));
        return std::make_shared<const graph::Graph>(std::move(builder).build().value());
    }

    /// Binds; the error's text is kept for error().
    bool bind()
    {
        m_types.clear();
        m_constants.clear();
        for (std::size_t i = 0; i < m_operands.size(); ++i) {
            m_types.push_back({m_operands[i].dtype(), m_operands[i].shape()});
            m_constants.push_back(m_isConstant[i] ? m_operands[i] : Tensor{});
        }
        m_graph = makeGraph();
        const GivenOperands given(m_operands);
        auto result = ops::bind({*m_graph, graph::NodeId(std::uint32_t{0}), m_graph->nodes()[0], m_types, m_constants,
                                 DType::Float32, m_isKnown ? &given : nullptr});
        m_error = result.ok() ? std::string{} : result.error().text();
        m_op = result.ok() ? std::shared_ptr<const ops::BoundOperator>(std::move(result).value()) : nullptr;
        return m_op != nullptr;
    }

    [[nodiscard]] const ops::BoundOperator& op() const { return *m_op; }
    [[nodiscard]] const std::string& error() const { return m_error; }
    /// The structure as S; the kind must be right.
    template <class S>
    [[nodiscard]] const S& structure() const
    {
        return dynamic_cast<const S&>(m_op->structure());
    }
    [[nodiscard]] std::vector<Tensor> forward() const { return m_op->forward(m_operands); }
    [[nodiscard]] std::vector<Tensor> forward(const std::vector<Tensor>& operands) const
    {
        return m_op->forward(operands);
    }
    [[nodiscard]] const std::vector<Tensor>& operands() const { return m_operands; }
    [[nodiscard]] bool isConstant(std::size_t slot) const { return m_isConstant[slot]; }
    /// "Gather, opset 13: [2 × 3] [4]", with a star at constant operands.
    [[nodiscard]] std::string text() const
    {
        std::string text = fmt::format("{}, opset {}:", m_node.op, m_node.opset);
        for (std::size_t i = 0; i < m_operands.size(); ++i) {
            text += fmt::format(" [{}]{}", m_operands[i].isValid() ? tensor::toText(m_operands[i].shape()) : "absent",
                                m_isConstant[i] ? "*" : "");
        }
        return text;
    }

    /// Text of output `k`, or the error.
    std::string run(std::size_t k = 0)
    {
        if (!bind()) {
            return m_error;
        }
        const auto results = forward();
        const ops::TensorType& type = m_op->outputTypes()[k];
        const bool agrees = results.size() == m_op->outputTypes().size() && results[k].shape() == type.shape &&
                            results[k].dtype() == type.dtype;
        return agrees ? textOf(results[k]) : "result and declared type differ: " + textOf(results[k]);
    }
    /// Binds and returns the error; "bound" when there is none.
    std::string refusal() { return bind() ? "bound" : m_error; }

private:
    class GivenOperands final : public ops::OperandSource
    {
    public:
        explicit GivenOperands(const std::vector<Tensor>& operands) : m_operands(operands) {}
        [[nodiscard]] retro::base::Result<Tensor> operand(std::size_t slot) const override { return m_operands[slot]; }

    private:
        const std::vector<Tensor>& m_operands;
    };

    graph::Node m_node;
    bool m_isKnown = false;
    std::vector<Tensor> m_operands;
    std::vector<bool> m_isConstant;
    std::size_t m_outputs = 1;
    std::shared_ptr<const graph::Graph> m_graph;
    std::vector<ops::TensorType> m_types;
    std::vector<Tensor> m_constants;
    std::shared_ptr<const ops::BoundOperator> m_op;
    std::string m_error;
};

/// |⟨apply(x), s⟩ − ⟨x, pullback(s)⟩| relative to the sum of absolute products, for random x and s.
inline double adjointGap(const ops::LinearMap& map, const Tensor& x, const Tensor& s, ops::WeightVariant variant = {})
{
    const Tensor z = map.apply(x, variant);
    const Tensor r = map.pullback(s, variant);
    if (r.shape() != x.shape() || z.shape() != s.shape()) {
        return INFINITY;
    }
    const double scale = ops::algebra::sumAbsolute(ops::algebra::multiply(z, s)) + 1e-30;
    return std::abs(ops::algebra::dot(z, s) - ops::algebra::dot(x, r)) / scale;
}

/// All parts of a weight that rules use.
inline std::vector<ops::WeightVariant> allVariants()
{
    using ops::WeightPart;
    return {{WeightPart::All, 0},
            {WeightPart::Positive, 0},
            {WeightPart::Negative, 0},
            {WeightPart::GammaPositive, 0.25},
            {WeightPart::GammaNegative, 0.5},
            {WeightPart::Square, 0},
            {WeightPart::Ones, 0}};
}

} // namespace retro::tests
