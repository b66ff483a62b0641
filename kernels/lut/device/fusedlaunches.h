// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/lut/device/buffers.h"
#include "kernels/lut/kernelid.h"

#include <cstdint>

// What the launches of the fused path's schedule consist of on a device. A `Launcher` carries out:
//   items(count, body)   body(item) for 0 … count − 1, in any order
//   lanes(count, body)   body(item, lanes), kScoreLanes threads for each item
//   tiles(tiles, a, b)   of each tile: a(item) for its first items, and when all are done, b(item) for its second ones
//   sortVisits(buffers)  stable sort of visits and places by row id
//   zero(array, count)   an array of zeros
// On a device that is one kernel each; the tests have a launcher of loops.
namespace retro::lut::device
{

/// Threads of a block.
inline constexpr std::uint32_t kThreads = 256;
/// Blocks that occupy a whole device.
inline constexpr std::uint64_t kManyBlocks = 1024;

/// Samples cut into tiles, a block for each, with two kinds of items: the second wait for the first of their tile.
struct Tiles
{
    std::uint64_t samples = 0;
    std::uint64_t together = 1; ///< samples of a tile
    std::uint64_t first = 0;    ///< items of a sample
    std::uint64_t second = 0;

    [[nodiscard]] RETRO_HOST_DEVICE std::uint64_t count() const { return ceilDivide(samples, together); }
    /// The first items of a tile.
    [[nodiscard]] RETRO_HOST_DEVICE IndexRange firstOf(std::uint64_t tile) const { return itemsOf(tile, first); }
    /// The second items of a tile.
    [[nodiscard]] RETRO_HOST_DEVICE IndexRange secondOf(std::uint64_t tile) const { return itemsOf(tile, second); }

private:
    [[nodiscard]] RETRO_HOST_DEVICE IndexRange itemsOf(std::uint64_t tile, std::uint64_t items) const
    {
        const IndexRange range = groupRange(tile, samples, together);
        return {range.begin * items, range.end * items};
    }
};

template <class T, class W>
struct ChooseRow
{
    PassBuffers<T, W> b;
    RETRO_HOST_DEVICE void operator()(std::uint64_t item) const { chooseRow(b.layer, b.input, b.tape, item); }
};

template <class T, class W>
struct CheckCode
{
    PassBuffers<T, W> b;
    RETRO_HOST_DEVICE void operator()(std::uint64_t item) const { checkCode(b.layer, b.tape, item); }
};

template <class T, class W>
struct Gather
{
    PassBuffers<T, W> b;
    RETRO_HOST_DEVICE void operator()(std::uint64_t item) const
    {
        if (b.isSparse()) {
            gatherSparse(b.layer, b.tape, b.output, item);
        } else {
            gatherOutput(b.layer, b.tape, b.output, item);
        }
    }
};

/// N outputs of one thread.
template <std::uint32_t N, class T, class W>
struct GatherPairRun
{
    PassBuffers<T, W> b;
    std::uint64_t most;
    RETRO_HOST_DEVICE void operator()(std::uint64_t item) const
    {
        gatherPairRun<N>(b.layer, b.batch, b.tape, most, b.fused.pairRuns, item);
    }
};

template <class T, class W>
struct AddPairRuns
{
    PassBuffers<T, W> b;
    std::uint64_t most;
    RETRO_HOST_DEVICE void operator()(std::uint64_t item) const
    {
        addPairRuns(b.layer, most, b.fused.pairRuns, b.output, item);
    }
};

template <class T, class W>
struct Score
{
    PassBuffers<T, W> b;
    template <class Lanes>
    RETRO_HOST_DEVICE void operator()(std::uint64_t item, const Lanes& lanes) const
    {
        if (b.layer.length == 1) {
            scoreSite(b.layer, b.tape, b.outputGradients, b.fused.positionScores, item, lanes);
        } else {
            scorePairs(b.layer, b.batch, b.tape, b.outputGradients, b.fused.pairScores, item, lanes);
        }
    }
};

template <class T, class W>
struct SumPositionScore
{
    PassBuffers<T, W> b;
    RETRO_HOST_DEVICE void operator()(std::uint64_t item) const
    {
        sumPositionScore(b.layer, b.tape, b.fused.pairScores, b.fused.positionScores, item);
    }
};

template <class T, class W>
struct SumCodeScore
{
    PassBuffers<T, W> b;
    RETRO_HOST_DEVICE void operator()(std::uint64_t item) const
    {
        sumCodeScore(b.layer, b.tape, b.fused.pairScores, b.fused.positionalScores, item);
    }
};

template <class T, class W>
struct PropagateInput
{
    PassBuffers<T, W> b;
    RETRO_HOST_DEVICE void operator()(std::uint64_t item) const
    {
        propagateInput(b.layer, b.inputs, b.tape, b.fused.positionScores, b.inputGradients, item);
    }
};

template <class T, class W>
struct PropagateCode
{
    PassBuffers<T, W> b;
    RETRO_HOST_DEVICE void operator()(std::uint64_t item) const
    {
        propagateCode(b.layer, b.tape, b.fused.positionalScores, b.batch, b.codeGradients, item);
    }
};

template <class T, class W>
struct ListVisit
{
    PassBuffers<T, W> b;
    RETRO_HOST_DEVICE void operator()(std::uint64_t item) const
    {
        listVisit(b.layer, b.tape, b.fused.visits, b.fused.places, item);
    }
};

template <class T, class W>
struct FindStart
{
    PassBuffers<T, W> b;
    RETRO_HOST_DEVICE void operator()(std::uint64_t item) const
    {
        startOfRow(b.fused.sorted, b.visits(), b.fused.starts, item);
    }
};

template <class T, class W>
struct SumWeight
{
    PassBuffers<T, W> b;
    RETRO_HOST_DEVICE void operator()(std::uint64_t item) const
    {
        sumWeight(b.layer, b.outputGradients, b.fused.starts, b.fused.sortedPlaces, b.neurons, b.weightGradients, item);
    }
};

template <class T, class W, class Launcher>
void launchGather(const PassBuffers<T, W>& b, Launcher& launcher)
{
    launcher.items(b.isSparse() ? b.positions() : b.positions() * b.layer.outputs, Gather<T, W>{b});
}

/// Gather over pairs. With full connectivity long sums are cut into runs, so that a few samples fill a device.
template <class T, class W, class Launcher>
void launchPairs(const PassBuffers<T, W>& b, Launcher& launcher)
{
    if (b.isSparse()) {
        launchGather(b, launcher);
        return;
    }
    const std::uint64_t most = b.mostRuns();
    const std::uint64_t runs = b.positions() * most;
    if (outputsTogether(b.layer) == 4) {
        launcher.items(runs * (b.layer.outputs / 4), GatherPairRun<4, T, W>{b, most});
    } else {
        launcher.items(runs * b.layer.outputs, GatherPairRun<1, T, W>{b, most});
    }
    launcher.items(b.positions() * b.layer.outputs, AddPairRuns<T, W>{b, most});
}

/// Tiles of the fused forward pass: enough samples that each thread of a block has an output.
template <class T, class W>
Tiles gatherTiles(const PassBuffers<T, W>& b)
{
    const std::uint64_t together = b.layer.outputs < kThreads ? kThreads / b.layer.outputs : 1;
    return {b.batch, together, b.layer.tables, b.layer.outputs};
}

/// Row choice and gather without positions: one kernel, unless a block for each sample would leave most of the device
/// idle, or rows are sparse: then two.
template <class T, class W, class Launcher>
void launchForward(const PassBuffers<T, W>& b, Launcher& launcher)
{
    if (!b.isSparse() && (b.layer.outputs <= kThreads || b.batch >= kManyBlocks)) {
        launcher.tiles(gatherTiles(b), ChooseRow<T, W>{b}, Gather<T, W>{b});
        return;
    }
    launcher.items(b.sites(), ChooseRow<T, W>{b});
    launchGather(b, launcher);
}

template <class T, class W, class Launcher>
void launchScores(const PassBuffers<T, W>& b, Launcher& launcher)
{
    launcher.lanes(b.sites(), Score<T, W>{b});
    if (b.layer.length > 1) {
        launcher.items(b.sites(), SumPositionScore<T, W>{b});
        launcher.items(b.batch * b.codePlaces(), SumCodeScore<T, W>{b});
    }
}

template <class T, class W, class Launcher>
void launchInputs(const PassBuffers<T, W>& b, Launcher& launcher)
{
    launcher.items(b.positions() * b.layer.inputs, PropagateInput<T, W>{b});
}

template <class T, class W, class Launcher>
void launchWeights(const PassBuffers<T, W>& b, Launcher& launcher)
{
    launcher.items(b.visits(), ListVisit<T, W>{b});
    launcher.sortVisits(b);
    launcher.items(b.neurons + 1, FindStart<T, W>{b});
    launcher.items(b.weights, SumWeight<T, W>{b});
}

/// Carries out one launch of the fused path; false when it is none of it.
template <class T, class W, class Launcher>
bool launchFused(const PassBuffers<T, W>& b, KernelId kernel, Launcher& launcher)
{
    switch (kernel) {
    case KernelId::ChooseRowsAndGather:
        launchForward(b, launcher);
        return true;
    case KernelId::ChooseRows:
        launcher.items(b.sites(), ChooseRow<T, W>{b});
        return true;
    case KernelId::CheckPositionalEmbeddings:
        launcher.items(b.codePlaces(), CheckCode<T, W>{b});
        return true;
    case KernelId::GatherPairs:
        launchPairs(b, launcher);
        return true;
    case KernelId::ScoreAndPropagate:
        launchScores(b, launcher);
        launchInputs(b, launcher);
        return true;
    case KernelId::ScorePairs:
        launchScores(b, launcher);
        return true;
    case KernelId::PropagatePositions:
        launchInputs(b, launcher);
        return true;
    case KernelId::PropagatePositionalEmbeddings:
        launcher.items(b.codePlaces(), PropagateCode<T, W>{b});
        return true;
    case KernelId::SumWeightGradients:
    case KernelId::SumPairWeightGradients:
        launchWeights(b, launcher);
        return true;
    default:
        return false;
    }
}

} // namespace retro::lut::device
