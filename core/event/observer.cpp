// SPDX-License-Identifier: Apache-2.0
#include "core/event/observer.h"

#include <array>

namespace retro::event
{

namespace
{

thread_local PerformanceObserver* threadObserver = nullptr;
thread_local base::NodeId threadNode;

} // namespace

std::string_view nameOf(Half half) { return half == Half::Forward ? "forward" : "reverse"; }

std::string_view nameOf(MemoryChoice choice)
{
    static constexpr std::array<std::string_view, kMemoryChoiceCount> kNames{"keep",    "drop", "recompute",
                                                                             "promise", "pack", "move"};
    return kNames.at(static_cast<std::size_t>(choice));
}

ObserverScope::ObserverScope(PerformanceObserver* observer) : m_before(threadObserver) { threadObserver = observer; }

ObserverScope::~ObserverScope() { threadObserver = m_before; }

PerformanceObserver* currentObserver() { return threadObserver; }

void tellDecision(base::ValueId value, MemoryChoice choice, std::int64_t bytes, std::string_view reason)
{
    if (threadObserver != nullptr) {
        threadObserver->onMemoryDecision(value, choice, bytes, reason);
    }
}

NodeWatch::NodeWatch(base::NodeId node) : m_node(node), m_outer(threadNode), m_observer(threadObserver)
{
    threadNode = node;
    threadObserver = nullptr;
    if (m_observer != nullptr) {
        m_start = Clock::now();
    }
}

NodeWatch::~NodeWatch()
{
    threadNode = m_outer;
    threadObserver = m_observer;
}

double NodeWatch::seconds() const
{
    return m_observer != nullptr ? std::chrono::duration<double>(Clock::now() - m_start).count() : 0;
}

void NodeWatch::done(Half half, bool isRepeat, double flops, std::span<const tensor::Tensor> made) const
{
    threadObserver = m_observer;
    if (m_observer == nullptr) {
        return;
    }
    const double taken = seconds();
    std::int64_t bytes = 0;
    for (const tensor::Tensor& one : made) {
        bytes += one.isValid() ? one.bytes() : 0;
    }
    m_observer->onNodeProcessed(m_node, {half, isRepeat, taken, flops, bytes});
}

base::NodeId NodeWatch::current() { return threadNode; }

} // namespace retro::event
