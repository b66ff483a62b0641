// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/graph/graph.h"
#include "core/ops/structure.h"
#include "kernels/lut/relevance.h"
#include "kernels/lut/schedule.h"

#include <functional>
#include <span>
#include <string>
#include <vector>

namespace retro::ops
{

/// True for a LUT layer.
[[nodiscard]] inline bool isLut(const graph::Node& node) { return node.op == "LUT" && node.domain == "ai.retrograde"; }

/// What a forward pass of a table lookup chose, per sample, position and table ([B, S, T]) and per distance and table
/// ([S − 1, T]; invalid without positions). Numbers in the run's floating type, the rest int32.
struct TableChoices
{
    Tensor rows;     ///< row of the table; with positions, of one position alone
    Tensor deltas;   ///< difference of the weakest comparison, signed
    Tensor bits;     ///< which comparison that is, −1 = none
    Tensor codeRows; ///< the same of positional codes
    Tensor codeDeltas;
    Tensor codeBits;
};

/// Relevance of a table lookup, taken apart.
struct TableRelevance
{
    Tensor input;        ///< shape of the input
    Tensor codes;        ///< shape of the positional codes; invalid without them
    Tensor tables;       ///< [B, T]; invalid unless it was asked for
    Tensor comparisons;  ///< [B, T, bits of a row], likewise: what each comparison and code bit got, lowest bit first
    Tensor pairs;        ///< [B, S, S], from later position to earlier one; as `tables`, and invalid without positions
    double unplaced = 0; ///< of tables without comparisons, and what a rule leaves to the tables
};

/// A buffer of a pass, as a launch left it.
struct TableBuffer
{
    lut::BufferId id = lut::BufferId::Input;
    bool isRead = false;        ///< by the launch
    bool isWritten = false;     ///< by the launch
    std::uint64_t count = 0;    ///< elements; of events those that are there
    std::uint64_t nonZeros = 0; ///< elements other than 0; of events all
    double least = 0;           ///< NaN apart; 0 without elements; of events of their counts
    double most = 0;
    /// The elements, [count] or the buffer's shape; of firing events one row each, with what columnsOf() says. Invalid
    /// beyond kMostBufferBytes.
    Tensor values;
};

/// Larger buffers are told by their figures alone: 64 MiB.
inline constexpr std::uint64_t kMostBufferBytes = std::uint64_t{64} << 20;

/// What the columns of a buffer of events are: "sample", "position", "row", "count"; nothing for others.
[[nodiscard]] std::vector<std::string> columnsOf(lut::BufferId id);

/// Count, non-zeros, least and most of a buffer from its values, as a pass tells them; nothing without values.
void takeFigures(TableBuffer& buffer);

/// y = Σ_t W[t, row_t], where comparisons of two inputs each choose the row of each table; with positions, the sum over
/// all earlier ones (docs/lut.md). Its reverse rule is exact for weights and a surrogate for inputs and codes.
class TableLookup : public Differentiable
{
public:
    /// Operand slots; codes, row starts and columns may be absent.
    enum Slot : std::size_t { kInput, kAnchors, kWeights, kCodes, kRowStarts, kColumns };

    [[nodiscard]] StructureKind kind() const final { return StructureKind::TableLookup; }

    /// Of the result y, s = R / stab(y), in its shape.
    using Divide = std::function<Tensor(const Tensor& y)>;
    /// Relevance for s = divide(y): table t gets Σ s·row_t. `operands` holds input, weights and codes. `wantsDetail`:
    /// also per table and per pair.
    [[nodiscard]] virtual TableRelevance distribute(const Divide& divide, std::span<const Tensor> operands,
                                                    lut::TableRule rule, bool wantsDetail) const = 0;
    [[nodiscard]] virtual TableChoices choices(std::span<const Tensor> operands) const = 0;
    /// The buffers of a forward or backward pass after its launch number `launch`; a pass forward is carried out first
    /// for one backward. `operands` as of distribute(); `gradients` has the shape of the result, for a backward pass.
    /// Scratch that the path does not have is not there: see schedule().
    [[nodiscard]] virtual std::vector<TableBuffer> buffersAfter(std::span<const Tensor> operands,
                                                                const Tensor& gradients, lut::Pass pass,
                                                                std::size_t launch) const = 0;
    /// [T, C].
    [[nodiscard]] virtual std::span<const lut::Anchor> anchors() const = 0;
    [[nodiscard]] virtual const lut::LayerShape& layerShape() const = 0;
    /// The path that passes take.
    [[nodiscard]] virtual lut::Path path() const = 0;
    /// What a pass launches, for makeSchedule().
    [[nodiscard]] virtual lut::ScheduleRequest schedule(lut::Path path, lut::Pass pass) const = 0;
};

} // namespace retro::ops
