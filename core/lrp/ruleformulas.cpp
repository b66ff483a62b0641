// SPDX-License-Identifier: Apache-2.0
#include "core/lrp/ruleformulas.h"

#include <array>
#include <utility>

namespace retro::lrp
{

namespace
{

// Longer names before those that they begin with.
constexpr std::array<std::pair<std::string_view, std::string_view>, 28> kFormulas{{
    {"lrp-0", "D = xW + b; R_in = x·(R/D · Wᵀ)"},
    {"epsilon", "D = xW + b; R_in = x·(R/stab(D) · Wᵀ)"},
    {"z-plus raw", "D = xW⁺ + b; R_in = x·(R/stab(D) · W⁺ᵀ)"},
    {"z-plus", "D = x⁺W⁺ + x⁻W⁻ + b⁺; R_in = x⁺·(R/stab(D) · W⁺ᵀ) + x⁻·(R/stab(D) · W⁻ᵀ)"},
    {"alpha-beta", "R_in = α·(share over x⁺W⁺ + x⁻W⁻ + b⁺) − β·(share over x⁺W⁻ + x⁻W⁺ + b⁻)"},
    {"gamma", "D = x⁺(W+γW⁺) + x⁻(W+γW⁻) + (b+γb⁺) where z > 0, γ with the other sign where z < 0; R_in as D"},
    {"z-box", "D = xW − low·W⁺ − high·W⁻; R_in = x·(s·Wᵀ) − low·(s·W⁺ᵀ) − high·(s·W⁻ᵀ), s = R/stab(D)"},
    {"flat", "D = number of inputs; R_in = R/stab(D) · 1ᵀ"},
    {"w-square", "D = ΣW² + b²; R_in = R/stab(D) · (W²)ᵀ"},
    {"gradient", "R_in = Jᵀ·R"},
    {"secant", "R_in = R·f(x)/x"},
    {"detached-gradient", "g = R·w/σ; R_in = g − mean(g)"},
    {"pass", "R_in = R"},
    {"stop", "R_in = 0"},
    {"norm", "R_in = x·Jᵀ(R/stab(f(x)))"},
    {"uniform", "R_in = R in equal parts"},
    {"winner-take-all", "R_in = R at the first maximum"},
    {"proportional", "R_in = x·ΣR/stab(Σx) over windows"},
    {"softmax-weighted", "R_in = ΣR·softmax(βx) over windows"},
    {"deconvnet", "R_in = R⁺"},
    {"guided-backprop", "R_in = R⁺ where x > 0"},
    {"beta-smooth", "R_in = R·sigmoid(βx)"},
    {"abs-ratio", "R_i = R·|x_i| / (Σ|x| + ε)"},
    {"softmax-taylor", "R_in = x·(g − p·Σg), g = R; of ln p, g = R/stab(ln p)"},
    {"detached-deviation", "g = R/stab(y)·w/σ; R_in = x·(g − mean(g))"},
    {"signal-take-all", "R_in = R for the signal, 0 for its gate"},
    {"decomposed", "the rules of its parts"},
    {"lut", "s = R/stab(y); c_t = Σ s·row_t, shared among the comparisons of table t, half to each anchor"},
}};

} // namespace

std::string_view formulaOf(std::string_view ruleText)
{
    for (const auto& [name, formula] : kFormulas) {
        const bool isName =
            ruleText.starts_with(name) &&
            (ruleText.size() == name.size() || ruleText[name.size()] == ' ' || ruleText[name.size()] == ',');
        if (isName) {
            return formula;
        }
    }
    return {};
}

} // namespace retro::lrp
