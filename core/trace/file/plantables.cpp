// SPDX-License-Identifier: Apache-2.0
#include "core/trace/file/bytes.h"
#include "core/trace/file/recordcheck.h"
#include "core/trace/file/runtables.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>

namespace retro::trace::file
{

using base::Result;

namespace
{

// What a row of plan_saving tells.
constexpr std::string_view kKept = "kept";
constexpr std::string_view kNever = "never";
constexpr std::int64_t kNoStep = -1;

std::string nodesText(const std::vector<base::NodeId>& nodes)
{
    std::vector<std::uint32_t> numbers;
    for (const base::NodeId node : nodes) {
        numbers.push_back(node.value);
    }
    return fmt::format("{}", fmt::join(numbers, " "));
}

/// Numbers of nodes with a space between two; false where one is none of `count`.
bool readNodes(std::string_view text, std::size_t count, std::vector<base::NodeId>& nodes)
{
    while (!text.empty()) {
        const std::string word(text.substr(0, text.find(' ')));
        std::uint32_t number = 0;
        if (!readNumber(word, number) || number >= count) {
            return false;
        }
        nodes.emplace_back(number);
        text = text.substr(std::min(text.size(), word.size() + 1));
    }
    return true;
}

Result<void> writeSaving(Database& database, const RunPlan& plan, RowCounts& counts)
{
    RowWriter rows(database, kPlanSaving);
    for (const base::ValueId value : plan.kept) {
        RETRO_CHECK(
            rows.integer(value.value).integer(0).integer(kNoStep).text(kKept).integer(0).integer(0).text("").endRow());
    }
    for (const DroppedValue& one : plan.dropped) {
        if (one.returns.empty()) {
            RETRO_CHECK(rows.integer(one.value.value)
                            .integer(one.bytes)
                            .integer(one.step)
                            .text(kNever)
                            .integer(0)
                            .integer(0)
                            .text("")
                            .endRow());
        }
        for (const ValueReturn& back : one.returns) {
            RETRO_CHECK(rows.integer(one.value.value)
                            .integer(one.bytes)
                            .integer(one.step)
                            .text(nameOf(back.way))
                            .integer(back.visit)
                            .integer(back.promise.value)
                            .text(nodesText(back.again))
                            .endRow());
        }
    }
    counts[positionOf(kPlanSaving)] = rows.rows();
    return {};
}

Result<void> writeAttempts(Database& database, const RunPlan& plan, RowCounts& counts)
{
    RowWriter rows(database, kPlanAttempts);
    for (const PlannerTry& one : plan.attempts) {
        RETRO_CHECK(rows.text(one.planner)
                        .text(one.order)
                        .integer(one.fits ? 1 : 0)
                        .integer(static_cast<std::int64_t>(one.peak))
                        .text(fmt::format("{}", one.cost))
                        .text(fmt::format("{}", one.seconds))
                        .text(one.refusal)
                        .endRow());
    }
    counts[positionOf(kPlanAttempts)] = rows.rows();
    return {};
}

Result<void> readAttempts(Database& database, const RowCounts& counts, RunPlan& plan)
{
    RowReader rows(database, kPlanAttempts, counts[positionOf(kPlanAttempts)]);
    while (true) {
        RETRO_TRY(const bool isThere, rows.next());
        if (!isThere) {
            return {};
        }
        PlannerTry one;
        one.planner = rows.text();
        one.order = rows.text();
        one.fits = rows.index(2) == 1;
        const std::int64_t peak = rows.integer();
        const bool isGood = readNumber(rows.text(), one.cost) && readNumber(rows.text(), one.seconds) &&
                            std::isfinite(one.cost) && std::isfinite(one.seconds) && peak >= 0;
        one.peak = static_cast<std::uint64_t>(peak);
        one.refusal = rows.text();
        RETRO_CHECK(rows.check(isGood, "what a planner reached is no number"));
        plan.attempts.push_back(std::move(one));
    }
}

/// One row of plan_saving.
struct SavingRow
{
    base::ValueId value;
    std::int64_t bytes = 0;
    std::int64_t step = kNoStep;
    std::string way;
    ValueReturn back;

    [[nodiscard]] bool comesBack() const
    {
        return way == nameOf(ReturnWay::Promise) || way == nameOf(ReturnWay::Recompute);
    }
};

/// The row that the reader stands at; of its bytes at most `most`.
Result<SavingRow> readSavingRow(RowReader& rows, const Run& run, std::int64_t most)
{
    constexpr std::int64_t kMostNumbers = std::int64_t{1} << 32;
    SavingRow row;
    row.value = base::ValueId{rows.index(run.graph->valueCount())};
    row.bytes = rows.integer();
    row.step = rows.integer();
    row.way = rows.text();
    const std::int64_t visit = rows.integer();
    const std::int64_t promise = rows.integer();
    row.back = {row.way == nameOf(ReturnWay::Promise) ? ReturnWay::Promise : ReturnWay::Recompute,
                static_cast<std::uint32_t>(visit),
                base::PromiseId(static_cast<std::uint32_t>(promise)),
                {}};
    const bool hasNodes = readNodes(rows.text(), run.graph->runNodeCount(), row.back.again);
    const bool isWay = row.comesBack() || row.way == kNever || row.way == kKept;
    const bool isPlace = visit >= 0 && visit < std::max<std::int64_t>(1, run.visitCount()) && promise >= 0 &&
                         promise < kMostNumbers && row.step >= kNoStep && row.step < kMostNumbers;
    RETRO_CHECK(rows.check(hasNodes && isWay && isPlace && row.bytes >= 0 && row.bytes <= most,
                           "it names a place that the run has not"));
    return row;
}

Result<void> readSaving(Database& database, const RowCounts& counts, const Run& run, RunPlan& plan)
{
    RowReader rows(database, kPlanSaving, counts[positionOf(kPlanSaving)]);
    std::int64_t total = 0;
    while (true) {
        RETRO_TRY(const bool isThere, rows.next());
        if (!isThere) {
            return {};
        }
        RETRO_TRY(SavingRow row, readSavingRow(rows, run, kMostBytes - total));
        if (row.way == kKept) {
            plan.kept.push_back(row.value);
            continue;
        }
        const bool isNext = plan.dropped.empty() || plan.dropped.back().value != row.value;
        total += isNext ? row.bytes : 0;
        if (isNext) {
            plan.dropped.push_back({row.value, row.bytes, static_cast<std::uint32_t>(row.step), {}});
        }
        if (row.comesBack()) {
            plan.dropped.back().returns.push_back(std::move(row.back));
        }
    }
}

} // namespace

Result<void> writePlan(Database& database, const RunPlan* plan, RowCounts& counts)
{
    if (plan == nullptr) {
        return {};
    }
    RowWriter rows(database, kPlan);
    RETRO_CHECK(rows.text("plan").text(plan->text).endRow());
    RETRO_CHECK(rows.text("graph").text(plan->graph).endRow());
    RETRO_CHECK(rows.text("question").text(plan->question).endRow());
    counts[positionOf(kPlan)] = rows.rows();
    RETRO_CHECK(writeAttempts(database, *plan, counts));
    return writeSaving(database, *plan, counts);
}

Result<std::shared_ptr<const RunPlan>> readPlan(Database& database, const RowCounts& counts, const Run& run)
{
    if (counts[positionOf(kPlan)] == 0) {
        return std::shared_ptr<const RunPlan>();
    }
    auto plan = std::make_shared<RunPlan>();
    RowReader rows(database, kPlan, counts[positionOf(kPlan)]);
    while (true) {
        RETRO_TRY(const bool isThere, rows.next());
        if (!isThere) {
            break;
        }
        const std::string name = rows.text();
        std::string text = rows.text();
        const bool isKnown = name == "plan" || name == "graph" || name == "question";
        RETRO_CHECK(rows.check(isKnown, "it is nothing that is said of a plan"));
        (name == "plan" ? plan->text : name == "graph" ? plan->graph : plan->question) = std::move(text);
    }
    RETRO_CHECK(readAttempts(database, counts, *plan));
    RETRO_CHECK(readSaving(database, counts, run, *plan));
    return std::shared_ptr<const RunPlan>(std::move(plan));
}

} // namespace retro::trace::file
