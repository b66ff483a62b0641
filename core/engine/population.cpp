// SPDX-License-Identifier: Apache-2.0
#include "core/engine/population.h"

#include "core/base/cancel.h"
#include "core/base/csvfield.h"
#include "core/base/file.h"
#include "core/diagnosis/usualpreparation.h"
#include "core/engine/explain/target.h"
#include "core/engine/input/drawnintegers.h"
#include "core/engine/model/binding.h"
#include "core/engine/question/resolve.h"
#include "core/execute/forward.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <functional>
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

/// What is done to inputs before a pass.
using Change = std::function<void(std::vector<Tensor>&)>;

/// Forward passes of a folder's inputs through one model, which is bound anew where shapes change.
class FolderScores
{
public:
    FolderScores(const LoadedModel& model, const Question& question, const std::vector<BatchItem>& items,
                 const std::stop_token& stop, const StageProgress& progress)
        : m_model(model), m_question(question), m_items(items), m_stop(stop), m_progress(progress)
    {}

    /// How many passes will be made, for progress.
    void expect(std::size_t passes) { m_all = passes; }
    /// Scores of one input: the same for all. 0: the target is no row of two scores and more, or not of one length.
    [[nodiscard]] std::int64_t classes() const { return m_classes.value_or(0); }

    /// The best class of the first `count` inputs, as `question` and `change` prepare them; fewer where classes() is 0.
    /// Errors: of reading an input and of its pass; Cancelled.
    Result<std::vector<std::int64_t>> bestOf(Question question, std::size_t count, const Change& change = {})
    {
        std::vector<std::int64_t> best;
        for (std::size_t i = 0; i < count; ++i) {
            RETRO_CHECK(base::checkStop(m_stop));
            question.inputs = m_items[i].sources;
            RETRO_TRY(const std::vector<double> scores, scoresOf(question, change));
            const std::int64_t classes = scores.size() < 2 ? 0 : std::ssize(scores);
            m_classes = m_classes.value_or(classes) == classes ? classes : 0;
            if (m_classes == 0) {
                return best;
            }
            best.push_back(std::ranges::max_element(scores) - scores.begin());
            if (m_progress) {
                m_progress("inputs", ++m_done, m_all);
            }
        }
        return best;
    }

private:
    /// The row of scores of one sample; empty where the target is none.
    Result<std::vector<double>> scoresOf(const Question& question, const Change& change)
    {
        RETRO_TRY(std::vector<Tensor> inputs, readInputs(question, m_model));
        if (change) {
            change(inputs);
        }
        RETRO_CHECK(bindFor(inputs));
        const std::vector<Tensor> own = inPrecision(m_bound->graph(), inputs, precisionOf(m_question, m_model));
        RETRO_TRY(const execute::ForwardResult result,
                  execute::forward(m_bound, own, execute::SavePolicy::Nothing, m_stop, {}, std::array{m_target}));
        const Tensor value = result.value(m_target);
        const bool isRow = value.isValid() && value.rank() > 0 && value.size() == value.shape().back();
        return isRow ? diagnosis::numbersIn(value) : std::vector<double>();
    }

    Result<void> bindFor(const std::vector<Tensor>& inputs)
    {
        if (m_bound != nullptr && std::ranges::equal(m_inputs, inputs, {}, &Tensor::shape, &Tensor::shape)) {
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
    const std::vector<BatchItem>& m_items;
    const std::stop_token& m_stop;
    const StageProgress& m_progress;
    std::shared_ptr<const execute::BoundModel> m_bound;
    std::vector<Tensor> m_inputs; ///< that it was bound for
    base::ValueId m_target;
    std::optional<std::int64_t> m_classes;
    std::size_t m_done = 0;
    std::size_t m_all = 0;
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

/// Another way in which inputs are made: a question that asks for it, or what is done to their numbers.
struct OtherWay
{
    std::string words;
    Question question;
    std::string options{}; ///< that ask for it
    Change change{};
};

/// The options that make one question of another one, as far as pixels are concerned.
std::string optionsBetween(const Question& asked, const Question& other)
{
    std::string text;
    const auto add = [&text](const char* option, const std::string& from, const std::string& to) {
        text += from == to ? std::string() : fmt::format("{}{} {}", text.empty() ? "" : " ", option, to);
    };
    const auto list = [](const std::vector<std::string>& numbers) {
        return fmt::format("{}", fmt::join(numbers, ","));
    };
    add("--channels", asked.channels, other.channels);
    add("--scale", list(asked.scale), list(other.scale));
    add("--mean", list(asked.mean), list(other.mean));
    add("--std", list(asked.deviation), list(other.deviation));
    return text;
}

/// The usual ways beside `given`, which `asked` says in full.
std::vector<OtherWay> otherWays(const Question& asked, const PictureOptions& given)
{
    std::vector<OtherWay> ways;
    if (given.channels != "GRAY") {
        ways.push_back({"R and B exchanged", asked});
        ways.back().question.channels = given.channels == "BGR" ? "RGB" : "BGR";
    }
    std::vector<diagnosis::UsualChoice> choices(diagnosis::usualChoices().begin(), diagnosis::usualChoices().end());
    choices.push_back({"numbers from 0 to 1, without mean and std"});
    for (const diagnosis::UsualChoice& choice : choices) {
        if (given.channels == "GRAY" && choice.mean.find(',') != std::string_view::npos) {
            continue;
        }
        const auto numbers = [](std::string_view list) {
            return list.empty() ? std::vector<std::string>{"none"} : parts(list);
        };
        ways.push_back({std::string(choice.name), asked});
        ways.back().question.mean = numbers(choice.mean);
        ways.back().question.deviation = numbers(choice.deviation);
        ways.back().question.scale = parts(choice.scale);
    }
    for (OtherWay& way : ways) {
        way.options = optionsBetween(asked, way.question);
    }
    std::erase_if(ways, [](const OtherWay& way) { return way.options.empty(); }); // what was asked for
    return ways;
}

/// Input `slot` with other whole numbers.
Change mapped(std::size_t slot, std::function<double(double)> of)
{
    return [slot, of = std::move(of)](std::vector<Tensor>& inputs) {
        std::vector<double> numbers = diagnosis::numbersIn(inputs[slot]);
        std::ranges::transform(numbers, numbers.begin(), of);
        inputs[slot] = Tensor::of<double>(inputs[slot].shape(), numbers).to(inputs[slot].dtype());
    };
}

/// Tokens as another tokenizer numbers them, moved by a few; masks turned round, and masks that hide nothing.
std::vector<OtherWay> otherTokens(const Question& asked, const graph::Graph& graph)
{
    constexpr std::int64_t kLeastVocabulary = 16;
    std::vector<OtherWay> ways;
    for (std::size_t slot = 0; slot < graph.inputs().size(); ++slot) {
        const graph::Value& input = graph.value(graph.inputs()[slot]);
        if (tensor::isFloating(input.dtype)) {
            continue;
        }
        const IntegerRange range = integersFor(graph, graph.inputs()[slot], 1);
        const auto add = [&](std::string words, std::function<double(double)> of) {
            ways.push_back({std::move(words), asked, {}, mapped(slot, std::move(of))});
        };
        if (range.isMask) {
            add(fmt::format("0 and 1 of \"{}\" exchanged", input.name), [](double x) { return 1 - x; });
            add(fmt::format("1 everywhere in \"{}\"", input.name), [](double) { return 1; });
        }
        for (const int moved :
             range.isMask || range.high < kLeastVocabulary ? std::vector<int>() : std::vector{-3, -2, -1, 1, 2, 3}) {
            add(fmt::format("{:+} to every number of \"{}\"", moved, input.name), [moved, range](double x) {
                return std::clamp(x + moved, static_cast<double>(range.low), static_cast<double>(range.high));
            });
        }
    }
    return ways;
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

Result<std::shared_ptr<const Population>> populationOf(const LoadedModel& model, const Question& question,
                                                       LabelledInputs inputs, const std::stop_token& stop,
                                                       const StageProgress& progress)
{
    const std::vector<BatchItem>& items = inputs.items;
    constexpr std::size_t kMostOtherwise = 24; // inputs; a way that is right is seen on few
    auto all = std::make_shared<Population>();
    all->truth = std::move(inputs.truth);
    for (const BatchItem& item : items) {
        all->files.push_back(item.file.string());
    }
    const formats::ModelCard* card = model.card ? &*model.card : nullptr;
    Question asked = completed(question, card);
    std::vector<OtherWay> ways;
    if (!all->truth.empty() && !picturesOf(items.front().sources, *model.graph()).empty()) {
        RETRO_TRY(const PictureOptions given, pictureOptions(asked, model));
        setPreparation(given, asked);
        ways = otherWays(asked, given);
    } else if (!all->truth.empty()) {
        ways = otherTokens(asked, *model.graph());
    }
    FolderScores scores(model, asked, items, stop, progress);
    const std::size_t few = std::min(items.size(), kMostOtherwise);
    scores.expect(items.size() + ways.size() * few);
    RETRO_TRY(all->asGiven.best, scores.bestOf(asked, items.size()));
    for (std::size_t i = 0; i < ways.size() && scores.classes() > 0; ++i) {
        auto best = scores.bestOf(ways[i].question, few, ways[i].change);
        if (!best.ok() && (!ways[i].change || best.error().code == base::ErrorCode::Cancelled)) {
            return best.error();
        }
        if (best.ok()) { // else the model does not take such numbers
            all->otherwise.push_back({std::move(ways[i].words), std::move(ways[i].options), std::move(*best)});
        }
    }
    all->classes = scores.classes();
    all->why = all->classes == 0 ? "the target is no row of scores of one input" : "";
    return std::shared_ptr<const Population>(std::move(all));
}

} // namespace retro::engine
