// SPDX-License-Identifier: Apache-2.0
#include "core/diagnosis/checks/checks.h"
#include "core/diagnosis/numbertext.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>

namespace retro::diagnosis
{

namespace
{

/// Share of Σ|R| on padding (section 4.2, input.padding: > 0.1; without a vocabulary > 0.25 on ≥ 3 equal last tokens).
constexpr double kMostOnPadding = 0.1;
constexpr double kMostOnEqualEnd = 0.25;
constexpr std::size_t kLeastEqualEnd = 3;

bool isPadWord(std::string word)
{
    std::ranges::transform(word, word.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    return word.find("pad") != std::string::npos;
}

/// Which tokens are padding, by the words of the vocabulary.
std::vector<bool> paddingByWords(const std::vector<double>& tokens, const std::vector<std::string>& words)
{
    std::vector<bool> isPadding;
    for (const double token : tokens) {
        const bool isKnown = token >= 0 && token < static_cast<double>(words.size());
        isPadding.push_back(isKnown && isPadWord(words[static_cast<std::size_t>(token)]));
    }
    return isPadding;
}

/// The equal tokens at the end of each row, where there are enough of them.
std::vector<bool> paddingByEnd(const std::vector<double>& tokens, std::size_t length)
{
    std::vector<bool> isPadding(tokens.size(), false);
    for (std::size_t row = 0; length > 0 && row + length <= tokens.size(); row += length) {
        std::size_t same = 1;
        while (same < length && tokens[row + length - 1 - same] == tokens[row + length - 1]) {
            ++same;
        }
        for (std::size_t i = 0; same >= kLeastEqualEnd && same < length && i < same; ++i) {
            isPadding[row + length - 1 - i] = true;
        }
    }
    return isPadding;
}

double shareOn(const std::vector<bool>& isPadding, const std::vector<double>& relevance)
{
    double on = 0;
    double all = 0;
    for (std::size_t i = 0; i < relevance.size(); ++i) {
        all += std::abs(relevance[i]);
        on += isPadding[i] ? std::abs(relevance[i]) : 0;
    }
    return all > 0 ? on / all : 0;
}

void findPadding(const Facts& facts, Probe& probe)
{
    const graph::Graph& graph = facts.graph();
    for (const ValueId input : graph.inputs()) {
        const Tensor tokens = facts.value(input);
        const Tensor relevance = facts.relevance(input);
        const bool isText = tokens.isValid() && relevance.isValid() && !tensor::isFloating(tokens.dtype()) &&
                            tokens.size() == relevance.size() && tokens.rank() > 0;
        if (!isText) {
            continue;
        }
        const std::vector<double> numbers = numbersIn(tokens);
        const bool hasWords = facts.card() != nullptr && !facts.card()->vocabulary.empty();
        const std::vector<bool> isPadding =
            hasWords ? paddingByWords(numbers, facts.card()->vocabulary)
                     : paddingByEnd(numbers, static_cast<std::size_t>(tokens.shape().back()));
        const double share = shareOn(isPadding, numbersIn(relevance));
        probe.measured(graph.value(input).name, share);
        if (!(share > (hasWords ? kMostOnPadding : kMostOnEqualEnd))) {
            continue;
        }
        Finding& finding =
            hasWords ? probe.warning(2, share, facts.place(input)) : probe.note(share, facts.place(input));
        const auto first = std::ranges::find(isPadding, true) - isPadding.begin();
        finding.what = fmt::format("{} of {} tokens are {} and have {} of Σ|R|", std::ranges::count(isPadding, true),
                                   numbers.size(), hasWords ? "padding" : "equal ones at the end", percentText(share));
        finding.means = "The model takes them in as if they were words: its attention or mean has no padding mask.";
        finding.remedy = "Give it the mask, or the text without them";
        finding.numbers = {{"share_of_sum_abs_R_on_padding", share}};
        finding.threshold = hasWords ? kMostOnPadding : kMostOnEqualEnd;
        std::vector<double> sizes = numbersIn(relevance);
        std::ranges::transform(sizes, sizes.begin(), [](double r) { return std::abs(r); });
        std::vector<std::size_t> marked;
        for (std::size_t i = 0; i < sizes.size(); ++i) {
            if (isPadding[i]) {
                marked.push_back(i);
            }
        }
        finding.chart = barsOf("|R| of each token; marked: padding", std::move(sizes), marked);
        finding.action = {"mask", {{"input", graph.value(input).name}}, {}};
        finding.evidence = {{graph.value(input).name, indexAt(first, tokens.shape())}};
    }
}

} // namespace

const Check inputPadding{"input.padding",
                         "share of Σ|R| of a text on tokens that are padding",
                         kMostOnPadding,
                         "0",
                         Need::Relevance | Need::Forward,
                         true,
                         findPadding};

} // namespace retro::diagnosis
