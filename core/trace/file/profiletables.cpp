// SPDX-License-Identifier: Apache-2.0
// What a pass spent and decided: tables `profile` and `decisions`.
#include "core/trace/file/runtables.h"
#include "core/trace/profile.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>

namespace retro::trace::file
{

using base::Result;

namespace
{

std::string amountText(double amount) { return fmt::format("{}", amount); }

/// A finite number that is not negative.
bool readAmount(const std::string& text, double& amount)
{
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), amount);
    return error == std::errc() && end == text.data() + text.size() && std::isfinite(amount) && amount >= 0;
}

bool isStep(std::int64_t step, const Run& run)
{
    return step >= 0 && static_cast<std::uint64_t>(step) <= run.eventCount();
}

Result<void> readRows(Database& database, const RowCounts& counts, const Run& run, Profile& profile)
{
    RowReader rows(database, kProfile, counts[positionOf(kProfile)]);
    while (true) {
        RETRO_TRY(const bool isThere, rows.next());
        if (!isThere) {
            return {};
        }
        ProfileRow row;
        row.node = base::NodeId(rows.index(run.graph->runNodeCount()));
        row.work.half = rows.index(2) == 0 ? event::Half::Forward : event::Half::Reverse;
        row.work.isRepeat = rows.index(2) == 1;
        bool isGood = readAmount(rows.text(), row.begin);
        isGood = readAmount(rows.text(), row.work.seconds) && isGood;
        isGood = readAmount(rows.text(), row.work.flops) && isGood;
        row.work.bytes = rows.integer();
        const std::int64_t step = rows.integer();
        RETRO_CHECK(rows.check(isGood && row.work.bytes >= 0 && isStep(step, run), "it has an impossible number"));
        row.step = static_cast<std::uint64_t>(step);
        profile.rows.push_back(row);
    }
}

Result<void> readDecisions(Database& database, const RowCounts& counts, const Run& run, Profile& profile)
{
    RowReader rows(database, kDecisions, counts[positionOf(kDecisions)]);
    while (true) {
        RETRO_TRY(const bool isThere, rows.next());
        if (!isThere) {
            return {};
        }
        DecisionRow row;
        row.value = base::ValueId(rows.index(run.graph->valueCount()));
        row.choice = static_cast<event::MemoryChoice>(rows.index(event::kMemoryChoiceCount));
        row.bytes = rows.integer();
        row.reason = rows.text();
        const bool isGood = readAmount(rows.text(), row.at);
        const std::int64_t step = rows.integer();
        RETRO_CHECK(rows.check(isGood && row.bytes >= 0 && isStep(step, run), "it has an impossible number"));
        row.step = static_cast<std::uint64_t>(step);
        profile.decisions.push_back(std::move(row));
    }
}

} // namespace

Result<void> writeProfile(Database& database, const Run& run, RowCounts& counts)
{
    if (run.profile == nullptr) {
        return {};
    }
    RowWriter rows(database, kProfile);
    for (const ProfileRow& row : run.profile->rows) {
        RETRO_CHECK(rows.integer(row.node.value)
                        .integer(static_cast<std::int64_t>(row.work.half))
                        .integer(row.work.isRepeat ? 1 : 0)
                        .text(amountText(row.begin))
                        .text(amountText(row.work.seconds))
                        .text(amountText(row.work.flops))
                        .integer(row.work.bytes)
                        .integer(static_cast<std::int64_t>(row.step))
                        .endRow());
    }
    counts[positionOf(kProfile)] = rows.rows();
    RowWriter decisions(database, kDecisions);
    for (const DecisionRow& row : run.profile->decisions) {
        RETRO_CHECK(decisions.integer(row.value.value)
                        .integer(static_cast<std::int64_t>(row.choice))
                        .integer(row.bytes)
                        .text(row.reason)
                        .text(amountText(row.at))
                        .integer(static_cast<std::int64_t>(row.step))
                        .endRow());
    }
    counts[positionOf(kDecisions)] = decisions.rows();
    return {};
}

Result<void> readProfile(Database& database, const RowCounts& counts, Run& run)
{
    if (counts[positionOf(kProfile)] == 0 && counts[positionOf(kDecisions)] == 0) {
        return {};
    }
    auto profile = std::make_shared<Profile>();
    RETRO_CHECK(readRows(database, counts, run, *profile));
    RETRO_CHECK(readDecisions(database, counts, run, *profile));
    run.profile = std::move(profile);
    return {};
}

} // namespace retro::trace::file
