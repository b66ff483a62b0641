// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/lut/kernelid.h"
#include "kernels/lut/layer.h"

#include <string>
#include <string_view>
#include <vector>

// What a pass over a LUT layer launches: kernels with the buffers that they read and write, and the stream of each.
// Plain data, which back ends walk and views draw.
namespace retro::lut
{

/// How a pass is carried out. Both give the same results.
enum class Path {
    Fused,      ///< few kernels, nothing dense; the default
    Documented, ///< every stage of the data-flow description as a kernel, every array as a buffer
};

/// Relevance is the same on both paths; it follows a forward pass and keeps nothing for a later one.
enum class Pass { Forward, Backward, Relevance };

enum class BufferId : std::uint8_t {
    Input,
    Anchors,
    Weights,
    RowStarts,
    Columns,
    PositionalEmbeddings,
    LookupIndices,
    MinAnchorDeltas,
    MinAnchorDeltaIndices,
    PeLookupIndices,
    PeMinDeltas,
    PeMinDeltaIndices,
    FiringEvents,
    FiringStatistics,
    MainFiringEvents,
    AlternativeFiringEvents,
    BeforeDetectorsGradients,
    PositionScores,
    PositionalScores,
    Output,
    OutputGradients,
    InputGradients,
    PeGradients,
    WeightGradients,
    OutputRelevance,
    InputRelevance,
    PeRelevance,
    TableRelevance,
    PairMap,
};

enum class Element : std::uint8_t { Real, Float16, BFloat16, Int32, UInt32, UInt64, AnchorPair, Event };

/// What a buffer is to the pass.
enum class Role : std::uint8_t {
    Given,   ///< input, gradient of the output
    Learned, ///< part of the layer
    Kept,    ///< from the forward pass, for the backward pass
    Scratch, ///< of this pass alone
    Result,
};

/// An array of a pass.
struct Buffer
{
    BufferId id = BufferId::Input;
    std::string_view name; ///< "Lookup Indices"
    Element element = Element::Real;
    Role role = Role::Scratch;
    std::vector<std::uint64_t> shape; ///< of events: their capacity
    std::uint64_t bytes = 0;
    std::optional<BufferId> sharesMemoryWith; ///< lies in the memory of another one
};

/// One launch of a kernel.
struct Launch
{
    KernelId kernel = KernelId::CheckDetectors;
    Variant variant = Variant::Only;
    std::uint32_t stream = 0;
    std::vector<BufferId> reads;
    std::vector<BufferId> writes;      ///< also those that are added to
    std::vector<std::size_t> waitsFor; ///< launches on other streams that must be done, by their place in the list
    std::uint64_t items = 0;           ///< threads that the work needs
    std::uint32_t blockSize = 0;       ///< threads of a block
    std::uint64_t gridX = 0;           ///< blocks; what a grid cannot hold is looped over
    std::uint64_t gridY = 0;
};

/// The buffers and launches of a pass, in an order that keeps every `waitsFor`.
struct Schedule
{
    Path path = Path::Fused;
    Pass pass = Pass::Forward;
    std::vector<Buffer> buffers;
    std::vector<Launch> launches;

    /// The buffer of an id; null when the pass has none.
    [[nodiscard]] const Buffer* find(BufferId id) const;
    /// Bytes of all scratch and event buffers; memory that is shared counts once.
    [[nodiscard]] std::uint64_t scratchBytes() const;
};

/// What a schedule depends on.
struct ScheduleRequest
{
    LayerShape shape;
    bool isSparse = false;
    std::uint64_t synapses = 0;         ///< sparse: their number
    std::uint64_t maxForwardGroups = 0; ///< sparse: of a row
    std::uint32_t forwardGroup = 32;    ///< G_f
    std::uint32_t backwardGroup = 32;   ///< G_b
    std::uint64_t batch = 0;
    std::uint32_t realBytes = 4; ///< of a float32; 8 in double
    Path path = Path::Fused;
    Pass pass = Pass::Forward;
    RowType rowType = RowType::Real; ///< how the weights are stored
    bool changesWeights = false;     ///< backward, fused path: a step in place of gradients of the weights
};

/// The request of a layer.
template <class T>
[[nodiscard]] ScheduleRequest requestOf(const Layer<T>& layer, std::uint64_t batch, Path path, Pass pass)
{
    const LayerDescription<T>& given = layer.description();
    return {given.shape,
            given.isSparse,
            given.columns.size(),
            layer.maxForwardGroups(),
            given.forwardGroup,
            given.backwardGroup,
            batch,
            sizeof(T),
            path,
            pass,
            given.rowType};
}

/// Makes the launch schedule of a pass. Error (TooLarge): the size of a buffer overflows.
Status makeSchedule(const ScheduleRequest& request, Schedule& schedule);

/// Name of a kernel: "check_detectors".
[[nodiscard]] std::string_view nameOf(KernelId kernel);
/// Name of a buffer: "Lookup Indices".
[[nodiscard]] std::string_view nameOf(BufferId buffer);
/// "", "main" or "alternative".
[[nodiscard]] std::string_view nameOf(Variant variant);

} // namespace retro::lut
