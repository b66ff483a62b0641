// SPDX-License-Identifier: Apache-2.0
#include "app/gui/stepping/stepper.h"

#include "app/gui/facts/groupstops.h"
#include "core/trace/breakpoints.h"

#include <algorithm>

namespace retro::app
{

namespace
{

std::vector<std::uint64_t> withEnds(std::vector<std::uint64_t> stops, std::uint64_t end)
{
    stops.push_back(0);
    stops.push_back(end);
    std::sort(stops.begin(), stops.end());
    stops.erase(std::unique(stops.begin(), stops.end()), stops.end());
    return stops;
}

} // namespace

Stepper::Stepper(const trace::Run& run) : m_end(run.eventCount())
{
    for (std::uint32_t visit = 0; visit < run.visitCount(); ++visit) {
        m_visits.push_back(run.endOfVisit(visit));
    }
    m_visits = withEnds(std::move(m_visits), m_end);
    m_layers = withEnds(trace::layerStops(run), m_end);
    m_groups = withEnds(groupStops(run), m_end);
}

const std::vector<std::uint64_t>* Stepper::stops(Granularity granularity) const
{
    switch (granularity) {
    case Granularity::Layer:
        return &m_layers;
    case Granularity::Visit:
        return &m_visits;
    case Granularity::Group:
        return &m_groups;
    case Granularity::Event:
        break;
    }
    return nullptr;
}

std::uint64_t Stepper::next(std::uint64_t position, Granularity granularity) const
{
    const auto* list = stops(granularity);
    if (list == nullptr) {
        return std::min(position + 1, m_end);
    }
    const auto at = std::upper_bound(list->begin(), list->end(), position);
    return at == list->end() ? m_end : *at;
}

std::uint64_t Stepper::previous(std::uint64_t position, Granularity granularity) const
{
    const auto* list = stops(granularity);
    if (list == nullptr) {
        return position == 0 ? 0 : position - 1;
    }
    const auto at = std::lower_bound(list->begin(), list->end(), position);
    return at == list->begin() ? 0 : *std::prev(at);
}

std::uint64_t Stepper::index(std::uint64_t position, Granularity granularity) const
{
    const auto* list = stops(granularity);
    if (list == nullptr) {
        return std::min(position, m_end);
    }
    const auto at = std::lower_bound(list->begin(), list->end(), position) - list->begin();
    return std::min(static_cast<std::uint64_t>(at), count(granularity));
}

std::uint64_t Stepper::passed(std::uint64_t position, Granularity granularity) const
{
    const auto* list = stops(granularity);
    if (list == nullptr) {
        return std::min(position, m_end);
    }
    const auto passed = std::upper_bound(list->begin(), list->end(), position) - list->begin();
    return passed == 0 ? 0 : static_cast<std::uint64_t>(passed - 1);
}

std::uint64_t Stepper::count(Granularity granularity) const
{
    const auto* list = stops(granularity);
    return list == nullptr ? m_end : (list->empty() ? 0 : list->size() - 1);
}

std::uint64_t Stepper::positionOf(std::uint64_t index, Granularity granularity) const
{
    const auto* list = stops(granularity);
    if (list == nullptr) {
        return std::min(index, m_end);
    }
    return list->empty() ? 0 : (*list)[std::min<std::uint64_t>(index, list->size() - 1)];
}

} // namespace retro::app
