// SPDX-License-Identifier: Apache-2.0
#include "core/diagnosis/checks/checks.h"
#include "core/diagnosis/numbertext.h"
#include "core/ops/elements.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

namespace retro::diagnosis
{

namespace
{

/// Rows of a table of words that no word of the card's vocabulary has, or words without a row.
constexpr double kMostWithoutWord = 0;
constexpr double kVocabularyBase = 2.5;
constexpr double kVocabularyEffect = 0.6;

/// The table that an input is looked up in; nothing where it is no text.
std::optional<std::int64_t> rowsOfTable(const ModelFacts& model, ValueId input)
{
    for (const graph::Use& use : model.graph().uses(input)) {
        const graph::Node& node = model.graph().node(use.node);
        const Tensor table = ops::areElements(node, {ops::Elements::PickedBy}) && use.slot == 1
                                 ? model.weightOperand(node, 0)
                                 : Tensor();
        if (table.isValid() && table.rank() == 2) {
            return table.shape()[0];
        }
        if (ops::keepsElements(node)) {
            return rowsOfTable(model, node.outputs.front());
        }
    }
    return std::nullopt;
}

/// True for a word that stands for no word of a text: "[PAD]", "<unk>", "</s>", "".
bool isSpecial(const std::string& word)
{
    return word.empty() || (word.front() == '[' && word.back() == ']') || (word.front() == '<' && word.back() == '>');
}

/// The number of a token that another input says is none: the mask is 0 where it stands, and nowhere else.
std::optional<std::int64_t> paddingOf(const Facts& facts, std::size_t text)
{
    const std::vector<double> tokens = numbersIn(facts.inputs()[text]);
    for (std::size_t i = 0; i < facts.inputs().size(); ++i) {
        const std::vector<double> mask = numbersIn(facts.inputs()[i]);
        const bool isMask = i != text && mask.size() == tokens.size() && std::ranges::count(mask, 0.0) > 0 &&
                            std::ranges::count(mask, 0.0) + std::ranges::count(mask, 1.0) == std::ssize(mask);
        if (!isMask) {
            continue;
        }
        const double padding = tokens[static_cast<std::size_t>(std::ranges::find(mask, 0.0) - mask.begin())];
        const bool isOne = std::ranges::equal(
            tokens, mask, [padding](double token, double seen) { return (token == padding) == (seen == 0); });
        if (isOne) {
            return static_cast<std::int64_t>(padding);
        }
    }
    return std::nullopt;
}

void reportVocabulary(const Facts& facts, std::size_t input, std::int64_t rows, Probe& probe)
{
    const std::vector<std::string>& words = facts.card()->vocabulary;
    const auto count = std::ssize(words);
    const std::optional<std::int64_t> padding = paddingOf(facts, input);
    const bool hasOrdinaryPadding =
        padding && *padding >= 0 && *padding < count && !isSpecial(words[static_cast<std::size_t>(*padding)]);
    const bool isMoved = hasOrdinaryPadding || std::ranges::none_of(words, isSpecial);
    const std::string& name = facts.model()->graph().value(facts.model()->graph().inputs()[input]).name;
    const Place place{PlaceKind::Input, name, {}, {}};
    Finding& finding = count > rows || isMoved ? probe.warning(kVocabularyBase, kVocabularyEffect, place)
                                               : probe.note(kVocabularyEffect, place);
    finding.what =
        fmt::format("is looked up in a table of {} rows, the vocabulary of the card has {} words{}", rows, count,
                    hasOrdinaryPadding ? fmt::format("; number {}, which the mask says is padding, is \"{}\" there",
                                                     *padding, words[static_cast<std::size_t>(*padding)])
                                       : "");
    finding.means = isMoved ? "Words under the heatmap are others than those that were read: the numbers are moved "
                              "by what the vocabulary leaves out."
                            : "Rows without a word are never read, or words without a row cannot be.";
    finding.remedy = "Take the vocabulary of the tokenizer that the model was trained with";
    finding.numbers = {{"rows", static_cast<double>(rows)}, {"words", static_cast<double>(count)}};
    finding.threshold = kMostWithoutWord;
}

void findVocabulary(const Facts& facts, Probe& probe)
{
    const graph::Graph& graph = facts.model()->graph();
    if (facts.card()->vocabulary.empty()) {
        return probe.notRun("the card has no vocabulary");
    }
    for (std::size_t i = 0; i < graph.inputs().size() && i < facts.inputs().size(); ++i) {
        const std::string& name = graph.value(graph.inputs()[i]).name;
        const bool isOfCard = facts.card()->inputName.empty() || facts.card()->inputName == name;
        const std::optional<std::int64_t> rows =
            isOfCard ? rowsOfTable(*facts.model(), graph.inputs()[i]) : std::nullopt;
        if (!rows) {
            continue;
        }
        const std::int64_t apart = std::abs(*rows - std::ssize(facts.card()->vocabulary));
        probe.measured(name, static_cast<double>(apart));
        if (apart > 0) {
            reportVocabulary(facts, i, *rows, probe);
        }
    }
}

} // namespace

const Check tokenVocabulary{"token.vocabulary",
                            "rows of the table of words more or fewer than words of the card's vocabulary",
                            kMostWithoutWord,
                            "0; notes where a table was made longer than its vocabulary",
                            Need::Model | Need::Card | Need::Inputs,
                            true,
                            findVocabulary};

} // namespace retro::diagnosis
