// SPDX-License-Identifier: Apache-2.0
#include "core/engine/results/runfacts.h"

#include "core/base/file.h"
#include "core/base/hash128.h"
#include "core/engine/explain/segment.h"
#include "core/engine/input/inputs.h"
#include "core/engine/input/pictureuse.h"
#include "core/engine/input/tokenwords.h"
#include "core/engine/plan/carriedplan.h"
#include "core/engine/plan/planevents.h"
#include "core/engine/question/fields.h"
#include "core/formats/modelcard.h"
#include "core/trace/documentrun.h"
#include "core/trace/gradientrun.h"
#include "core/trace/targetplace.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace retro::engine
{

namespace
{

using trace::InputFacts;

/// With its folder; as it is where the system cannot tell.
std::string wholePath(const std::filesystem::path& path)
{
    std::error_code error;
    const std::filesystem::path whole = std::filesystem::absolute(path, error);
    return (error ? path : whole.lexically_normal()).string();
}

/// File of the one source, without folder and NAME=; empty for several.
std::string fileOf(const std::vector<std::string>& sources)
{
    if (sources.size() != 1) {
        return {};
    }
    const std::string& source = sources.front();
    return std::filesystem::path(source.substr(source.rfind('=') + 1)).filename().string();
}

/// Largest file whose bytes are read once more, for their digest.
constexpr std::uint64_t kMostSourceBytes = 16ULL << 20U;

/// Of a file's bytes; empty where they cannot be read, or are more than kMostSourceBytes.
std::string digestOf(const std::filesystem::path& file)
{
    const base::Result<std::vector<std::byte>> bytes = base::readFile(file, kMostSourceBytes);
    base::Hasher128 hash;
    hash.bytes(bytes.ok() ? std::span<const std::byte>(*bytes) : std::span<const std::byte>());
    return bytes.ok() ? hash.digest() : std::string();
}

/// The sources with the whole paths of files, and what lay there.
std::vector<trace::SourceFacts> sourceFacts(const std::vector<std::string>& texts, const graph::Graph& graph)
{
    std::vector<trace::SourceFacts> sources;
    for (const std::string& text : texts) {
        const InputSource input = parseInput(text, graph);
        const std::string prefix = input.name.empty() ? std::string() : input.name + "=";
        std::error_code error;
        if (std::filesystem::is_regular_file(input.source, error)) {
            sources.push_back({prefix + wholePath(input.source), digestOf(input.source)});
        } else {
            sources.push_back({text, {}});
        }
    }
    return sources;
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

/// How people read the input of a request: what the model's card says of it (null = there is none), how its pixels
/// became numbers, and which file it came from. A text or a list that is longer than a run file takes is left out.
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
    facts.preparedBy = originName(options);
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

trace::ForwardedForm formOf(ForwardForm form)
{
    switch (form) {
    case ForwardForm::Rebuild:
        return trace::ForwardedForm::Rebuild;
    case ForwardForm::Alias:
        return trace::ForwardedForm::Alias;
    case ForwardForm::Compress:
        return trace::ForwardedForm::Compress;
    case ForwardForm::Store:
        break;
    }
    return trace::ForwardedForm::Store;
}

void fillForwarding(trace::RunFacts& facts, const ForwardingDone& done)
{
    for (const ForwardDecision& one : done.plan.decisions) {
        facts.forwarded.push_back({one.value, formOf(one.form), one.bytes, one.kept, one.isFallback, one.reason});
    }
    facts.numbers["forward_stored_bytes"] = static_cast<double>(done.storedBytes);
    facts.numbers["forward_kept_bytes"] = static_cast<double>(done.keptBytes);
    facts.numbers["forward_rebuilds"] = static_cast<double>(done.rebuilds());
}

} // namespace

void fillValues(trace::Run& run, const ValueSources& from)
{
    const graph::Graph& graph = from.model.graph();
    run.graph = from.model.sharedGraph();
    run.values.resize(graph.valueCount());
    for (std::size_t i = 0; i < graph.valueCount(); ++i) {
        run.shapes.push_back(from.model.typeOf(base::ValueId(i)).shape);
        if (from.saved != nullptr) {
            run.values[i] = from.saved->anyValue(base::ValueId(i));
        }
    }
    for (std::size_t i = 0; i < from.inputs.size(); ++i) {
        run.values[graph.inputs()[i].index()] = from.inputs[i];
    }
    for (std::size_t i = 0; i < from.outputs.size(); ++i) {
        run.values[graph.outputs()[i].index()] = from.outputs[i];
    }
}

bool carriesGradient(const ExplainResult& result)
{
    return result.composite.dividesStart || trace::carriesGradient(result.rules);
}

void fillModel(trace::RunFacts& facts, const LoadedModel& model)
{
    facts.modelName = model.name;
    facts.modelPath = wholePath(model.path);
    facts.modelDigest = fileDigest(model);
    if (model.card) {
        facts.labels = model.card->labels;
        facts.title = model.card->title;
        facts.scores = model.card->scores;
    }
}

void fillFacts(trace::RunFacts& facts, const FactSources& from)
{
    const auto& [model, request, result, save] = from;
    facts.kind = "explain";
    fillModel(facts, model);
    facts.sources = sourceFacts(request.sources, *model.graph());
    Question question;
    question.composite = result.composite.name;
    question.start = nameOf(request.start);
    keepQuestion(question, facts);
    facts.save = save;
    facts.precision = std::string(tensor::nameOf(execute::dtypeOf(request.precision)));
    facts.targetValue = result.target.value;
    facts.targetIndex = result.target.index;
    facts.targetLogit = result.target.logit;
    facts.numbers = {{"relevance_start", result.relevanceStart},
                     {"relevance_inputs", result.relevanceInputs},
                     {"seconds_load", model.seconds},
                     {"seconds_forward", result.secondsForward},
                     {"seconds_relevance", result.secondsRelevance},
                     {"peak_bytes", static_cast<double>(result.peakBytes)}};
    facts.numbers[trace::kGradientNumber] = carriesGradient(result) ? 1 : 0;
    if (const auto segment = segmentIn(request.target)) {
        facts.numbers[trace::kSegmentNumber] = static_cast<double>(*segment);
    }
    if (request.followsDocument) {
        facts.numbers[trace::kDocumentNumber] = 1;
        facts.numbers["rescues"] = result.counts.rescues;
    }
    if (result.composite.timesInput) {
        facts.numbers["times_input"] = 1; // relevance of an input is to be read as gradient × input
    }
    facts.conditions = request.conditionWords;
    if (!request.conditions.empty()) {
        facts.conditions = fmt::format("beside {}", fmt::join(request.conditions, "; "));
    }
    if (result.region) {
        facts.region = result.region->text;
        facts.numbers["region"] = result.region->total;
        for (const RegionShare& share : regionShares(*result.region, result.relevance, result.model->graph())) {
            facts.numbers["region of " + result.model->graph().value(share.value).name] = share.total;
        }
    }
    if (result.planSaving && result.planSaving->plan) {
        facts.numbers["plan_peak"] = static_cast<double>(result.planSaving->plan->predicted.peak);
        facts.numbers["held_peak"] = static_cast<double>(result.planSaving->heldPeak);
    }
    if (result.planSaving && result.planSaving->search) {
        facts.planTries = result.planSaving->search->tries;
        facts.numbers["plan_search_events_left_out"] = static_cast<double>(result.planSaving->search->leftOut);
    }
    if (result.forwarding) {
        fillForwarding(facts, *result.forwarding);
    }
    facts.input = inputFacts(model.card ? &*model.card : nullptr, request);
}

std::vector<std::string> sourcesThatStay(const trace::Run& run)
{
    std::vector<std::string> sources;
    for (const trace::SourceFacts& source : run.facts.sources) {
        const std::filesystem::path file = parseInput(source.source, *run.graph).source;
        std::error_code error;
        const bool isFile = file.is_absolute() || !source.digest.empty(); // else "random:1", "zeros"
        const bool isThere = !isFile || std::filesystem::is_regular_file(file, error);
        if (!isThere || (!source.digest.empty() && digestOf(file) != source.digest)) {
            return {};
        }
        sources.push_back(source.source);
    }
    return sources;
}

} // namespace retro::engine
