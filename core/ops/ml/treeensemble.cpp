// SPDX-License-Identifier: Apache-2.0
#include "core/graph/attributes.h"
#include "core/ops/bind/bindcheck.h"
#include "core/ops/families.h"
#include "core/ops/kernel/visitnumber.h"
#include "core/ops/ml/nodelists.h"
#include "core/ops/ml/posttransform.h"
#include "core/ops/ml/treescores.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

/// Decision trees of ONNX-ML. They are constant almost everywhere, so no relevance passes.

namespace retro::ops
{

namespace
{

using tensor::DType;

/// The attributes of a TreeEnsemble, of one length where they go together.
class JoinedReader
{
public:
    JoinedReader(const BindContext& context, std::int64_t features, std::int64_t targets)
        : m_context(context), m_features(features), m_targets(targets)
    {}

    base::Result<Trees> read()
    {
        RETRO_CHECK(readTests());
        RETRO_CHECK(readLeaves());
        RETRO_CHECK(link());
        for (const std::int64_t root : ints("tree_roots")) {
            if (root < 0 || root >= static_cast<std::int64_t>(m_count) || m_isChild[static_cast<std::size_t>(root)]) {
                return m_context.error(fmt::format("tree_roots names node {}, which is no root", root));
            }
            m_isChild[static_cast<std::size_t>(root)] = true; // a root twice would be its own tree twice
            m_trees.roots.push_back(static_cast<std::size_t>(root));
        }
        if (m_trees.roots.empty()) {
            return m_context.error("tree_roots is empty");
        }
        return std::move(m_trees);
    }

private:
    [[nodiscard]] std::vector<std::int64_t> ints(const char* name) const { return m_context.intsAttribute(name, {}); }

    /// A list of the attribute's numbers; empty when it is missing.
    [[nodiscard]] std::vector<double> numbers(const char* name) const
    {
        const auto* data = graph::attributeOf<Tensor>(m_context.node, name);
        if (data == nullptr || !data->isValid()) {
            return {};
        }
        const Tensor wide = data->to(DType::Float64).contiguous();
        return {wide.span<double>().begin(), wide.span<double>().end()};
    }

    base::Result<void> readTests()
    {
        const auto features = ints("nodes_featureids");
        const auto modes = numbers("nodes_modes");
        const auto splits = numbers("nodes_splits");
        const auto missing = ints("nodes_missing_value_tracks_true");
        m_count = features.size();
        if (m_count == 0 || modes.size() != m_count || splits.size() != m_count ||
            (!missing.empty() && missing.size() != m_count)) {
            return m_context.error("the lists nodes_featureids, nodes_modes and nodes_splits need one length");
        }
        for (std::size_t i = 0; i < m_count; ++i) {
            if (features[i] < 0 || features[i] >= m_features) {
                return m_context.error(fmt::format("a tree asks for feature {} of {}", features[i], m_features));
            }
            if (modes[i] < 0 || modes[i] > static_cast<double>(TreeTest::NotEqual)) {
                return m_context.error("a tree tests for membership or in an unknown way, which is not supported");
            }
            TreeNode node;
            node.test = static_cast<TreeTest>(static_cast<int>(modes[i]));
            node.feature = static_cast<std::size_t>(features[i]);
            node.value = splits[i];
            node.missingIsTrue = !missing.empty() && missing[i] != 0;
            m_trees.nodes.push_back(node);
        }
        m_isChild.assign(m_count, false);
        return {};
    }

    base::Result<void> readLeaves()
    {
        const auto targets = ints("leaf_targetids");
        const auto weights = numbers("leaf_weights");
        if (targets.size() != weights.size()) {
            return m_context.error("leaf_targetids and leaf_weights need one length");
        }
        for (std::size_t i = 0; i < targets.size(); ++i) {
            if (targets[i] < 0 || targets[i] >= m_targets) {
                return m_context.error(fmt::format("a leaf gives score {} of {}", targets[i], m_targets));
            }
            m_trees.weights.push_back({static_cast<std::size_t>(targets[i]), weights[i]});
        }
        return {};
    }

    base::Result<void> link()
    {
        const auto onTrue = ints("nodes_truenodeids");
        const auto onFalse = ints("nodes_falsenodeids");
        const auto trueLeaves = ints("nodes_trueleafs");
        const auto falseLeaves = ints("nodes_falseleafs");
        if (onTrue.size() != m_count || onFalse.size() != m_count || trueLeaves.size() != m_count ||
            falseLeaves.size() != m_count) {
            return m_context.error("the lists of children need an entry per node");
        }
        for (std::size_t i = 0; i < m_count; ++i) {
            RETRO_TRY(const std::size_t first, childOf(i, onTrue[i], trueLeaves[i] != 0));
            RETRO_TRY(const std::size_t second, childOf(i, onFalse[i], falseLeaves[i] != 0));
            m_trees.nodes[i].onTrue = first;
            m_trees.nodes[i].onFalse = second;
        }
        return {};
    }

    /// Nodes stand in front of their children, so that no path comes back.
    base::Result<std::size_t> childOf(std::size_t parent, std::int64_t child, bool isLeaf)
    {
        const std::size_t most = isLeaf ? m_trees.weights.size() : m_count;
        if (child < 0 || static_cast<std::size_t>(child) >= most) {
            return m_context.error(
                fmt::format("node {} leads to {} {}, which does not exist", parent, isLeaf ? "leaf" : "node", child));
        }
        const auto at = static_cast<std::size_t>(child);
        if (isLeaf) {
            TreeNode leaf;
            leaf.firstWeight = at;
            leaf.weights = 1;
            m_trees.nodes.push_back(leaf);
            return m_trees.nodes.size() - 1;
        }
        if (at <= parent || m_isChild[at]) {
            return m_context.error(
                fmt::format("node {} leads to node {}, which stands before it or has another parent", parent, child));
        }
        m_isChild[at] = true;
        return at;
    }

    const BindContext& m_context;
    std::int64_t m_features;
    std::int64_t m_targets;
    Trees m_trees;
    std::size_t m_count = 0;
    std::vector<bool> m_isChild;
};

/// Trees of a TreeEnsemble, whose leaves are a list of their own. Errors (Input) as those of treesOf(), and a test for
/// membership, which is not supported.
base::Result<Trees> joinedTrees(const BindContext& context, std::int64_t features, std::int64_t targets)
{
    return JoinedReader(context, features, targets).read();
}

using tensor::Shape;

/// Scores of every sample, one row each.
class TreeRegressor final : public PassiveOperator, public TreeModel
{
public:
    TreeRegressor(TensorType output, SampleRows rows, TreeScores scores, PostTransform transform)
        : m_rows(rows), m_scores(std::move(scores)), m_transform(transform)
    {
        m_outputTypes.push_back(std::move(output));
    }

    [[nodiscard]] std::vector<Tensor> forward(std::span<const Tensor> operands) const override
    {
        const Tensor x = asReals(operands[0]);
        tensor::TensorBuffer y(m_outputTypes[0].dtype, m_outputTypes[0].shape);
        const std::int64_t targets = m_outputTypes[0].shape[1];
        visitFloat(m_outputTypes[0].dtype, [&](auto zero) {
            using T = decltype(zero);
            for (std::int64_t n = 0; n < m_rows.samples; ++n) {
                const auto scores = transformed(m_scores.ofSample(x, n).values, m_transform, SecondClass::None);
                std::transform(scores.begin(), scores.end(), y.data<T>() + n * targets,
                               [](double score) { return static_cast<T>(score); });
            }
        });
        return {std::move(y).freeze()};
    }
    [[nodiscard]] const TreeScores& treeScores() const override { return m_scores; }
    [[nodiscard]] RawScore rawScore(std::size_t column) const override { return {column, 1}; }
    [[nodiscard]] std::string transformName() const override { return nameOf(m_transform); }

private:
    SampleRows m_rows;
    TreeScores m_scores;
    PostTransform m_transform;
};

/// What decides between two classes.
struct TwoClasses
{
    bool isSingle = false;      ///< all weights are of one class: the other one's score follows
    bool isAllPositive = false; ///< no weight is negative: scores are probabilities
};

/// Labels and scores of every sample.
class TreeClassifier final : public PassiveOperator, public TreeModel
{
public:
    TreeClassifier(std::vector<TensorType> outputs, SampleRows rows, TreeScores scores, PostTransform transform,
                   std::vector<std::int64_t> labels, TwoClasses two)
        : m_rows(rows), m_scores(std::move(scores)), m_transform(transform), m_labels(std::move(labels)), m_two(two)
    {
        m_outputTypes = std::move(outputs);
    }

    [[nodiscard]] std::vector<Tensor> forward(std::span<const Tensor> operands) const override
    {
        const Tensor x = asReals(operands[0]);
        tensor::TensorBuffer labels(DType::Int64, m_outputTypes[0].shape);
        tensor::TensorBuffer scores(m_outputTypes[1].dtype, m_outputTypes[1].shape);
        const std::int64_t classes = m_outputTypes[1].shape[1];
        visitFloat(m_outputTypes[1].dtype, [&](auto zero) {
            using T = decltype(zero);
            for (std::int64_t n = 0; n < m_rows.samples; ++n) {
                const Decided decided = decide(m_scores.ofSample(x, n));
                labels.data<std::int64_t>()[n] = m_labels[decided.position];
                const auto row = transformed(decided.scores, m_transform, decided.second);
                std::transform(row.begin(), row.end(), scores.data<T>() + n * classes,
                               [](double score) { return static_cast<T>(score); });
            }
        });
        return {std::move(labels).freeze(), std::move(scores).freeze()};
    }
    [[nodiscard]] const TreeScores& treeScores() const override { return m_scores; }
    /// Of two classes with the weights of the first one, that score speaks for the second class.
    [[nodiscard]] RawScore rawScore(std::size_t column) const override
    {
        const bool isOne = m_labels.size() == 2 && m_two.isSingle && m_scores.trees.weights.front().target == 0;
        return isOne ? RawScore{0, column == 1 ? 1.0 : -1.0} : RawScore{column, 1};
    }
    [[nodiscard]] std::string transformName() const override { return nameOf(m_transform); }

private:
    struct Decided
    {
        std::size_t position = 0;
        std::vector<double> scores;
        SecondClass second = SecondClass::None;
    };

    [[nodiscard]] Decided decide(SampleScores sums) const
    {
        return m_labels.size() == 2 && m_two.isSingle ? betweenTwo(std::move(sums)) : best(std::move(sums));
    }

    /// The class with the largest score that a leaf gave; the first of equal ones.
    static Decided best(SampleScores sums)
    {
        Decided decided;
        bool isFound = false;
        for (std::size_t k = 0; k < sums.values.size(); ++k) {
            if (sums.isGiven[k] && (!isFound || sums.values[k] > sums.values[decided.position])) {
                decided.position = k;
                isFound = true;
            }
        }
        decided.scores = std::move(sums.values);
        return decided;
    }

    /// One score that speaks for the second class.
    [[nodiscard]] Decided betweenTwo(SampleScores sums) const
    {
        Decided decided;
        const double score = sums.isGiven[1] ? sums.values[1] : sums.values[0];
        decided.position = score > (m_two.isAllPositive ? 0.5 : 0) ? 1 : 0;
        decided.second = m_two.isAllPositive ? SecondClass::Complement : SecondClass::Negative;
        decided.scores = std::move(sums.values);
        if (!sums.isGiven[1]) {
            decided.scores.pop_back();
        }
        return decided;
    }

    SampleRows m_rows;
    TreeScores m_scores;
    PostTransform m_transform;
    std::vector<std::int64_t> m_labels;
    TwoClasses m_two;
};

base::Result<TreeAggregate> aggregateOf(const BindContext& context)
{
    static constexpr std::array<std::string_view, 4> kNames{"AVERAGE", "SUM", "MIN", "MAX"};
    const std::string name = context.textAttribute("aggregate_function", "SUM");
    const auto at = std::find(kNames.begin(), kNames.end(), name);
    if (at == kNames.end()) {
        return context.error(fmt::format("aggregate_function '{}' is not known; AVERAGE, SUM, MIN and MAX are", name));
    }
    return static_cast<TreeAggregate>(at - kNames.begin());
}

BoundResult boundRegressor(const BindContext& context, SampleRows rows, TreeScores scores, PostTransform transform)
{
    const Shape shape{rows.samples, static_cast<std::int64_t>(scores.targets)};
    RETRO_CHECK(expectSize(context, shape));
    return bound<TreeRegressor>(TensorType{context.floatType, shape}, rows, std::move(scores), transform);
}

/// Base values: none, or one per score.
base::Result<void> expectBase(const BindContext& context, const TreeScores& scores)
{
    if (!scores.base.empty() && scores.base.size() != scores.targets) {
        return context.error(fmt::format("{} base values for {} scores", scores.base.size(), scores.targets));
    }
    return {};
}

/// At least one score, and no more than a list can name.
base::Result<std::size_t> targetCount(const BindContext& context, std::int64_t count)
{
    constexpr std::int64_t kMostTargets = 1 << 20;
    if (count < 1 || count > kMostTargets) {
        return context.error(fmt::format("{} scores per sample; between 1 and {} are supported", count, kMostTargets));
    }
    return static_cast<std::size_t>(count);
}

BoundResult bindTreeRegressor(const BindContext& context)
{
    RETRO_TRY(const SampleRows rows, sampleRows(context));
    RETRO_TRY(const PostTransform transform, postTransformOf(context));
    TreeScores scores;
    RETRO_TRY(scores.targets, targetCount(context, context.intAttribute("n_targets", 1)));
    RETRO_TRY(scores.aggregate, aggregateOf(context));
    RETRO_TRY(scores.trees, treesOf(context, "target", rows.features, static_cast<std::int64_t>(scores.targets)));
    scores.base = realsOf(context, "base_values");
    RETRO_CHECK(expectBase(context, scores));
    return boundRegressor(context, rows, std::move(scores), transform);
}

/// Base values are added to the scores, as the standard says. Where all weights of two classes are of one, they are
/// taken as onnxruntime does: one is added to that score.
base::Result<void> expectClassBase(const BindContext& context, const TreeScores& scores, const TwoClasses& two)
{
    if (scores.targets == 2 && two.isSingle && !scores.base.empty()) {
        const bool isFirst = context.intsAttribute("class_ids", {}).front() == 0;
        return isFirst && scores.base.size() == 1
                   ? base::Result<void>()
                   : context.error(
                         "base values of two classes with the weights of one are supported where that is class 0 "
                         "and there is one base value; add them to the weights of a tree");
    }
    return expectBase(context, scores);
}

BoundResult bindTreeClassifier(const BindContext& context)
{
    RETRO_TRY(const SampleRows rows, sampleRows(context));
    RETRO_TRY(const PostTransform transform, postTransformOf(context));
    std::vector<std::int64_t> labels = context.intsAttribute("classlabels_int64s", {});
    if (labels.size() < 2) {
        return context.error("it needs classlabels_int64s with two labels or more");
    }
    TreeScores scores;
    RETRO_TRY(scores.targets, targetCount(context, static_cast<std::int64_t>(labels.size())));
    RETRO_TRY(scores.trees, treesOf(context, "class", rows.features, static_cast<std::int64_t>(scores.targets)));
    scores.base = realsOf(context, "base_values");
    scores.baseIsScore = true;
    const auto ids = context.intsAttribute("class_ids", {});
    const std::vector<double> weights = realsOf(context, "class_weights");
    const TwoClasses two{std::set<std::int64_t>(ids.begin(), ids.end()).size() == 1,
                         std::all_of(weights.begin(), weights.end(), [](double weight) { return weight >= 0; })};
    RETRO_CHECK(expectClassBase(context, scores, two));
    if (labels.size() == 2 && two.isSingle && transform == PostTransform::Probit) {
        return context.error("PROBIT of two classes with weights of one is not supported");
    }
    const Shape shape{rows.samples, static_cast<std::int64_t>(labels.size())};
    RETRO_CHECK(expectSize(context, shape));
    return bound<TreeClassifier>(std::vector<TensorType>{{DType::Int64, {rows.samples}}, {context.floatType, shape}},
                                 rows, std::move(scores), transform, std::move(labels), two);
}

BoundResult bindTreeEnsemble(const BindContext& context)
{
    RETRO_CHECK(expect(context, OperandTypes::Floats));
    RETRO_TRY(const SampleRows rows, sampleRows(context));
    const std::int64_t aggregate = context.intAttribute("aggregate_function", 1);
    const std::int64_t transform = context.intAttribute("post_transform", 0);
    if (aggregate < 0 || aggregate > 3 || transform < 0 || transform > 4) {
        return context.error("aggregate_function must be 0 to 3, and post_transform 0 to 4");
    }
    TreeScores scores;
    RETRO_TRY(scores.targets, targetCount(context, context.intAttribute("n_targets", 1)));
    scores.aggregate = static_cast<TreeAggregate>(aggregate);
    RETRO_TRY(scores.trees, joinedTrees(context, rows.features, static_cast<std::int64_t>(scores.targets)));
    return boundRegressor(context, rows, std::move(scores), static_cast<PostTransform>(transform));
}

} // namespace

const OperatorFamily kTreeEnsembleOperators{
    {"ai.onnx.ml", "TreeEnsembleRegressor", 1, 5, "no relevance", false, bindTreeRegressor},
    {"ai.onnx.ml", "TreeEnsembleClassifier", 1, 5, "no relevance", false, bindTreeClassifier},
    {"ai.onnx.ml", "TreeEnsemble", 5, 5, "no relevance", false, bindTreeEnsemble},
};

} // namespace retro::ops
