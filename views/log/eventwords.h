// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/trace/run.h"

#include <QString>

namespace retro::views
{

/// What happened at an event in a few words, for a row whose columns name the node and the kind: "part 1 of 3 from
/// attn.Q", "epsilon: 0.3902 in, 0.3887 out". Empty when there is no such event.
[[nodiscard]] QString eventWords(const trace::Run& run, std::uint64_t step);

/// The same where no column names the node: "block1/Add part 1 of 2 from out/Relu".
[[nodiscard]] QString eventSentence(const trace::Run& run, std::uint64_t step);

/// The kind of an event in a word that people read: as files call it, but for names that only the program knows.
[[nodiscard]] QString eventKindWord(event::EventKind kind);

} // namespace retro::views
