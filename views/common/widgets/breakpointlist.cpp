// SPDX-License-Identifier: Apache-2.0
#include "views/common/widgets/breakpointlist.h"

#include "views/common/jobrunner.h"

#include <algorithm>

namespace retro::views
{

namespace
{

const QString kOff = QStringLiteral("off ");

bool isVisitOf(const BreakpointEntry& entry, base::NodeId node)
{
    return entry.found && entry.found->kind == trace::BreakKind::NodeVisited && entry.found->node == node;
}

using Wanted = std::vector<std::optional<trace::Breakpoint>>;

std::vector<std::vector<std::uint64_t>> stopsOf(const trace::Run& run, const Wanted& wanted,
                                                const std::stop_token& token)
{
    std::vector<std::vector<std::uint64_t>> stops(wanted.size());
    for (std::size_t i = 0; i < wanted.size() && !token.stop_requested(); ++i) {
        if (wanted[i]) {
            stops[i] = trace::allStops(run, *wanted[i]);
        }
    }
    return stops;
}

} // namespace

BreakpointList::BreakpointList(RunModel& model, QObject* parent)
    : QObject(parent), m_model(model), m_jobs(new JobRunner(this))
{
    connect(&model, &RunModel::runChanged, this, &BreakpointList::resolveAll);
}

BreakpointList::~BreakpointList() = default;

void BreakpointList::resolve(BreakpointEntry& entry) const
{
    entry.found.reset();
    entry.problem.clear();
    entry.stops.clear();
    if (!m_model.hasRun()) {
        entry.problem = tr("Nothing is open.");
        return;
    }
    const auto parsed = trace::parseBreakpoint(m_model.run(), entry.condition.toStdString());
    if (parsed) {
        entry.found = *parsed;
    } else {
        entry.problem = QString::fromStdString(parsed.error().text());
    }
}

void BreakpointList::resolveAll()
{
    for (BreakpointEntry& entry : m_entries) {
        resolve(entry);
    }
    emit changed();
    search();
}

void BreakpointList::search()
{
    m_jobs->cancel();
    if (!m_model.hasRun() || m_entries.empty()) {
        emit stopsChanged();
        return;
    }
    Wanted wanted;
    for (const BreakpointEntry& entry : m_entries) {
        wanted.push_back(entry.found);
    }
    m_jobs->start([this, run = m_model.sharedRun(), wanted](const std::stop_token& token) -> JobRunner::Delivery {
        return [this, found = stopsOf(*run, wanted, token)] { takeStops(found); };
    });
}

void BreakpointList::takeStops(const std::vector<std::vector<std::uint64_t>>& found)
{
    for (std::size_t i = 0; i < std::min(found.size(), m_entries.size()); ++i) {
        m_entries[i].stops = found[i];
    }
    emit stopsChanged();
}

base::Result<void> BreakpointList::add(const QString& condition)
{
    BreakpointEntry entry;
    entry.condition = condition.simplified();
    resolve(entry);
    if (!entry.found) {
        return base::usageError(entry.problem.toStdString());
    }
    const bool isThere = std::any_of(m_entries.begin(), m_entries.end(),
                                     [&](const BreakpointEntry& other) { return other.found == entry.found; });
    if (!isThere) {
        m_entries.push_back(std::move(entry));
        emit changed();
        search();
    }
    return {};
}

base::Result<void> BreakpointList::edit(std::size_t at, const QString& condition)
{
    if (at >= m_entries.size()) {
        return base::usageError("there is no such breakpoint");
    }
    BreakpointEntry entry;
    entry.condition = condition.simplified();
    entry.isEnabled = m_entries[at].isEnabled;
    resolve(entry);
    if (!entry.found) {
        return base::usageError(entry.problem.toStdString());
    }
    m_entries[at] = std::move(entry);
    emit changed();
    search();
    return {};
}

void BreakpointList::setEnabled(std::size_t at, bool isEnabled)
{
    if (at < m_entries.size() && m_entries[at].isEnabled != isEnabled) {
        m_entries[at].isEnabled = isEnabled;
        emit changed();
        emit stopsChanged();
    }
}

void BreakpointList::remove(std::size_t at)
{
    if (at < m_entries.size()) {
        m_entries.erase(m_entries.begin() + static_cast<std::ptrdiff_t>(at));
        emit changed();
        search();
    }
}

void BreakpointList::clear()
{
    m_entries.clear();
    emit changed();
    search();
}

void BreakpointList::toggle(base::NodeId node)
{
    if (!m_model.hasRun() || !node.isValid()) {
        return;
    }
    if (!indexOf(node)) {
        trace::Breakpoint breakpoint;
        breakpoint.node = node;
        // A node of the run always has a name that finds it again.
        static_cast<void>(add(QString::fromStdString(trace::source(m_model.run(), breakpoint))));
        return;
    }
    std::erase_if(m_entries, [&](const BreakpointEntry& entry) { return isVisitOf(entry, node); });
    emit changed();
    search();
}

std::optional<std::size_t> BreakpointList::indexOf(base::NodeId node) const
{
    const auto at = std::find_if(m_entries.begin(), m_entries.end(),
                                 [&](const BreakpointEntry& entry) { return isVisitOf(entry, node); });
    return at == m_entries.end() ? std::nullopt : std::optional(static_cast<std::size_t>(at - m_entries.begin()));
}

std::vector<trace::Breakpoint> BreakpointList::active() const
{
    std::vector<trace::Breakpoint> found;
    for (const BreakpointEntry& entry : m_entries) {
        if (entry.isEnabled && entry.found) {
            found.push_back(*entry.found);
        }
    }
    return found;
}

std::vector<std::uint64_t> BreakpointList::stops() const
{
    std::vector<std::uint64_t> all;
    for (const BreakpointEntry& entry : m_entries) {
        if (entry.isEnabled) {
            all.insert(all.end(), entry.stops.begin(), entry.stops.end());
        }
    }
    std::sort(all.begin(), all.end());
    all.erase(std::unique(all.begin(), all.end()), all.end());
    return all;
}

QStringList BreakpointList::save() const
{
    QStringList conditions;
    for (const BreakpointEntry& entry : m_entries) {
        conditions.append(entry.isEnabled ? entry.condition : kOff + entry.condition);
    }
    return conditions;
}

void BreakpointList::restore(const QStringList& conditions)
{
    m_entries.clear();
    for (const QString& text : conditions) {
        BreakpointEntry entry;
        entry.isEnabled = !text.startsWith(kOff);
        entry.condition = entry.isEnabled ? text : text.mid(kOff.size());
        m_entries.push_back(std::move(entry));
    }
    resolveAll();
}

} // namespace retro::views

#include "moc_breakpointlist.cpp"
