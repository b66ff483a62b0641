// SPDX-License-Identifier: Apache-2.0
// Einsum: the result takes the place of the operand that gets a part.
#include "core/tape/gradientgraph/emitrule.h"

#include <algorithm>
#include <map>

namespace retro::tape
{

namespace
{

constexpr std::string_view kDots = "...";

/// An equation with a letter for every axis: dots have become letters, and the term of the result is there.
struct Equation
{
    std::vector<std::string> terms; ///< per operand
    std::string result;
    std::map<char, std::int64_t> extents;
};

/// Letters that an equation has not, from z downwards.
std::string freeLetters(const std::string& equation)
{
    std::string letters;
    for (const char letter : std::string_view("zyxwvutsrqponmlkjihgfedcbaZYXWVUTSRQPONMLKJIHGFEDCBA")) {
        letters += equation.find(letter) == std::string::npos ? std::string(1, letter) : "";
    }
    return letters;
}

/// Dots stand for the last axes of `letters`, as many as there are too few letters.
std::string withLetters(std::string term, std::size_t count, const std::string& letters)
{
    const std::size_t at = term.find(kDots);
    if (at != std::string::npos) {
        std::string axes = letters.substr(0, count);
        std::ranges::reverse(axes); // axes behind dots are counted from the last one
        term.replace(at, kDots.size(), axes);
    }
    return term;
}

/// "ab,bc->ac" → {"ab", "bc"}; as many as commas say.
std::vector<std::string> splitTerms(const std::string& equation)
{
    const std::string left = equation.substr(0, equation.find("->"));
    std::vector<std::string> terms;
    for (std::size_t at = 0; at <= left.size();) {
        const std::size_t end = std::min(left.find(',', at), left.size());
        terms.push_back(left.substr(at, end - at));
        at = end + 1;
    }
    return terms;
}

/// Without an arrow: the axes behind dots, then letters that stand once, in the order of the alphabet.
std::string impliedResult(const std::vector<std::string>& terms, bool hasDots)
{
    std::map<char, int> counts;
    for (const std::string& term : terms) {
        for (const char letter : term) {
            ++counts[letter];
        }
    }
    std::string result = hasDots ? std::string(kDots) : std::string();
    for (const auto& [letter, count] : counts) {
        result += count == 1 && letter != '.' ? std::string(1, letter) : "";
    }
    return result;
}

/// False where a letter stands for different extents.
bool takeExtents(Equation& equation, const std::string& term, const tensor::Shape& shape)
{
    bool fits = term.size() == shape.size();
    for (std::size_t i = 0; fits && i < term.size(); ++i) {
        fits = equation.extents.emplace(term[i], shape[i]).first->second == shape[i];
    }
    return fits;
}

/// Nothing for another number of operands, and where an axis is stretched.
std::optional<Equation> equationOf(const EmitSite& site)
{
    std::string text = site.text("equation", "");
    std::erase(text, ' ');
    const std::string letters = freeLetters(text);
    Equation equation;
    const std::vector<std::string> given = splitTerms(text);
    if (given.size() != site.node.inputs.size()) {
        return std::nullopt;
    }
    std::size_t most = 0; // axes behind dots
    for (std::size_t slot = 0; slot < given.size(); ++slot) {
        const bool hasDots = given[slot].find(kDots) != std::string::npos;
        const std::size_t rank = site.shape(slot).size();
        const std::size_t named = given[slot].size() - (hasDots ? kDots.size() : 0);
        const std::size_t count = hasDots && rank > named ? rank - named : 0;
        most = std::max(most, count);
        equation.terms.push_back(withLetters(given[slot], count, letters));
        if (!takeExtents(equation, equation.terms.back(), site.shape(slot))) {
            return std::nullopt;
        }
    }
    const std::size_t arrow = text.find("->");
    const bool hasDots = text.find(kDots) != std::string::npos;
    const std::string result = arrow == std::string::npos ? impliedResult(given, hasDots) : text.substr(arrow + 2);
    equation.result = withLetters(result, most, letters);
    return equation;
}

bool repeats(const std::string& term)
{
    return std::ranges::any_of(term, [&](char letter) { return std::ranges::count(term, letter) > 1; });
}

std::string plainEquation(const EmitSite& site)
{
    const std::optional<Equation> equation = equationOf(site);
    if (!equation) {
        return "a letter of its equation stands for different extents, which stretches an operand; expand it before";
    }
    for (std::size_t slot = 0; slot < equation->terms.size(); ++slot) {
        if (site.wants(slot) && repeats(equation->terms[slot])) {
            return "a letter stands twice in one term, for a diagonal, which has no rule here";
        }
    }
    return {};
}

/// The part of an operand. A letter that stands in its term alone was summed: ones bring it back.
ValueId partOf(EmitSite& site, const Equation& equation, std::size_t slot)
{
    std::string text = equation.result;
    std::vector<ValueId> inputs{site.up()};
    for (std::size_t other = 0; other < equation.terms.size(); ++other) {
        if (other != slot) {
            text += "," + equation.terms[other];
            inputs.push_back(site.operands[other]);
        }
    }
    for (const char letter : equation.terms[slot]) {
        if (text.find(letter) == std::string::npos) {
            text += std::string(",") + letter;
            inputs.push_back(site.emit.filled({equation.extents.at(letter)}, 1));
        }
    }
    return site.emit.node("Einsum", std::move(inputs), {{"equation", text + "->" + equation.terms[slot]}});
}

EmittedParts einsum(EmitSite& site)
{
    const Equation equation = *equationOf(site);
    EmittedParts parts(site.operands.size());
    for (std::size_t slot = 0; slot < parts.size(); ++slot) {
        parts[slot] = site.wants(slot) ? partOf(site, equation, slot) : ValueId();
    }
    return parts;
}

} // namespace

const EmitRules kEinsumRules{{"Einsum", plainEquation, einsum}};

} // namespace retro::tape
