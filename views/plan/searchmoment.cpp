// SPDX-License-Identifier: Apache-2.0
#include "views/plan/searchmoment.h"

#include "core/event/planevent.h"
#include "views/common/numbertext.h"
#include "views/plan/shownplan.h"

#include <QCoreApplication>

#include <algorithm>

namespace retro::views
{

using event::EventKind;

SearchTries::SearchTries(const trace::Run& run)
{
    const std::uint32_t visits = event::searchVisits(run.events);
    end = visits == 0 ? 0 : run.endOfVisit(visits - 1);
    for (std::uint64_t step = 0; step < end; ++step) {
        const trace::Event& event = run.events[step];
        if (event.kind != EventKind::Candidate) {
            continue;
        }
        schedule::Attempt one;
        one.planner = event.slot < run.facts.planTries.size() ? run.facts.planTries[event.slot] : std::string();
        one.fits = (event.flag & event::kTryFits) != 0;
        one.peak = event::wideIn(event);
        one.cost = event::numberIn(event);
        one.refusal = (event.flag & event::kTryRefused) != 0 ? "the planner made none" : "";
        if ((event.flag & event::kTryIsBest) != 0) {
            bestOnes.push_back(static_cast<std::uint32_t>(tries.size()));
        }
        tries.push_back(std::move(one));
        steps.push_back(step);
    }
}

static QString searchText(const char* words) { return QCoreApplication::translate("retro::views::Search", words); }

QString SearchMoment::count() const
{
    return searchText("try %1 of %2")
        .arg(countText(static_cast<std::int64_t>(number()) + 1),
             countText(static_cast<std::int64_t>(all->tries.size())));
}

QString SearchMoment::words(const RunModel& model) const
{
    const QString who =
        number() < all->tries.size() ? plannerTitle(all->tries[number()].planner) : searchText("the search");
    const trace::Event& last = model.run().events[model.position() - 1];
    const QString place = model.placeLabel(base::NodeId(last.node));
    switch (last.kind) {
    case EventKind::Candidate: {
        const schedule::Attempt& one = all->tries[number()];
        const QString peak = bytesText(static_cast<std::int64_t>(one.peak));
        return !one.refusal.empty()        ? searchText("%1 has no plan").arg(who)
               : best && *best == number() ? searchText("%1 reaches %2: the best so far").arg(who, peak)
               : one.fits                  ? searchText("%1 reaches %2").arg(who, peak)
                                           : searchText("%1 reaches %2: more than the budget").arg(who, peak);
    }
    case EventKind::Drop:
        return searchText("%1 lets %2 go").arg(who, place);
    case EventKind::Rebuild:
        return searchText("%1 has %2 made again").arg(who, place);
    case EventKind::Split:
        return searchText("%1 cuts behind %2").arg(who, place);
    default:
        return searchText("%1 looks at %2").arg(who, place);
    }
}

std::optional<SearchMoment> searchMoment(const RunModel& model)
{
    const std::uint64_t position = model.hasRun() ? model.position() : 0;
    const auto all = position > 0 ? model.derived<SearchTries>() : nullptr;
    if (!all || position > all->end) {
        return std::nullopt;
    }
    SearchMoment moment{all, 0, {}, {}, false};
    moment.done = static_cast<std::size_t>(std::ranges::lower_bound(all->steps, position) - all->steps.begin());
    const auto later = std::ranges::lower_bound(all->bestOnes, static_cast<std::uint32_t>(moment.done));
    if (later != all->bestOnes.begin()) {
        moment.best = *std::prev(later);
    }
    const trace::Event& last = model.run().events[position - 1];
    moment.isTold = last.kind == EventKind::Candidate;
    const bool isOfValue = last.kind == EventKind::Drop || last.kind == EventKind::Rebuild;
    if (isOfValue && !event::isOfGradient(last)) {
        moment.tried = base::ValueId(last.other);
    }
    return moment;
}

} // namespace retro::views
