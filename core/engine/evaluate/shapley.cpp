// SPDX-License-Identifier: Apache-2.0
#include "core/engine/evaluate/attribution.h"
#include "core/engine/evaluate/draws.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>

namespace retro::engine
{

using base::Result;

namespace
{

constexpr std::size_t kFewUnits = 10; ///< up to here all coalitions are asked

/// The mean of what each unit adds over drawn orders, and how sure it is.
class Means
{
public:
    explicit Means(std::size_t units) : m_mean(units, 0), m_squares(units, 0) {}

    /// Starts another order.
    void next() { ++m_count; }
    void add(std::size_t unit, double amount) // Welford
    {
        const double apart = amount - m_mean[unit];
        m_mean[unit] += apart / m_count;
        m_squares[unit] += apart * (amount - m_mean[unit]);
    }
    [[nodiscard]] const std::vector<double>& mean() const { return m_mean; }
    /// Standard error of each mean; more than one order was drawn.
    [[nodiscard]] std::vector<double> errors() const
    {
        std::vector<double> errors;
        for (const double squares : m_squares) {
            errors.push_back(std::sqrt(squares / (m_count - 1) / m_count));
        }
        return errors;
    }

private:
    std::vector<double> m_mean;
    std::vector<double> m_squares;
    double m_count = 0;
};

class Shapley final : public Attribution
{
public:
    Shapley(int permutations, std::uint64_t seed) : m_permutations(permutations), m_seed(seed) {}

    [[nodiscard]] std::string_view name() const override { return "shapley"; }
    [[nodiscard]] Passes passes() const override { return Passes::Forward; }

    [[nodiscard]] Result<Attributed> attribute(const Subject& subject, const Units& units,
                                               const EvaluationProgress& progress) const override
    {
        return units.count() <= kFewUnits ? ofAll(subject, units, progress) : ofOrders(subject, units, progress);
    }

private:
    /// By the score of every coalition; bit k of its number says that unit k is there.
    static Result<Attributed> ofAll(const Subject& subject, const Units& units, const EvaluationProgress& progress)
    {
        const std::size_t count = std::size_t{1} << units.count();
        const auto inputOf = [&](std::size_t coalition) {
            Removal removal(subject.input(), units);
            for (std::size_t unit = 0; unit < units.count(); ++unit) {
                if ((coalition >> unit & 1U) == 0) {
                    removal.remove(unit);
                }
            }
            return removal.tensor();
        };
        RETRO_TRY(const std::vector<double> scores, subject.scores(count, inputOf, progress));
        std::vector<double> weights; // of a coalition without the unit, by its size: |S|! (n − |S| − 1)! / n!
        for (std::size_t size = 0; size < units.count(); ++size) {
            const auto n = static_cast<double>(units.count());
            const auto s = static_cast<double>(size);
            weights.push_back(std::exp(std::lgamma(s + 1) + std::lgamma(n - s) - std::lgamma(n + 1)));
        }
        std::vector<double> values(units.count(), 0);
        for (std::size_t unit = 0; unit < units.count(); ++unit) {
            for (std::size_t coalition = 0; coalition < count; ++coalition) {
                if ((coalition >> unit & 1U) == 0) {
                    values[unit] += weights[static_cast<std::size_t>(std::popcount(coalition))] *
                                    (scores[coalition | std::size_t{1} << unit] - scores[coalition]);
                }
            }
        }
        Attributed result{units.spread(values, subject.input())};
        result.numbers = {{"score_of_baseline", scores.front()}};
        result.how = fmt::format("exact: all {} coalitions of {}", count, units.text());
        return result;
    }

    Result<Attributed> ofOrders(const Subject& subject, const Units& units, const EvaluationProgress& progress) const
    {
        Draws draws(m_seed);
        Means means(units.count());
        std::vector<std::size_t> order(units.count());
        std::iota(order.begin(), order.end(), std::size_t{0});
        Removal baseline(subject.input(), units);
        for (std::size_t unit = 0; unit < units.count(); ++unit) {
            baseline.remove(unit);
        }
        RETRO_TRY(const double empty, subject.score(baseline.tensor()));
        RETRO_TRY(const double whole, subject.score(subject.input()));
        for (int i = 0; i < m_permutations; ++i) {
            draws.shuffle(std::span(order));
            RETRO_TRY(const std::vector<double> between, alongOrder(subject, units, order));
            means.next();
            for (std::size_t k = 0; k < order.size(); ++k) {
                const double before = k == 0 ? empty : between[k - 1];
                means.add(order[k], (k + 1 == order.size() ? whole : between[k]) - before);
            }
            report(progress, i + 1, m_permutations);
        }
        Attributed result{units.spread(means.mean(), subject.input())};
        result.numbers = {{"score_of_baseline", empty}};
        result.how = fmt::format("{} orders of {}", m_permutations, units.text());
        if (m_permutations > 1) {
            addErrors(means.errors(), subject, units, result);
        }
        return result;
    }

    /// Scores after the first, second, … unit of an order is there; not with none and not with all.
    static Result<std::vector<double>> alongOrder(const Subject& subject, const Units& units,
                                                  const std::vector<std::size_t>& order)
    {
        return subject.scores(order.size() - 1, [&](std::size_t k) {
            Removal removal(subject.input(), units);
            for (std::size_t later = k + 1; later < order.size(); ++later) {
                removal.remove(order[later]);
            }
            return removal.tensor();
        });
    }

    static void addErrors(const std::vector<double>& errors, const Subject& subject, const Units& units,
                          Attributed& result)
    {
        const double largest = *std::ranges::max_element(errors);
        result.arrays = {{"standard_error", units.spread(errors, subject.input())}};
        result.numbers.emplace_back("standard_error_largest", largest);
        result.how += fmt::format("; standard error of a unit at most {:.3g}", largest);
    }

    int m_permutations;
    std::uint64_t m_seed;
};

} // namespace

AttributionPointer shapley(int permutations, std::uint64_t seed)
{
    return std::make_shared<const Shapley>(permutations, seed);
}

} // namespace retro::engine
