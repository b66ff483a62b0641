// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/lut/device/fusedlaunches.h"
#include "kernels/lut/device/relevancebodies.h"

#include <algorithm>
#include <cstdint>

// What sharing relevance launches on a device; launchers as in fusedlaunches.h.
namespace retro::lut::device
{

/// Scratch of some samples may take so many bytes: the samples of a batch are worked on in parts.
inline constexpr std::uint64_t kShareScratch = std::uint64_t{256} << 20;

template <class T, class W>
struct WeighOutput
{
    PassBuffers<T, W> b;
    ShareBuffers<T> s;
    RETRO_HOST_DEVICE void operator()(std::uint64_t item) const { weighOutput(b, s, item); }
};

template <class T, class W>
struct ShareRow
{
    PassBuffers<T, W> b;
    ShareBuffers<T> s;
    template <class Lanes>
    RETRO_HOST_DEVICE void operator()(std::uint64_t item, const Lanes& lanes) const
    {
        shareRow(b, s, item, lanes);
    }
};

template <class T, class W>
struct GatherInputRelevance
{
    PassBuffers<T, W> b;
    ShareBuffers<T> s;
    RETRO_HOST_DEVICE void operator()(std::uint64_t item) const { gatherInputRelevance(b, s, item); }
};

template <class T, class W>
struct GatherCodeRelevance
{
    PassBuffers<T, W> b;
    ShareBuffers<T> s;
    RETRO_HOST_DEVICE void operator()(std::uint64_t item) const { gatherCodeRelevance(b, s, item); }
};

template <class T, class W>
struct GatherTableRelevance
{
    PassBuffers<T, W> b;
    ShareBuffers<T> s;
    RETRO_HOST_DEVICE void operator()(std::uint64_t item) const { gatherTableRelevance(b, s, item); }
};

template <class T, class W>
struct GatherBitRelevance
{
    PassBuffers<T, W> b;
    ShareBuffers<T> s;
    RETRO_HOST_DEVICE void operator()(std::uint64_t item) const { gatherBitRelevance(b, s, item); }
};

template <class T, class W>
struct GatherPairMap
{
    PassBuffers<T, W> b;
    ShareBuffers<T> s;
    RETRO_HOST_DEVICE void operator()(std::uint64_t item) const { gatherPairMap(b, s, item); }
};

template <class T, class W>
struct SumUnplaced
{
    PassBuffers<T, W> b;
    ShareBuffers<T> s;
    template <class Lanes>
    RETRO_HOST_DEVICE void operator()(std::uint64_t item, const Lanes& lanes) const
    {
        sumUnplaced(b, s, item, lanes);
    }
};

/// Elements of the scratch arrays for one sample.
struct ShareSizes
{
    std::uint64_t perUnit = 0;
    std::uint64_t amounts = 0;
    std::uint64_t rows = 0; ///< of ShareBuffers::chosen and of ShareBuffers::left

    /// Of a layer; call it only with sizes that checkRelevance() has passed.
    template <class T, class W>
    static ShareSizes of(const DeviceLayer<T, W>& layer)
    {
        const std::uint64_t rows = choicesOf(layer) * layer.tables;
        return {std::uint64_t{layer.length} * layer.outputs, rows * rowBitsOf(layer), rows};
    }
    /// Samples that are worked on together: as many as fit kShareScratch, at least one.
    [[nodiscard]] std::uint64_t together(std::uint64_t batch, std::uint64_t elementBytes) const
    {
        const std::uint64_t bytes = std::max<std::uint64_t>((perUnit + amounts + 2 * rows) * elementBytes, 1);
        return std::clamp<std::uint64_t>(kShareScratch / bytes, 1, std::max<std::uint64_t>(batch, 1));
    }
};

/// Shares relevance for the samples of the scratch: `s` says which. Code relevance is added to what is there.
template <class T, class W, class Launcher>
void launchShare(const PassBuffers<T, W>& b, const ShareBuffers<T>& s, Launcher& launcher)
{
    const DeviceLayer<T, W>& layer = b.layer;
    const std::uint64_t positions = s.samples * layer.length;
    launcher.items(positions * layer.outputs, WeighOutput<T, W>{b, s});
    launcher.lanes(s.samples * choicesOf(layer) * layer.tables, ShareRow<T, W>{b, s});
    if (s.inputRelevance != nullptr) {
        launcher.items(positions * layer.inputs, GatherInputRelevance<T, W>{b, s});
    }
    if (s.codeRelevance != nullptr) {
        launcher.items(b.codePlaces() * layer.codeBits, GatherCodeRelevance<T, W>{b, s});
    }
    if (s.tableRelevance != nullptr) {
        launcher.items(s.samples * layer.tables, GatherTableRelevance<T, W>{b, s});
    }
    if (s.bitRelevance != nullptr) {
        launcher.items(s.samples * layer.tables * rowBitsOf(layer), GatherBitRelevance<T, W>{b, s});
    }
    if (s.pairMap != nullptr) {
        launcher.items(positions * layer.length, GatherPairMap<T, W>{b, s});
    }
    if (s.unplaced != nullptr) {
        launcher.lanes(s.samples, SumUnplaced<T, W>{b, s});
    }
}

/// Shares relevance for the whole batch, part by part.
template <class T, class W, class Launcher>
void launchShares(const PassBuffers<T, W>& b, ShareBuffers<T> s, std::uint64_t together, Launcher& launcher)
{
    if (s.codeRelevance != nullptr) {
        launcher.zero(s.codeRelevance, b.codePlaces() * b.layer.codeBits);
    }
    for (s.first = 0; s.first < b.batch; s.first += together) {
        s.samples = std::min(together, b.batch - s.first);
        launchShare(b, s, launcher);
    }
}

} // namespace retro::lut::device
