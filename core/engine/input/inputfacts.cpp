// SPDX-License-Identifier: Apache-2.0
#include "core/engine/input/inputfacts.h"

#include "core/engine/input/inputs.h"
#include "core/engine/input/pictureinput.h"
#include "core/engine/input/tokenwords.h"

#include <algorithm>

namespace retro::engine
{

namespace
{

using trace::InputFacts;

/// File of the one source, without folder and NAME=; empty for several.
std::string fileOf(const std::vector<std::string>& sources)
{
    if (sources.size() != 1) {
        return {};
    }
    const std::string& source = sources.front();
    return std::filesystem::path(source.substr(source.rfind('=') + 1)).filename().string();
}

std::vector<double> within(const std::vector<double>& numbers)
{
    return numbers.size() <= InputFacts::kMostChannels ? numbers : std::vector<double>();
}

void addPicture(InputFacts& facts, const formats::ModelCard& card)
{
    const auto found = std::find_if(card.pictures.begin(), card.pictures.end(),
                                    [&](const formats::CardPicture& picture) { return picture.file == facts.file; });
    if (found != card.pictures.end()) {
        facts.trueClass = found->trueClass.size() <= InputFacts::kMostBytes ? found->trueClass : std::string();
        facts.tag = found->tagBox;
    }
}

void addWords(InputFacts& facts, const formats::ModelCard& card, const std::vector<tensor::Tensor>& inputs)
{
    const bool isShort =
        inputs.size() == 1 && inputs.front().size() <= static_cast<std::int64_t>(InputFacts::kMostWords);
    facts.words = isShort ? tokenWords(card, inputs.front()) : std::vector<std::string>();
}

/// Names of the numbers of a row of a table, where the card has one for each.
void addFeatures(InputFacts& facts, const formats::ModelCard& card, const std::vector<tensor::Tensor>& inputs)
{
    const bool isRow = inputs.size() == 1 && inputs.front().rank() == 2 && inputs.front().shape()[0] == 1 &&
                       tensor::isFloating(inputs.front().dtype()) && card.inputKind == "array" &&
                       card.vocabulary.size() <= InputFacts::kMostWords &&
                       inputs.front().shape()[1] == static_cast<std::int64_t>(card.vocabulary.size());
    if (isRow && facts.words.empty()) {
        facts.words = card.vocabulary;
    }
}

} // namespace

InputFacts inputFacts(const formats::ModelCard* card, const ExplainRequest& request)
{
    const PictureOptions options = request.preparation.value_or(pictureOptions(card));
    InputFacts facts;
    facts.file = fileOf(request.sources);
    facts.file = facts.file.size() <= InputFacts::kMostBytes ? facts.file : std::string();
    const bool isPicture = isPictureFile(facts.file) || (card != nullptr && card->inputKind == "image");
    facts.kind = isPicture ? "image" : "array";
    facts.layout = options.layout;
    facts.channels = options.channels;
    facts.scale = {options.low, options.high};
    facts.mean = within(options.mean);
    facts.deviation = within(options.deviation);
    if (card != nullptr) {
        addPicture(facts, *card);
        addWords(facts, *card, request.inputs);
        addFeatures(facts, *card, request.inputs);
    }
    if (!request.words.empty() && request.words.size() <= InputFacts::kMostWords) {
        facts.words = request.words;
    }
    for (std::string& word : facts.words) {
        word = word.size() <= InputFacts::kMostBytes ? word : std::string("…");
    }
    return facts;
}

} // namespace retro::engine
