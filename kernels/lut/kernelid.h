// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

// Names of kernels, for host and device alike; C++17, like all that nvcc sees.
namespace retro::lut
{

enum class KernelId : std::uint8_t {
    CheckDetectors,
    FillOutputsFullyConnected,
    FireDetectors,
    FillOutputsByForwardGroups,
    GatherXGradientsFullyConnected,
    GatherWGradientsFullyConnected,
    PropagateThroughDetectors,
    FireDetectorsByLookupIndices,
    GatherGradients,
    CheckDetectorsForSequence,
    CheckPositionalEmbeddings,
    FillAfterDetectorsFiringStat,
    DensifyFiringStat,
    FillOutputsBySparseFirings,
    GatherXGradientsForSequence,
    GatherWGradientsForSequence,
    PropagateThroughDetectorsForSequence,
    Cleanup,
    ChooseRowsAndGather,
    ChooseRows,
    GatherPairs,
    ScoreAndPropagate,
    SumWeightGradients,
    ScorePairs,
    PropagatePositions,
    PropagatePositionalEmbeddings,
    SumPairWeightGradients,
    ShareRelevance,
    SumCodeRelevance,
};

/// How many kernels there are.
inline constexpr std::size_t kKernelCount = static_cast<std::size_t>(KernelId::SumCodeRelevance) + 1;

/// Which of two launches of one kernel this is.
enum class Variant : std::uint8_t { Only, Main, Alternative };

/// True for kernels that only the documented path has.
constexpr bool isDocumented(KernelId kernel)
{
    return kernel < KernelId::ChooseRowsAndGather && kernel != KernelId::CheckPositionalEmbeddings;
}

} // namespace retro::lut
