// SPDX-License-Identifier: Apache-2.0
#include "core/engine/population.h"

#include "core/base/cancel.h"
#include "core/base/csvfield.h"
#include "core/base/file.h"
#include "core/diagnosis/usualpreparation.h"
#include "core/engine/explain/target.h"
#include "core/engine/model/binding.h"
#include "core/engine/question/resolve.h"
#include "core/execute/forward.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <optional>
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

} // namespace

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

namespace
{

/// Forward passes of one model, bound anew where shapes change.
class Scorer
{
public:
    Scorer(const LoadedModel& model, const Question& question, const PictureDecoder& decode,
           const std::stop_token& stop)
        : m_model(model), m_question(question), m_decode(decode), m_stop(stop)
    {}

    /// The row of scores of one sample; empty where the target is none. Errors: of reading it and of its pass.
    Result<std::vector<double>> scoresOf(const Question& question)
    {
        RETRO_TRY(const std::vector<Tensor> inputs, readInputs(question, m_model, m_decode));
        RETRO_CHECK(bindFor(inputs));
        RETRO_TRY(const execute::ForwardResult result,
                  execute::forward(m_bound, inPrecision(m_bound->graph(), inputs, precisionOf(m_question, m_model)),
                                   execute::SavePolicy::Nothing, m_stop, {}, std::array{m_target}));
        const Tensor value = result.value(m_target);
        const bool isRow = value.isValid() && value.rank() > 0 && value.size() == value.shape().back();
        return isRow ? diagnosis::numbersIn(value) : std::vector<double>();
    }

private:
    Result<void> bindFor(const std::vector<Tensor>& inputs)
    {
        const bool fits =
            m_bound != nullptr && std::ranges::equal(m_inputs, inputs, {}, &Tensor::shape, &Tensor::shape);
        if (fits) {
            return {};
        }
        RETRO_TRY(const TargetRequest target, targetOf(m_question, m_model));
        RETRO_TRY(m_bound, bindModel(m_model, inputs, precisionOf(m_question, m_model), nullptr, m_stop,
                                     bindOptionsFor(target)));
        RETRO_TRY(m_target, targetValue(target, *m_bound));
        m_inputs = inputs;
        return {};
    }

    const LoadedModel& m_model;
    const Question& m_question;
    const PictureDecoder& m_decode;
    const std::stop_token& m_stop;
    std::shared_ptr<const execute::BoundModel> m_bound;
    std::vector<Tensor> m_inputs; ///< that it was bound for
    base::ValueId m_target;
};

std::vector<std::string> parts(std::string_view list)
{
    std::vector<std::string> texts;
    std::istringstream stream{std::string(list)};
    for (std::string text; std::getline(stream, text, ',');) {
        texts.push_back(text);
    }
    return texts;
}

/// Another way in which pixels become numbers, and the question that asks for it.
struct OtherWay
{
    std::string words;
    std::string option;
    Question question;
};

/// The usual ways that are others than what is asked for. None where no input is a picture.
Result<std::vector<OtherWay>> otherWays(const Question& question, const LoadedModel& model, const BatchItem& first)
{
    std::vector<OtherWay> ways;
    if (picturesOf(first.sources, *model.graph()).empty()) {
        return ways;
    }
    const formats::ModelCard* card = model.card ? &*model.card : nullptr;
    RETRO_TRY(const PictureOptions given, pictureOptions(question, card));
    Question asked = question;
    setPreparation(given, asked);
    if (given.channels != "GRAY") {
        OtherWay swapped{"R and B exchanged", given.channels == "BGR" ? "--channels RGB" : "--channels BGR", asked};
        swapped.question.channels = given.channels == "BGR" ? "RGB" : "BGR";
        ways.push_back(std::move(swapped));
    }
    for (const diagnosis::UsualChoice& choice : diagnosis::usualChoices()) {
        OtherWay way{std::string(choice.name), choice.option(), asked};
        way.question.mean = choice.mean.empty() ? std::vector<std::string>{"none"} : parts(choice.mean);
        way.question.deviation = choice.mean.empty() ? std::vector<std::string>{"none"} : parts(choice.deviation);
        way.question.scale = parts(choice.scale);
        if (given.channels != "GRAY" || choice.mean.find(',') == std::string_view::npos) {
            ways.push_back(std::move(way));
        }
    }
    OtherWay plain{"numbers from 0 to 1, without mean and std", "--mean none --std none", asked};
    plain.question.mean = plain.question.deviation = {"none"};
    plain.question.scale = {"0", "1"};
    ways.push_back(std::move(plain));
    return ways;
}

/// Passes of a folder, with progress.
class FolderScores
{
public:
    FolderScores(Scorer& scorer, const std::vector<BatchItem>& items, const std::stop_token& stop,
                 const StageProgress& progress)
        : m_scorer(scorer), m_items(items), m_stop(stop), m_progress(progress)
    {}

    /// The best class of the first `count` inputs. `classes` takes how many there are; 0 where the target is no row.
    Result<std::vector<std::int64_t>> bestOf(const Question& question, std::size_t count, std::int64_t& classes)
    {
        std::vector<std::int64_t> best;
        for (std::size_t i = 0; i < count; ++i) {
            RETRO_CHECK(base::checkStop(m_stop));
            Question one = question;
            one.inputs = m_items[i].sources;
            RETRO_TRY(const std::vector<double> scores, m_scorer.scoresOf(one));
            classes = std::ssize(scores);
            if (classes < 2) {
                classes = 0;
                return best;
            }
            best.push_back(std::ranges::max_element(scores) - scores.begin());
            if (m_progress) {
                m_progress("inputs", ++m_done, m_all);
            }
        }
        return best;
    }
    void expect(std::size_t passes) { m_all = passes; }

private:
    Scorer& m_scorer;
    const std::vector<BatchItem>& m_items;
    const std::stop_token& m_stop;
    const StageProgress& m_progress;
    std::size_t m_done = 0;
    std::size_t m_all = 0;
};

} // namespace

Result<std::shared_ptr<const Population>> populationOf(const LoadedModel& model, const Question& question,
                                                       const std::vector<BatchItem>& items,
                                                       std::vector<std::int64_t> truth, const PictureDecoder& decode,
                                                       const std::stop_token& stop, const StageProgress& progress)
{
    constexpr std::size_t kMostOtherwise = 24; // inputs; a way that is right is seen on few
    auto all = std::make_shared<Population>();
    all->truth = std::move(truth);
    for (const BatchItem& item : items) {
        all->files.push_back(item.file.string());
    }
    const Question asked = completed(question, model.card ? &*model.card : nullptr);
    std::vector<OtherWay> ways;
    if (!all->truth.empty()) {
        RETRO_TRY(ways, otherWays(asked, model, items.front()));
    }
    Scorer scorer(model, asked, decode, stop);
    FolderScores scores(scorer, items, stop, progress);
    const std::size_t few = std::min(items.size(), kMostOtherwise);
    scores.expect(items.size() + ways.size() * few);
    RETRO_TRY(all->asGiven.best, scores.bestOf(asked, items.size(), all->classes));
    if (all->classes == 0) {
        all->why = "the target is no row of scores of one input";
        return std::shared_ptr<const Population>(std::move(all));
    }
    for (OtherWay& way : ways) {
        RETRO_TRY(std::vector<std::int64_t> best, scores.bestOf(way.question, few, all->classes));
        all->otherwise.push_back({std::move(way.words), std::move(way.option), std::move(best)});
    }
    return std::shared_ptr<const Population>(std::move(all));
}

} // namespace retro::engine
