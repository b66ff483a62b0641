// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace retro::trace
{

/// What a note is about. The numbers stand in run files.
enum class NoteSubject : std::uint8_t { Nothing, Node, Value, Promise };

/// A place in a run with what somebody wrote about it; kept in the run file beside the run.
struct Note
{
    std::uint64_t position = 0; ///< number of events applied
    NoteSubject subject = NoteSubject::Nothing;
    std::uint32_t id = 0; ///< NodeId, ValueId or PromiseId, as `subject` says; 0 for Nothing
    std::string text;     ///< UTF-8; may be empty
    bool operator==(const Note&) const = default;
};

/// Most notes of a run file, and most bytes of the text of one.
inline constexpr std::size_t kMostNotes = 1000;
inline constexpr std::size_t kMostNoteBytes = 4096;

} // namespace retro::trace
