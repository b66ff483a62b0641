// SPDX-License-Identifier: Apache-2.0
#include "core/engine/population.h"

#include "core/base/cancel.h"
#include "core/base/csvfield.h"
#include "core/base/file.h"
#include "core/diagnosis/imagelayout.h"
#include "core/engine/alternatives.h"
#include "core/engine/explain/target.h"
#include "core/engine/input/pictureuse.h"
#include "core/engine/language/languagequestion.h"
#include "core/engine/model/binding.h"
#include "core/engine/question/resolve.h"
#include "core/execute/forward.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <sstream>
#include <utility>

namespace retro::engine
{

using base::Result;
using diagnosis::Answers;
using diagnosis::Population;
using tensor::Tensor;

namespace
{

/// Where a column of that name stands, whatever its case; nothing where there is none.
std::optional<std::size_t> columnNamed(std::string_view name, const std::vector<std::string>& heads)
{
    const auto isIt = [name](const std::string& head) {
        return std::ranges::equal(head, name, {}, [](unsigned char c) { return std::tolower(c); });
    };
    const auto at = std::ranges::find_if(heads, isIt);
    return at == heads.end() ? std::nullopt : std::optional<std::size_t>(at - heads.begin());
}

/// The class that a label names. Errors (Input).
Result<std::int64_t> classNamed(const std::string& label, const formats::ModelCard* card, const std::string& place)
{
    const auto parsed = parseTarget(label, card == nullptr ? std::vector<std::string>() : card->labels);
    if (!parsed.ok() || parsed->kind != TargetRequest::Kind::Class || parsed->classIndex < 0) {
        return base::inputError(
            fmt::format("'{}' is neither a label of the model's card nor the number of a class", label), place);
    }
    return parsed->classIndex;
}

/// By file name, without folders: the text in column `label`.
Result<std::map<std::string, std::pair<std::string, std::size_t>>> labelTexts(const std::filesystem::path& table)
{
    RETRO_TRY(const std::string text, base::readTextFile(table, kMostListBytes));
    std::istringstream lines(text);
    std::string line;
    std::getline(lines, line);
    const std::vector<std::string> heads = base::csvFields(line);
    const auto file = columnNamed("file", heads);
    const auto label = columnNamed("label", heads);
    if (!file || !label) {
        return base::inputError("its first line does not name the columns file and label", table.string());
    }
    std::map<std::string, std::pair<std::string, std::size_t>> labels;
    for (std::size_t row = 2; std::getline(lines, line); ++row) {
        const std::vector<std::string> fields = base::csvFields(line);
        if (fields.size() > std::max(*file, *label)) {
            labels[std::filesystem::path(fields[*file]).filename().string()] = {fields[*label], row};
        }
    }
    return labels;
}

/// Errors: Input, by row.
Result<std::vector<std::int64_t>> readLabels(const std::filesystem::path& table, const std::vector<BatchItem>& items,
                                             const formats::ModelCard* card)
{
    RETRO_TRY(const auto texts, labelTexts(table));
    std::vector<std::int64_t> truth;
    for (const BatchItem& item : items) {
        const auto at = texts.find(item.file.filename().string());
        if (at == texts.end()) {
            return base::inputError(fmt::format("no row of it is of the file {}", item.file.filename().string()),
                                    table.string());
        }
        const auto& [label, row] = at->second;
        RETRO_TRY(const std::int64_t index, classNamed(label, card, fmt::format("{}, row {}", table.string(), row)));
        truth.push_back(index);
    }
    return truth;
}

/// The classes that the card names for these files; empty where it does not for each.
std::vector<std::int64_t> labelsOfCard(const std::vector<BatchItem>& items, const formats::ModelCard* card)
{
    std::vector<std::int64_t> truth;
    for (const BatchItem& item : items) {
        const auto isIt = [&item](const formats::CardPicture& picture) {
            return std::filesystem::path(picture.file).filename() == item.file.filename() && !picture.trueClass.empty();
        };
        const auto at = card == nullptr ? std::vector<formats::CardPicture>::const_iterator()
                                        : std::ranges::find_if(card->pictures, isIt);
        if (card == nullptr || at == card->pictures.end()) {
            return {};
        }
        const auto label = std::ranges::find(card->labels, at->trueClass);
        if (label == card->labels.end()) {
            return {};
        }
        truth.push_back(label - card->labels.begin());
    }
    return truth;
}

/// What of a bound model is kept beside the value that is asked about.
using Wanted = std::function<std::vector<base::ValueId>(const execute::BoundModel&, base::ValueId)>;

/// Forward passes of a folder's inputs through one model, which is bound anew where shapes change.
class FolderPasses
{
public:
    FolderPasses(const LoadedModel& model, const Question& question, const std::vector<BatchItem>& items,
                 const std::stop_token& stop, Wanted wanted)
        : m_model(model), m_question(question), m_items(items), m_stop(stop), m_wanted(std::move(wanted))
    {}

    /// Input `item`, made as `question` and `change` say. Errors: of reading it and of its pass; Cancelled.
    Result<execute::ForwardResult> run(std::size_t item, Question question, const Change& change)
    {
        RETRO_CHECK(base::checkStop(m_stop));
        question.inputs = m_items[item].sources;
        RETRO_TRY(std::vector<Tensor> inputs, readInputsOrText(question, m_model));
        if (change) {
            change(inputs);
        }
        RETRO_CHECK(bindFor(inputs));
        const std::vector<Tensor> own = inPrecision(m_bound->graph(), inputs, precisionOf(m_question, m_model));
        return execute::forward(m_bound, own, execute::SavePolicy::Nothing, m_stop, {}, m_kept);
    }
    /// Of the last pass: what was kept, the value that is asked about first, and their graph.
    [[nodiscard]] const std::vector<base::ValueId>& kept() const { return m_kept; }
    [[nodiscard]] const graph::Graph& graph() const { return m_bound->graph(); }

private:
    Result<void> bindFor(const std::vector<Tensor>& inputs)
    {
        if (m_bound != nullptr && std::ranges::equal(m_inputs, inputs, {}, &Tensor::shape, &Tensor::shape)) {
            return {};
        }
        RETRO_TRY(const TargetRequest target, targetOf(m_question, m_model));
        RETRO_TRY(m_bound, bindModel(m_model, inputs, precisionOf(m_question, m_model), nullptr, m_stop,
                                     bindOptionsFor(target)));
        RETRO_TRY(const base::ValueId asked, targetValue(target, *m_bound));
        m_kept = m_wanted(*m_bound, asked);
        m_kept.insert(m_kept.begin(), asked);
        m_inputs = inputs;
        return {};
    }

    const LoadedModel& m_model;
    const Question& m_question;
    const std::vector<BatchItem>& m_items;
    const std::stop_token& m_stop;
    Wanted m_wanted;
    std::shared_ptr<const execute::BoundModel> m_bound;
    std::vector<Tensor> m_inputs; ///< that it was bound for
    std::vector<base::ValueId> m_kept;
};

/// Passes that were made and that will be, for progress.
class Counted
{
public:
    Counted(const StageProgress& progress, std::size_t all) : m_progress(progress), m_all(all) {}

    void next()
    {
        if (m_progress) {
            m_progress("inputs", std::min(++m_done, m_all), m_all);
        }
    }

private:
    const StageProgress& m_progress;
    std::size_t m_done = 0;
    std::size_t m_all;
};

/// Outputs that are like the target: rows of as many numbers.
std::vector<base::ValueId> outputsLike(const execute::BoundModel& model, base::ValueId target)
{
    std::vector<base::ValueId> outputs;
    for (const base::ValueId output : model.graph().outputs()) {
        const bool isLike =
            model.typeOf(output).shape == model.typeOf(target).shape && tensor::isFloating(model.typeOf(output).dtype);
        if (output != target && isLike) {
            outputs.push_back(output);
        }
    }
    return outputs;
}

/// The row of scores of one sample; empty where the value is none.
std::vector<double> scoresIn(const Tensor& value)
{
    const bool isRow = value.isValid() && value.rank() > 0 && value.size() == value.shape().back();
    return isRow ? diagnosis::numbersIn(value) : std::vector<double>();
}

/// Scores of a folder's inputs.
class FolderScores
{
public:
    FolderScores(FolderPasses& passes, Counted& counted) : m_passes(passes), m_counted(counted) {}

    /// Scores of one input: the same for all. 0: the target is no row of two scores and more, or not of one length.
    [[nodiscard]] std::int64_t classes() const { return m_classes.value_or(0); }

    /// Of the first `count` inputs, as `question` and `change` prepare them, the answers of the target and of each
    /// value that is kept beside it. Fewer where classes() is 0. Errors: of reading an input and of its pass;
    /// Cancelled.
    Result<std::vector<Answers>> answersOf(const Question& question, std::size_t count, const Change& change = {})
    {
        std::vector<Answers> answers;
        for (std::size_t i = 0; i < count; ++i) {
            RETRO_TRY(const execute::ForwardResult result, m_passes.run(i, question, change));
            const std::vector<base::ValueId>& kept = m_passes.kept();
            const std::vector<double> own = scoresIn(result.value(kept.front()));
            const std::int64_t classes = own.size() < 2 ? 0 : std::ssize(own);
            m_classes = m_classes.value_or(classes) == classes ? classes : 0;
            if (m_classes == 0) {
                return std::vector<Answers>(1);
            }
            answers.resize(kept.size());
            for (std::size_t k = 0; k < kept.size(); ++k) {
                const std::vector<double> scores = scoresIn(result.value(kept[k]));
                if (std::ssize(scores) == classes) {
                    answers[k].output = k == 0 ? std::string() : m_passes.graph().value(kept[k]).name;
                    answers[k].best.push_back(std::ranges::max_element(scores) - scores.begin());
                    answers[k].confidence.push_back(diagnosis::confidenceIn(scores));
                }
            }
            m_counted.next();
        }
        return answers;
    }

private:
    FolderPasses& m_passes;
    Counted& m_counted;
    std::optional<std::int64_t> m_classes;
};

/// Values of the graph as the file has it, over the first `count` inputs.
Result<void> watch(const LoadedModelPointer& model, const Question& asked, const std::vector<BatchItem>& items,
                   std::size_t count, const std::stop_token& stop, Counted& counted, Population& all)
{
    const auto facts = std::make_shared<diagnosis::ModelFacts>(model->read ? model->read : model->rewritten.before);
    std::vector<diagnosis::Watched> watched = diagnosis::watchedIn(*facts);
    for (const PictureUse& picture : picturesOf(items.front().sources, facts->graph())) {
        if (model->card && !model->card->mean.empty() && !model->card->deviation.empty()) {
            const std::string& name = facts->graph().value(facts->graph().inputs()[picture.input]).name;
            watched.push_back({diagnosis::WatchedAs::Prepared, name, name});
        }
    }
    RETRO_TRY(const LoadedModelPointer asRead, withRewrites(model, rewrite::noRewrites(), stop));
    const auto named = [&watched](const execute::BoundModel& bound, base::ValueId) {
        std::vector<base::ValueId> values;
        for (const diagnosis::Watched& one : watched) {
            values.push_back(bound.graph().findValue(one.value).value_or(base::ValueId()));
        }
        std::erase_if(values, [](base::ValueId value) { return !value.isValid(); });
        return values;
    };
    FolderPasses passes(*asRead, asked, items, stop, named);
    for (std::size_t i = 0; i < count && !watched.empty(); ++i) {
        RETRO_TRY(const execute::ForwardResult result, passes.run(i, asked, {}));
        for (diagnosis::Watched& one : watched) {
            const auto value = passes.graph().findValue(one.value);
            const Tensor numbers = value ? result.value(*value) : Tensor();
            if (numbers.isValid()) {
                one.add(numbers);
            }
        }
        counted.next();
    }
    all.model = facts;
    all.watched = std::move(watched);
    all.watchedSamples = count;
    return {};
}

/// Positive relevance of a picture, by pixel: row by row, channels added.
struct PixelRelevance
{
    std::vector<double> pixels;
    std::int64_t rows = 0;
    std::int64_t columns = 0;

    /// Σ of the pixels for which `isIn(row, column)` holds, of all of them; 0 where there is none.
    template <class F>
    [[nodiscard]] double share(F&& isIn) const
    {
        double in = 0;
        double all = 0;
        for (std::int64_t i = 0; i < std::ssize(pixels); ++i) {
            all += pixels[static_cast<std::size_t>(i)];
            in += isIn(i / columns, i % columns) ? pixels[static_cast<std::size_t>(i)] : 0;
        }
        return all > 0 ? in / all : 0;
    }
};

/// Explains pictures of a folder, and says where relevance lies in them.
class PictureRelevance
{
public:
    PictureRelevance(const LoadedModelPointer& model, const std::vector<BatchItem>& items, std::size_t slot,
                     const std::stop_token& stop, Counted& counted)
        : m_model(model), m_card(model->card ? &*model->card : nullptr), m_items(items), m_slot(slot), m_stop(stop),
          m_counted(counted)
    {}

    /// Shares of positive relevance of the first pictures in 5 × 5 fields, row by row. Errors: Cancelled.
    Result<std::vector<std::vector<double>>> fields(const Question& asked)
    {
        constexpr std::size_t kMostExplained = 8;
        constexpr std::int64_t kSide = 5;
        std::vector<std::vector<double>> all;
        for (std::size_t i = 0; i < std::min(m_items.size(), kMostExplained); ++i) {
            RETRO_TRY(const PixelRelevance found, explained({{}, asked}, i));
            if (std::ranges::max(found.pixels.empty() ? std::vector{0.0} : found.pixels) == 0) {
                continue;
            }
            std::vector<double>& shares = all.emplace_back();
            for (std::int64_t field = 0; field < kSide * kSide; ++field) {
                shares.push_back(found.share([&](std::int64_t row, std::int64_t column) {
                    return row * kSide / found.rows * kSide + column * kSide / found.columns == field;
                }));
            }
        }
        return all;
    }

    /// Mean share inside the boxes that the card names for what the first pictures show; −1 where it names none.
    /// Errors: Cancelled.
    Result<double> onObject(const OtherWay& way)
    {
        constexpr std::size_t kMostExplained = 4;
        double sum = 0;
        std::size_t count = 0;
        for (std::size_t i = 0; i < m_items.size() && count < kMostExplained; ++i) {
            const auto box = boxOf(m_items[i]);
            if (!box) {
                continue;
            }
            RETRO_TRY(const PixelRelevance found, explained(way, i));
            sum += found.share([&box](std::int64_t row, std::int64_t column) {
                const auto& [x, y, width, height] = *box;
                return column >= x && column < x + width && row >= y && row < y + height;
            });
            ++count;
        }
        return count > 0 ? sum / static_cast<double>(count) : -1;
    }

private:
    [[nodiscard]] std::optional<std::array<int, 4>> boxOf(const BatchItem& item) const
    {
        const auto isIt = [&item](const formats::CardPicture& picture) {
            return std::filesystem::path(picture.file).filename() == item.file.filename();
        };
        const auto at = m_card == nullptr ? std::vector<formats::CardPicture>::const_iterator()
                                          : std::ranges::find_if(m_card->pictures, isIt);
        return m_card == nullptr || at == m_card->pictures.end() ? std::nullopt : at->objectBox;
    }

    /// Empty where a picture cannot be explained: the pass of the first input says what is wrong.
    Result<PixelRelevance> explained(const OtherWay& way, std::size_t i)
    {
        Question question = way.question;
        question.inputs = m_items[i].sources;
        RETRO_TRY(ExplainRequest request, resolveWithInputs(question, *m_model));
        if (way.change) {
            way.change(request.inputs);
        }
        request.record = request.keepValues = false;
        request.inputsOnly = true;
        const auto result = explain(*m_model, request, m_stop);
        if (!result.ok() && result.error().code == base::ErrorCode::Cancelled) {
            return result.error();
        }
        m_counted.next();
        const Tensor relevance =
            result.ok() ? result->relevance[result->model->graph().inputs()[m_slot].index()] : Tensor();
        const auto axes = relevance.isValid() ? diagnosis::imageAxesOf(relevance.shape(), m_card) : std::nullopt;
        return axes ? positive(relevance, *axes) : PixelRelevance();
    }

    static PixelRelevance positive(const Tensor& relevance, const diagnosis::ImageAxes& axes)
    {
        const tensor::Shape& shape = relevance.shape();
        const tensor::Shape strides = tensor::rowMajorStrides(shape);
        const std::vector<double> numbers = diagnosis::numbersIn(relevance);
        PixelRelevance found{{}, shape[axes.row], shape[axes.column]};
        for (std::int64_t i = 0; i < found.rows * found.columns; ++i) {
            const std::int64_t at = i / found.columns * strides[axes.row] + i % found.columns * strides[axes.column];
            double pixel = 0;
            for (std::int64_t channel = 0; channel < shape[axes.channel]; ++channel) {
                pixel += numbers[static_cast<std::size_t>(at + channel * strides[axes.channel])];
            }
            found.pixels.push_back(std::max(0.0, pixel));
        }
        return found;
    }

    const LoadedModelPointer& m_model;
    const formats::ModelCard* m_card;
    const std::vector<BatchItem>& m_items;
    std::size_t m_slot; // of the picture, among the graph's inputs
    const std::stop_token& m_stop;
    Counted& m_counted;
};

/// Where a model may want other inputs, as its answers say without labels: then it is asked for the moved ones, too.
bool isWorthMoving(const Answers& answers, const Answers& given)
{
    constexpr double kMoreConfident = 0.1;
    return answers.meanConfidence() > given.meanConfidence() + kMoreConfident;
}

/// Adds what the answers are where pictures are moved by a little.
Result<void> addMoved(const OtherWay& way, const Change& move, FolderScores& scores, Answers& answers)
{
    const Change both = [&](std::vector<Tensor>& inputs) {
        if (way.change) {
            way.change(inputs);
        }
        move(inputs);
    };
    RETRO_TRY(auto moved, scores.answersOf(way.question, answers.best.size(), both));
    answers.moved = std::move(moved.front().best);
    return {};
}

} // namespace

Result<std::optional<LabelledInputs>> labelledInputs(const std::vector<std::string>& texts, const std::string& labels,
                                                     const LoadedModel& model)
{
    RETRO_TRY(auto items, findBatch(texts, *model.graph()));
    if (!items) {
        return labels.empty()
                   ? Result<std::optional<LabelledInputs>>(std::nullopt)
                   : base::usageError("goes with a folder of inputs (--input FOLDER) or a list", "--labels " + labels);
    }
    const formats::ModelCard* card = model.card ? &*model.card : nullptr;
    std::optional<LabelledInputs> found{LabelledInputs{std::move(*items), {}}};
    if (labels.empty()) {
        found->truth = labelsOfCard(found->items, card);
    } else {
        RETRO_TRY(found->truth, readLabels(labels, found->items, card));
    }
    return found;
}

Result<std::shared_ptr<const Population>> populationOf(const LoadedModelPointer& model, const Question& question,
                                                       LabelledInputs inputs, const std::stop_token& stop,
                                                       const StageProgress& progress)
{
    const std::vector<BatchItem>& items = inputs.items;
    constexpr std::size_t kMostOtherwise = 24; // inputs; a way that is right is seen on few
    constexpr double kMovedBy = 1.0 / 16;      // of the sides of a picture
    auto all = std::make_shared<Population>();
    all->truth = std::move(inputs.truth);
    for (const BatchItem& item : items) {
        all->files.push_back(item.file.string());
    }
    const formats::ModelCard* card = model->card ? &*model->card : nullptr;
    const std::string shown = question.inputs.empty() ? std::string() : question.inputs.front();
    all->shown = std::filesystem::path(shown.substr(shown.find('=') + 1)).filename().string();
    Question asked = completed(question, card);
    std::vector<std::size_t> pictures;
    RETRO_TRY(std::vector<OtherWay> ways, alternativesFor(*model, items, !all->truth.empty(), asked, pictures));
    const Change move = pictures.empty() ? Change() : warping(pictures, card, [](double y, double x) {
        return std::pair(y - kMovedBy, x - kMovedBy);
    });
    const std::size_t few = std::min(items.size(), kMostOtherwise);
    Counted counted(progress, items.size() + (ways.size() + 1) * few);
    FolderPasses passes(*model, asked, items, stop, outputsLike);
    FolderScores scores(passes, counted);
    RETRO_TRY(std::vector<Answers> given, scores.answersOf(asked, items.size()));
    all->asGiven = std::move(given.front());
    for (std::size_t i = 0; i < few; ++i) {
        asked.inputs = items[i].sources;
        RETRO_TRY(all->inputs.emplace_back(), readInputsOrText(asked, *model));
    }
    all->classes = scores.classes();
    if (all->classes == 0) {
        all->why = "the target is no row of scores of one input";
        return std::shared_ptr<const Population>(std::move(all));
    }
    for (Answers& output : std::span(given).subspan(1)) {
        if (output.best.size() == items.size() && output.best != all->asGiven.best) {
            output.words = fmt::format("the output {}", output.output);
            output.option = "--target " + output.output;
            all->otherwise.push_back(std::move(output));
        }
    }
    PictureRelevance relevance(model, items, pictures.empty() ? 0 : pictures.front(), stop, counted);
    for (const OtherWay& way : ways) {
        auto made = scores.answersOf(way.question, few, way.change);
        if (!made.ok() && (!way.change || made.error().code == base::ErrorCode::Cancelled)) {
            return made.error();
        }
        if (made.ok() && scores.classes() > 0) { // else the model does not take such numbers
            Answers& answers = made->front();
            answers.words = way.words;
            answers.option = way.options;
            if (move && all->truth.empty() && isWorthMoving(answers, all->asGiven)) {
                RETRO_CHECK(addMoved(way, move, scores, answers));
                if (!way.change && way.question.frame == asked.frame) { // else the box lies elsewhere
                    RETRO_TRY(answers.onObject, relevance.onObject(way));
                    RETRO_TRY(all->asGiven.onObject, relevance.onObject({{}, asked}));
                }
            }
            all->otherwise.push_back(std::move(answers));
        }
    }
    RETRO_CHECK(watch(model, asked, items, few, stop, counted, *all));
    if (!pictures.empty()) {
        RETRO_TRY(all->fields, relevance.fields(asked));
    }
    return std::shared_ptr<const Population>(std::move(all));
}

} // namespace retro::engine
