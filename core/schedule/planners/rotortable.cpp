// SPDX-License-Identifier: Apache-2.0
#include "core/schedule/planners/rotortable.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace retro::schedule
{

std::string nameOf(const RotorStep& step)
{
    switch (step.kind) {
    case RotorKind::ForwardKeepInput:
        return fmt::format("Fck{}", step.stage);
    case RotorKind::ForwardForget:
        return fmt::format("F0{}", step.stage);
    case RotorKind::ForwardAll:
        return fmt::format("Fall{}", step.stage);
    case RotorKind::Backward:
        return fmt::format("B{}", step.stage);
    }
    return {};
}

RotorTable::RotorTable(RotorChain chain, std::uint64_t budget, std::uint32_t memorySlots,
                       const std::function<bool()>& isOver)
    : m_chain(std::move(chain)), m_stages(static_cast<std::uint32_t>(m_chain.stages())),
      m_slotBytes(std::max<std::uint64_t>(1, (budget + memorySlots - 1) / memorySlots)),
      m_memory(static_cast<std::uint32_t>(budget / m_slotBytes))
{
    for (std::uint32_t i = 0; i <= m_stages; ++i) {
        m_output.push_back(slotsOf(m_chain.outputBytes[i]));
        m_saved.push_back(slotsOf(m_chain.savedBytes[i]));
        m_gradient.push_back(slotsOf(m_chain.gradientBytes[i]));
        m_forwardTemporary.push_back(slotsOf(m_chain.forwardTemporary[i]));
        m_backwardTemporary.push_back(slotsOf(m_chain.backwardTemporary[i]));
        m_forwardSum.push_back((i == 0 ? 0 : m_forwardSum.back()) + m_chain.forwardTime[i]);
    }
    m_rows.resize(static_cast<std::size_t>(m_stages + 1) * (m_stages + 1));
    for (std::uint32_t length = 1; length <= m_stages; ++length) {
        for (std::uint32_t first = 1; first + length - 1 <= m_stages; ++first) {
            if (isOver && isOver()) {
                m_isFinished = false;
                m_rows.clear();
                return;
            }
            fill(first, first + length - 1);
        }
    }
}

std::uint32_t RotorTable::slotsOf(std::uint64_t bytes) const
{
    // More than the memory never fits; one beyond it says so without overflow.
    return static_cast<std::uint32_t>(
        std::min<std::uint64_t>((bytes + m_slotBytes - 1) / m_slotBytes, m_memory + 1ULL));
}

std::uint32_t RotorTable::needAll(std::uint32_t first, std::uint32_t last) const
{
    return std::max(m_gradient[last] + m_saved[first] + m_forwardTemporary[first],
                    m_gradient[first] + m_gradient[first - 1] + m_saved[first] + m_backwardTemporary[first]);
}

std::uint32_t RotorTable::needSkip(std::uint32_t first, std::uint32_t last) const
{
    std::uint32_t need = m_gradient[last] + m_output[first] + m_forwardTemporary[first];
    for (std::uint32_t j = first + 1; j < last; ++j) {
        need = std::max(need, m_gradient[last] + m_output[j - 1] + m_output[j] + m_forwardTemporary[j]);
    }
    return need;
}

const RotorTable::Row& RotorTable::row(std::uint32_t first, std::uint32_t last) const
{
    return m_rows[static_cast<std::size_t>(first) * (m_stages + 1) + last];
}

/// Cost of keeping all of the first stage; infinite where it does not fit.
double RotorTable::costOfAll(std::uint32_t first, std::uint32_t last, std::uint32_t memory) const
{
    if (memory < needAll(first, last) || (first < last && memory < m_saved[first])) {
        return std::numeric_limits<double>::infinity();
    }
    const double own = m_chain.forwardTime[first] + m_chain.backwardTime[first];
    return first == last ? own : own + row(first + 1, last)[memory - m_saved[first]];
}

void RotorTable::fill(std::uint32_t first, std::uint32_t last)
{
    Row& part = m_rows[static_cast<std::size_t>(first) * (m_stages + 1) + last];
    part.resize(m_memory + 1);
    for (std::uint32_t memory = 0; memory <= m_memory; ++memory) {
        part[memory] = costOfAll(first, last, memory);
    }
    const std::uint32_t skip = needSkip(first, last);
    for (std::uint32_t q = first + 1; q <= last; ++q) {
        trySplit(part, first, last, q, skip);
    }
}

/// Offers the split at q to a part.
void RotorTable::trySplit(Row& part, std::uint32_t first, std::uint32_t last, std::uint32_t q,
                          std::uint32_t least) const
{
    const double forward = m_forwardSum[q - 1] - m_forwardSum[first - 1];
    const std::uint32_t output = m_output[q - 1];
    const std::uint32_t begin = std::max(least, output);
    if (begin > m_memory) {
        return;
    }
    const double* right = row(q, last).data() + (begin - output);
    const double* left = row(first, q - 1).data() + begin;
    double* __restrict cost = part.data() + begin; // of another part than right and left
    const std::size_t count = m_memory - begin + 1;
    for (std::size_t i = 0; i < count; ++i) { // without branches: several at once
        const double with = forward + right[i] + left[i];
        cost[i] = with < cost[i] ? with : cost[i];
    }
}

/// How the least cost of a part comes about: 0 = all of the first stage is kept, else the first stage that starts anew.
std::uint32_t RotorTable::splitOf(const Task& task) const
{
    const double cost = row(task.first, task.last)[task.memory];
    if (costOfAll(task.first, task.last, task.memory) == cost) {
        return 0;
    }
    const std::uint32_t skip = needSkip(task.first, task.last);
    for (std::uint32_t q = task.first + 1; q <= task.last; ++q) {
        const std::uint32_t output = m_output[q - 1];
        if (task.memory >= std::max(skip, output)) {
            const double forward = m_forwardSum[q - 1] - m_forwardSum[task.first - 1];
            if (forward + row(q, task.last)[task.memory - output] + row(task.first, q - 1)[task.memory] == cost) {
                return q;
            }
        }
    }
    return 0;
}

std::optional<double> RotorTable::cost() const
{
    if (!m_isFinished) {
        return std::nullopt;
    }
    const double cost = row(1, m_stages)[m_memory];
    return std::isfinite(cost) ? std::optional(cost) : std::nullopt;
}

/// Does what the table says of a part of the chain; what is left of it goes on the stack.
void RotorTable::expand(const Task& task, std::vector<Task>& tasks, std::vector<RotorStep>& steps) const
{
    const std::uint32_t q = splitOf(task);
    if (q == 0) {
        steps.push_back({RotorKind::ForwardAll, task.first});
        tasks.push_back({task.first, task.first, 0, true});
        if (task.first < task.last) {
            tasks.push_back({task.first + 1, task.last, task.memory - m_saved[task.first], false});
        }
        return;
    }
    steps.push_back({RotorKind::ForwardKeepInput, task.first});
    for (std::uint32_t k = task.first + 1; k < q; ++k) {
        steps.push_back({RotorKind::ForwardForget, k});
    }
    tasks.push_back({task.first, q - 1, task.memory, false});
    tasks.push_back({q, task.last, task.memory - m_output[q - 1], false});
}

std::vector<RotorStep> RotorTable::steps() const
{
    std::vector<RotorStep> steps;
    std::vector<Task> tasks;
    if (cost()) {
        tasks.push_back({1, m_stages, m_memory, false});
    }
    while (!tasks.empty()) {
        const Task task = tasks.back();
        tasks.pop_back();
        if (task.isBackward) {
            steps.push_back({RotorKind::Backward, task.first});
        } else {
            expand(task, tasks, steps);
        }
    }
    return steps;
}

} // namespace retro::schedule
