// SPDX-License-Identifier: Apache-2.0
#include "core/trace/file/bytes.h"
#include "core/trace/file/runtables.h"

#include <fmt/format.h>

#include <array>

namespace retro::trace::file
{

using base::Result;
using tensor::DType;
using tensor::Shape;

namespace
{

constexpr std::int64_t kNowhere = -1;    // of a token that stands at no place of the text
constexpr std::int64_t kLinkColumns = 4; // layer, head, query, key
constexpr std::int64_t kMostTextNumber = std::int64_t{1} << 31;

/// Numbers of a step that are one text each.
struct StepNumber
{
    std::string_view name;
    double TextStep::*number;
};
constexpr std::array<StepNumber, 3> kStepNumbers{
    {{"score", &TextStep::score}, {"started", &TextStep::started}, {"reached", &TextStep::reached}}};

/// "score word": what behind the space stands is the word as it is.
std::string wordText(const TextWord& word) { return fmt::format("{} {}", word.score, word.text); }

bool readWord(std::int64_t id, const std::string& text, TextWord& word)
{
    const std::size_t end = text.find(' ');
    word.id = id;
    word.text = end == std::string::npos ? std::string() : text.substr(end + 1);
    return end != std::string::npos && readNumber(std::string_view(text).substr(0, end), word.score);
}

Tensor placesOf(const std::vector<TextLink>& links)
{
    tensor::TensorBuffer places(DType::Int32, {std::ssize(links), kLinkColumns});
    std::int32_t* to = places.data<std::int32_t>();
    for (const TextLink& link : links) {
        for (const std::int32_t number : {link.layer, link.head, link.query, link.key}) {
            *to++ = number;
        }
    }
    return std::move(places).freeze();
}

Tensor handedOf(const std::vector<TextLink>& links)
{
    tensor::TensorBuffer handed(DType::Float64, {std::ssize(links)});
    double* to = handed.data<double>();
    for (const TextLink& link : links) {
        *to++ = link.relevance;
    }
    return std::move(handed).freeze();
}

Tensor rowOf(const std::vector<double>& numbers)
{
    return Tensor::of<double>({std::ssize(numbers)}, std::span<const double>(numbers));
}

class TextWriter
{
public:
    TextWriter(Database& database, TensorPool& pool)
        : m_rows(database, kText), m_steps(database, kTextSteps), m_pool(pool)
    {}

    Result<void> write(const RunText& text)
    {
        RETRO_CHECK(add("text", 0, 0, text.text));
        RETRO_CHECK(add("note", 0, 0, text.note));
        RETRO_CHECK(add("given", 0, static_cast<std::int64_t>(text.given), ""));
        if (text.source > 0) {
            RETRO_CHECK(add("source", 0, static_cast<std::int64_t>(text.source), ""));
        }
        for (const ValueId value : text.streams) {
            RETRO_CHECK(add("stream", 0, value.value, ""));
        }
        for (const ValueId value : text.heads) {
            RETRO_CHECK(add("head", 0, value.value, ""));
        }
        for (std::size_t i = 0; i < text.steps.size(); ++i) {
            RETRO_CHECK(addStep(static_cast<std::int64_t>(i), text.steps[i]));
        }
        return {};
    }
    [[nodiscard]] std::int64_t rows() const { return m_rows.rows(); }
    [[nodiscard]] std::int64_t steps() const { return m_steps.rows(); }

private:
    Result<void> add(std::string_view name, std::int64_t step, std::int64_t item, std::string_view text)
    {
        return m_rows.text(name).integer(step).integer(item).text(text).endRow();
    }

    Result<void> addStep(std::int64_t at, const TextStep& step)
    {
        RETRO_CHECK(add("target", at, step.target.id, wordText(step.target)));
        RETRO_CHECK(add("best", at, step.best.id, wordText(step.best)));
        for (const TextWord& word : step.contrast) {
            RETRO_CHECK(add("contrast", at, word.id, wordText(word)));
        }
        for (const StepNumber& one : kStepNumbers) {
            RETRO_CHECK(add(one.name, at, 0, fmt::format("{}", step.*one.number)));
        }
        for (const auto& [cause, amount] : step.losses) {
            RETRO_CHECK(add("loss", at, 0, fmt::format("{} {}", amount, cause)));
        }
        const bool hasLinks = !step.links.empty();
        return m_steps.integer(step.position)
            .integer(m_pool.add(rowOf(step.relevance)))
            .integer(m_pool.add(step.layers))
            .integer(m_pool.add(step.heads))
            .integer(m_pool.add(hasLinks ? placesOf(step.links) : Tensor()))
            .integer(m_pool.add(hasLinks ? handedOf(step.links) : Tensor()))
            .endRow();
    }

    RowWriter m_rows;
    RowWriter m_steps;
    TensorPool& m_pool;
};

Result<std::int64_t> writeTokens(Database& database, const RunText& text)
{
    RowWriter rows(database, kTextTokens);
    for (const TextToken& token : text.tokens) {
        const auto place = token.place.value_or(std::array<std::int64_t, 2>{kNowhere, kNowhere});
        RETRO_CHECK(rows.integer(token.id).integer(place[0]).integer(place[1]).text(token.text).endRow());
    }
    return rows.rows();
}

/// Reads the tables into a text; each part checks itself, wrongSteps() what belongs together.
class TextReader
{
public:
    TextReader(Database& database, const RowCounts& counts, const std::vector<Tensor>& tensors, const Run& run)
        : m_database(database), m_counts(counts), m_tensors(tensors), m_run(run)
    {}

    Result<std::shared_ptr<const RunText>> read()
    {
        RETRO_CHECK(readTokens());
        RETRO_CHECK(readSteps());
        RowReader rows(m_database, kText, m_counts[positionOf(kText)]);
        while (true) {
            RETRO_TRY(const bool isThere, rows.next());
            if (!isThere) {
                break;
            }
            const std::string name = rows.text();
            const std::int64_t step = rows.integer();
            const std::int64_t item = rows.integer();
            const std::string text = rows.text();
            RETRO_CHECK(rows.check(set(name, step, item, text), "the text of the run is not as a run has it"));
        }
        if (!isWhole()) {
            return base::inputError("the file is damaged: what it says of its text does not fit together; record the "
                                    "run again",
                                    fmt::format("{}: table {}", m_database.path(), kTextSteps.name));
        }
        return std::make_shared<const RunText>(std::move(m_text));
    }

private:
    Result<void> readTokens()
    {
        RowReader rows(m_database, kTextTokens, m_counts[positionOf(kTextTokens)]);
        while (true) {
            RETRO_TRY(const bool isThere, rows.next());
            if (!isThere) {
                return {};
            }
            TextToken token;
            token.id = rows.integer();
            const std::int64_t begin = rows.integer();
            const std::int64_t end = rows.integer();
            token.text = rows.text();
            const bool isPlace = begin >= 0 && end >= begin && end <= kMostTextNumber;
            if (isPlace) {
                token.place = {begin, end};
            }
            const bool isGood =
                token.id >= 0 && token.id < kMostTextNumber && token.text.size() <= RunText::kMostTokenBytes &&
                m_text.tokens.size() < RunText::kMostTokens && (isPlace || (begin == kNowhere && end == kNowhere));
            RETRO_CHECK(rows.check(isGood, "the token is not as a text has it"));
            m_text.tokens.push_back(std::move(token));
        }
    }

    /// The tensor of a column; invalid for −1. `isGood` turns false where there is none.
    Tensor tensorOf(std::int64_t row, DType dtype, bool& isGood) const
    {
        const bool isThere = row >= 0 && row < std::ssize(m_tensors);
        isGood = isGood && (row == kNowhere || (isThere && m_tensors[static_cast<std::size_t>(row)].dtype() == dtype));
        return isGood && isThere ? m_tensors[static_cast<std::size_t>(row)] : Tensor();
    }

    Result<void> readSteps()
    {
        RowReader rows(m_database, kTextSteps, m_counts[positionOf(kTextSteps)]);
        while (true) {
            RETRO_TRY(const bool isThere, rows.next());
            if (!isThere) {
                return {};
            }
            TextStep step;
            bool isGood = m_text.steps.size() < RunText::kMostSteps;
            step.position = rows.integer();
            const Tensor relevance = tensorOf(rows.integer(), DType::Float64, isGood);
            step.layers = tensorOf(rows.integer(), DType::Float64, isGood);
            step.heads = tensorOf(rows.integer(), DType::Float64, isGood);
            const Tensor places = tensorOf(rows.integer(), DType::Int32, isGood);
            const Tensor handed = tensorOf(rows.integer(), DType::Float64, isGood);
            isGood = isGood && relevance.isValid() && relevance.rank() == 1 && takeLinks(places, handed, step);
            if (isGood) {
                const std::span<const double> all = relevance.span<double>();
                step.relevance.assign(all.begin(), all.end());
            }
            RETRO_CHECK(rows.check(isGood, "the step is not as a text has it"));
            m_text.steps.push_back(std::move(step));
        }
    }

    static bool takeLinks(const Tensor& places, const Tensor& handed, TextStep& step)
    {
        if (!places.isValid() && !handed.isValid()) {
            return true;
        }
        if (!places.isValid() || !handed.isValid() || handed.rank() != 1 ||
            places.shape() != Shape{handed.size(), kLinkColumns}) {
            return false;
        }
        const std::int32_t* place = places.data<std::int32_t>();
        for (const double relevance : handed.span<double>()) {
            step.links.push_back({place[0], place[1], place[2], place[3], relevance});
            place += kLinkColumns;
        }
        return true;
    }

    bool takeValue(std::int64_t item, std::vector<ValueId>& values) const
    {
        const bool isThere = item >= 0 && item < static_cast<std::int64_t>(m_run.graph->valueCount());
        if (isThere) {
            values.emplace_back(static_cast<std::size_t>(item));
        }
        return isThere;
    }

    bool set(const std::string& name, std::int64_t step, std::int64_t item, const std::string& text)
    {
        if (name == "text" || name == "note") {
            (name == "text" ? m_text.text : m_text.note) = text;
            return true;
        }
        if (name == "given" || name == "source") {
            (name == "given" ? m_text.given : m_text.source) = static_cast<std::size_t>(item);
            return item >= 0 && static_cast<std::size_t>(item) <= m_text.tokens.size();
        }
        if (name == "stream" || name == "head") {
            return takeValue(item, name == "stream" ? m_text.streams : m_text.heads);
        }
        const bool isStep = step >= 0 && step < std::ssize(m_text.steps);
        return isStep && setOfStep(m_text.steps[static_cast<std::size_t>(step)], name, item, text);
    }

    static bool setOfStep(TextStep& step, const std::string& name, std::int64_t item, const std::string& text)
    {
        if (name == "target" || name == "best") {
            return readWord(item, text, name == "target" ? step.target : step.best);
        }
        if (name == "contrast") {
            return readWord(item, text, step.contrast.emplace_back());
        }
        if (name == "loss") {
            TextWord loss;
            const bool isGood = readWord(0, text, loss);
            step.losses[loss.text] = loss.score;
            return isGood;
        }
        for (const StepNumber& one : kStepNumbers) {
            if (one.name == name) {
                return readNumber(text, step.*one.number);
            }
        }
        return false;
    }

    /// Extents of everything follow from the tokens and the layers.
    [[nodiscard]] bool isWhole() const
    {
        const auto tokens = std::ssize(m_text.tokens);
        if (m_text.source > m_text.given) {
            return false;
        }
        for (const TextStep& step : m_text.steps) {
            const auto own = std::ssize(step.relevance);
            const bool hasLayers =
                !step.layers.isValid() ||
                (step.layers.rank() == 2 && step.layers.shape() == Shape{std::ssize(m_text.streams), own});
            const bool hasHeads = !step.heads.isValid() || (step.heads.rank() == 3 && step.heads.shape()[1] == own &&
                                                            step.heads.shape()[0] == std::ssize(m_text.heads));
            if (own > tokens || step.position < kNowhere || step.position >= tokens || !hasLayers || !hasHeads ||
                !areInside(step)) {
                return false;
            }
        }
        return true;
    }

    [[nodiscard]] bool areInside(const TextStep& step) const
    {
        const auto own = std::ssize(step.relevance);
        return std::all_of(step.links.begin(), step.links.end(), [&](const TextLink& link) {
            return link.layer >= 0 && link.layer < std::ssize(m_text.heads) && link.head >= 0 && link.query >= 0 &&
                   link.query < own && link.key >= 0 && link.key < own;
        });
    }

    Database& m_database;
    const RowCounts& m_counts;
    const std::vector<Tensor>& m_tensors;
    const Run& m_run;
    RunText m_text;
};

} // namespace

bool isReadable(const RunText& text)
{
    return text.tokens.size() <= RunText::kMostTokens && text.steps.size() <= RunText::kMostSteps &&
           text.given <= text.tokens.size() &&
           std::all_of(text.tokens.begin(), text.tokens.end(), [](const TextToken& token) {
               return token.text.size() <= RunText::kMostTokenBytes && token.id >= 0 && token.id < kMostTextNumber;
           });
}

Result<void> writeText(Database& database, const RunText* text, TensorPool& pool, RowCounts& counts)
{
    if (text == nullptr) {
        return {};
    }
    TextWriter writer(database, pool);
    RETRO_CHECK(writer.write(*text));
    counts[positionOf(kText)] = writer.rows();
    counts[positionOf(kTextSteps)] = writer.steps();
    RETRO_TRY(counts[positionOf(kTextTokens)], writeTokens(database, *text));
    return {};
}

Result<std::shared_ptr<const RunText>> readText(Database& database, const RowCounts& counts,
                                                const std::vector<Tensor>& tensors, const Run& run)
{
    if (counts[positionOf(kText)] == 0) {
        return std::shared_ptr<const RunText>();
    }
    return TextReader(database, counts, tensors, run).read();
}

} // namespace retro::trace::file
