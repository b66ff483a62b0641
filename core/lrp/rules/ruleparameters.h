// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/result.h"
#include "core/lrp/rules/rule.h"
#include "core/ops/algebra.h"

#include <limits>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace retro::lrp
{

using ops::algebra::Stabiliser;
using ops::algebra::StabiliserKind;

/// What happens to relevance that belongs to a bias (docs/composites.md, "Numerical switches").
enum class BiasPolicy : std::uint8_t {
    Absorb, ///< the bias is part of the denominator and takes its share away
    Zero,   ///< the bias is left out of the denominator
    Spread  ///< the bias is part of the denominator; of its share (and the stabiliser's) `biasFactor` goes equally to
            ///< all inputs
};

/// Switches that every rule with a linear denominator has.
struct LinearOptions
{
    Stabiliser stabiliser;
    BiasPolicy bias = BiasPolicy::Absorb;
    double biasFactor = 1; ///< under Spread, 0 to 1: what is not spread is absorbed (Arras et al. 2017)
    bool operator==(const LinearOptions&) const = default;
};

/// Bounds of a number, both inclusive.
struct Range
{
    double low = 0;
    double high = std::numeric_limits<double>::max();
};

/// Takes parameters out of a map one by one and remembers the first thing that is wrong with them.
class ParameterReader
{
public:
    explicit ParameterReader(const RuleParameters& parameters) : m_parameters(parameters) {}

    /// A number within `range`; `fallback` when it is not given.
    [[nodiscard]] double number(std::string_view name, double fallback, Range range = {});
    /// A number within `range`, or a list of them; `fallback` alone when it is not given.
    [[nodiscard]] std::vector<double> numbers(std::string_view name, double fallback, Range range = {});
    /// true/false, or a number 0/1.
    [[nodiscard]] bool flag(std::string_view name, bool fallback);
    /// Position of the text in `options`; `fallback` when it is not given.
    [[nodiscard]] std::size_t choice(std::string_view name, std::span<const std::string_view> options,
                                     std::size_t fallback);
    /// A text that is not empty, an empty one when it is not given; a number is taken as it would be written.
    [[nodiscard]] std::string text(std::string_view name);
    /// "bias", "bias_factor", "stabiliser", "epsilon", "signed".
    [[nodiscard]] LinearOptions linearOptions(double epsilon);
    /// "stabiliser", "epsilon", "signed".
    [[nodiscard]] Stabiliser stabiliser(Stabiliser fallback);
    /// Books an error from outside, for conditions between parameters.
    void fail(std::string_view name, std::string message);

    /// What was asked for, in words: "linear, `form` (`split`, `raw`)", with the default, or all choices and the
    /// default first. "linear" and "stabiliser" are the groups above.
    [[nodiscard]] std::string described() const;
    /// First error, or the first parameter that nobody asked for (the message lists those that exist). Usage; `where`
    /// is the parameter's name.
    [[nodiscard]] base::Result<void> finish() const;

private:
    [[nodiscard]] const RuleParameter* find(std::string_view name, const std::string& values);
    [[nodiscard]] bool isWithin(std::string_view name, double number, Range range);

    const RuleParameters& m_parameters;
    std::set<std::string, std::less<>> m_asked;
    std::vector<std::string> m_descriptions;
    base::Result<void> m_status;
};

/// The parameters that linearOptions() and stabiliser() read.
[[nodiscard]] RuleParameters toParameters(const Stabiliser& stabiliser);
[[nodiscard]] RuleParameters toParameters(const LinearOptions& options);
/// For people: "1e-06", with what is not usual: "1e-06, bias zero".
[[nodiscard]] std::string textOf(const LinearOptions& options);
[[nodiscard]] std::string textOf(const Stabiliser& stabiliser);

} // namespace retro::lrp
