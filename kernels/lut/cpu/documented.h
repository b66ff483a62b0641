// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/lut/arithmetic.h"
#include "kernels/lut/run.h"

// The documented path on the CPU: one function per kernel, each with the same work per item as a thread of it has.
// Where threads of a device would add to one place at the same time, items are given out by that place, so the order of
// every sum is fixed.
namespace retro::lut::cpu
{

/// The rows of a sparse layer cut into groups.
struct SynapseGroups
{
    std::vector<SynapseGroup> all;    ///< of all rows, in their order
    std::vector<std::uint64_t> first; ///< [N + 1]
};

template <class T>
[[nodiscard]] SynapseGroups synapseGroups(const Layer<T>& layer);

/// Buffers of a pass under way.
template <class T>
struct Documented
{
    const Layer<T>& layer;
    int threads = 1;
    std::uint64_t batch = 0;
    Tape<T>* kept = nullptr;       ///< written by the forward pass
    const Tape<T>* tape = nullptr; ///< read by all
    std::span<const T> input;
    std::span<T> output;
    std::span<const T> outputGradients;
    std::span<T> inputGradients;
    std::span<T> weightGradients;
    std::span<T> codeGradients;
    Array<T> dense; ///< Firing Statistics, or Before Detectors Gradients: [B, S, T, R]
    Array<FiringEvent> firingEvents;
    SynapseGroups groups; ///< sparse

    [[nodiscard]] const LayerShape& shape() const { return layer.shape(); }
    /// Number of a (sample, position, table).
    [[nodiscard]] std::uint64_t site(std::uint64_t sample, std::uint64_t position, std::uint64_t table) const
    {
        return siteOf(sample, position, table, shape().length, shape().tables);
    }
    /// The dense figure of one row of a table there.
    [[nodiscard]] T& cell(std::uint64_t sample, std::uint64_t position, std::uint64_t table, std::uint64_t row)
    {
        return dense[cellOf(site(sample, position, table), row, shape().rows())];
    }
};

/// Which row each detector chooses, and its least certain comparison; for every position.
template <class T>
void checkDetectors(Documented<T>& run);
template <class T>
void fillOutputsFullyConnected(Documented<T>& run);
template <class T>
void fireDetectors(Documented<T>& run);
template <class T>
void fillOutputsByForwardGroups(Documented<T>& run);
/// Row scores of the chosen rows, or of the alternative ones.
template <class T>
void gatherXGradientsFullyConnected(Documented<T>& run, Variant variant);
template <class T>
void gatherWGradientsFullyConnected(Documented<T>& run);
/// Carries the two scores of each detector to its anchors, and clears them.
template <class T>
void propagateThroughDetectors(Documented<T>& run);
template <class T>
void fireDetectorsByLookupIndices(Documented<T>& run);
template <class T>
void gatherGradients(Documented<T>& run);

/// Counts the visits of every row by every later position, and marks alternative rows.
template <class T>
void fillAfterDetectorsFiringStat(Documented<T>& run);
/// Turns counts and marks into events, by sample, position and row, and clears them.
template <class T>
void densifyFiringStat(Documented<T>& run);
template <class T>
void fillOutputsBySparseFirings(Documented<T>& run);
template <class T>
void gatherXGradientsForSequence(Documented<T>& run, Variant variant);
template <class T>
void gatherWGradientsForSequence(Documented<T>& run);
template <class T>
void propagateThroughDetectorsForSequence(Documented<T>& run);
template <class T>
void cleanup(Documented<T>& run, Variant variant);

/// Carries out one launch.
template <class T>
void launchDocumented(Documented<T>& run, const Launch& launch);

} // namespace retro::lut::cpu
