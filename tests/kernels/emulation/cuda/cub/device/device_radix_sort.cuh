// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tests/kernels/emulation/device.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

// The sort of the CUB library that the fused path calls, for the emulated device. As there, a call without memory only
// says how much it needs, keys are compared by the given bits alone, and the sort is stable.
namespace cub
{

struct DeviceRadixSort
{
    template <class Key, class Value>
    static cudaError_t SortPairs(void* memory, std::size_t& bytes, const Key* keys, Key* sortedKeys,
                                 const Value* values, Value* sortedValues, std::int64_t count, int firstBit, int endBit,
                                 cudaStream_t stream)
    {
        retro::emulation::Device& device = retro::emulation::Device::get();
        const auto items = static_cast<std::size_t>(count);
        const std::size_t needed = 1 + items * sizeof(Value);
        if (memory == nullptr) {
            bytes = needed;
            return cudaSuccess;
        }
        const bool isRoom =
            bytes >= needed && device.isOnDevice(memory, needed) && device.isOnDevice(keys, items * sizeof(Key)) &&
            device.isOnDevice(sortedKeys, items * sizeof(Key)) && device.isOnDevice(values, items * sizeof(Value)) &&
            device.isOnDevice(sortedValues, items * sizeof(Value));
        if (!isRoom) {
            return cudaErrorInvalidValue;
        }
        device.note('k');
        const std::uint64_t mask = ((std::uint64_t{1} << (endBit - firstBit)) - 1) << firstBit;
        return device.put(stream, cudaGraphNodeTypeKernel, [=] {
            std::vector<std::size_t> order(items);
            std::iota(order.begin(), order.end(), std::size_t{0});
            std::stable_sort(order.begin(), order.end(),
                             [&](std::size_t a, std::size_t b) { return (keys[a] & mask) < (keys[b] & mask); });
            for (std::size_t i = 0; i < items; ++i) {
                sortedKeys[i] = keys[order[i]];
                sortedValues[i] = values[order[i]];
            }
            return std::string();
        });
    }
};

} // namespace cub
