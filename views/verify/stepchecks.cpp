// SPDX-License-Identifier: Apache-2.0
#include "views/verify/stepchecks.h"

#include "core/trace/gradientrun.h"
#include "views/verify/stepwalk.h"

#include <algorithm>

namespace retro::views
{

namespace
{

/// True for a run whose parts were added in the order of the tape: every rule is the plain gradient, and the program
/// that recorded it knew that order.
bool addsAsTape(const trace::Run& run)
{
    const auto isOther = [](const trace::NodeRule& one) { return !one.rule.empty() && one.rule != "gradient"; };
    return run.facts.numbers.contains(trace::kGradientNumber) && trace::carriesGradient(run) &&
           std::ranges::none_of(run.rules, isOther);
}

} // namespace

Invariant StepChecks::counterOf(Invariant invariant)
{
    switch (invariant) {
    case Invariant::KnownOnce:
    case Invariant::OneRule:
    case Invariant::ZeroKept:
        return invariant;
    case Invariant::Balance:
        return Invariant::ZeroKept;
    default:
        return Invariant::Earlier; // of every landing
    }
}

StepChecks::StepChecks(const trace::Run& run)
{
    m_tracks[at(Invariant::ZeroKept)].isKnown = !run.ledger.empty();
    m_tracks[at(Invariant::Balance)].isKnown = !run.ledger.empty() && !trace::carriesGradient(run);
    m_tracks[at(Invariant::Joined)].isKnown = addsAsTape(run);
    m_tracks[at(Invariant::Untracked)].isKnown = !run.rules.empty();
    Walk walk(run, *this);
    for (std::uint64_t step = 0; step < run.events.size(); ++step) {
        walk.see(step);
    }
}

std::uint64_t StepChecks::checked(Invariant invariant, std::uint64_t position) const
{
    const std::vector<std::uint64_t>& steps = m_tracks[at(counterOf(invariant))].steps;
    return static_cast<std::uint64_t>(std::ranges::lower_bound(steps, position) - steps.begin());
}

const StepChecks::Breach* StepChecks::firstBreach(Invariant invariant, std::uint64_t position) const
{
    const std::vector<Breach>& breaches = m_tracks[at(invariant)].breaches;
    return !breaches.empty() && breaches.front().step < position ? &breaches.front() : nullptr;
}

const StepChecks::Most* StepChecks::mostWrites(std::uint64_t position) const
{
    const auto end = std::ranges::lower_bound(m_most, position, {}, &Most::step);
    return end == m_most.begin() ? nullptr : &*std::prev(end);
}

} // namespace retro::views
