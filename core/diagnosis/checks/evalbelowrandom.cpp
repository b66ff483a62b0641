// SPDX-License-Identifier: Apache-2.0
#include "core/diagnosis/checks/checks.h"
#include "core/diagnosis/facts.h"
#include "core/diagnosis/numbertext.h"
#include "core/diagnosis/targetscores.h"
#include "core/execute/forward.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <optional>
#include <random>
#include <string>
#include <vector>

namespace retro::diagnosis
{

namespace
{

/// How the score of the explained class falls while elements of an input are replaced by the mean of their channel:
/// means over ten steps, as shares of the score of the whole input.
struct FlippingCurves
{
    ValueId input;         ///< the floating input with the most relevance
    double mostFirst = 0;  ///< most relevant elements first
    double leastFirst = 0; ///< least relevant first
    double random = 0;     ///< mean of three orders, always the same
};

constexpr std::size_t kSteps = 10;
constexpr std::size_t kRandomOrders = 3;

/// Elements of an input that are replaced together: the channels at one place of a picture, else single elements.
class Places
{
public:
    Places(const Tensor& input, const Tensor& relevance)
        : m_shape(input.shape()), m_numbers(numbersIn(input)), m_isPicture(input.rank() == 4)
    {
        const std::size_t channels = m_isPicture ? static_cast<std::size_t>(m_shape[1]) : 1;
        m_count = m_numbers.size() / std::max<std::size_t>(1, channels);
        m_means.resize(channels, 0);
        m_scores.resize(m_count, 0);
        const std::vector<double> arrived = numbersIn(relevance);
        for (std::size_t i = 0; i < m_numbers.size(); ++i) {
            m_means[i / m_count] += m_numbers[i] / static_cast<double>(m_count);
            m_scores[i % m_count] += arrived[i];
        }
    }

    /// Positions from the most relevant to the least.
    [[nodiscard]] std::vector<std::size_t> ranked() const
    {
        std::vector<std::size_t> order(m_count);
        std::iota(order.begin(), order.end(), std::size_t{0});
        std::ranges::stable_sort(order, [this](std::size_t a, std::size_t b) { return m_scores[a] > m_scores[b]; });
        return order;
    }

    [[nodiscard]] Tensor without(const std::vector<std::size_t>& order, std::size_t count) const
    {
        std::vector<float> numbers(m_numbers.begin(), m_numbers.end());
        for (std::size_t k = 0; k < count; ++k) {
            for (std::size_t c = 0; c < m_means.size(); ++c) {
                numbers[c * m_count + order[k]] = static_cast<float>(m_means[c]);
            }
        }
        return Tensor::of<float>(m_shape, numbers);
    }

private:
    tensor::Shape m_shape;
    std::vector<double> m_numbers;
    bool m_isPicture;
    std::size_t m_count = 0;
    std::vector<double> m_means;  // per channel
    std::vector<double> m_scores; // per position
};

class Flipper
{
public:
    Flipper(const Facts& facts, std::size_t which, std::size_t classIndex)
        : m_facts(facts), m_which(which), m_class(classIndex)
    {}

    /// Score of the explained class; nothing where the model does not run.
    [[nodiscard]] std::optional<double> score(const Tensor& input) const
    {
        const Pass& pass = *m_facts.pass();
        std::vector<Tensor> inputs = m_facts.inputs();
        inputs[m_which] = input;
        const std::array kept{pass.target};
        const auto forward = execute::forward(pass.model, execute::inRun(*pass.graph, inputs, pass.model->precision()),
                                              execute::SavePolicy::Nothing, m_facts.stop(), {}, kept);
        if (!forward) {
            return std::nullopt;
        }
        const Tensor kept0 = forward->saved.anyValue(pass.target);
        const TargetScores row = scoresOf(m_facts, kept0.isValid() ? kept0 : forward->value(pass.target));
        return m_class < row.scores.size() ? std::optional(row.scores[m_class]) : std::nullopt;
    }

    /// Mean of the scores over the steps, as a share of `whole`.
    [[nodiscard]] std::optional<double> meanOf(const Places& places, const std::vector<std::size_t>& order,
                                               double whole) const
    {
        double sum = 0;
        for (std::size_t step = 1; step <= kSteps; ++step) {
            const std::optional<double> score = this->score(places.without(order, order.size() * step / (kSteps + 1)));
            if (!score) {
                return std::nullopt;
            }
            sum += *score / std::abs(whole) / static_cast<double>(kSteps);
        }
        return sum;
    }

private:
    const Facts& m_facts;
    std::size_t m_which;
    std::size_t m_class;
};

/// Index of the floating input with the most relevance; none where all are names.
std::optional<std::size_t> inputWithMost(const Facts& facts)
{
    std::optional<std::size_t> best;
    double most = 0;
    for (std::size_t i = 0; i < facts.graph().inputs().size(); ++i) {
        const ValueId input = facts.graph().inputs()[i];
        if (tensor::isFloating(facts.graph().value(input).dtype) && facts.magnitude(input) > most) {
            most = facts.magnitude(input);
            best = i;
        }
    }
    return best;
}

/// Runs the model forward 50 times. Nothing where that cannot be done; `why` then says why.
std::optional<FlippingCurves> flippingCurves(const Facts& facts, std::string& why)
{
    const Pass& pass = *facts.pass();
    const std::optional<std::size_t> which = inputWithMost(facts);
    const TargetScores row = scoresOf(facts, facts.value(pass.target));
    if (!which || !pass.model || row.chosen < 0 || pass.targetIndex.size() != 1) {
        why = "it needs one sample with a floating input, and a class";
        return std::nullopt;
    }
    const ValueId input = facts.graph().inputs()[*which];
    const Flipper flipper(facts, *which, static_cast<std::size_t>(row.chosen));
    const Places places(facts.inputs()[*which], facts.relevance(input));
    const double whole = row.scores[static_cast<std::size_t>(row.chosen)];
    std::vector<std::size_t> order = places.ranked();
    const auto most = flipper.meanOf(places, order, whole);
    std::ranges::reverse(order);
    const auto least = flipper.meanOf(places, order, whole);
    if (whole == 0 || !most || !least) {
        why = "the model does not run on the changed input";
        return std::nullopt;
    }
    FlippingCurves curves{input, *most, *least, 0};
    for (std::size_t i = 0; i < kRandomOrders; ++i) {
        std::mt19937 random(static_cast<unsigned>(i + 1));
        for (std::size_t k = order.size(); k > 1; --k) { // of its own: std::shuffle differs between libraries
            std::swap(order[k - 1], order[random() % k]);
        }
        curves.random += flipper.meanOf(places, order, whole).value_or(0) / static_cast<double>(kRandomOrders);
    }
    return curves;
}

/// Section 4.9, eval.below-random: the area between least and most relevant first ≤ 0, and most relevant first falls
/// slower than random. A warning together with any warning of `flow` (ranking.cpp).
constexpr double kLeastArea = 0;
constexpr double kBelowRandomEffect = 0.5;

void findBelowRandom(const Facts& facts, Probe& probe)
{
    std::string why;
    const std::optional<FlippingCurves> curves = flippingCurves(facts, why);
    if (!curves) {
        return probe.notRun(why);
    }
    const std::string& input = facts.graph().value(curves->input).name;
    const double area = curves->leastFirst - curves->mostFirst;
    probe.measured(input, -area);
    if (!(area <= kLeastArea && curves->mostFirst > curves->random)) {
        return;
    }
    Finding& finding = probe.note(kBelowRandomEffect, facts.place(curves->input));
    finding.what =
        fmt::format("the score falls slower when the most relevant elements go first than at random: mean {} "
                    "against {} (least relevant first {})",
                    numberText(curves->mostFirst), numberText(curves->random), numberText(curves->leastFirst));
    finding.means = "What the heatmap points at matters less to the model than chance would have it.";
    finding.remedy = "Look at the other findings first";
    finding.numbers = {{"area", area}, {"most_first", curves->mostFirst}, {"random", curves->random}};
    finding.threshold = kLeastArea;
    finding.chart =
        barsOf("Mean score while elements are replaced", {curves->mostFirst, curves->random, curves->leastFirst}, {0});
    finding.chart.names = {"most relevant first", "by chance", "least relevant first"};
    finding.action = {"go to node", {{"input", input}}, {}};
}

} // namespace

const Check evalBelowRandom{"eval.below-random",
                            "−(area between least and most relevant elements replaced first), of scores as shares",
                            kLeastArea,
                            "1 of 12 trained models is above",
                            Need::Evaluation | Need::Relevance | Need::Forward | Need::Inputs,
                            false,
                            findBelowRandom};

} // namespace retro::diagnosis
