// SPDX-License-Identifier: Apache-2.0
#include "core/base/cancel.h"
#include "core/engine/evaluate/attribution.h"
#include "core/engine/evaluate/treeterms.h"
#include "core/ops/ml/treeshapley.h"

#include <fmt/format.h>

#include <algorithm>

namespace retro::engine
{

using base::Result;
using tensor::Tensor;

namespace
{

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
        ops::addTreeShapley(trees.treeScores(), term.score, there, away, own);
        for (std::size_t i = 0; i < own.size(); ++i) {
            values[i] += term.factor * own[i];
        }
    }

    Tensor m_background;
};

} // namespace

AttributionPointer treeShap(const Tensor& background) { return std::make_shared<const TreeShap>(background); }

} // namespace retro::engine
