// SPDX-License-Identifier: Apache-2.0
#include "core/trace/file/runtables.h"

#include <algorithm>

namespace retro::trace::file
{

using base::Result;

namespace
{

/// How many things of a kind a run has.
std::size_t countOf(const Run& run, NoteSubject subject)
{
    switch (subject) {
    case NoteSubject::Nothing:
        return 1;
    case NoteSubject::Node:
        return run.graph->runNodeCount();
    case NoteSubject::Value:
        return run.graph->valueCount();
    case NoteSubject::Promise:
        return static_cast<std::size_t>(std::count_if(run.events.begin(), run.events.end(), [](const Event& event) {
            return event.kind == event::EventKind::NewPromise;
        }));
    }
    return 0;
}

/// Counts of the run's things, each counted once.
class Things
{
public:
    explicit Things(const Run& run)
    {
        for (std::size_t kind = 0; kind < m_counts.size(); ++kind) {
            m_counts[kind] = countOf(run, static_cast<NoteSubject>(kind));
        }
    }
    [[nodiscard]] bool has(std::int64_t kind, std::int64_t item) const
    {
        const bool isKind = kind >= 0 && static_cast<std::size_t>(kind) < m_counts.size();
        return isKind && item >= 0 && static_cast<std::size_t>(item) < m_counts[static_cast<std::size_t>(kind)];
    }

private:
    std::array<std::size_t, 4> m_counts{};
};

} // namespace

Result<void> writeNotes(Database& database, std::span<const Note> notes, RowCounts& counts)
{
    RowWriter rows(database, kNotes);
    for (const Note& note : notes) {
        RETRO_CHECK(rows.integer(static_cast<std::int64_t>(note.position))
                        .integer(static_cast<std::int64_t>(note.subject))
                        .integer(note.id)
                        .text(note.text)
                        .endRow());
    }
    counts[positionOf(kNotes)] = rows.rows();
    return {};
}

Result<std::vector<Note>> readNotes(Database& database, const RowCounts& counts, const Run& run)
{
    std::vector<Note> notes;
    const Things things(run);
    RowReader rows(database, kNotes, counts[positionOf(kNotes)]);
    while (true) {
        RETRO_TRY(const bool isThere, rows.next());
        if (!isThere) {
            return notes;
        }
        RETRO_CHECK(rows.check(notes.size() < kMostNotes, "there are too many notes"));
        const std::int64_t position = rows.integer();
        const std::int64_t subject = rows.integer();
        const std::int64_t item = rows.integer();
        Note note;
        note.text = rows.text();
        const bool isInside = position >= 0 && static_cast<std::uint64_t>(position) <= run.eventCount();
        RETRO_CHECK(rows.check(isInside, "the note lies outside the run"));
        RETRO_CHECK(rows.check(things.has(subject, item), "the note is about something that the run does not have"));
        RETRO_CHECK(rows.check(note.text.size() <= kMostNoteBytes, "the note is too long"));
        note.position = static_cast<std::uint64_t>(position);
        note.subject = static_cast<NoteSubject>(subject);
        note.id = static_cast<std::uint32_t>(item);
        notes.push_back(std::move(note));
    }
}

} // namespace retro::trace::file
