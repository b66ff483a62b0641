// SPDX-License-Identifier: Apache-2.0
#include "core/engine/evaluate/treeterms.h"

#include "core/graph/walkback.h"
#include "core/ops/ml/treescores.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <string_view>

namespace retro::engine
{

using base::Result;
using base::ValueId;

namespace
{

constexpr const char* kWayOut = "shapley gives Shapley values of any model";

template <std::size_t N>
bool isOneOf(const std::array<std::string_view, N>& names, const std::string& op)
{
    return std::ranges::find(names, op) != names.end();
}

/// An element of a value, and how often it counts.
struct ScorePart
{
    ValueId value;
    std::int64_t element = 0;
    double factor = 1;
};

/// Follows sums back to trees.
class SumWalk
{
public:
    explicit SumWalk(const execute::BoundModel& model) : m_model(model) {}

    Result<TreeSum> from(const ScorePart& part)
    {
        open(part);
        while (!m_open.empty()) {
            const ScorePart next = m_open.back();
            m_open.pop_back();
            RETRO_CHECK(visit(next));
        }
        if (!m_transform.empty() && m_sum.terms.size() > 1) {
            return base::usageError(fmt::format("treeshap explains sums of trees, and here the scores of trees are "
                                                "added behind {}; {}",
                                                m_transform, kWayOut),
                                    "--method treeshap");
        }
        if (m_sum.terms.empty()) {
            return base::usageError(
                fmt::format("treeshap is for decision trees, and the target is made of none; {}", kWayOut),
                "--method treeshap");
        }
        return std::move(m_sum);
    }

private:
    [[nodiscard]] const graph::Node* producer(ValueId value) const
    {
        const base::NodeId node = m_model.graph().nodeOf(value);
        return node.isValid() && !m_model.graph().isInput(node) ? &m_model.graph().node(node) : nullptr;
    }

    [[nodiscard]] std::int64_t sizeOf(ValueId value) const { return tensor::elementCount(m_model.typeOf(value).shape); }

    void open(const ScorePart& part)
    {
        if (m_model.isConstant(part.value)) {
            m_sum.offset += part.factor * m_model.constant(part.value).at(part.element);
        } else {
            m_open.push_back(part);
        }
    }

    /// A function that only goes up, of the one score that there is: what comes before it is explained, and no scale or
    /// shift behind it counts.
    double beforeFunction(const std::string& function, double factor)
    {
        m_sum.behind = function;
        m_sum.offset = 0;
        return std::copysign(1.0, factor);
    }

    [[nodiscard]] bool isAlone() const { return m_open.empty() && m_sum.terms.empty(); }

    base::Error refusal(ValueId value) const
    {
        const graph::Node* node = producer(value);
        const std::string what = node == nullptr ? fmt::format("the input \"{}\"", m_model.graph().value(value).name)
                                                 : fmt::format("node '{}' ({})", node->name, node->op);
        return base::usageError(
            fmt::format("treeshap explains sums of trees, and {} on the way to the target is none; {}", what, kWayOut),
            "--method treeshap");
    }

    Result<void> visit(const ScorePart& part)
    {
        const graph::Node* node = producer(part.value);
        if (node == nullptr) {
            return refusal(part.value);
        }
        const base::NodeId id = m_model.graph().nodeOf(part.value);
        if (const auto* trees = dynamic_cast<const ops::TreeModel*>(&m_model.op(id))) {
            return addTrees(id, *trees, part);
        }
        if (const std::optional<ScorePart> moved = movedFrom(*node, part)) {
            open(*moved);
            return {};
        }
        static constexpr std::array<std::string_view, 3> kMonotone{"Sigmoid", "Softmax", "LogSoftmax"};
        if (isOneOf(kMonotone, node->op) && isAlone()) {
            open({node->inputs.front(), part.element, beforeFunction(node->op, part.factor)});
            return {};
        }
        return openSum(*node, part);
    }

    Result<void> addTrees(base::NodeId id, const ops::TreeModel& trees, const ScorePart& part)
    {
        const ops::RawScore raw = trees.rawScore(static_cast<std::size_t>(part.element));
        if (const std::string why = trees.treeScores().whyNoSum(raw.score); !why.empty()) {
            return base::usageError(fmt::format("treeshap explains sums of trees; {}. {}", why, kWayOut),
                                    fmt::format("node '{}'", m_model.graph().node(id).name));
        }
        const std::string transform = trees.transformName();
        const bool isBefore = !transform.empty() && isAlone();
        m_transform = transform.empty() ? m_transform : transform;
        m_sum.terms.push_back(
            {id, raw.score, raw.factor * (isBefore ? beforeFunction(transform, part.factor) : part.factor)});
        return {};
    }

    /// Where an element was before a node that only moves elements; nothing of other nodes.
    [[nodiscard]] std::optional<ScorePart> movedFrom(const graph::Node& node, const ScorePart& part) const
    {
        static constexpr std::array<std::string_view, 6> kInOrder{"Identity", "Cast",    "Reshape",
                                                                  "Flatten",  "Squeeze", "Unsqueeze"};
        const ValueId first = node.inputs.front();
        const bool isInOrder = isOneOf(kInOrder, node.op) || (node.op == "Transpose" && isRow(first));
        if (isInOrder && tensor::isFloating(m_model.typeOf(part.value).dtype)) {
            return ScorePart{first, part.element, part.factor};
        }
        const bool picks = (node.op == "Gather" || node.op == "ArrayFeatureExtractor") && isRow(first);
        if (picks && m_model.isConstant(node.inputs[1]) && sizeOf(node.inputs[1]) == sizeOf(part.value)) {
            const auto at = static_cast<std::int64_t>(m_model.constant(node.inputs[1]).at(part.element));
            return ScorePart{first, at < 0 ? at + sizeOf(first) : at, part.factor};
        }
        return node.op == "Concat" && isRow(part.value) ? joinedFrom(node, part) : std::nullopt;
    }

    [[nodiscard]] std::optional<ScorePart> joinedFrom(const graph::Node& node, ScorePart part) const
    {
        for (const ValueId operand : node.inputs) {
            if (part.element < sizeOf(operand)) {
                return ScorePart{operand, part.element, part.factor};
            }
            part.element -= sizeOf(operand);
        }
        return std::nullopt;
    }

    /// True where at most one axis has more than one entry.
    [[nodiscard]] bool isRow(ValueId value) const
    {
        return std::ranges::count_if(m_model.typeOf(value).shape, [](std::int64_t extent) { return extent != 1; }) <= 1;
    }

    /// What a product multiplies its only computed operand by; nothing of other nodes.
    [[nodiscard]] std::optional<double> factorOf(const graph::Node& node, const ScorePart& part) const
    {
        const bool isQuotient = node.op == "Div" && m_model.isConstant(node.inputs[1]);
        const auto computed = std::ranges::count_if(node.inputs, [&](ValueId x) { return !m_model.isConstant(x); });
        if ((!isQuotient && node.op != "Mul") || computed != 1) {
            return std::nullopt;
        }
        const ValueId constant = node.inputs[m_model.isConstant(node.inputs[1]) ? 1 : 0];
        const double number = m_model.constant(constant).at(elementOf(constant, part));
        return isQuotient ? 1 / number : number;
    }

    /// The operands of a sum, or of a product with constants.
    Result<void> openSum(const graph::Node& node, const ScorePart& part)
    {
        static constexpr std::array<std::string_view, 4> kSums{"Add", "Sum", "Sub", "Neg"};
        const std::optional<double> factor = factorOf(node, part);
        const bool fits = std::ranges::all_of(node.inputs, [&](ValueId operand) {
            return sizeOf(operand) == 1 || sizeOf(operand) == sizeOf(part.value);
        });
        if (!fits || (!factor && !isOneOf(kSums, node.op))) {
            return refusal(part.value);
        }
        for (std::size_t slot = 0; slot < node.inputs.size(); ++slot) {
            const ValueId operand = node.inputs[slot];
            const bool isTakenOff = node.op == "Neg" || (node.op == "Sub" && slot == 1);
            const double sign = isTakenOff ? -1 : 1;
            if (!factor || !m_model.isConstant(operand)) { // else it is the factor
                open({operand, elementOf(operand, part), part.factor * factor.value_or(sign)});
            }
        }
        return {};
    }

    [[nodiscard]] std::int64_t elementOf(ValueId operand, const ScorePart& part) const
    {
        return sizeOf(operand) == sizeOf(part.value) ? part.element : 0;
    }

    const execute::BoundModel& m_model;
    TreeSum m_sum;
    std::vector<ScorePart> m_open;
    std::string m_transform; // of the trees
};

} // namespace

Result<TreeSum> treeSumOf(const execute::BoundModel& model, ValueId value, std::int64_t element)
{
    return SumWalk(model).from({value, element, 1});
}

Result<ValueId> inputInOrder(const execute::BoundModel& model, ValueId value)
{
    static constexpr std::array<std::string_view, 23> kByElement{
        "Identity", "Cast", "Add",   "Sub",     "Mul",     "Div",     "Neg",      "Abs",
        "Sqrt",     "Exp",  "Log",   "Pow",     "Clip",    "Relu",    "Where",    "IsNaN",
        "Equal",    "Not",  "Round", "Reshape", "Flatten", "Squeeze", "Unsqueeze"};
    const graph::Graph& graph = model.graph();
    const std::int64_t size = tensor::elementCount(model.typeOf(value).shape);
    ValueId input;
    std::string mixer;
    graph::walkBack(graph, value, [&](ValueId behind) {
        if (model.isConstant(behind)) {
            return graph::Walk::Turn;
        }
        const bool isInput = graph.value(behind).kind == graph::ValueKind::Input;
        const graph::Node* node = isInput ? nullptr : &graph.node(graph.nodeOf(behind));
        const bool isKept = tensor::elementCount(model.typeOf(behind).shape) == size;
        if (!isKept || (isInput ? input.isValid() : !isOneOf(kByElement, node->op))) {
            mixer = isInput ? fmt::format("input \"{}\"", graph.value(behind).name)
                            : fmt::format("node '{}' ({})", node->name, node->op);
            return graph::Walk::Stop;
        }
        input = isInput ? behind : input;
        return graph::Walk::GoOn;
    });
    if (!mixer.empty() || !input.isValid()) {
        return base::usageError(
            fmt::format("treeshap explains the features that the trees read, and {} makes others of the input's; {}",
                        mixer, kWayOut),
            "--method treeshap");
    }
    return input;
}

} // namespace retro::engine
