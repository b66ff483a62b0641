// SPDX-License-Identifier: Apache-2.0
#include "views/notebook/notebookentry.h"

#include "core/trace/meantrelevance.h"
#include "views/common/numbertext.h"
#include "views/common/paint/marks.h"
#include "views/notebook/notebooktranslation.h"

#include <algorithm>

namespace retro::views
{

namespace
{

base::NodeId startOf(const RunModel& model, base::PromiseId promise)
{
    const auto starts = model.derived<PromiseStarts>();
    return promise.isValid() && promise.index() < starts->nodes.size() ? starts->nodes[promise.index()]
                                                                       : base::NodeId();
}

/// As RunModel::nodeOf(), for promises of any step.
base::NodeId nodeOf(const RunModel& model, const SelectedThing& thing)
{
    const auto* promise = std::get_if<base::PromiseId>(&thing);
    return promise != nullptr ? startOf(model, *promise) : model.nodeOf(thing);
}

base::ValueId valueOf(const RunModel& model, const NotebookEntry& entry)
{
    if (std::holds_alternative<base::ValueId>(entry.place.thing)) {
        return model.valueOf(entry.place.thing);
    }
    return entry.node.isValid() ? model.graph().firstOutput(entry.node) : base::ValueId();
}

QString nameOf(const RunModel& model, const NotebookEntry& entry)
{
    if (!entry.node.isValid()) {
        return {};
    }
    const QString node = model.placeLabel(entry.node);
    if (const auto* promise = std::get_if<base::PromiseId>(&entry.place.thing)) {
        return notebookText("P%1 of %2").arg(promise->value).arg(node);
    }
    const auto* value = std::get_if<base::ValueId>(&entry.place.thing);
    return value != nullptr ? notebookText("value %1").arg(model.label(*value)) : node;
}

/// Σ of the relevance of a value at a position; none when it was not known then.
std::optional<double> sumAt(const RunModel& model, base::ValueId value, std::uint64_t position)
{
    if (!value.isValid()) {
        return std::nullopt;
    }
    const base::NodeId node = model.graph().nodeOf(value);
    const std::uint32_t output = model.graph().isInput(node) ? 0 : model.graph().value(value).producerOutput;
    const auto known = model.relevanceStep(node, output);
    if (!known || *known == 0 || *known > position || *known > model.run().eventCount()) {
        return std::nullopt;
    }
    const base::HandleId handle(model.run().events[*known - 1].handle);
    const bool isThere = handle.isValid() && handle.index() < model.run().handles.size();
    return isThere ? std::optional(trace::meantSum(model.run(), value, handle)) : std::nullopt;
}

/// The visit that the last event before a position belongs to.
std::optional<std::uint32_t> visitAt(const trace::Run& run, std::uint64_t position)
{
    const std::uint64_t within = std::min(position, run.eventCount());
    if (within == 0 || run.visitStart.empty() || within - 1 < run.visitStart.front()) {
        return std::nullopt;
    }
    return run.visitOf(within - 1);
}

} // namespace

PromiseStarts::PromiseStarts(const trace::Run& run)
{
    for (const event::Event& event : run.events) {
        if (event.kind == event::EventKind::NewPromise) {
            if (event.promise >= nodes.size()) {
                nodes.resize(event.promise + std::size_t{1});
            }
            nodes[event.promise] = base::NodeId(event.node);
        }
    }
}

NotebookEntry describePlace(const RunModel& model, const Place& place)
{
    NotebookEntry entry;
    entry.place = place;
    entry.visit = visitAt(model.run(), place.position);
    if (entry.visit && *entry.visit < model.series().mode.size()) {
        entry.mode = model.series().mode[*entry.visit];
    }
    if (entry.hasSelection()) {
        entry.node = nodeOf(model, place.thing);
    } else if (entry.visit && *entry.visit < model.series().node.size()) {
        entry.node = model.series().node[*entry.visit];
    }
    entry.what = nameOf(model, entry);
    entry.sum = sumAt(model, valueOf(model, entry), place.position);
    return entry;
}

trace::Note toNote(const NotebookEntry& entry)
{
    using trace::NoteSubject;
    struct Subject
    {
        std::pair<NoteSubject, std::uint32_t> operator()(std::monostate) const { return {NoteSubject::Nothing, 0}; }
        std::pair<NoteSubject, std::uint32_t> operator()(base::NodeId id) const
        {
            return {NoteSubject::Node, id.value};
        }
        std::pair<NoteSubject, std::uint32_t> operator()(base::ValueId id) const
        {
            return {NoteSubject::Value, id.value};
        }
        std::pair<NoteSubject, std::uint32_t> operator()(base::PromiseId id) const
        {
            return {NoteSubject::Promise, id.value};
        }
    };
    const auto [subject, id] = std::visit(Subject(), entry.place.thing);
    return {entry.place.position, subject, id, entry.comment.toStdString()};
}

Place placeOf(const trace::Note& note)
{
    switch (note.subject) {
    case trace::NoteSubject::Node:
        return {note.position, base::NodeId(note.id)};
    case trace::NoteSubject::Value:
        return {note.position, base::ValueId(note.id)};
    case trace::NoteSubject::Promise:
        return {note.position, base::PromiseId(note.id)};
    case trace::NoteSubject::Nothing:
        break;
    }
    return {note.position, {}};
}

QString sentenceOf(const NotebookEntry& entry)
{
    QString sentence =
        entry.visit ? notebookText("Step %1, %2").arg(countText(std::int64_t{*entry.visit} + 1), wordOf(entry.mode))
                    : notebookText("Before the first step");
    if (!entry.what.isEmpty()) {
        sentence +=
            (entry.hasSelection() ? notebookText(": %1 was selected") : notebookText(": at %1")).arg(entry.what);
    }
    if (entry.sum) {
        sentence += notebookText(", its relevance adds up to %1").arg(valueText(*entry.sum));
    }
    return entry.comment.isEmpty() ? sentence : sentence + QStringLiteral(". ") + entry.comment;
}

} // namespace retro::views
