// SPDX-License-Identifier: Apache-2.0
#include "core/diagnosis/checks/checks.h"
#include "core/diagnosis/numbertext.h"
#include "core/diagnosis/population.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <string_view>

namespace retro::diagnosis
{

namespace
{

constexpr double kPreparationBase = 2.9; // before labels in another order, which exchanged channels look like

/// Where nobody says which class they have: what the mean probability of the best class gains: > 0.25. Other numbers
/// may only make the same answers sharper, or one answer for all: so a quarter of the answers are others, they are of
/// as many classes, nearly all stay when the picture is moved, nearly all inputs are surer, and as much relevance as
/// before lies on what the pictures show, where the card says where that is.
constexpr double kMostSurer = 0.25;
constexpr double kLeastOther = 0.25;
constexpr double kLeastSteady = 0.8;
constexpr double kLeastOfInputs = 0.8;
constexpr double kUnlabelledBase = 2.3;

/// One way among others, and what it gains.
struct Gain
{
    const Answers* answers = nullptr;
    double share = 0; ///< of the samples that it makes right; mean probability that it adds
    RightGain right{};
};

Gain gainInRight(const Answers& answers, const Population& all)
{
    const RightGain right = all.gainOf(answers);
    return {&answers, right.share, right};
}

Gain gainInConfidence(const Answers& answers, const Population& all)
{
    const Answers given = all.givenFor(answers);
    const auto samples = static_cast<double>(answers.best.size());
    std::size_t surer = 0;
    for (std::size_t i = 0; i < answers.best.size(); ++i) {
        surer += answers.confidence[i] > given.confidence[i] ? 1 : 0;
    }
    const bool areOthers = static_cast<double>(given.right(answers.best)) <= (1 - kLeastOther) * samples;
    const bool areSteady = answers.moved.empty() || answers.steadiness() >= kLeastSteady;
    const bool isOnObject = answers.onObject < 0 || answers.onObject >= given.onObject;
    const bool isBelieved = areOthers && areSteady && isOnObject &&
                            answers.distinct() >= std::max<std::size_t>(2, given.distinct()) &&
                            static_cast<double>(surer) >= kLeastOfInputs * samples;
    return {&answers, isBelieved ? answers.meanConfidence() - given.meanConfidence() : 0};
}

bool isClear(const Gain& gain, bool areLabelled)
{
    const std::size_t samples = gain.answers->best.size();
    if (!areLabelled) {
        return gain.share > kMostSurer && samples >= kLeastOfFolder;
    }
    return gain.right.isClear();
}

/// What the alternative is about: the target, or the input that becomes other numbers.
Place placeOf(const Facts& facts, const Answers& answers)
{
    if (!answers.output.empty()) {
        return facts.place(facts.pass()->target);
    }
    const auto& pixels = facts.sources().pixels;
    const graph::Graph& graph = facts.graph();
    const std::string& name = pixels.empty() ? graph.value(graph.inputs().front()).name : pixels.front().input;
    return {PlaceKind::Input, name, {}, {}};
}

std::string whatText(const Gain& gain, const Population& all)
{
    const std::size_t samples = gain.answers->best.size();
    if (all.hasTruth()) {
        return fmt::format("with {}, {} of {} inputs get their class; as given, {}", gain.answers->words,
                           gain.right.after, samples, gain.right.before);
    }
    const Answers given = all.givenFor(*gain.answers);
    const std::string onObject =
        gain.answers->onObject < 0
            ? std::string()
            : fmt::format("; of its positive relevance {} lies on what the pictures show; as given, {}",
                          percentText(gain.answers->onObject), percentText(given.onObject));
    return fmt::format("with {}, the model is surer of {} inputs: its best class has {} on average; as given, {}{}",
                       gain.answers->words, samples, percentText(gain.answers->meanConfidence()),
                       percentText(given.meanConfidence()), onObject);
}

std::string_view meaningOf(const Facts& facts, const Answers& answers)
{
    if (!answers.output.empty()) {
        return "Another output predicts the classes that the labels name.";
    }
    if (!facts.sources().pixels.empty()) {
        return answers.option.starts_with("--frame") ? "The model was trained with pictures that were cut another way."
                                                     : "The model was trained with pixels that became other numbers.";
    }
    const graph::Graph& graph = facts.graph();
    return tensor::isFloating(graph.value(graph.inputs().front()).dtype)
               ? "The model was trained with numbers in another unit, or taken in another way."
               : "The model was trained with other numbers for the same tokens: look at the tokenizer.";
}

void findOtherPreparation(const Facts& facts, Probe& probe)
{
    const Population& all = *facts.sources().population;
    const std::vector<Answers>& ways = all.otherwise;
    if (!all.why.empty() || ways.empty()) {
        return probe.notRun(all.why.empty() ? "there is no other way to make such inputs" : all.why);
    }
    Gain best;
    for (const Answers& answers : ways) {
        const Gain gain = all.hasTruth() ? gainInRight(answers, all) : gainInConfidence(answers, all);
        best = best.answers == nullptr || gain.share > best.share ? gain : best;
    }
    const Place place = placeOf(facts, *best.answers);
    probe.measured(place.name, best.share);
    if (!isClear(best, all.hasTruth())) {
        return;
    }
    Finding& finding = probe.warning(all.hasTruth() ? kPreparationBase : kUnlabelledBase, best.share, place);
    finding.what = whatText(best, all);
    finding.means = meaningOf(facts, *best.answers);
    finding.remedy = best.answers->output.empty() ? "Make the input so" : "Explain that output";
    finding.threshold = all.hasTruth() ? kMostOfGain : kMostSurer;
    finding.numbers = {{all.hasTruth() ? "share_gained" : "confidence_gained", best.share},
                       {"right_otherwise", static_cast<double>(best.right.after)},
                       {"confidence_otherwise", best.answers->meanConfidence()}};
    if (const std::string& option = best.answers->option; !best.answers->output.empty()) {
        finding.action = {"choose target", {{"target", best.answers->output}}, option};
    } else if (!option.empty()) {
        finding.action = {"prepare input", {{"input", place.name}, {"option", option}}, option};
    }
    finding.chart.kind = ChartKind::Bars;
    finding.chart.title = all.hasTruth() ? "Inputs that get their class, by how they become numbers"
                                         : "Mean probability of the best class, by how inputs become numbers";
    for (const Answers& answers : ways) {
        finding.chart.marked =
            &answers == best.answers ? std::vector{finding.chart.names.size()} : finding.chart.marked;
        finding.chart.names.push_back(answers.words);
        finding.chart.amounts.push_back(all.hasTruth() ? static_cast<double>(answers.right(all.truth))
                                                       : answers.meanConfidence());
    }
}

} // namespace

const Check dataPreparation{
    "data.preparation",
    "share of labelled inputs that get their class only when inputs are made otherwise; without labels, what the "
    "probability of the best class gains",
    kMostOfGain,
    "0 … 0.04",
    Need::Folder | Need::Forward,
    true,
    findOtherPreparation};

} // namespace retro::diagnosis
