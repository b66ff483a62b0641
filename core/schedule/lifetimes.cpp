// SPDX-License-Identifier: Apache-2.0
#include "core/schedule/lifetimes.h"

#include <algorithm>

namespace retro::schedule
{

namespace
{

/// Begins a stay of a value; `newest` is its former one, if any.
void begin(std::vector<Instance>& instances, std::uint32_t& newest, OpValueId value, std::uint32_t at)
{
    if (newest != kNone) {
        instances[newest].isLast = false;
    }
    newest = static_cast<std::uint32_t>(instances.size());
    instances.push_back({value, at, at, true});
}

/// Values that a step reads are there until then.
void extend(std::vector<Instance>& instances, const std::vector<std::uint32_t>& newest,
            std::span<const OpValueId> inputs, std::uint32_t at)
{
    for (const OpValueId input : inputs) {
        if (newest[input] != kNone) {
            instances[newest[input]].end = at;
        }
    }
}

/// Everything that a sequence makes, with its last reader; what must be there at the end ends too early.
std::vector<Instance> staysOf(const OpGraph& graph, const std::vector<OpId>& sequence)
{
    std::vector<Instance> instances;
    instances.reserve(sequence.size() + sequence.size() / 8); // most operators have one result
    std::vector<std::uint32_t> newest(graph.values().size(), kNone);
    for (std::uint32_t at = 0; at < sequence.size(); ++at) {
        extend(instances, newest, graph.reads(sequence[at]), at);
        for (const OpValueId output : graph.op(sequence[at]).outputs) {
            if (!graph.value(output).isPinned) {
                begin(instances, newest[output], output, at);
            }
        }
    }
    return instances;
}

} // namespace

std::vector<Instance> instancesOf(const OpGraph& graph, const std::vector<OpId>& sequence)
{
    std::vector<Instance> instances = staysOf(graph, sequence);
    for (Instance& instance : instances) {
        if (instance.isLast && graph.value(instance.value).isRequired) {
            instance.end = static_cast<std::uint32_t>(sequence.size() - 1);
        }
    }
    return instances;
}

std::vector<std::uint64_t> memoryOf(const OpGraph& graph, const std::vector<OpId>& sequence)
{
    return memoryOf(graph, sequence, instancesOf(graph, sequence));
}

std::vector<std::uint64_t> memoryOf(const OpGraph& graph, const std::vector<OpId>& sequence,
                                    const std::vector<Instance>& instances)
{
    std::vector<std::uint64_t> memory(sequence.size() + 1, 0);
    for (const Instance& instance : instances) {
        memory[instance.start] += graph.value(instance.value).bytes;
        memory[instance.end + 1] -= graph.value(instance.value).bytes; // unsigned wrap cancels in the sums
    }
    std::uint64_t live = 0;
    for (std::size_t at = 0; at < sequence.size(); ++at) {
        live += memory[at];
        memory[at] = live + graph.op(sequence[at]).workspace;
    }
    memory.pop_back();
    return memory;
}

std::uint64_t peakOf(const OpGraph& graph, const std::vector<OpId>& sequence)
{
    const std::vector<std::uint64_t> memory = memoryOf(graph, sequence);
    return memory.empty() ? 0 : *std::max_element(memory.begin(), memory.end());
}

double costOf(const OpGraph& graph, const std::vector<OpId>& sequence)
{
    double cost = 0;
    for (const OpId op : sequence) {
        cost += graph.op(op).cost;
    }
    return cost;
}

} // namespace retro::schedule
