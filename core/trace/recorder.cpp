// SPDX-License-Identifier: Apache-2.0
#include "core/trace/recorder.h"

#include "core/ops/threads.h"
#include "core/tensor/visit.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <vector>

namespace retro::trace
{

namespace
{

constexpr std::size_t kLanes = 8;

/// Elements that one thread sums at a time.
constexpr std::int64_t kStretch = 1 << 16;

/// Sums with a fixed number of lanes: fast, and the same for the same storage.
template <class Type>
double sumStretch(const typename Type::Bits* data, std::size_t count)
{
    std::array<double, kLanes> lanes{};
    std::size_t i = 0;
    for (; i + kLanes <= count; i += kLanes) {
        for (std::size_t lane = 0; lane < kLanes; ++lane) {
            lanes[lane] += static_cast<double>(Type::load(data[i + lane]));
        }
    }
    for (; i < count; ++i) {
        lanes[i % kLanes] += static_cast<double>(Type::load(data[i]));
    }
    double sum = 0;
    for (const double lane : lanes) {
        sum += lane;
    }
    return sum;
}

/// Stretches of a fixed length are summed side by side and added in their order: the number of threads changes nothing.
template <class Type>
double sumStored(const typename Type::Bits* data, std::int64_t count)
{
    std::vector<double> sums(static_cast<std::size_t>((count + kStretch - 1) / kStretch));
    ops::parallelFor(static_cast<std::int64_t>(sums.size()), 1, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i) {
            const std::int64_t from = i * kStretch;
            sums[static_cast<std::size_t>(i)] =
                sumStretch<Type>(data + from, static_cast<std::size_t>(std::min(kStretch, count - from)));
        }
    });
    return std::accumulate(sums.begin(), sums.end(), 0.0);
}

} // namespace

double sumOf(const Tensor& tensor)
{
    if (!tensor.isValid()) {
        return 0;
    }
    const Tensor dense = tensor.isDense() ? tensor : tensor.contiguous();
    double sum = 0;
    tensor::visitStored(dense.dtype(), [&](auto tag) {
        using Type = decltype(tag);
        sum = sumStored<Type>(reinterpret_cast<const typename Type::Bits*>(dense.rawData()), dense.size());
    });
    return sum;
}

Recorder::Recorder(std::int64_t tensorBudget) : m_budget(tensorBudget) {}

void Recorder::expect(std::size_t nodesAndEdges)
{
    constexpr std::size_t kEvents = 7; // per node and edge: a little more than residual blocks have
    m_run.events.reserve(kEvents * nodesAndEdges);
    m_run.visitStart.reserve(nodesAndEdges);
}

void Recorder::onEvent(const Event& event)
{
    m_run.events.push_back(event);
    if (event.kind == event::EventKind::Visit) {
        m_run.visitStart.push_back(firstEventOfPick(m_run.events, m_run.events.size() - 1));
    }
}

void Recorder::onLedger(const event::LedgerEntry& entry) { m_run.ledger.push_back(entry); }

void Recorder::onTensor(HandleId handle, const Tensor& tensor)
{
    if (m_run.handles.size() <= handle.index()) {
        m_run.handles.resize(handle.index() + 1);
        m_run.tensors.resize(handle.index() + 1);
    }
    Tensor& kept = m_run.tensors[handle.index()];
    m_held += tensor.bytes() - (kept.isValid() ? kept.bytes() : 0);
    kept = tensor;
    m_run.handles[handle.index()] = {tensor.dtype(), tensor.shape(), tensor.bytes(), sumOf(tensor)};
    m_arrival.push_back(handle);
    while (m_held > m_budget && m_oldest < m_arrival.size()) {
        dropOldest();
    }
}

void Recorder::dropOldest()
{
    Tensor& oldest = m_run.tensors[m_arrival[m_oldest++].index()];
    if (oldest.isValid()) {
        m_held -= oldest.bytes();
        oldest = Tensor();
    }
}

Run Recorder::take() && { return std::move(m_run); }

} // namespace retro::trace
