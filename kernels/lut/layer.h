// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/lut/indexing.h"
#include "kernels/lut/rowtype.h"
#include "kernels/lut/status.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace retro::lut
{

/// Most comparisons of a detector without positions, and most bits of a row with them.
inline constexpr std::uint32_t kMaxComparisons = 16;
inline constexpr std::uint32_t kMaxRowBits = 24;
/// Anchor id of a pair that is not used: its bit is 0 and it never is the weakest.
inline constexpr std::uint32_t kUnusedAnchor = 0xFFFFFFFF;

/// Sizes of a LUT layer.
struct LayerShape
{
    std::uint32_t inputs = 0;      ///< I
    std::uint32_t outputs = 0;     ///< O
    std::uint32_t tables = 0;      ///< T: detectors, each with one table
    std::uint32_t comparisons = 0; ///< C: pairs of anchors of a detector
    std::uint32_t codeBits = 0;    ///< P: bits of a positional code
    std::uint32_t length = 1;      ///< S: positions of a sequence
    bool isSequence = false;

    [[nodiscard]] std::uint32_t rowBits() const { return isSequence ? 2 * comparisons + codeBits : comparisons; }
    /// R: rows of a table.
    [[nodiscard]] std::uint64_t rows() const { return std::uint64_t{1} << rowBits(); }
    /// N: rows of all tables.
    [[nodiscard]] std::uint64_t neurons() const { return tables * rows(); }
    /// Distances of two positions: S − 1.
    [[nodiscard]] std::uint32_t lags() const { return length - 1; }
};

/// The two inputs that a comparison reads: bit = (x[a] − x[b] > 0).
struct Anchor
{
    std::uint32_t a = 0;
    std::uint32_t b = 0;
};

/// A layer as it is given; everything is borrowed.
template <class T>
struct LayerDescription
{
    LayerShape shape;
    std::span<const Anchor> anchors; ///< [T, C]
    std::span<const T> weights;      ///< fully connected: [T, R, O]; sparse: one per synapse
    bool isSparse = false;
    std::span<const std::uint64_t>
        rowStarts; ///< sparse: [N + 1], synapses of row n are rowStarts[n] … rowStarts[n + 1]
    std::span<const std::uint32_t> columns;         ///< sparse: the output of each synapse
    std::span<const T> codes;                       ///< sequence: positional codes, [S − 1, T, P]
    std::uint32_t forwardGroup = 32;                ///< G_f: synapses, or outputs, per group
    std::uint32_t backwardGroup = 32;               ///< G_b: tables per group
    RowType rowType = RowType::Real;                ///< otherwise `weights` is empty, and
    std::span<const std::uint16_t> narrowWeights{}; ///< these bits are in its place

    /// How many weights there are, however they are stored.
    [[nodiscard]] std::size_t weightCount() const
    {
        return rowType == RowType::Real ? weights.size() : narrowWeights.size();
    }
};

/// A layer that was checked: every index in it is within bounds and no size overflows. Borrows what its description
/// borrows. One of four modes: fully connected or sparse, without or with positions.
template <class T>
class Layer
{
public:
    /// Checks a description; `layer` is set only when it is good. O(anchors + rows + synapses).
    static Status create(const LayerDescription<T>& description, std::optional<Layer>& layer);

    [[nodiscard]] const LayerDescription<T>& description() const { return m_description; }
    [[nodiscard]] const LayerShape& shape() const { return m_description.shape; }
    [[nodiscard]] bool isSparse() const { return m_description.isSparse; }
    /// Largest number of groups of G_f synapses of a row; 0 where connectivity is full.
    [[nodiscard]] std::uint64_t maxForwardGroups() const { return m_maxForwardGroups; }
    /// Groups of G_f synapses of all rows; 0 where connectivity is full.
    [[nodiscard]] std::uint64_t groupCount() const { return m_groupCount; }

    /// Anchors of a table: C of them.
    [[nodiscard]] const Anchor* anchorsOf(std::uint64_t table) const
    {
        return m_description.anchors.data() + table * shape().comparisons;
    }

    /// The same layer with its weights in the type that passes compute with; as many of them.
    [[nodiscard]] Layer withWeights(std::span<const T> weights) const
    {
        Layer wide = *this;
        wide.m_description.weights = weights;
        wide.m_description.rowType = RowType::Real;
        wide.m_description.narrowWeights = {};
        return wide;
    }

private:
    LayerDescription<T> m_description;
    std::uint64_t m_maxForwardGroups = 0;
    std::uint64_t m_groupCount = 0;
};

/// A layer as the CPU runs it: rows of 16 bits become rows of T, each number exactly the same; others stay where they
/// are. Borrows the layer, which must outlive it. O(weights) when they are converted.
template <class T>
class WideLayer
{
public:
    explicit WideLayer(const Layer<T>& layer);
    [[nodiscard]] const Layer<T>& layer() const { return m_own ? *m_own : m_given; }

private:
    const Layer<T>& m_given;
    std::vector<T> m_weights;
    std::optional<Layer<T>> m_own;
};

/// Product of sizes; nothing when it is not below 2^62.
[[nodiscard]] std::optional<std::uint64_t> checkedProduct(std::initializer_list<std::uint64_t> factors);

extern template class Layer<float>;
extern template class Layer<double>;
extern template class WideLayer<float>;
extern template class WideLayer<double>;

} // namespace retro::lut
