// SPDX-License-Identifier: Apache-2.0
#include "core/engine/question/resolve.h"

#include "core/base/bytesize.h"
#include "core/base/inputfiles.h"
#include "core/engine/language/languagemodel.h"
#include "core/engine/lut/lutpath.h"
#include "core/engine/model/precision.h"
#include "core/engine/plan/plannedsaving.h"
#include "core/engine/plan/planning.h"
#include "core/engine/question/combinations.h"
#include "core/lrp/composite/ruleoverride.h"
#include "core/schedule/budget.h"

#include <fmt/format.h>

#include <charconv>
#include <map>

namespace retro::engine
{

using base::Result;
using formats::ModelCard;

namespace
{

std::uint64_t countOf(const std::string& text)
{
    std::uint64_t count = 0;
    std::from_chars(text.data(), text.data() + text.size(), count);
    return count;
}

std::vector<std::string> labelsOf(const ModelCard* card) { return card ? card->labels : std::vector<std::string>(); }

const ModelCard* cardOf(const LoadedModel& model) { return model.card ? &*model.card : nullptr; }

EngineKind engineOf(const std::string& name)
{
    using enum EngineKind;
    return name == "oracle" ? Oracle : (name == "compiled" ? Compiled : Promise);
}

/// The question is complete.
Result<void> takeTargets(const Question& asked, const LoadedModel& model, ExplainRequest& request)
{
    for (std::size_t i = 0; i < asked.targets.size(); ++i) {
        // A name with a colon and a number behind it (`y:0`, as TensorFlow names results) is a name where it exists.
        if (asked.targets[i].find(':') != std::string::npos && model.graph()->findValue(asked.targets[i])) {
            TargetRequest named;
            named.kind = TargetRequest::Kind::Value;
            named.value = asked.targets[i];
            (i == 0 ? request.target : request.alsoTargets.emplace_back()) = std::move(named);
            continue;
        }
        RETRO_TRY((i == 0 ? request.target : request.alsoTargets.emplace_back()),
                  parseTarget(asked.targets[i], labelsOf(cardOf(model))));
    }
    return {};
}

/// Where a model predicts words, a class is a word at the last position of each text, as it is in a question about one
/// text (languageQuestion()).
void takeLastPosition(const LoadedModel& model, ExplainRequest& request)
{
    using enum TargetRequest::Kind;
    TargetRequest& target = request.target;
    const bool isClass = target.kind == Argmax || target.kind == Class;
    const ModelCard* const card = cardOf(model);
    if (!isClass || !request.alsoTargets.empty() || (card != nullptr && !card->vocabulary.empty())) {
        return;
    }
    const std::optional<LanguageModel> language = languageModel(model);
    if (!language || !language->predicts) {
        return;
    }
    target.place = {{"token", -1}};
    if (target.kind == Class) {
        target.place.push_back({"class", target.classIndex});
    }
    target.kind = Place;
}

/// Rules that are chosen for the model explain what it answers by: the scores, and not a function of them.
void startAtScores(ExplainRequest& request)
{
    request.target.atScores = isAutomatic(request);
    for (TargetRequest& target : request.alsoTargets) {
        target.atScores = isAutomatic(request);
    }
}

/// How forward values get to the rules.
Result<void> takeSaving(const Question& question, ExplainRequest& request)
{
    request.save = question.save == "all" ? execute::SavePolicy::All : execute::SavePolicy::Autograd;
    if (question.save == "frozen") {
        request.save = execute::SavePolicy::Plan;
        request.keptByPlan = KeptForInputs();
    }
    if (asksFor(question, "planned")) {
        RETRO_TRY(PlanOptions wish, planOptions(question));
        request.save = execute::SavePolicy::Plan;
        request.keptByPlan = keptBy(std::move(wish));
    }
    if (asksFor(question, "forwarded")) {
        RETRO_TRY(request.forwarding, forwardingOptions(question));
    }
    return {};
}

/// How relevance starts where nobody says it. What is no composite is refused elsewhere.
std::string usualStart(const std::string& specification)
{
    const Result<lrp::Composite> composite = plainComposite(specification);
    return composite.ok() && lrp::isOfGradients(*composite) ? "one" : "logit";
}

/// Whether a person said which numbers pixels become. The window says all of it, also what nobody chose.
bool saysNumbers(const Question& question, const PictureOptions& asked, const PictureOptions& usual)
{
    const bool isOther = asked.mean != usual.mean || asked.deviation != usual.deviation || asked.low != usual.low ||
                         asked.high != usual.high;
    const bool says = !question.mean.empty() || !question.deviation.empty() || !question.scale.empty();
    const bool isOfWindow = says && !question.layout.empty() && !question.channels.empty() && !question.mean.empty() &&
                            !question.deviation.empty() && !question.scale.empty();
    return isOther || (says && !isOfWindow);
}

/// One number for all channels of a picture or one for each; what nobody asked for is not looked at.
Result<void> checkPerChannel(const std::vector<std::string>& asked, std::size_t count, std::size_t channels,
                             const char* option)
{
    return asked.empty() || count <= 1 || count == channels
               ? Result<void>()
               : base::usageError(fmt::format("it has {} numbers for {} channel{}; write one for all of them, or one "
                                              "for each",
                                              count, channels, channels == 1 ? "" : "s"),
                                  option);
}

} // namespace

Question completed(Question question, const ModelCard* card)
{
    for (const QuestionField& field : questionFields()) {
        const bool isOfCard = card != nullptr && field.card && field.card->fillsIn;
        if (isOfCard && textsOf(field, question).empty()) {
            setTexts(field, field.card->read(*card), question);
        }
        if (!field.usual.empty() && textsOf(field, question).empty()) {
            const std::string usual(field.usual);
            setTexts(field, std::span(&usual, 1), question);
        }
    }
    lrp::Specification named = lrp::splitSpecification(question.composite);
    named.overrides.insert(named.overrides.begin(), question.rules.begin(), question.rules.end());
    question.composite = lrp::joinSpecification(named);
    question.rules.clear();
    question.start = question.start == "auto" ? usualStart(question.composite) : question.start;
    return question;
}

Result<ExplainRequest> resolve(const Question& question, const LoadedModel& model)
{
    RETRO_CHECK(checkTogether(asksOf(question)));
    const Question asked = completed(question, cardOf(model));
    ExplainRequest request;
    RETRO_CHECK(takeTargets(asked, model, request));
    RETRO_TRY(request.start, parseStart(asked.start));
    takeLastPosition(model, request);
    request.composite = asked.composite;
    startAtScores(request);
    request.engine = engineOf(asked.engine);
    RETRO_CHECK(takeSaving(question, request));
    request.precision = precisionOf(asked, model);
    request.checkpoints = asked.checkpoints;
    request.stopAtCheckpoints = asked.stopAtCheckpoints;
    request.followsDocument = asked.traversal == "document";
    request.goesOnWhenNotFinite = asked.goOn;
    request.record = !asked.run.empty();
    request.keepValues = request.record;
    request.profile = asked.profile;
    request.inputsOnly = asked.inputsOnly;
    request.parameters = asked.parameters;
    request.region = {asked.region, asked.regionBox, asked.regionTokens, {}, true};
    request.conditions = asked.conditions;
    request.conditionForm = asked.conditionForm == "beside" ? ConditionForm::Beside : ConditionForm::Only;
    request.sources = asked.inputs;
    RETRO_TRY(request.preparation, pictureOptions(question, model));
    request.pictures = picturesOf(asked.inputs, *model.graph());
    request.warnings = pictureWarnings(request.pictures, model, *request.preparation);
    return request;
}

Result<TargetRequest> targetOf(const Question& question, const LoadedModel& model)
{
    ExplainRequest request;
    RETRO_CHECK(takeTargets(completed(question, cardOf(model)), model, request));
    return request.target;
}

Result<PictureOptions> pictureOptions(const Question& question, const ModelCard* card)
{
    PictureOptions options = pictureOptions(card);
    if (!question.mean.empty()) {
        RETRO_TRY(options.mean, readNumbers(question.mean));
    }
    if (!question.deviation.empty()) {
        RETRO_TRY(options.deviation, readNumbers(question.deviation));
    }
    if (!question.scale.empty()) {
        RETRO_TRY(const std::vector<double> scale, readNumbers(question.scale));
        if (scale.size() != 2) {
            return base::usageError("write two numbers: what pixel values 0 and 255 become", "--scale");
        }
        options.low = scale.front();
        options.high = scale.back();
    }
    options.layout = question.layout.empty() ? options.layout : question.layout;
    options.channels = question.channels.empty() ? options.channels : question.channels;
    options.frame = question.frame.empty() ? options.frame : question.frame;
    options.asStored = question.pixels == "stored";
    if (saysNumbers(question, options, pictureOptions(card))) {
        options.origin = PictureOrigin::Asked;
    }
    if (card == nullptr || card->inputKind == "image") {
        const std::size_t channels = options.channels == "GRAY" ? 1 : 3;
        RETRO_CHECK(checkPerChannel(question.mean, options.mean.size(), channels, "--mean"));
        RETRO_CHECK(checkPerChannel(question.deviation, options.deviation.size(), channels, "--std"));
    }
    return options;
}

Result<PictureOptions> pictureOptions(const Question& question, const LoadedModel& model)
{
    RETRO_TRY(PictureOptions options, pictureOptions(question, cardOf(model)));
    const bool isArray = model.card && model.card->describesInput && model.card->inputKind == "array";
    const bool isSaid = !question.layout.empty() || isArray;
    const graph::Graph& graph = *model.graph();
    for (const base::ValueId input : isSaid ? std::span<const base::ValueId>() : std::span(graph.inputs())) {
        const auto& shape = graph.value(input).shape;
        const auto areColours = [&](std::size_t axis) {
            const std::optional<std::int64_t> extent = (*shape)[axis].extent;
            return extent == 1 || extent == 3 || extent == 4;
        };
        if (shape && shape->size() == 4 && areColours(3) && (*shape)[1].extent && !areColours(1)) {
            options.layout = "NHWC";
        }
    }
    return options;
}

void setPreparation(const PictureOptions& options, Question& question)
{
    question.layout = options.layout;
    question.channels = options.channels;
    question.frame = options.frame;
    question.scale = writtenNumbers(std::array{options.low, options.high});
    question.mean = writtenNumbers(options.mean);
    question.deviation = writtenNumbers(options.deviation);
}

Result<PlanOptions> planOptions(const Question& question)
{
    PlanOptions wish;
    wish.file = question.plan;
    wish.budget = question.budget;
    wish.strategy = question.strategy.empty() ? wish.strategy : question.strategy;
    wish.order = question.planOrder.empty() ? wish.order : question.planOrder;
    if (!question.planSeconds.empty()) {
        RETRO_TRY(wish.seconds, readNumber(question.planSeconds));
    }
    wish.isRecorded = !question.run.empty();
    if (question.tier.empty()) {
        return wish;
    }
    if (question.secondsPerCost.empty()) {
        return base::usageError("say with --seconds-per-cost how long one unit of cost takes (1e-10 where ten thousand "
                                "million operations take a second), or no copy can be set beside them",
                                "--tier " + question.tier);
    }
    RETRO_TRY(wish.tier, schedule::parseTier(question.tier));
    RETRO_TRY(wish.secondsPerCost, readNumber(question.secondsPerCost));
    return wish;
}

Result<ForwardingOptions> forwardingOptions(const Question& question)
{
    static const std::map<std::string, ForwardStrategy> kStrategies{{"store", ForwardStrategy::Store},
                                                                    {"rebuild", ForwardStrategy::Rebuild},
                                                                    {"compress", ForwardStrategy::Compress},
                                                                    {"optimal", ForwardStrategy::Optimal}};
    static const std::map<std::string, ForwardForm> kForms{
        {"store", ForwardForm::Store}, {"rebuild", ForwardForm::Rebuild}, {"compress", ForwardForm::Compress}};
    if (!question.forwardBudget.empty() && question.forward != "optimal") {
        return base::usageError("only --forward optimal keeps within a budget; add it, or leave the budget out",
                                "--forward-budget");
    }
    ForwardingOptions wish;
    if (const auto named = kStrategies.find(question.forward); named != kStrategies.end()) {
        wish.strategy = named->second;
    }
    if (!question.forwardBudget.empty()) {
        RETRO_TRY(const std::uint64_t bytes, base::parseBytes(question.forwardBudget));
        wish.budget = static_cast<std::int64_t>(bytes);
    }
    if (!question.checkpointEvery.empty()) {
        wish.checkpointEvery = countOf(question.checkpointEvery);
    }
    for (const std::string& choice : question.forwardValues) {
        const std::size_t at = choice.rfind('=');
        const auto form = at == std::string::npos ? kForms.end() : kForms.find(choice.substr(at + 1));
        if (form == kForms.end()) {
            return base::usageError(
                fmt::format("\"{}\" is no choice; write NAME=store, NAME=rebuild or NAME=compress", choice),
                "--forward-value");
        }
        wish.choices[choice.substr(0, at)] = form->second;
    }
    return wish;
}

execute::Precision precisionOf(const Question& question, const LoadedModel& model)
{
    if (question.precision.empty() || question.precision == "auto") {
        return precisionOf(model);
    }
    return question.precision == "double" ? execute::Precision::Double : execute::Precision::Float;
}

std::size_t rowsOf(std::string_view field, const Question& question)
{
    const QuestionField& rows = questionField(field);
    const std::vector<std::string> texts = textsOf(rows, question);
    return countOf(texts.empty() ? std::string(rows.usual) : texts.front());
}

std::string usualTarget(const ModelCard* card)
{
    if (card == nullptr || card->target.empty()) {
        return "argmax";
    }
    const auto asked = parseTarget(card->target, card->labels);
    return asked && asked->kind == TargetRequest::Kind::Class ? std::to_string(asked->classIndex) : card->target;
}

Result<LoadOptions> loadOptions(const Question& question)
{
    LoadOptions options;
    RETRO_CHECK(rewrite::switchOn(options.rewrites, question.rewrite));
    RETRO_CHECK(rewrite::switchOff(options.rewrites, question.noRewrite));
    options.rewrites.foldConstants = options.rewrites.foldConstants && !question.noFold;
    options.rewrites.mergeBatchNorm = options.rewrites.mergeBatchNorm && !question.noMergeBatchNorm;
    options.rewrites.passThrough = question.passThrough;
    options.read.withoutWeights = question.noWeights;
    options.shapes = question.shapes;
    return options;
}

Result<LoadedModelPointer> onLutBackend(const LoadedModelPointer& loaded, const Question& question)
{
    if (question.lutBackend.empty() || question.lutBackend == "cpu") {
        return withLutBackend(loaded, lut::Backend::Cpu);
    }
    if (question.lutBackend == "cuda") {
        if (const tensor::DType type = execute::dtypeOf(precisionOf(question, *loaded));
            type != tensor::DType::Float32) {
            return base::usageError(fmt::format("LUT layers run on a GPU in float32 alone, and this run is in {}; ask "
                                                "for --precision float or for another --lut-backend",
                                                tensor::nameOf(type)),
                                    "lut-backend");
        }
        if (const lut::Status status = lut::availability(lut::Backend::Cuda); !status.ok()) {
            return base::engineError(fmt::format("--lut-backend cuda: {}", status.message));
        }
    }
    return withLutBackend(loaded, lut::Backend::Cuda);
}

Result<LoadedModelPointer> loadModel(const std::filesystem::path& path, const Question& question)
{
    RETRO_TRY(const LoadOptions options, loadOptions(question));
    RETRO_TRY(LoadedModelPointer loaded, loadModel(path, options));
    RETRO_TRY(loaded, takeOptionalInputs(loaded, question.inputs));
    if (asksFor(question, "planned")) {
        RETRO_TRY(loaded, asPlanned(loaded)); // what `plan` plans is what runs
    }
    RETRO_TRY(loaded, onLutBackend(loaded, question));
    return question.lutPath.empty()
               ? loaded
               : withLutPath(loaded, question.lutPath == "fused" ? lut::Path::Fused : lut::Path::Documented);
}

Result<std::vector<tensor::Tensor>> readInputs(const Question& question, const LoadedModel& model)
{
    const base::ReadingScope scope("an input");
    RETRO_TRY(const PictureOptions options, pictureOptions(question, model));
    return resolveInputs(question.inputs, model, options);
}

} // namespace retro::engine
