// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <random>
#include <string>

// The threads of a kernel, one after another on the host; between two barriers or shuffles a thread runs alone.
namespace retro::emulation
{

/// Threads of a warp.
inline constexpr std::uint32_t kWarp = 32;

/// A size or a place in three dimensions.
struct Dimensions
{
    unsigned x = 1;
    unsigned y = 1;
    unsigned z = 1;
};

/// Calls `thread` once for each thread of a grid in one dimension, blocks and the threads of each in a random order,
/// with threadIdx, blockIdx, blockDim and gridDim set. Returns what no device may do: a shuffle that not all lanes of
/// its mask reach, or that reads a lane outside of it.
std::string runGrid(const Dimensions& grid, const Dimensions& block, const std::function<void()>& thread,
                    std::mt19937& order);

/// The bits that the lane `delta` further gives, within groups of `width` lanes; its own where there is none. Returns
/// when all lanes of the mask have read theirs. For kernels alone.
std::uint64_t exchangeDown(std::uint32_t mask, std::uint64_t bits, std::uint32_t delta, std::uint32_t width);

/// Returns when all threads of the block are there. For kernels alone.
void waitForBlock();

} // namespace retro::emulation
