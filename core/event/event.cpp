// SPDX-License-Identifier: Apache-2.0
#include "core/event/event.h"

namespace retro::event
{

std::string_view shortName(Mode mode)
{
    static constexpr std::array<std::string_view, 4> kNames{"-", "NTM", "PTM", "PFM"};
    return kNames[static_cast<std::size_t>(mode)];
}

std::string_view nameOf(PromiseKind kind)
{
    static constexpr std::array<std::string_view, 11> kNames{
        "pre", "aggregate", "add", "sub", "sum", "mean", "softmax", "cat", "stack", "unbind", "operator"};
    return kNames[static_cast<std::size_t>(kind)];
}

std::string_view nameOf(EventKind kind)
{
    static constexpr std::array<std::string_view, kEventKindCount> kNames{
        "visit",  "push",  "pop",      "enqueue",   "dequeue",   "land",     "take",     "new",      "parent",
        "record", "child", "arg-node", "arg",       "ready",     "join",     "open",     "complete", "rout",
        "rin",    "wait",  "resume",   "relevance", "rule",      "snapshot", "finished", "launch",   "candidate",
        "split",  "drop",  "rebuild",  "compute",   "recompute", "free",     "move",     "fetch",    "buffer"};
    return kNames[static_cast<std::size_t>(kind)];
}

std::string_view nameOf(Cause cause)
{
    static constexpr std::array<std::string_view, kCauseCount> kNames{
        "bias",   "stabiliser", "zero denominator", "constant operand", "duplicate",
        "unread", "gradient",   "filter",           "rounding",         "clipped sign",
        "mask",   "saturation", "Taylor rest"};
    return kNames[static_cast<std::size_t>(cause)];
}

} // namespace retro::event
