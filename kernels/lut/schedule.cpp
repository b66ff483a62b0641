// SPDX-License-Identifier: Apache-2.0
#include "kernels/lut/schedule.h"

#include <algorithm>
#include <array>

namespace retro::lut
{

namespace
{

using Ids = std::vector<BufferId>;
using enum BufferId;

constexpr std::uint32_t kBlockSize = 1024;
constexpr std::uint64_t kEventBytes = 16;

std::uint64_t bytesOf(Element element, std::uint64_t realBytes)
{
    switch (element) {
    case Element::Real:
        return realBytes;
    case Element::Float16:
    case Element::BFloat16:
        return 2;
    case Element::Int32:
    case Element::UInt32:
        return 4;
    case Element::UInt64:
    case Element::AnchorPair:
        return 8;
    case Element::Event:
        return kEventBytes;
    }
    return 0;
}

std::string shapeText(const std::vector<std::uint64_t>& shape)
{
    std::string text;
    for (const std::uint64_t size : shape) {
        text += (text.empty() ? "" : " x ") + std::to_string(size);
    }
    return text;
}

/// Puts buffers and launches together; remembers the first size that overflows.
class Builder
{
public:
    Builder(const ScheduleRequest& request, Schedule& schedule) : r(request), m_schedule(schedule) {}

    const ScheduleRequest& r;

    std::uint64_t sites() const { return std::uint64_t{r.shape.length} * r.shape.tables; }
    bool isSequence() const { return r.shape.isSequence; }

    void buffer(BufferId id, Element element, Role role, std::vector<std::uint64_t> shape,
                std::optional<BufferId> sharesMemoryWith = {})
    {
        std::optional<std::uint64_t> bytes = bytesOf(element, r.realBytes);
        for (const std::uint64_t size : shape) {
            bytes = bytes ? checkedProduct({*bytes, size}) : bytes;
        }
        if (!bytes && m_status.ok()) {
            m_status = {StatusCode::TooLarge, std::string(nameOf(id)) + " of shape " + shapeText(shape) +
                                                  " overflows a 64-bit size; take a smaller batch or layer"};
        }
        m_schedule.buffers.push_back(
            {id, nameOf(id), element, role, std::move(shape), bytes.value_or(0), sharesMemoryWith});
    }

    /// [B, …] or [B, S, …]
    std::vector<std::uint64_t> perSample(std::uint64_t last) const
    {
        if (isSequence()) {
            return {r.batch, r.shape.length, last};
        }
        return {r.batch, last};
    }
    std::vector<std::uint64_t> perSite() const { return perSample(r.shape.tables); }
    std::vector<std::uint64_t> perLag() const { return {r.shape.lags(), r.shape.tables}; }
    std::vector<std::uint64_t> perRow() const
    {
        std::vector<std::uint64_t> shape = perSite();
        shape.push_back(r.shape.rows());
        return shape;
    }
    std::vector<std::uint64_t> weightShape() const
    {
        if (r.isSparse) {
            return {r.synapses};
        }
        return {r.shape.tables, r.shape.rows(), r.shape.outputs};
    }
    std::uint64_t pairs() const { return pairCount(r.shape.length); }

    /// The weights, with the lists that say where sparse ones go.
    Ids withWeights(Ids ids) const
    {
        ids.push_back(Weights);
        if (r.isSparse) {
            ids.insert(ids.end(), {RowStarts, Columns});
        }
        return ids;
    }

    struct Work
    {
        std::uint64_t x = 0; ///< items of a row of the grid
        std::uint64_t y = 1;
        std::uint32_t fixedBlock = 0; ///< 0 = as many threads as items, up to kBlockSize
    };

    /// Adds a launch; returns its place.
    std::size_t launch(KernelId kernel, Variant variant, std::uint32_t stream, Work work, Ids reads, Ids writes,
                       std::vector<std::size_t> waitsFor = {})
    {
        Launch added{kernel, variant, stream, std::move(reads), std::move(writes), std::move(waitsFor)};
        added.items = checkedProduct({work.x, work.y}).value_or(0);
        added.blockSize = work.fixedBlock != 0
                              ? work.fixedBlock
                              : static_cast<std::uint32_t>(std::clamp<std::uint64_t>(work.x, 1, kBlockSize));
        added.gridX = gridExtent(ceilDivide(work.x, added.blockSize), kMaxGridX);
        added.gridY = gridExtent(work.y, kMaxGridY);
        m_schedule.launches.push_back(std::move(added));
        return m_schedule.launches.size() - 1;
    }

    Status status() const { return m_status; }

private:
    Schedule& m_schedule;
    Status m_status;
};

Element elementOf(RowType type)
{
    return type == RowType::Float16 ? Element::Float16 : type == RowType::BFloat16 ? Element::BFloat16 : Element::Real;
}

void addLayer(Builder& b, bool withAnchors)
{
    if (withAnchors) {
        b.buffer(Anchors, Element::AnchorPair, Role::Learned, {b.r.shape.tables, b.r.shape.comparisons});
    }
    b.buffer(Weights, elementOf(b.r.rowType), Role::Learned, b.weightShape());
    if (b.r.isSparse) {
        b.buffer(RowStarts, Element::UInt64, Role::Learned, {b.r.shape.neurons() + 1});
        b.buffer(Columns, Element::UInt32, Role::Learned, {b.r.synapses});
    }
}

void addKept(Builder& b)
{
    b.buffer(LookupIndices, Element::Int32, Role::Kept, b.perSite());
    b.buffer(MinAnchorDeltas, Element::Real, Role::Kept, b.perSite());
    b.buffer(MinAnchorDeltaIndices, Element::Int32, Role::Kept, b.perSite());
    if (b.isSequence()) {
        b.buffer(PeLookupIndices, Element::Int32, Role::Kept, b.perLag());
        b.buffer(PeMinDeltas, Element::Real, Role::Kept, b.perLag());
        b.buffer(PeMinDeltaIndices, Element::Int32, Role::Kept, b.perLag());
    }
}

void addForwardEnds(Builder& b)
{
    b.buffer(Input, Element::Real, Role::Given, b.perSample(b.r.shape.inputs));
    addLayer(b, true);
    if (b.isSequence()) {
        b.buffer(PositionalEmbeddings, Element::Real, Role::Learned,
                 {b.r.shape.lags(), b.r.shape.tables, b.r.shape.codeBits});
    }
    addKept(b);
}

void addBackwardEnds(Builder& b)
{
    b.buffer(OutputGradients, Element::Real, Role::Given, b.perSample(b.r.shape.outputs));
    addLayer(b, true);
    addKept(b);
}

void addBackwardResults(Builder& b)
{
    b.buffer(InputGradients, Element::Real, Role::Result, b.perSample(b.r.shape.inputs));
    if (!b.r.changesWeights) {
        b.buffer(WeightGradients, Element::Real, Role::Result, b.weightShape());
    }
    if (b.isSequence()) {
        b.buffer(PeGradients, Element::Real, Role::Result, {b.r.shape.lags(), b.r.shape.tables, b.r.shape.codeBits});
    }
}

Ids chosen() { return {LookupIndices, MinAnchorDeltas, MinAnchorDeltaIndices}; }
Ids chosenCodes() { return {PeLookupIndices, PeMinDeltas, PeMinDeltaIndices}; }

Ids joined(Ids a, const Ids& b)
{
    a.insert(a.end(), b.begin(), b.end());
    return a;
}

void documentedForward(Builder& b)
{
    addForwardEnds(b);
    const std::uint64_t tables = b.r.shape.tables;
    if (b.r.isSparse) {
        b.buffer(FiringEvents, Element::Event, Role::Scratch, {b.r.batch, tables, b.r.maxForwardGroups});
        b.launch(KernelId::FireDetectors, Variant::Only, 0, {tables, b.r.batch}, {Input, Anchors, RowStarts},
                 joined(chosen(), {FiringEvents}));
        b.launch(KernelId::FillOutputsByForwardGroups, Variant::Only, 0, {b.r.batch * tables * b.r.maxForwardGroups, 1},
                 {FiringEvents, Weights, RowStarts, Columns}, {Output});
    } else {
        b.launch(KernelId::CheckDetectors, Variant::Only, 0, {tables, b.r.batch}, {Input, Anchors}, chosen());
        b.launch(KernelId::FillOutputsFullyConnected, Variant::Only, 0,
                 {b.r.shape.outputs * ceilDivide(tables, b.r.backwardGroup), b.r.batch}, {LookupIndices, Weights},
                 {Output});
    }
    b.buffer(Output, Element::Real, Role::Result, b.perSample(b.r.shape.outputs));
}

void documentedSequenceForward(Builder& b)
{
    addForwardEnds(b);
    b.buffer(FiringStatistics, Element::Real, Role::Scratch, b.perRow());
    b.buffer(MainFiringEvents, Element::Event, Role::Kept, {b.r.batch, b.r.shape.tables, b.pairs()});
    b.buffer(AlternativeFiringEvents, Element::Event, Role::Kept, {b.r.batch, b.r.shape.tables, 2 * b.pairs()});
    b.launch(KernelId::CheckDetectorsForSequence, Variant::Only, 0, {b.sites(), b.r.batch}, {Input, Anchors}, chosen());
    const std::size_t codes =
        b.launch(KernelId::CheckPositionalEmbeddings, Variant::Only, 1,
                 {std::uint64_t{b.r.shape.lags()} * b.r.shape.tables, 1}, {PositionalEmbeddings}, chosenCodes());
    b.launch(KernelId::FillAfterDetectorsFiringStat, Variant::Only, 0,
             {tileBlocks(b.r.shape.length) * b.r.shape.tables * kTilePairs, b.r.batch, kTilePairs},
             joined(chosen(), chosenCodes()), {FiringStatistics}, {codes});
    b.launch(KernelId::DensifyFiringStat, Variant::Only, 0, {b.r.shape.neurons(), b.r.batch * b.r.shape.length},
             {FiringStatistics}, {FiringStatistics, MainFiringEvents, AlternativeFiringEvents});
    b.launch(KernelId::FillOutputsBySparseFirings, Variant::Only, 0,
             {b.r.batch * b.r.shape.tables * b.pairs(), ceilDivide(b.r.shape.outputs, b.r.forwardGroup)},
             b.withWeights({MainFiringEvents}), {Output});
    b.buffer(Output, Element::Real, Role::Result, b.perSample(b.r.shape.outputs));
}

void documentedBackward(Builder& b)
{
    addBackwardEnds(b);
    const std::uint64_t tables = b.r.shape.tables;
    std::vector<std::size_t> waits;
    if (b.r.isSparse) {
        b.buffer(FiringEvents, Element::Event, Role::Scratch, {b.r.batch, tables, b.r.maxForwardGroups, 2});
        b.launch(KernelId::FireDetectorsByLookupIndices, Variant::Only, 0, {tables, b.r.batch},
                 {LookupIndices, MinAnchorDeltaIndices, RowStarts}, {FiringEvents});
        b.launch(KernelId::GatherGradients, Variant::Only, 0, {2 * b.r.batch * tables * b.r.maxForwardGroups, 1},
                 b.withWeights({FiringEvents, OutputGradients}), {BeforeDetectorsGradients, WeightGradients});
    } else {
        const Builder::Work work{tables * ceilDivide(b.r.shape.outputs, b.r.forwardGroup), b.r.batch};
        b.launch(KernelId::GatherXGradientsFullyConnected, Variant::Main, 0, work,
                 {OutputGradients, LookupIndices, Weights}, {BeforeDetectorsGradients});
        waits.push_back(b.launch(KernelId::GatherXGradientsFullyConnected, Variant::Alternative, 1, work,
                                 {OutputGradients, LookupIndices, MinAnchorDeltaIndices, Weights},
                                 {BeforeDetectorsGradients}));
        b.launch(KernelId::GatherWGradientsFullyConnected, Variant::Only, 2, work, {OutputGradients, LookupIndices},
                 {WeightGradients});
    }
    b.buffer(BeforeDetectorsGradients, Element::Real, Role::Scratch, b.perRow());
    b.launch(KernelId::PropagateThroughDetectors, Variant::Only, 0, {tables, b.r.batch},
             joined(chosen(), {Anchors, BeforeDetectorsGradients}), {InputGradients, BeforeDetectorsGradients},
             std::move(waits));
    addBackwardResults(b);
}

void documentedSequenceBackward(Builder& b)
{
    addBackwardEnds(b);
    b.buffer(MainFiringEvents, Element::Event, Role::Kept, {b.r.batch, b.r.shape.tables, b.pairs()});
    b.buffer(AlternativeFiringEvents, Element::Event, Role::Kept, {b.r.batch, b.r.shape.tables, 2 * b.pairs()});
    b.buffer(BeforeDetectorsGradients, Element::Real, Role::Scratch, b.perRow(), FiringStatistics);
    const std::uint64_t capacity = b.r.batch * b.r.shape.tables * b.pairs();
    const std::uint64_t groups = ceilDivide(b.r.shape.outputs, b.r.forwardGroup);
    const auto scores = KernelId::GatherXGradientsForSequence;
    b.launch(scores, Variant::Main, 0, {capacity, groups}, b.withWeights({OutputGradients, MainFiringEvents}),
             {BeforeDetectorsGradients});
    b.launch(KernelId::GatherWGradientsForSequence, Variant::Only, 1, {capacity, groups},
             b.r.isSparse ? Ids{OutputGradients, MainFiringEvents, RowStarts, Columns}
                          : Ids{OutputGradients, MainFiringEvents},
             {WeightGradients});
    const std::size_t others =
        b.launch(scores, Variant::Alternative, 2, {2 * capacity, groups},
                 b.withWeights({OutputGradients, AlternativeFiringEvents}), {BeforeDetectorsGradients});
    b.launch(KernelId::PropagateThroughDetectorsForSequence, Variant::Only, 0,
             {tileBlocks(b.r.shape.length) * b.r.shape.tables * kTilePairs, b.r.batch, kTilePairs},
             joined(joined(chosen(), chosenCodes()), {Anchors, BeforeDetectorsGradients}),
             {InputGradients, PeGradients}, {others});
    b.launch(KernelId::Cleanup, Variant::Main, 0, {capacity, 1}, {MainFiringEvents}, {BeforeDetectorsGradients});
    b.launch(KernelId::Cleanup, Variant::Alternative, 0, {2 * capacity, 1}, {AlternativeFiringEvents},
             {BeforeDetectorsGradients});
    addBackwardResults(b);
}

void fusedForward(Builder& b)
{
    addForwardEnds(b);
    b.launch(KernelId::ChooseRowsAndGather, Variant::Only, 0, {b.r.batch * b.r.shape.tables, 1},
             b.withWeights({Input, Anchors}), joined(chosen(), {Output}));
    b.buffer(Output, Element::Real, Role::Result, b.perSample(b.r.shape.outputs));
}

void fusedSequenceForward(Builder& b)
{
    addForwardEnds(b);
    b.launch(KernelId::ChooseRows, Variant::Only, 0, {b.r.batch * b.sites(), 1}, {Input, Anchors}, chosen());
    const std::size_t codes =
        b.launch(KernelId::CheckPositionalEmbeddings, Variant::Only, 1,
                 {std::uint64_t{b.r.shape.lags()} * b.r.shape.tables, 1}, {PositionalEmbeddings}, chosenCodes());
    b.launch(KernelId::GatherPairs, Variant::Only, 0, {b.pairs() * b.r.shape.tables, b.r.batch},
             b.withWeights({LookupIndices, PeLookupIndices}), {Output}, {codes});
    b.buffer(Output, Element::Real, Role::Result, b.perSample(b.r.shape.outputs));
}

/// Gradients of the weights, beside the scores; or a step along them, once no score is to be read from a weight.
void launchWeights(Builder& b, KernelId kernel, Builder::Work work, Ids reads, std::size_t scores)
{
    if (b.r.changesWeights) {
        b.launch(kernel, Variant::Only, 1, work, b.withWeights(std::move(reads)), {Weights}, {scores});
    } else {
        b.launch(kernel, Variant::Only, 1, work, std::move(reads), {WeightGradients});
    }
}

void fusedBackward(Builder& b)
{
    addBackwardEnds(b);
    const Builder::Work work{b.r.batch * b.r.shape.tables, 1};
    const std::size_t scores = b.launch(KernelId::ScoreAndPropagate, Variant::Only, 0, work,
                                        b.withWeights(joined(chosen(), {OutputGradients, Anchors})), {InputGradients});
    launchWeights(b, KernelId::SumWeightGradients, work, {OutputGradients, LookupIndices}, scores);
    addBackwardResults(b);
}

void fusedSequenceBackward(Builder& b)
{
    addBackwardEnds(b);
    b.buffer(PositionScores, Element::Real, Role::Scratch, b.perSite());
    b.buffer(PositionalScores, Element::Real, Role::Scratch, {b.r.batch, b.r.shape.lags(), b.r.shape.tables});
    const Builder::Work pairs{b.pairs() * b.r.shape.tables, b.r.batch};
    const std::size_t scores = b.launch(KernelId::ScorePairs, Variant::Only, 0, pairs,
                                        b.withWeights(joined(joined(chosen(), chosenCodes()), {OutputGradients})),
                                        {PositionScores, PositionalScores});
    b.launch(KernelId::PropagatePositions, Variant::Only, 0, {b.sites(), b.r.batch},
             {PositionScores, MinAnchorDeltas, MinAnchorDeltaIndices, Anchors}, {InputGradients});
    b.launch(KernelId::PropagatePositionalEmbeddings, Variant::Only, 0,
             {std::uint64_t{b.r.shape.lags()} * b.r.shape.tables, 1},
             {PositionalScores, PeMinDeltas, PeMinDeltaIndices}, {PeGradients});
    launchWeights(b, KernelId::SumPairWeightGradients, pairs, {OutputGradients, LookupIndices, PeLookupIndices},
                  scores);
    addBackwardResults(b);
}

/// What relevance() does: each sample on its own, then the codes over all of them.
void relevancePass(Builder& b)
{
    addForwardEnds(b);
    b.buffer(Output, Element::Real, Role::Given, b.perSample(b.r.shape.outputs));
    b.buffer(OutputRelevance, Element::Real, Role::Given, b.perSample(b.r.shape.outputs));
    Ids reads = b.withWeights(joined(chosen(), {Input, Anchors, Output, OutputRelevance}));
    Ids writes{InputRelevance, TableRelevance};
    if (b.isSequence()) {
        reads = joined(joined(reads, chosenCodes()), {PositionalEmbeddings});
        writes = joined(writes, {PairMap, PositionalScores});
        b.buffer(PositionalScores, Element::Real, Role::Scratch,
                 {b.r.batch, b.r.shape.lags(), b.r.shape.tables, b.r.shape.codeBits});
    }
    b.launch(KernelId::ShareRelevance, Variant::Only, 0, {b.r.batch, 1}, std::move(reads), std::move(writes));
    b.buffer(InputRelevance, Element::Real, Role::Result, b.perSample(b.r.shape.inputs));
    b.buffer(TableRelevance, Element::Real, Role::Result, {b.r.batch, b.r.shape.tables});
    if (b.isSequence()) {
        b.launch(KernelId::SumCodeRelevance, Variant::Only, 0, {b.r.batch, 1}, {PositionalScores}, {PeRelevance});
        b.buffer(PairMap, Element::Real, Role::Result, {b.r.batch, b.r.shape.length, b.r.shape.length});
        b.buffer(PeRelevance, Element::Real, Role::Result, {b.r.shape.lags(), b.r.shape.tables, b.r.shape.codeBits});
    }
}

using Maker = void (*)(Builder&);

Maker makerOf(const ScheduleRequest& request)
{
    if (request.pass == Pass::Relevance) {
        return relevancePass;
    }
    constexpr Maker kMakers[2][2][2]{
        {{fusedForward, fusedSequenceForward}, {fusedBackward, fusedSequenceBackward}},
        {{documentedForward, documentedSequenceForward}, {documentedBackward, documentedSequenceBackward}},
    };
    return kMakers[request.path == Path::Documented ? 1 : 0][request.pass == Pass::Backward ? 1 : 0]
                  [request.shape.isSequence ? 1 : 0];
}

/// Sizes of whole passes that no buffer has, but launches count.
Status checkWork(const ScheduleRequest& r)
{
    const bool fits = checkedProduct({r.batch, tileBlocks(r.shape.length), kTilePairs, r.shape.tables,
                                      std::max<std::uint64_t>(r.shape.outputs, 2 * r.maxForwardGroups)}) &&
                      checkedProduct({r.batch, r.shape.length, std::max(r.shape.inputs, r.shape.outputs), 8});
    return fits ? Status{}
                : Status{StatusCode::TooLarge, "a batch of " + std::to_string(r.batch) +
                                                   " overflows a 64-bit count of work; take a smaller one"};
}

} // namespace

const Buffer* Schedule::find(BufferId id) const
{
    const auto at = std::find_if(buffers.begin(), buffers.end(), [&](const Buffer& buffer) { return buffer.id == id; });
    return at == buffers.end() ? nullptr : &*at;
}

std::uint64_t Schedule::scratchBytes() const
{
    std::uint64_t bytes = 0;
    for (const Buffer& buffer : buffers) {
        const bool counts = buffer.role == Role::Scratch || buffer.element == Element::Event;
        // Buffers are below 2^62 each; a sum that is beyond it is beyond every limit.
        bytes = counts ? std::min(bytes + buffer.bytes, std::uint64_t{1} << 62) : bytes;
    }
    return bytes;
}

Status makeSchedule(const ScheduleRequest& request, Schedule& schedule)
{
    if (Status status = checkWork(request); !status.ok()) {
        return status;
    }
    schedule = Schedule{request.path, request.pass, {}, {}};
    Builder builder(request, schedule);
    makerOf(request)(builder);
    return builder.status();
}

std::string_view nameOf(KernelId kernel)
{
    constexpr std::array<std::string_view, kKernelCount> kNames{
        "check_detectors",
        "fill_outputs_fully_connected",
        "fire_detectors",
        "fill_outputs_by_forward_groups",
        "gather_x_gradients_fully_connected",
        "gather_w_gradients_fully_connected",
        "propagate_through_detectors",
        "fire_detectors_by_lookup_indices",
        "gather_gradients",
        "check_detectors_for_sequence",
        "check_positional_embeddings",
        "fill_after_detectors_firing_stat",
        "densify_firing_stat",
        "fill_outputs_by_sparse_firings",
        "gather_x_gradients_for_sequence",
        "gather_w_gradients_for_sequence",
        "propagate_through_detectors_for_sequence",
        "cleanup",
        "choose_rows_and_gather",
        "choose_rows",
        "gather_pairs",
        "score_and_propagate",
        "sum_weight_gradients",
        "score_pairs",
        "propagate_positions",
        "propagate_positional_embeddings",
        "sum_pair_weight_gradients",
        "share_relevance",
        "sum_code_relevance",
    };
    return kNames[static_cast<std::size_t>(kernel)];
}

std::string_view nameOf(BufferId buffer)
{
    constexpr std::array<std::string_view, 29> kNames{
        "Input",
        "Anchors",
        "Weights",
        "Row Starts",
        "Columns",
        "Positional Embeddings",
        "Lookup Indices",
        "Min Anchor Deltas",
        "Min Anchor Delta Indices",
        "PE Lookup Indices",
        "PE Min Deltas",
        "PE Min Delta Indices",
        "Firing Events",
        "Firing Statistics",
        "Main Firing Events",
        "Alternative Firing Events",
        "Before Detectors Gradients",
        "Position Scores",
        "Positional Scores",
        "Output",
        "Output Gradients",
        "Input Gradients",
        "Positional Embedding Gradients",
        "Weight Gradients",
        "Output Relevance",
        "Input Relevance",
        "Positional Embedding Relevance",
        "Table Relevance",
        "Pair Map",
    };
    return kNames[static_cast<std::size_t>(buffer)];
}

std::string_view nameOf(Variant variant)
{
    constexpr std::array<std::string_view, 3> kNames{"", "main", "alternative"};
    return kNames[static_cast<std::size_t>(variant)];
}

} // namespace retro::lut
