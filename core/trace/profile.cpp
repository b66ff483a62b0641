// SPDX-License-Identifier: Apache-2.0
#include "core/trace/profile.h"

#include "core/trace/run.h"

#include <algorithm>
#include <map>
#include <unordered_map>
#include <utility>

namespace retro::trace
{

namespace
{

using Steps = std::unordered_map<std::uint32_t, std::vector<std::uint64_t>>;

/// Rules that were applied, by node: events applied when each has happened.
Steps appliedAt(const Run& run)
{
    Steps at;
    for (std::size_t i = 0; i < run.events.size(); ++i) {
        if (run.events[i].kind == event::EventKind::Rule) {
            at[run.events[i].node].push_back(i + 1);
        }
    }
    return at;
}

/// The same of computations of the first half.
Steps computedAt(const Run& run)
{
    Steps at;
    std::unordered_map<std::uint32_t, std::uint32_t> last;
    for (std::size_t i = 0; i < run.events.size(); ++i) {
        const Event& event = run.events[i];
        const bool isMade =
            event.kind == event::EventKind::Compute || (event.kind == event::EventKind::Recompute && event.extra == 0);
        const bool isForward = isMade && (event.flag & 1U) == 0;
        if (!isForward) {
            continue;
        }
        // Several results of one computation follow each other in its visit.
        const auto [before, isNew] = last.try_emplace(event.node, event.visit);
        if (isNew || before->second != event.visit) {
            at[event.node].push_back(i + 1);
        }
        before->second = event.visit;
    }
    return at;
}

} // namespace

bool ProfileRow::operator==(const ProfileRow& other) const
{
    return node == other.node && work.half == other.work.half && work.isRepeat == other.work.isRepeat &&
           work.seconds == other.work.seconds && work.flops == other.work.flops && work.bytes == other.work.bytes &&
           begin == other.begin && step == other.step;
}

std::vector<NodeTotal> nodeTotals(const Profile& profile, std::size_t nodeCount)
{
    std::vector<NodeTotal> totals(nodeCount);
    for (std::size_t i = 0; i < nodeCount; ++i) {
        totals[i].node = base::NodeId(i);
    }
    for (const ProfileRow& row : profile.rows) {
        if (row.node.index() >= nodeCount) {
            continue;
        }
        NodeTotal& total = totals[row.node.index()];
        if (row.work.isRepeat) {
            total.rebuildSeconds += row.work.seconds;
            total.rebuildFlops += row.work.flops;
            ++total.rebuilds;
        } else if (row.work.half == event::Half::Forward) {
            total.forwardSeconds += row.work.seconds;
            total.flops += row.work.flops;
            total.bytes += row.work.bytes;
        } else {
            total.reverseSeconds += row.work.seconds;
            total.reverseFlops += row.work.flops;
        }
    }
    return totals;
}

std::vector<NodeTotal> byTime(std::vector<NodeTotal> totals)
{
    std::ranges::stable_sort(totals, [](const NodeTotal& a, const NodeTotal& b) { return a.seconds() > b.seconds(); });
    return totals;
}

void ProfileRecorder::onNodeProcessed(base::NodeId node, const event::NodeWork& work)
{
    m_profile.rows.push_back({node, work, std::max(0.0, now() - work.seconds), step()});
}

void ProfileRecorder::onMemoryDecision(base::ValueId value, event::MemoryChoice choice, std::int64_t bytes,
                                       std::string_view reason)
{
    m_profile.decisions.push_back({value, choice, bytes, std::string(reason), now(), step()});
}

Profile ProfileRecorder::take(const Run* run) &&
{
    if (run == nullptr) {
        return std::move(m_profile);
    }
    const Steps computed = computedAt(*run);
    const Steps applied = appliedAt(*run);
    std::map<std::pair<event::Half, std::uint32_t>, std::size_t> times;
    std::uint64_t reached = 0;
    std::size_t decision = 0;
    for (ProfileRow& row : m_profile.rows) {
        // Decisions come between the computations that they were made between.
        for (; decision < m_profile.decisions.size() && m_profile.decisions[decision].at < row.begin; ++decision) {
            DecisionRow& made = m_profile.decisions[decision];
            made.step = made.step == 0 ? reached : made.step;
        }
        const Steps& at = row.work.half == event::Half::Forward ? computed : applied;
        const auto found = at.find(row.node.value);
        if (row.step == 0 && found != at.end()) {
            std::size_t& time = times[{row.work.half, row.node.value}];
            row.step = found->second[std::min(time++, found->second.size() - 1)];
        }
        reached = std::max(reached, row.step);
    }
    return std::move(m_profile);
}

} // namespace retro::trace
