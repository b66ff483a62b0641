// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/lut/device/documentedbodies.h"
#include "kernels/lut/device/fusedlaunches.h"

#include <cstdint>

// What the launches of the documented path's schedule consist of on a device; launchers as in fusedlaunches.h.
namespace retro::lut::device
{

template <class T, class W>
struct FillOutput
{
    PassBuffers<T, W> b;
    RETRO_HOST_DEVICE void operator()(std::uint64_t item) const { fillOutput(b, item); }
};

template <class T, class W>
struct FireDetector
{
    PassBuffers<T, W> b;
    RETRO_HOST_DEVICE void operator()(std::uint64_t item) const { fireDetector(b, item); }
};

template <class T, class W>
struct FillByGroups
{
    PassBuffers<T, W> b;
    RETRO_HOST_DEVICE void operator()(std::uint64_t item) const { fillByGroups(b, item); }
};

template <class T, class W>
struct GatherScore
{
    PassBuffers<T, W> b;
    Variant variant = Variant::Main;
    RETRO_HOST_DEVICE void operator()(std::uint64_t item) const { gatherScore(b, variant, item); }
};

template <class T, class W>
struct GatherWeight
{
    PassBuffers<T, W> b;
    RETRO_HOST_DEVICE void operator()(std::uint64_t item) const { gatherWeight(b, item); }
};

template <class T, class W>
struct PropagateSample
{
    PassBuffers<T, W> b;
    RETRO_HOST_DEVICE void operator()(std::uint64_t item) const { propagateSample(b, item); }
};

template <class T, class W>
struct FireByLookup
{
    PassBuffers<T, W> b;
    RETRO_HOST_DEVICE void operator()(std::uint64_t item) const { fireByLookup(b, item); }
};

template <class T, class W>
struct GatherTable
{
    PassBuffers<T, W> b;
    RETRO_HOST_DEVICE void operator()(std::uint64_t item) const { gatherTable(b, item); }
};

template <class T, class W>
struct CountVisits
{
    PassBuffers<T, W> b;
    RETRO_HOST_DEVICE void operator()(std::uint64_t item) const { countVisits(b, item); }
};

template <class T, class W>
struct TakeCells
{
    PassBuffers<T, W> b;
    RETRO_HOST_DEVICE void operator()(std::uint64_t item) const { takeCells(b, item); }
};

template <class T, class W>
struct FillByFirings
{
    PassBuffers<T, W> b;
    RETRO_HOST_DEVICE void operator()(std::uint64_t item) const
    {
        b.isSparse() ? fillBySparseFirings(b, item) : fillByFirings(b, item);
    }
};

template <class T, class W>
struct ScoreEvent
{
    PassBuffers<T, W> b;
    Variant variant = Variant::Main;
    RETRO_HOST_DEVICE void operator()(std::uint64_t item) const { scoreEvent(b, variant, item); }
};

template <class T, class W>
struct WeighEvents
{
    PassBuffers<T, W> b;
    RETRO_HOST_DEVICE void operator()(std::uint64_t item) const
    {
        b.isSparse() ? weighSparseEvents(b, item) : weighEvents(b, item);
    }
};

template <class T, class W>
struct PropagatePosition
{
    PassBuffers<T, W> b;
    RETRO_HOST_DEVICE void operator()(std::uint64_t item) const { propagatePosition(b, item); }
};

template <class T, class W>
struct PropagateDistance
{
    PassBuffers<T, W> b;
    RETRO_HOST_DEVICE void operator()(std::uint64_t item) const { propagateDistance(b, item); }
};

template <class T, class W>
struct ClearEvent
{
    PassBuffers<T, W> b;
    Variant variant = Variant::Main;
    RETRO_HOST_DEVICE void operator()(std::uint64_t item) const { clearEvent(b, variant, item); }
};

/// Items of what is filled for each output, or for each sparse row of outputs.
template <class T, class W>
std::uint64_t rowItems(const PassBuffers<T, W>& b, std::uint64_t rows)
{
    return b.isSparse() ? rows : rows * b.layer.outputs;
}

/// Zeros that a pass of the documented path starts from; all other results are written whole.
template <class T, class W, class Launcher>
void clearDocumented(const PassBuffers<T, W>& b, bool isBackward, Launcher& launcher)
{
    if (isBackward || b.layer.length > 1) {
        launcher.zero(b.documented.dense, b.positions() * b.neurons);
    }
    if (isBackward) {
        launcher.zero(b.weightGradients, b.weights);
    }
}

/// Launches of layers without positions.
template <class T, class W, class Launcher>
bool launchDocumentedLayer(const PassBuffers<T, W>& b, KernelId kernel, Variant variant, Launcher& launcher)
{
    switch (kernel) {
    case KernelId::CheckDetectors:
        launcher.items(b.sites(), ChooseRow<T, W>{b});
        return true;
    case KernelId::FillOutputsFullyConnected:
        launcher.items(b.batch * b.layer.outputs, FillOutput<T, W>{b});
        return true;
    case KernelId::FireDetectors:
        launcher.items(b.sites(), FireDetector<T, W>{b});
        return true;
    case KernelId::FillOutputsByForwardGroups:
        launcher.items(b.batch, FillByGroups<T, W>{b});
        return true;
    case KernelId::GatherXGradientsFullyConnected:
        launcher.items(b.sites(), GatherScore<T, W>{b, variant});
        return true;
    case KernelId::GatherWGradientsFullyConnected:
        launcher.items(std::uint64_t{b.layer.tables} * b.layer.outputs, GatherWeight<T, W>{b});
        return true;
    case KernelId::PropagateThroughDetectors:
        launcher.items(b.batch, PropagateSample<T, W>{b});
        return true;
    case KernelId::FireDetectorsByLookupIndices:
        launcher.items(b.sites(), FireByLookup<T, W>{b});
        return true;
    case KernelId::GatherGradients:
        launcher.items(b.layer.tables, GatherTable<T, W>{b});
        return true;
    default:
        return false;
    }
}

/// Launches of sequences.
template <class T, class W, class Launcher>
bool launchDocumentedSequence(const PassBuffers<T, W>& b, KernelId kernel, Variant variant, Launcher& launcher)
{
    switch (kernel) {
    case KernelId::CheckDetectorsForSequence:
        launcher.items(b.sites(), ChooseRow<T, W>{b});
        return true;
    case KernelId::FillAfterDetectorsFiringStat:
        launcher.items(b.sites(), CountVisits<T, W>{b});
        return true;
    case KernelId::DensifyFiringStat:
        launcher.items(b.sites(), TakeCells<T, W>{b});
        return true;
    case KernelId::FillOutputsBySparseFirings:
        launcher.items(rowItems(b, b.positions()), FillByFirings<T, W>{b});
        return true;
    case KernelId::GatherXGradientsForSequence:
        launcher.items(eventPlaces(b, variant), ScoreEvent<T, W>{b, variant});
        return true;
    case KernelId::GatherWGradientsForSequence:
        launcher.items(rowItems(b, b.layer.tables), WeighEvents<T, W>{b});
        return true;
    case KernelId::PropagateThroughDetectorsForSequence:
        launcher.items(b.positions(), PropagatePosition<T, W>{b});
        launcher.items(b.codePlaces(), PropagateDistance<T, W>{b});
        return true;
    case KernelId::Cleanup:
        launcher.items(eventPlaces(b, variant), ClearEvent<T, W>{b, variant});
        return true;
    default:
        return false;
    }
}

/// Carries out one launch of either path; false when there is no such kernel.
template <class T, class W, class Launcher>
bool launchStep(const PassBuffers<T, W>& b, KernelId kernel, Variant variant, Launcher& launcher)
{
    return launchFused(b, kernel, launcher) || launchDocumentedLayer(b, kernel, variant, launcher) ||
           launchDocumentedSequence(b, kernel, variant, launcher);
}

} // namespace retro::lut::device
