// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/lut/device/bodies.h"
#include "kernels/lut/events.h"

#include <cstdint>

// Where a pass on a device finds its arrays. Plain pointers, so that host and device run the same launches.
namespace retro::lut::device
{

/// Scratch of the fused path.
template <class T>
struct FusedScratch
{
    T* pairRuns = nullptr;              ///< [B, S, most runs of a position, O], of sequences with full connectivity
    T* positionScores = nullptr;        ///< [B, S, T]
    T* positionalScores = nullptr;      ///< [B, S − 1, T]
    PairScore<T>* pairScores = nullptr; ///< [B, pairs, T]
    std::uint32_t* visits = nullptr;    ///< row id of each visit
    std::uint64_t* places = nullptr;    ///< (sample, position) of each
    std::uint32_t* sorted = nullptr;    ///< the same by row
    std::uint64_t* sortedPlaces = nullptr;
    std::uint64_t* starts = nullptr; ///< [N + 1], where a row's visits start in the sorted list
};

/// Scratch and kept buffers of the documented path. Events have fixed places, unused ones are empty: nothing is counted
/// or compacted, so their order is that of the CPU.
template <class T>
struct DocumentedScratch
{
    T* dense = nullptr;                        ///< Firing Statistics, or Before Detectors Gradients: [B, S, T, R]
    MainEvent* mainEvents = nullptr;           ///< [B, pairs by later position, T], at most `later` of each table
    MainEvent* otherEvents = nullptr;          ///< twice as many
    FiringEvent* firingEvents = nullptr;       ///< [B, T, variants, max_fw_groups]
    const SynapseGroup* groups = nullptr;      ///< sparse: of all rows
    const std::uint64_t* firstGroup = nullptr; ///< sparse: [N + 1]
    std::uint64_t maxForwardGroups = 0;
    std::uint32_t forwardGroup = 32;  ///< G_f
    std::uint32_t backwardGroup = 32; ///< G_b
};

/// All arrays of a pass over a layer whose weights are stored as W.
template <class T, class W>
struct PassBuffers
{
    DeviceLayer<T, W> layer{};
    InputUses inputs;
    DeviceTape<T> tape{};
    std::uint64_t batch = 0;
    std::uint64_t neurons = 0; ///< N
    std::uint64_t weights = 0; ///< how many
    const T* input = nullptr;
    T* output = nullptr;
    const T* outputGradients = nullptr;
    T* inputGradients = nullptr;
    T* weightGradients = nullptr;
    T* codeGradients = nullptr;
    FusedScratch<T> fused;
    DocumentedScratch<T> documented;

    [[nodiscard]] RETRO_HOST_DEVICE bool isSparse() const { return layer.rowStarts != nullptr; }
    /// B · S.
    [[nodiscard]] RETRO_HOST_DEVICE std::uint64_t positions() const { return batch * layer.length; }
    /// B · S · T.
    [[nodiscard]] RETRO_HOST_DEVICE std::uint64_t sites() const { return positions() * layer.tables; }
    /// (S − 1) · T.
    [[nodiscard]] RETRO_HOST_DEVICE std::uint64_t codePlaces() const
    {
        return std::uint64_t{layer.length - 1} * layer.tables;
    }
    /// Scores of pairs that a backward pass keeps.
    [[nodiscard]] RETRO_HOST_DEVICE std::uint64_t pairScores() const { return layer.length > 1 ? visits() : 0; }
    /// Most runs of a position of a sequence with full connectivity.
    [[nodiscard]] RETRO_HOST_DEVICE std::uint64_t mostRuns() const
    {
        return isSparse() ? 0 : mostPairRuns(layer.length, layer.tables);
    }
    /// Visits that weight gradients sum over.
    [[nodiscard]] RETRO_HOST_DEVICE std::uint64_t visits() const { return visitCount(layer, batch); }
};

} // namespace retro::lut::device
