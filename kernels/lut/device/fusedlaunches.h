// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/lut/device/buffers.h"
#include "kernels/lut/kernelid.h"

#include <cstdint>

// What the launches of the fused path's schedule consist of on a device. A `Launcher` carries out:
//   items(count, body)   body(item) for 0 … count − 1, in any order
//   lanes(count, body)   body(item, lanes), kScoreLanes threads for each item
//   sortVisits(buffers)  stable sort of visits and places by row id
//   zero(array, count)   an array of zeros
// On a device that is one kernel each; the tests have a launcher of loops.
namespace retro::lut::device
{

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
        } else if (b.layer.length == 1) {
            gatherOutput(b.layer, b.tape, b.output, item);
        } else {
            gatherPairOutput(b.layer, b.tape, b.output, item);
        }
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
            scorePairs(b.layer, b.tape, b.outputGradients, b.fused.positionScores, b.fused.positionalScores, item,
                       lanes);
        }
    }
};

template <class T, class W>
struct PropagateInput
{
    PassBuffers<T, W> b;
    RETRO_HOST_DEVICE void operator()(std::uint64_t item) const
    {
        propagateInput(b.layer, b.tape, b.fused.positionScores, b.inputGradients, item);
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

template <class T, class W, class Launcher>
void launchScores(const PassBuffers<T, W>& b, Launcher& launcher)
{
    launcher.lanes(b.batch * b.layer.tables, Score<T, W>{b});
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
        launcher.items(b.sites(), ChooseRow<T, W>{b});
        launchGather(b, launcher);
        return true;
    case KernelId::ChooseRows:
        launcher.items(b.sites(), ChooseRow<T, W>{b});
        return true;
    case KernelId::CheckPositionalEmbeddings:
        launcher.items(b.codePlaces(), CheckCode<T, W>{b});
        return true;
    case KernelId::GatherPairs:
        launchGather(b, launcher);
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
