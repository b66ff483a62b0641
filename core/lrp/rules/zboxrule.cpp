// SPDX-License-Identifier: Apache-2.0
#include "core/lrp/rules/linearform.h"
#include "core/lrp/rules/ruledeclaration.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace retro::lrp
{

namespace
{

RuleParameter asParameter(const std::vector<double>& bounds)
{
    return bounds.size() == 1 ? RuleParameter(bounds.front()) : RuleParameter(bounds);
}

constexpr Range kAnything{std::numeric_limits<double>::lowest(), std::numeric_limits<double>::max()};

} // namespace

RulePointer zBoxRule(double low, double high, const Stabiliser& stabiliser)
{
    return zBoxRule(std::vector<double>{low}, std::vector<double>{high}, stabiliser);
}

RulePointer zBoxRule(std::vector<double> low, std::vector<double> high, const Stabiliser& stabiliser)
{
    RuleParameters parameters = toParameters(stabiliser);
    parameters["low"] = asParameter(low);
    parameters["high"] = asParameter(high);
    std::string text =
        fmt::format("z-box {} to {}, epsilon {}", fmt::join(low, "/"), fmt::join(high, "/"), textOf(stabiliser));
    // b − b⁺ − b⁻ = 0: the bias never enters.
    LinearShare share{
        {{InputPart::AboveLow, {WeightPart::Positive, 0}}, {InputPart::BelowHigh, {WeightPart::Negative, 0}}},
        std::nullopt,
        {stabiliser, BiasPolicy::Zero}};
    return linearFormRule("z-box", std::move(text), std::move(parameters),
                          {{std::move(share)}, std::move(low), std::move(high)});
}

std::pair<std::vector<double>, std::vector<double>> readBox(ParameterReader& reader)
{
    std::vector<double> low = reader.numbers("low", -3, kAnything);
    std::vector<double> high = reader.numbers("high", 3, kAnything);
    const std::size_t count = std::max(low.size(), high.size());
    if (std::min(low.size(), high.size()) != 1 && low.size() != high.size()) {
        reader.fail("low", fmt::format("has {} numbers but high has {}", low.size(), high.size()));
        return {{-3}, {3}};
    }
    for (std::size_t i = 0; i < count; ++i) {
        const double below = low[low.size() == 1 ? 0 : i];
        const double above = high[high.size() == 1 ? 0 : i];
        if (!(below <= above)) {
            reader.fail("low", fmt::format("low ({}) must not be above high ({})", below, above));
        }
    }
    return {std::move(low), std::move(high)};
}

namespace
{

RulePointer readZBox(ParameterReader& reader)
{
    auto [low, high] = readBox(reader);
    return zBoxRule(std::move(low), std::move(high), reader.stabiliser({}));
}

} // namespace

extern const RuleDeclaration kZBoxRule{
    "z-box",
    readZBox,
    [](const FormulaWords&) {
        return std::string("D = xW − low·W⁺ − high·W⁻; R_in = x·(s·Wᵀ) − low·(s·W⁺ᵀ) − high·(s·W⁻ᵀ), s = R/stab(D)");
    },
    "linear map",
    "Montavon et al. 2017",
    {.isForOneLayer = true}};

} // namespace retro::lrp
