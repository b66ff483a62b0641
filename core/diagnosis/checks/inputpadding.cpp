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

/// The tokens of an input, and which of them are padding.
struct PaddedText
{
    ValueId input;
    Tensor tokens;
    Tensor relevance;
    bool hasWords = false; ///< padding is known by its word, not by equal tokens at the end
    std::vector<bool> isPadding;
    double share = 0; ///< of Σ|R|

    [[nodiscard]] double limit() const { return hasWords ? kMostOnPadding : kMostOnEqualEnd; }
};

/// None where the input is no text.
std::optional<PaddedText> paddedText(const Facts& facts, ValueId input)
{
    const Tensor tokens = facts.value(input);
    const Tensor relevance = facts.relevance(input);
    const bool isText = tokens.isValid() && relevance.isValid() && !tensor::isFloating(tokens.dtype()) &&
                        tokens.size() == relevance.size() && tokens.rank() > 0;
    if (!isText) {
        return std::nullopt;
    }
    const std::vector<double> numbers = numbersIn(tokens);
    const bool hasWords = facts.card() != nullptr && !facts.card()->vocabulary.empty();
    const std::vector<bool> isPadding = hasWords
                                            ? paddingByWords(numbers, facts.card()->vocabulary)
                                            : paddingByEnd(numbers, static_cast<std::size_t>(tokens.shape().back()));
    return PaddedText{input, tokens, relevance, hasWords, isPadding, shareOn(isPadding, numbersIn(relevance))};
}

Chart paddingChart(const PaddedText& text)
{
    std::vector<double> sizes = numbersIn(text.relevance);
    std::ranges::transform(sizes, sizes.begin(), [](double r) { return std::abs(r); });
    std::vector<std::size_t> marked;
    for (std::size_t i = 0; i < sizes.size(); ++i) {
        if (text.isPadding[i]) {
            marked.push_back(i);
        }
    }
    return barsOf("|R| of each token; marked: padding", std::move(sizes), marked);
}

void notePadding(const Facts& facts, Probe& probe, const PaddedText& text)
{
    const std::string& name = facts.graph().value(text.input).name;
    Finding& finding = text.hasWords ? probe.warning(2, text.share, facts.place(text.input))
                                     : probe.note(text.share, facts.place(text.input));
    const auto first = std::ranges::find(text.isPadding, true) - text.isPadding.begin();
    finding.what =
        fmt::format("{} of {} tokens are {} and have {} of Σ|R|", std::ranges::count(text.isPadding, true),
                    text.tokens.size(), text.hasWords ? "padding" : "equal ones at the end", percentText(text.share));
    finding.means = "The model takes them in as if they were words: its attention or mean has no padding mask.";
    finding.remedy = "Give it the mask, or the text without them";
    finding.numbers = {{"share_of_sum_abs_R_on_padding", text.share}};
    finding.threshold = text.limit();
    finding.chart = paddingChart(text);
    finding.action = {"mask", {{"input", name}}, {}};
    finding.evidence = {{name, indexAt(first, text.tokens.shape())}};
}

void findPadding(const Facts& facts, Probe& probe)
{
    for (const ValueId input : facts.graph().inputs()) {
        const std::optional<PaddedText> text = paddedText(facts, input);
        if (!text) {
            continue;
        }
        probe.measured(facts.graph().value(input).name, text->share);
        if (text->share > text->limit()) {
            notePadding(facts, probe, *text);
        }
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
