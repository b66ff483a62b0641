// SPDX-License-Identifier: Apache-2.0
#include "views/palette/runsources.h"

#include "core/trace/describe.h"
#include "views/common/numbertext.h"
#include "views/common/paint/marks.h"
#include "views/palette/fuzzymatch.h"

#include <QCoreApplication>

#include <algorithm>

namespace retro::views
{

namespace
{

QString tr(const char* text) { return QCoreApplication::translate("retro::views::RunSources", text); }

/// A node with its score, before anything is put in words.
struct Hit
{
    std::uint32_t id = 0;
    int score = 0;
};

void keepBestHits(std::vector<Hit>& hits, std::size_t limit)
{
    std::stable_sort(hits.begin(), hits.end(), [](const Hit& a, const Hit& b) { return a.score > b.score; });
    hits.resize(std::min(hits.size(), limit));
}

std::vector<int> placesOf(const QString& pattern, const QString& text)
{
    const auto match = fuzzyMatch(pattern.toStdU16String(), text.toStdU16String());
    return match ? match->places : std::vector<int>();
}

std::uint32_t nodeAndInputCount(const graph::Graph& graph)
{
    return static_cast<std::uint32_t>(graph.nodeCount() + graph.inputs().size());
}

/// The short name where all letters that were typed are in it, else the whole one.
QString nameFor(const RunModel& model, base::NodeId node, const QString& pattern)
{
    const QString name = model.placeLabel(node);
    return fuzzyMatch(pattern.toStdU16String(), name.toStdU16String()) ? name : model.label(node);
}

struct Opening
{
    std::uint32_t promise = 0;
    base::NodeId start;
    std::uint64_t position = 0; ///< events applied once it is there
};

std::vector<Opening> openingsOf(const RunModel& model)
{
    std::vector<Opening> openings;
    for (const std::uint64_t step : model.series().promisesOpened) {
        const trace::Event& e = model.run().events[step];
        openings.push_back({e.promise, base::NodeId(e.node), step + 1});
    }
    return openings;
}

QString stateInWords(const trace::RunState& state, std::uint32_t promise)
{
    const bool isThere = promise < state.promises.size() && state.promises[promise].start.isValid();
    if (!isThere) {
        return tr("not opened yet");
    }
    return state.promises[promise].isComplete ? tr("fulfilled") : tr("waits");
}

} // namespace

QString NodeSource::name() const { return tr("layer"); }

PaletteItem NodeSource::itemOf(base::NodeId node, const QString& pattern, int score) const
{
    const RunModel& model = m_context.model;
    PaletteItem item;
    item.text = nameFor(model, node, pattern);
    const QString whole = model.label(node);
    item.detail = item.text == whole ? model.op(node) : tr("%1, %2").arg(model.op(node), whole);
    const auto mode =
        node.index() < model.state().nodes.size() ? model.state().nodes[node.index()].lastMode : event::Mode::None;
    item.key = letterOf(mode);
    item.icon = QStringLiteral("node");
    item.score = score;
    item.places = placesOf(pattern, item.text);
    item.run = [context = m_context, node](bool isFar) {
        context.selection.selectNode(node);
        const auto step = isFar ? context.model.relevanceStep(node) : std::nullopt;
        if (step) {
            context.cursor.moveTo(*step);
        }
    };
    return item;
}

std::vector<PaletteItem> NodeSource::find(const QString& pattern, std::size_t limit)
{
    if (!m_context.model.hasRun()) {
        return {};
    }
    const graph::Graph& graph = m_context.model.graph();
    const std::string letters = pattern.toStdString();
    std::vector<Hit> hits;
    for (std::uint32_t id = 0; id < nodeAndInputCount(graph); ++id) {
        if (const auto score = fuzzyScore(letters, graph.labelOf(base::NodeId(id)))) {
            hits.push_back({id, *score});
        }
    }
    keepBestHits(hits, limit);
    std::vector<PaletteItem> items;
    for (const Hit& hit : hits) {
        items.push_back(itemOf(base::NodeId(hit.id), pattern, hit.score));
    }
    return items;
}

QString VisitSource::name() const { return tr("step"); }

PaletteItem VisitSource::itemOf(std::uint32_t visit) const
{
    const RunModel& model = m_context.model;
    const event::Mode mode = model.series().mode[visit];
    PaletteItem item;
    item.text = tr("Visit %1").arg(countText(static_cast<std::int64_t>(visit) + 1));
    item.detail = tr("%1 at %2").arg(model.modeWord(visit), model.placeLabel(model.series().node[visit]));
    item.key = letterOf(mode);
    item.icon = QStringLiteral("forward");
    item.run = [context = m_context, visit](bool) { context.cursor.moveTo(context.model.run().endOfVisit(visit)); };
    return item;
}

PaletteItem VisitSource::eventItem(std::uint64_t event) const
{
    PaletteItem item;
    item.text = tr("Event %1").arg(countText(static_cast<std::int64_t>(event)));
    item.detail = QString::fromStdString(trace::describe(m_context.model.run(), event - 1));
    item.icon = QStringLiteral("forward");
    item.run = [context = m_context, event](bool) { context.cursor.moveTo(event); };
    return item;
}

std::vector<PaletteItem> VisitSource::findNumber(std::uint64_t number) const
{
    const trace::Run& run = m_context.model.run();
    std::vector<PaletteItem> items;
    if (number >= 1 && number <= run.visitCount()) {
        items.push_back(itemOf(static_cast<std::uint32_t>(number - 1)));
    }
    if (number >= 1 && number <= run.eventCount()) {
        items.push_back(eventItem(number));
    }
    return items;
}

std::vector<PaletteItem> VisitSource::findName(const QString& pattern, std::size_t limit) const
{
    const graph::Graph& graph = m_context.model.graph();
    const auto& nodes = m_context.model.series().node;
    const std::string letters = pattern.toStdString();
    std::vector<Hit> hits;
    for (std::uint32_t visit = 0; visit < nodes.size(); ++visit) {
        if (const auto score = fuzzyScore(letters, graph.labelOf(nodes[visit]))) {
            hits.push_back({visit, *score});
        }
    }
    keepBestHits(hits, limit);
    std::vector<PaletteItem> items;
    for (const Hit& hit : hits) {
        items.push_back(itemOf(hit.id));
    }
    return items;
}

std::vector<PaletteItem> VisitSource::following(std::size_t limit) const
{
    const trace::Run& run = m_context.model.run();
    const std::uint64_t position = m_context.cursor.position();
    std::uint32_t visit = position == 0 ? 0 : run.visitOf(position - 1) + 1;
    std::vector<PaletteItem> items;
    for (; visit < run.visitCount() && items.size() < limit; ++visit) {
        items.push_back(itemOf(visit));
    }
    return items;
}

std::vector<PaletteItem> VisitSource::find(const QString& pattern, std::size_t limit)
{
    if (!m_context.model.hasRun() || m_context.model.run().eventCount() == 0) {
        return {};
    }
    bool isNumber = false;
    const std::uint64_t number = pattern.toULongLong(&isNumber);
    if (isNumber) {
        return findNumber(number);
    }
    return pattern.isEmpty() ? following(limit) : findName(pattern, limit);
}

QString PromiseSource::name() const { return tr("promise"); }

std::vector<PaletteItem> PromiseSource::find(const QString& pattern, std::size_t limit)
{
    if (!m_context.model.hasRun()) {
        return {};
    }
    const RunModel& model = m_context.model;
    std::vector<PaletteItem> items;
    for (const Opening& opening : openingsOf(model)) {
        PaletteItem item;
        const auto named = [&](const QString& name) {
            item.text = QStringLiteral("P%1  %2").arg(opening.promise).arg(name);
            return fuzzyMatch(pattern.toStdU16String(), item.text.toStdU16String());
        };
        const QString whole = model.label(opening.start);
        const QString name = model.placeLabel(opening.start);
        auto match = named(name);
        if (!match) {
            match = named(whole);
        }
        if (!match) {
            continue;
        }
        item.detail = stateInWords(model.state(), opening.promise);
        if (name != whole) {
            item.detail = tr("%1, %2").arg(item.detail, whole);
        }
        item.icon = QStringLiteral("promise");
        item.score = match->score;
        item.places = match->places;
        item.run = [context = m_context, opening](bool isFar) {
            if (isFar || context.cursor.position() < opening.position) {
                context.cursor.moveTo(opening.position);
            }
            context.selection.selectPromise(base::PromiseId(opening.promise));
        };
        items.push_back(std::move(item));
    }
    keepBest(items, limit);
    return items;
}

} // namespace retro::views
