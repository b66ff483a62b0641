// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/ids.h"
#include "core/tensor/tensor.h"

#include <chrono>
#include <cstdint>
#include <span>
#include <string_view>

namespace retro::event
{

/// Halves of a pass: the model's own computations, and gradients or relevance.
enum class Half : std::uint8_t { Forward, Reverse };

/// "forward", "reverse".
[[nodiscard]] std::string_view nameOf(Half half);

/// What a pass did for a node.
struct NodeWork
{
    Half half = Half::Forward;
    bool isRepeat = false;  ///< the same was computed before in this pass
    double seconds = 0;     ///< by a clock
    double flops = 0;       ///< as operators count them: multiply-add as two
    std::int64_t bytes = 0; ///< of what was made
};

/// What becomes of a value between its making and its readers.
enum class MemoryChoice : std::uint8_t {
    Keep,      ///< it stays
    Drop,      ///< it leaves memory
    Recompute, ///< it is computed again
    Promise,   ///< a promise brings it
    Pack,      ///< what its readers look at stays: signs, winners
    Move       ///< it goes to another tier
};
inline constexpr std::size_t kMemoryChoiceCount = 6;

/// "keep", "drop", "recompute", "promise", "pack", "move".
[[nodiscard]] std::string_view nameOf(MemoryChoice choice);

/// Watches passes: every node that is processed, and every decision about memory. Calls come on the thread that runs,
/// when it happens.
class PerformanceObserver
{
public:
    virtual ~PerformanceObserver() = default;
    /// A computation of a node has ended.
    virtual void onNodeProcessed(base::NodeId node, const NodeWork& work) = 0;
    /// It was decided what becomes of a value of so many bytes; `reason` in words lives for the call.
    virtual void onMemoryDecision(base::ValueId value, MemoryChoice choice, std::int64_t bytes,
                                  std::string_view reason) = 0;
};

/// While it lives, `observer` watches the passes that this thread carries out, in place of the one before. Null: nobody
/// does.
class ObserverScope
{
public:
    explicit ObserverScope(PerformanceObserver* observer);
    ~ObserverScope();
    ObserverScope(const ObserverScope&) = delete;
    ObserverScope& operator=(const ObserverScope&) = delete;

private:
    PerformanceObserver* m_before;
};

/// Who watches this thread; null = nobody.
[[nodiscard]] PerformanceObserver* currentObserver();

/// Tells whoever watches this thread of a decision.
void tellDecision(base::ValueId value, MemoryChoice choice, std::int64_t bytes, std::string_view reason);

/// Around a computation of a node: the clock runs while somebody watches. What passes through other graphs on the way
/// (a loop's body, a cell that is taken apart) is part of this node: until done(), nobody is told of it.
class NodeWatch
{
public:
    explicit NodeWatch(base::NodeId node);
    ~NodeWatch();
    NodeWatch(const NodeWatch&) = delete;
    NodeWatch& operator=(const NodeWatch&) = delete;

    /// Somebody watches, and will be told.
    [[nodiscard]] bool isWatched() const { return m_observer != nullptr; }
    /// Seconds so far; 0 where nobody watches.
    [[nodiscard]] double seconds() const;
    /// It has ended and made these; invalid ones are none. Tells whoever watches. Not called where it failed.
    void done(Half half, bool isRepeat, double flops, std::span<const tensor::Tensor> made) const;

    /// The node that this thread computes; invalid between nodes.
    [[nodiscard]] static base::NodeId current();

private:
    using Clock = std::chrono::steady_clock;

    base::NodeId m_node;
    base::NodeId m_outer;
    PerformanceObserver* m_observer;
    Clock::time_point m_start;
};

} // namespace retro::event
