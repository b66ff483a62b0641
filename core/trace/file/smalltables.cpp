// SPDX-License-Identifier: Apache-2.0
#include "core/trace/file/bytes.h"
#include "core/trace/file/forwardedrows.h"
#include "core/trace/file/inputrows.h"
#include "core/trace/file/recordcheck.h"
#include "core/trace/file/records.h"
#include "core/trace/file/runtables.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>

namespace retro::trace::file
{

using base::Result;

namespace
{

/// Facts that are one text.
struct TextFact
{
    std::string_view name;
    std::string RunFacts::*text;
};
constexpr std::array<TextFact, 9> kTextFacts{{{"kind", &RunFacts::kind},
                                              {"model", &RunFacts::modelName},
                                              {"composite", &RunFacts::composite},
                                              {"engine", &RunFacts::engine},
                                              {"save", &RunFacts::save},
                                              {"precision", &RunFacts::precision},
                                              {"start", &RunFacts::start},
                                              {"title", &RunFacts::title},
                                              {"scores", &RunFacts::scores}}};

/// Facts since versions 11 and 14, written where there is something to say.
constexpr std::array<TextFact, 4> kLaterTextFacts{{{"region", &RunFacts::region},
                                                   {"conditions", &RunFacts::conditions},
                                                   {"model_path", &RunFacts::modelPath},
                                                   {"model_digest", &RunFacts::modelDigest}}};

class FactWriter
{
public:
    FactWriter(Database& database, const RunFacts& facts) : m_rows(database, kFacts), m_facts(facts) {}

    Result<std::int64_t> write()
    {
        for (const TextFact& fact : kTextFacts) {
            RETRO_CHECK(add(fact.name, "", m_facts.*fact.text));
        }
        for (const TextFact& fact : kLaterTextFacts) {
            if (!(m_facts.*fact.text).empty()) {
                RETRO_CHECK(add(fact.name, "", m_facts.*fact.text));
            }
        }
        if (m_facts.targetValue.isValid()) {
            RETRO_CHECK(add("target_value", "", fmt::format("{}", m_facts.targetValue.value)));
        }
        RETRO_CHECK(addAll("target_index", m_facts.targetIndex));
        RETRO_CHECK(addAll("target_logit", m_facts.targetLogit));
        for (const auto& [key, number] : m_facts.numbers) {
            RETRO_CHECK(add("number", key, fmt::format("{}", number)));
        }
        RETRO_CHECK(addAll("label", m_facts.labels));
        RETRO_CHECK(addAll("plan_try", m_facts.planTries));
        RETRO_CHECK(addAll("plan_tier", m_facts.planTiers));
        for (const ForwardedValue& value : m_facts.forwarded) {
            RETRO_CHECK(add("forwarded", fmt::format("{}", value.value.value), forwardedText(value)));
        }
        for (const SourceFacts& source : m_facts.sources) {
            RETRO_CHECK(add("source", source.digest, source.source));
        }
        if (m_facts.input) {
            for (const InputRow& row : inputRows(*m_facts.input)) {
                RETRO_CHECK(add("input", row.item, row.text));
            }
        }
        return m_rows.rows();
    }

private:
    Result<void> add(std::string_view name, std::string_view item, std::string_view text)
    {
        return m_rows.text(name).text(item).text(text).endRow();
    }

    template <class T>
    Result<void> addAll(std::string_view name, const std::vector<T>& things)
    {
        for (const T& thing : things) {
            RETRO_CHECK(add(name, "", fmt::format("{}", thing)));
        }
        return {};
    }

    RowWriter m_rows;
    const RunFacts& m_facts;
};

/// Puts facts into a RunFacts; each setter says whether it understood the text.
class FactReader
{
public:
    FactReader(RunFacts& facts, std::size_t valueCount) : m_facts(facts), m_valueCount(valueCount) {}

    bool set(const std::string& name, const std::string& item, const std::string& text)
    {
        for (const std::span<const TextFact> facts :
             {std::span<const TextFact>(kTextFacts), std::span<const TextFact>(kLaterTextFacts)}) {
            const auto fact = std::ranges::find(facts, name, &TextFact::name);
            if (fact != facts.end()) {
                m_facts.*fact->text = text;
                return true;
            }
        }
        for (const Setter& setter : kSetters) {
            if (setter.name == name) {
                return (this->*setter.set)(item, text);
            }
        }
        return false;
    }

private:
    struct Setter
    {
        std::string_view name;
        bool (FactReader::*set)(const std::string& item, const std::string& text);
    };
    static const std::array<Setter, 10> kSetters;

    bool setTargetValue(const std::string&, const std::string& text)
    {
        return readNumber(text, m_facts.targetValue.value) && m_facts.targetValue.index() < m_valueCount;
    }
    bool addTargetIndex(const std::string&, const std::string& text)
    {
        return readNumber(text, m_facts.targetIndex.emplace_back());
    }
    bool addTargetLogit(const std::string&, const std::string& text)
    {
        return readNumber(text, m_facts.targetLogit.emplace_back());
    }
    bool setNumber(const std::string& item, const std::string& text) { return readNumber(text, m_facts.numbers[item]); }
    bool addLabel(const std::string&, const std::string& text)
    {
        m_facts.labels.push_back(text);
        return true;
    }
    bool addPlanTry(const std::string&, const std::string& text)
    {
        m_facts.planTries.push_back(text);
        return true;
    }
    bool addPlanTier(const std::string&, const std::string& text)
    {
        m_facts.planTiers.push_back(text);
        return true;
    }
    /// Ascending, so that none comes twice.
    bool addForwarded(const std::string& item, const std::string& text)
    {
        ForwardedValue value;
        const bool isValue = readNumber(item, value.value.value) && value.value.index() < m_valueCount;
        const bool isNext = m_facts.forwarded.empty() || m_facts.forwarded.back().value < value.value;
        const bool isGood = isValue && isNext && readForwarded(text, value) &&
                            value.bytes <= kMostBytes - m_forwardedBytes && value.kept <= kMostBytes - m_keptBytes;
        m_forwardedBytes += isGood ? value.bytes : 0;
        m_keptBytes += isGood ? value.kept : 0;
        m_facts.forwarded.push_back(std::move(value));
        return isGood;
    }
    bool addSource(const std::string& item, const std::string& text)
    {
        m_facts.sources.push_back({text, item});
        return m_facts.sources.size() <= m_valueCount;
    }
    bool setInput(const std::string& item, const std::string& text)
    {
        if (!m_facts.input) {
            m_facts.input.emplace();
        }
        return setInputRow(*m_facts.input, item, text);
    }

    RunFacts& m_facts;
    std::size_t m_valueCount;
    std::int64_t m_forwardedBytes = 0; ///< of all forwarded values, so that no sum of them overflows
    std::int64_t m_keptBytes = 0;
};

const std::array<FactReader::Setter, 10> FactReader::kSetters{{{"target_value", &FactReader::setTargetValue},
                                                               {"target_index", &FactReader::addTargetIndex},
                                                               {"target_logit", &FactReader::addTargetLogit},
                                                               {"number", &FactReader::setNumber},
                                                               {"label", &FactReader::addLabel},
                                                               {"plan_try", &FactReader::addPlanTry},
                                                               {"plan_tier", &FactReader::addPlanTier},
                                                               {"forwarded", &FactReader::addForwarded},
                                                               {"source", &FactReader::addSource},
                                                               {"input", &FactReader::setInput}}};

Result<void> writeRules(Database& database, const Run& run, RowCounts& counts)
{
    RowWriter rows(database, kRules);
    for (const NodeRule& rule : run.rules) {
        RETRO_CHECK(rows.text(rule.rule).text(rule.matcher).text(rule.structure).endRow());
    }
    counts[positionOf(kRules)] = rows.rows();
    return {};
}

Result<void> writeShapes(Database& database, const Run& run, RowCounts& counts)
{
    RowWriter rows(database, kShapes);
    for (const tensor::Shape& shape : run.shapes) {
        ByteWriter bytes;
        put(bytes, shape);
        RETRO_CHECK(rows.blob(bytes.bytes()).endRow());
    }
    counts[positionOf(kShapes)] = rows.rows();
    return {};
}

Result<void> writeBookmarks(Database& database, const Run& run, RowCounts& counts)
{
    RowWriter rows(database, kBookmarks);
    for (const Bookmark& bookmark : run.bookmarks) {
        RETRO_CHECK(rows.integer(static_cast<std::int64_t>(bookmark.position)).text(bookmark.text).endRow());
    }
    counts[positionOf(kBookmarks)] = rows.rows();
    return {};
}

/// Calls `row(rows)` for every row of a table.
template <class Row>
Result<void> forEachRow(Database& database, const Table& table, const RowCounts& counts, Row&& row)
{
    RowReader rows(database, table, counts[positionOf(table)]);
    while (true) {
        RETRO_TRY(const bool isThere, rows.next());
        if (!isThere) {
            return {};
        }
        RETRO_CHECK(row(rows));
    }
}

Result<void> readFact(RowReader& rows, FactReader& facts)
{
    const std::string name = rows.text();
    const std::string item = rows.text();
    const std::string text = rows.text();
    return rows.check(facts.set(name, item, text), "the fact is not known, or its value is wrong");
}

Result<void> readRule(RowReader& rows, Run& run)
{
    NodeRule rule;
    rule.rule = rows.text();
    rule.matcher = rows.text();
    rule.structure = rows.text();
    run.rules.push_back(std::move(rule));
    return rows.check(run.rules.size() <= run.graph->nodeCount(), "there are more rules than nodes");
}

Result<void> readShape(RowReader& rows, Run& run)
{
    ByteReader from(rows.blob());
    run.shapes.push_back(getShape(from));
    const bool isGood = from.isDone() && bytesWithin(tensor::DType::Float64, run.shapes.back(), 1ULL << 62U);
    return rows.check(isGood && run.shapes.size() <= run.graph->valueCount(), "the shape is wrong");
}

Result<void> readBookmark(RowReader& rows, Run& run)
{
    const std::int64_t position = rows.integer();
    run.bookmarks.push_back({static_cast<std::uint64_t>(position), rows.text()});
    const bool isInside = position >= 0 && static_cast<std::uint64_t>(position) <= run.events.size();
    return rows.check(isInside, "the bookmark lies outside the run");
}

/// Views index rules by node and shapes by value: they are whole or missing.
Result<void> checkWhole(const Database& database, const Run& run)
{
    const bool areRulesWhole = run.rules.empty() || run.rules.size() == run.graph->nodeCount();
    const bool areShapesWhole = run.shapes.empty() || run.shapes.size() == run.graph->valueCount();
    if (!areRulesWhole || !areShapesWhole) {
        return base::inputError(
            "the file is damaged: nodes lack rules or values lack shapes; record the run again",
            fmt::format("{}: table {}", database.path(), areRulesWhole ? kShapes.name : kRules.name));
    }
    return {};
}

} // namespace

Result<void> writeSmallTables(Database& database, const Run& run, RowCounts& counts)
{
    RETRO_TRY(counts[positionOf(kFacts)], FactWriter(database, run.facts).write());
    RETRO_CHECK(writeRules(database, run, counts));
    RETRO_CHECK(writeShapes(database, run, counts));
    return writeBookmarks(database, run, counts);
}

Result<void> readSmallTables(Database& database, const RowCounts& counts, Run& run)
{
    FactReader facts(run.facts, run.graph->valueCount());
    RETRO_CHECK(forEachRow(database, kFacts, counts, [&](RowReader& rows) { return readFact(rows, facts); }));
    RETRO_CHECK(forEachRow(database, kRules, counts, [&](RowReader& rows) { return readRule(rows, run); }));
    RETRO_CHECK(forEachRow(database, kShapes, counts, [&](RowReader& rows) { return readShape(rows, run); }));
    RETRO_CHECK(forEachRow(database, kBookmarks, counts, [&](RowReader& rows) { return readBookmark(rows, run); }));
    return checkWhole(database, run);
}

Result<void> writeForwardValues(Database& database, const Run& run, TensorPool& pool, RowCounts& counts)
{
    RowWriter rows(database, kForward);
    for (std::size_t i = 0; i < run.values.size(); ++i) {
        const bool isConstant = run.graph->value(ValueId(i)).kind == graph::ValueKind::Constant;
        if (run.values[i].isValid() && !isConstant) {
            RETRO_CHECK(rows.integer(static_cast<std::int64_t>(i)).integer(pool.add(run.values[i])).endRow());
        }
    }
    counts[positionOf(kForward)] = rows.rows();
    return {};
}

Result<void> readForwardValues(Database& database, const RowCounts& counts, const std::vector<Tensor>& tensors,
                               Run& run)
{
    run.values.resize(run.graph->valueCount());
    return forEachRow(database, kForward, counts, [&](RowReader& rows) {
        const std::size_t value = rows.index(run.values.size());
        const std::size_t tensor = rows.index(tensors.size());
        Result<void> checked = rows.check();
        if (checked) {
            run.values[value] = tensors[tensor];
        }
        return checked;
    });
}

} // namespace retro::trace::file
