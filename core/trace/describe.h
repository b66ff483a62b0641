// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/trace/labels.h"
#include "core/trace/run.h"

#include <functional>
#include <string>
#include <string_view>

namespace retro::trace
{

/// How numbers and nodes are written in words about events.
struct EventStyle
{
    std::function<std::string(double)> number;
    std::function<std::string(const Run& run, NodeId node)> node;
};

/// What happened at an event in a few words, for a row whose columns name the node and the kind: "part 1 of 3 from
/// attn.Q", "epsilon: 0.3902 in, 0.3887 out". Empty when there is no such event. Never fails: ids that do not exist
/// become "?".
[[nodiscard]] std::string eventWords(const Run& run, std::uint64_t step, const EventStyle& style);

/// The same as one line, with the node in front: "Add y: part 1 of 2 from Relu r, Σ 0.5".
[[nodiscard]] std::string describe(const Run& run, std::uint64_t step);

/// The kind of an event in a word that people read: as files call it, but for names that only the program knows.
[[nodiscard]] std::string_view eventKindWord(event::EventKind kind);

} // namespace retro::trace
