// SPDX-License-Identifier: Apache-2.0
#include "core/base/cancel.h"
#include "core/base/result.h"
#include "core/engine/evaluate/attribution.h"
#include "core/execute/boundmodel.h"
#include "core/graph/walkback.h"
#include "core/ops/elements.h"
#include "core/ops/ml/treescores.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace retro::engine
{

using base::Result;
using base::ValueId;
using ops::LeafWeight;
using ops::TreeAggregate;
using ops::TreeNode;
using ops::Trees;
using ops::TreeScores;
using ops::TreeTest;
using tensor::Tensor;

namespace
{

/// One score of decision trees in a sum of such scores.
struct TreeTerm
{
    base::NodeId node; ///< whose operator is an ops::TreeModel
    std::size_t score = 0;
    double factor = 1;
};

/// An element of a value as a sum of scores of trees and a constant.
struct TreeSum
{
    std::vector<TreeTerm> terms;
    double offset = 0;  ///< the constant
    std::string behind; ///< what stands between the sum and the element, in words: "LOGISTIC"; empty = nothing
};

constexpr const char* kWayOut = "shapley gives Shapley values of any model";

using enum ops::Elements;

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
        if (std::ranges::count(kMonotone, node->op) > 0 && isAlone()) {
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
        const ValueId first = node.inputs.front();
        const bool isInOrder = ops::keepsElements(node) || (ops::areElements(node, {Turned}) && isRow(first));
        if (isInOrder && tensor::isFloating(m_model.typeOf(part.value).dtype)) {
            return ScorePart{first, part.element, part.factor};
        }
        if (node.op == "Gather" && isRow(first) && m_model.isConstant(node.inputs[1]) &&
            sizeOf(node.inputs[1]) == sizeOf(part.value)) {
            const auto at = static_cast<std::int64_t>(m_model.constant(node.inputs[1]).at(part.element));
            return ScorePart{first, at < 0 ? at + sizeOf(first) : at, part.factor};
        }
        return ops::areElements(node, {Joined}) && isRow(part.value) ? joinedFrom(node, part) : std::nullopt;
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
        const bool isQuotient = ops::areElements(node, {Divided}) && m_model.isConstant(node.inputs[1]);
        const auto computed = std::ranges::count_if(node.inputs, [&](ValueId x) { return !m_model.isConstant(x); });
        if ((!isQuotient && !ops::areElements(node, {Multiplied})) || computed != 1) {
            return std::nullopt;
        }
        const ValueId constant = node.inputs[m_model.isConstant(node.inputs[1]) ? 1 : 0];
        const double number = m_model.constant(constant).at(elementOf(constant, part));
        return isQuotient ? 1 / number : number;
    }

    /// The operands of a sum, or of a product with constants.
    Result<void> openSum(const graph::Node& node, const ScorePart& part)
    {
        const std::optional<double> factor = factorOf(node, part);
        const bool fits = std::ranges::all_of(node.inputs, [&](ValueId operand) {
            return sizeOf(operand) == 1 || sizeOf(operand) == sizeOf(part.value);
        });
        if (!fits || (!factor && !ops::areElements(node, {Summed, Subtracted, Negated}))) {
            return refusal(part.value);
        }
        for (std::size_t slot = 0; slot < node.inputs.size(); ++slot) {
            const ValueId operand = node.inputs[slot];
            const bool isTakenOff =
                slot == 1 ? ops::areElements(node, {Subtracted}) : ops::areElements(node, {Negated});
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

/// Follows an element of a value back to the trees that it is made of: through sums, products with constants, what only
/// moves elements, and functions that only go up (Sigmoid, Softmax, the transform of the trees) while there is one
/// score, which are left away with what is behind them: the sum is what comes before. Errors (Usage): anything else on
/// the way; trees whose score is no sum.
Result<TreeSum> treeSumOf(const execute::BoundModel& model, ValueId value, std::int64_t element)
{
    return SumWalk(model).from({value, element, 1});
}

/// The input that a value has its elements from, one by one and in order: scaled, shifted, filled where they are
/// missing, reshaped. Errors (Usage): the first node on the way that mixes them.
Result<ValueId> inputInOrder(const execute::BoundModel& model, ValueId value)
{
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
        if (!isKept ||
            (isInput ? input.isValid() : !(ops::isElementByElement(*node) || ops::areElements(*node, {Reshaped})))) {
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

/// Walks a tree along every path that some coalition takes. On the way each feature that parts x from the baseline is
/// decided once: it is there (x) or it is not (the baseline).
class TreeWalk
{
public:
    TreeWalk(const TreeScores& scores, std::size_t score, std::span<const double> x, std::span<const double> baseline,
             std::span<double> values)
        : m_trees(scores.trees), m_score(score), m_x(x), m_baseline(baseline), m_values(values),
          m_share(scores.aggregate == TreeAggregate::Average ? 1.0 / static_cast<double>(scores.trees.roots.size())
                                                             : 1.0),
          m_decided(x.size(), Side::Open)
    {}

    void tree(std::size_t root)
    {
        m_waiting = {{root, 0, Side::Open, false}};
        while (!m_waiting.empty()) {
            const Turn turn = m_waiting.back();
            m_waiting.pop_back();
            if (turn.isLeft) {
                leave(turn);
                continue;
            }
            if (turn.side != Side::Open) {
                m_waiting.push_back({0, turn.feature, turn.side, true});
                enter(turn);
            }
            follow(turn.node);
        }
    }

private:
    enum class Side : std::uint8_t { Open, There, Away };
    /// A node to go to, behind the decision on a feature; or that decision to be taken back.
    struct Turn
    {
        std::size_t node = 0;
        std::size_t feature = 0;
        Side side = Side::Open;
        bool isLeft = false;
    };

    void enter(const Turn& turn)
    {
        m_decided[turn.feature] = turn.side;
        (turn.side == Side::There ? m_there : m_away).push_back(turn.feature);
    }

    void leave(const Turn& turn)
    {
        m_decided[turn.feature] = Side::Open;
        (turn.side == Side::There ? m_there : m_away).pop_back();
    }

    /// Down to a leaf, or to a node where x and the baseline part.
    void follow(std::size_t at)
    {
        while (m_trees.nodes[at].test != TreeTest::Leaf) {
            const TreeNode& node = m_trees.nodes[at];
            const std::size_t there = Trees::holds(node, m_x[node.feature]) ? node.onTrue : node.onFalse;
            const std::size_t away = Trees::holds(node, m_baseline[node.feature]) ? node.onTrue : node.onFalse;
            if (there != away && m_decided[node.feature] == Side::Open) {
                m_waiting.push_back({away, node.feature, Side::Away, false});
                m_waiting.push_back({there, node.feature, Side::There, false});
                return;
            }
            at = m_decided[node.feature] == Side::Away ? away : there;
        }
        takeLeaf(m_trees.nodes[at]);
    }

    /// The game whose worth is that of the leaf where all of `there` and none of `away` are in the coalition.
    void takeLeaf(const TreeNode& leaf)
    {
        double worth = 0;
        for (std::size_t i = 0; i < leaf.weights; ++i) {
            const LeafWeight& weight = m_trees.weights[leaf.firstWeight + i];
            worth += weight.target == m_score ? weight.weight : 0;
        }
        const auto p = static_cast<double>(m_there.size());
        const auto q = static_cast<double>(m_away.size());
        double orders = 1; // p + q over p
        for (double i = 1; i <= p; ++i) {
            orders *= (q + i) / i;
        }
        for (const std::size_t feature : m_there) {
            m_values[feature] += m_share * worth / (p * orders);
        }
        for (const std::size_t feature : m_away) {
            m_values[feature] -= m_share * worth / (q * orders);
        }
    }

    const Trees& m_trees;
    std::size_t m_score;
    std::span<const double> m_x;
    std::span<const double> m_baseline;
    std::span<double> m_values;
    double m_share;
    std::vector<Side> m_decided; // by feature
    std::vector<std::size_t> m_there;
    std::vector<std::size_t> m_away;
    std::vector<Turn> m_waiting;
};

/// Adds to `values`, by feature, the Shapley values of the raw score `score` of the trees at `x` against `baseline`
/// (both of as many features; NaN is a missing one): in a coalition, the features that are there have the numbers of
/// `x`, the others those of `baseline`. Exact for every test; the cost grows with the number of leaves. They add up to
/// the score at x less that at the baseline. The score must be a sum (TreeScores::whyNoSum). Source: Lundberg et al.
/// 2020, "independent" TreeSHAP.
void addTreeShapley(const TreeScores& scores, std::size_t score, std::span<const double> x,
                    std::span<const double> baseline, std::span<double> values)
{
    TreeWalk walk(scores, score, x, baseline, values);
    for (const std::size_t root : scores.trees.roots) {
        walk.tree(root);
    }
}

class TreeShap final : public Attribution
{
public:
    explicit TreeShap(Tensor background) : m_background(std::move(background)) {}

    [[nodiscard]] std::string_view name() const override { return "treeshap"; }
    [[nodiscard]] Passes passes() const override { return Passes::Forward; }
    [[nodiscard]] bool takesTokens() const override { return false; }

    [[nodiscard]] Result<Attributed> attribute(const Subject& subject, const Units& units,
                                               const EvaluationProgress& progress) const override
    {
        const std::optional<std::int64_t> element = subject.element();
        if (!element) {
            return base::usageError("treeshap explains one score; name an element as --target", "--method treeshap");
        }
        RETRO_TRY(const TreeSum sum, treeSumOf(subject.model(), subject.value(), *element));
        RETRO_TRY(const std::vector<std::string> features, featuresOf(subject, sum));
        RETRO_TRY(const std::vector<Tensor> rows, rowsFor(subject, units));
        RETRO_TRY(const std::vector<Tensor> x, subject.values(features, subject.input()));
        std::vector<double> values(static_cast<std::size_t>(subject.input().size()), 0);
        double base = sum.offset;
        double whole = sum.offset;
        for (std::size_t i = 0; i < sum.terms.size(); ++i) {
            whole += rawScore(subject.model(), sum.terms[i], x[i]);
        }
        for (std::size_t row = 0; row < rows.size(); ++row) {
            RETRO_CHECK(base::checkStop(subject.stop()));
            RETRO_TRY(const std::vector<Tensor> baseline, subject.values(features, rows[row]));
            for (std::size_t i = 0; i < sum.terms.size(); ++i) {
                add(subject.model(), sum.terms[i], x[i], baseline[i], values);
                base += rawScore(subject.model(), sum.terms[i], baseline[i]) / static_cast<double>(rows.size());
            }
            report(progress, row + 1, rows.size());
        }
        std::ranges::transform(values, values.begin(),
                               [&](double value) { return value / static_cast<double>(rows.size()); });
        Attributed result{Tensor::of<double>(subject.input().shape(), values)};
        result.numbers = {{"raw_score", whole}, {"raw_score_of_baseline", base}};
        result.how = fmt::format("exact, against {}{}", baselineText(rows.size()),
                                 sum.behind.empty() ? "" : fmt::format("; of the raw score before {}", sum.behind));
        return result;
    }

private:
    [[nodiscard]] std::string baselineText(std::size_t rows) const
    {
        return m_background.isValid() ? fmt::format("{} rows of the background", rows)
                                      : "what --replace puts in place of removed features (--background takes rows)";
    }

    /// What each term's trees read, by name: the elements of the input, in order.
    static Result<std::vector<std::string>> featuresOf(const Subject& subject, const TreeSum& sum)
    {
        const graph::Graph& graph = subject.model().graph();
        std::vector<std::string> names;
        for (const TreeTerm& term : sum.terms) {
            const base::ValueId read = graph.node(term.node).inputs.front();
            RETRO_TRY(const base::ValueId input, inputInOrder(subject.model(), read));
            if (graph.value(input).name != subject.inputName()) {
                return base::usageError(fmt::format("the trees read the input \"{}\", not this one; choose it with "
                                                    "--flip",
                                                    graph.value(input).name),
                                        fmt::format("input \"{}\"", subject.inputName()));
            }
            names.push_back(graph.value(read).name);
        }
        return names;
    }

    /// The inputs to compare with.
    [[nodiscard]] Result<std::vector<Tensor>> rowsFor(const Subject& subject, const Units& units) const
    {
        if (!m_background.isValid()) {
            Removal removal(subject.input(), units);
            for (std::size_t unit = 0; unit < units.count(); ++unit) {
                removal.remove(unit);
            }
            return std::vector{removal.tensor()};
        }
        const std::int64_t features = subject.input().size();
        const tensor::Shape& shape = m_background.shape();
        if (m_background.size() == 0 || shape.empty() || shape.back() != features || features == 0) {
            return base::inputError(fmt::format("its shape is {}, but the input \"{}\" has {} features; give rows × {}",
                                                tensor::toText(shape), subject.inputName(), features, features),
                                    "--background");
        }
        std::vector<Tensor> rows;
        for (std::int64_t start = 0; start < m_background.size(); start += features) {
            std::vector<double> row;
            for (std::int64_t i = 0; i < features; ++i) {
                row.push_back(m_background.at(start + i));
            }
            rows.push_back(Tensor::of<double>(subject.input().shape(), row).to(subject.input().dtype()));
        }
        return rows;
    }

    /// A term's part of the score at what its trees read.
    static double rawScore(const execute::BoundModel& model, const TreeTerm& term, const Tensor& x)
    {
        const auto& trees = dynamic_cast<const ops::TreeModel&>(model.op(term.node));
        return term.factor *
               trees.treeScores().ofSample(x.to(tensor::DType::Float64).contiguous(), 0).values[term.score];
    }

    static void add(const execute::BoundModel& model, const TreeTerm& term, const Tensor& x, const Tensor& baseline,
                    std::vector<double>& values)
    {
        const auto& trees = dynamic_cast<const ops::TreeModel&>(model.op(term.node));
        std::vector<double> there;
        std::vector<double> away;
        for (std::int64_t i = 0; i < x.size(); ++i) {
            there.push_back(x.at(i));
            away.push_back(baseline.at(i));
        }
        std::vector<double> own(values.size(), 0);
        addTreeShapley(trees.treeScores(), term.score, there, away, own);
        for (std::size_t i = 0; i < own.size(); ++i) {
            values[i] += term.factor * own[i];
        }
    }

    Tensor m_background;
};

} // namespace

AttributionPointer treeShap(const Tensor& background) { return std::make_shared<const TreeShap>(background); }

} // namespace retro::engine
