// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/lrp/rules/rules.h"
#include "core/ops/structure.h"

#include <fmt/format.h>

#include <string>
#include <string_view>
#include <utility>

/// What a rule's own file says of it; a line in ruleregistry.cpp makes it known.
namespace retro::lrp
{

using ops::StructureKind;

/// What Rule::text() says of a rule, and where it is applied.
struct FormulaWords
{
    std::string_view text;      ///< "gamma 0.25 original, epsilon 1e-06, bias zero"
    std::string_view structure; ///< "linear map"

    /// Whether the text has a word, and whether the structure is of a kind.
    [[nodiscard]] bool has(std::string_view word) const { return text.find(word) != std::string_view::npos; }
    [[nodiscard]] bool is(StructureKind kind) const { return structure == ops::nameOf(kind); }
    /// What follows `word` up to the next comma: the "1e-06" of ", epsilon 1e-06".
    [[nodiscard]] std::string_view after(std::string_view word) const
    {
        const std::size_t at = text.find(word);
        const std::string_view rest = at == std::string_view::npos ? std::string_view() : text.substr(at + word.size());
        return rest.substr(0, rest.find(','));
    }
    /// The bias in a denominator: nothing where it is left out.
    [[nodiscard]] std::string bias(std::string_view term) const
    {
        return has(", bias zero") ? std::string() : fmt::format(" + {}", term);
    }
};

/// A rule by its name, as composite files have it.
struct RuleDeclaration
{
    std::string_view name;
    /// The rule from its parameters; takes what it needs and leaves errors in the reader.
    RulePointer (*read)(ParameterReader& reader);
    /// What it does at a node, in one line for people (formulaOf).
    std::string (*formula)(const FormulaWords& words);
    std::string_view use;         ///< the structures that it is defined for, for people
    std::string_view source = {}; ///< who published it
    RuleTraits traits = {};
};

/// A formula that divides by a sum of weights: D = `denominator` + `bias`, R_in = `relevance`, s = R/stab(D); `own` is
/// the denominator without its bias.
[[nodiscard]] std::string weightFormula(const FormulaWords& words, std::string_view denominator, std::string_view bias,
                                        std::string_view relevance, std::string_view own);

/// Bounds of a z-box: "low" and "high", numbers or lists, −3 and 3 when they are not given.
[[nodiscard]] std::pair<std::vector<double>, std::vector<double>> readBox(ParameterReader& reader);
/// The parameter "filter" that every rule has: the fraction of filteredRule(), 1 when it is not given.
[[nodiscard]] double readFraction(ParameterReader& reader, std::string_view name = "filter");

} // namespace retro::lrp
