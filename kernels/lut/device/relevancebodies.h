// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/lut/device/buffers.h"
#include "kernels/lut/tablerule.h"

#include <cstdint>

// What one item of sharing relevance does on a device; see lut::relevance for what is shared how. As in the passes each
// item owns what it writes: no atomics, and sums of one order whatever the device.
namespace retro::lut::device
{

/// Where relevance is shared: scratch for some samples of the batch, and results of the whole batch. Results that are
/// null are not wanted.
template <class T>
struct ShareBuffers
{
    TableRule rule = TableRule::FlipContrast;
    T epsilon = 0;
    std::uint64_t first = 0;   ///< sample whose scratch comes first
    std::uint64_t samples = 0; ///< that are worked on together
    const T* outputRelevance = nullptr;
    const double* shapley = nullptr; ///< see shapleyWeight()
    T* perUnit = nullptr;            ///< [samples, S, O]: relevance per unit of output
    T* amounts = nullptr;            ///< [samples, pairs, T, bits of a row]: what each comparison gets
    T* chosen = nullptr;             ///< [samples, pairs, T]: relevance of the chosen row
    T* left = nullptr;               ///< the same: what stays with the table
    T* inputRelevance = nullptr;
    T* codeRelevance = nullptr;
    T* tableRelevance = nullptr;
    T* bitRelevance = nullptr;
    T* pairMap = nullptr;
    T* unplaced = nullptr;
};

/// Bits of a row.
template <class T, class W>
RETRO_HOST_DEVICE std::uint32_t rowBitsOf(const DeviceLayer<T, W>& layer)
{
    return layer.length == 1 ? layer.comparisons : layer.codeBits + 2 * layer.comparisons;
}

/// Rows that a sample chooses in each table: one, or one for each pair of positions.
template <class T, class W>
RETRO_HOST_DEVICE std::uint64_t choicesOf(const DeviceLayer<T, W>& layer)
{
    return layer.length == 1 ? 1 : pairCount(layer.length);
}

/// weigh_outputs: item = (sample, position, output). The stabiliser has the sign +1 at 0.
template <class T, class W>
RETRO_HOST_DEVICE void weighOutput(const PassBuffers<T, W>& b, const ShareBuffers<T>& s, std::uint64_t item)
{
    const std::uint64_t place = s.first * b.layer.length * b.layer.outputs + item;
    const T y = b.output[place];
    s.perUnit[item] = s.outputRelevance[place] / (y + (y < T(0) ? -s.epsilon : s.epsilon));
}

/// A chosen row: its table, and which comparisons chose it.
template <class T, class W>
struct ChosenRow
{
    const DeviceLayer<T, W>& layer;
    const T* input; ///< of the sample
    PositionPair pair;
    std::uint64_t table;
    std::uint32_t row;
    std::int32_t weakest; ///< bit, or −1

    /// Difference of the comparison, or of the code, behind a bit; false when there is none to compare.
    RETRO_HOST_DEVICE bool difference(std::uint32_t bit, T& u) const
    {
        if (bit < layer.codeBits) {
            const std::uint64_t place = std::uint64_t{pair.later - pair.earlier - 1} * layer.tables + table;
            u = layer.codes[place * layer.codeBits + bit];
            return u == u;
        }
        const std::uint32_t k = bit - layer.codeBits;
        const bool isLater = k >= layer.comparisons;
        const std::uint64_t position = isLater ? pair.later : pair.earlier;
        const AnchorPair anchor = layer.anchors[table * layer.comparisons + (isLater ? k - layer.comparisons : k)];
        if (anchor.a == kUnused) {
            return false;
        }
        const T* x = input + position * layer.inputs;
        u = x[anchor.a] - x[anchor.b];
        return u == u;
    }
};

/// The row of item = (sample, pair, table), counted from the first sample of the scratch.
template <class T, class W>
RETRO_HOST_DEVICE ChosenRow<T, W> chosenRow(const PassBuffers<T, W>& b, const ShareBuffers<T>& s, std::uint64_t item)
{
    const std::uint64_t choices = choicesOf(b.layer);
    const std::uint64_t table = item % b.layer.tables;
    const std::uint64_t sample = s.first + item / b.layer.tables / choices;
    const T* input = b.input + sample * b.layer.length * b.layer.inputs;
    if (b.layer.length == 1) {
        const std::uint64_t site = sample * b.layer.tables + table;
        return {b.layer, input, {0, 0}, table, static_cast<std::uint32_t>(b.tape.rows[site]), b.tape.bits[site]};
    }
    const PairPlace place{sample, pairAt(item / b.layer.tables % choices), table};
    return {
        b.layer, input, place.pair, table, rowOfPair(b.layer, b.tape, place), choiceOfPair(b.layer, b.tape, place).bit};
}

/// One lane's part of the score of a row, in double.
template <class T, class W>
RETRO_HOST_DEVICE double wholeScoreLane(const DeviceLayer<T, W>& layer, std::uint64_t neuron, const T* g,
                                        std::uint32_t lane)
{
    const bool isSparse = layer.rowStarts != nullptr;
    const std::uint64_t begin = isSparse ? layer.rowStarts[neuron] : neuron * layer.outputs;
    const std::uint64_t end = isSparse ? layer.rowStarts[neuron + 1] : begin + layer.outputs;
    double sum = 0;
    for (std::uint64_t w = begin + lane; w < end; w += kScoreLanes) {
        sum +=
            static_cast<double>(g[isSparse ? layer.columns[w] : w - begin]) * static_cast<double>(weightAt(layer, w));
    }
    return sum;
}

/// Place of what a score counts for a comparison's Shapley value, in a game of `players` in which `undone` of them are
/// undone: entry [players][undone][isUndone] of a table of (kMaxShapleyBits + 1)² · 2.
RETRO_HOST_DEVICE constexpr std::uint64_t shapleyPlace(std::uint32_t players, std::uint32_t undone, bool isUndone)
{
    return (std::uint64_t{players} * (kMaxShapleyBits + 1) + undone) * 2 + (isUndone ? 1 : 0);
}

/// Shares the relevance of one row among the comparisons that chose it.
template <class T, class W, class Lanes>
class RowShare
{
public:
    RETRO_HOST_DEVICE RowShare(const ShareBuffers<T>& buffers, const ChosenRow<T, W>& row, const T* perUnit, T* amounts,
                               const Lanes& lanes)
        : m_rule(buffers.rule), m_shapley(buffers.shapley), m_row(row), m_perUnit(perUnit), m_amounts(amounts),
          m_lanes(lanes), m_bits(rowBitsOf(row.layer))
    {
        T u = 0;
        for (std::uint32_t bit = 0; bit < m_bits; ++bit) {
            m_present += row.difference(bit, u) ? 1U : 0U;
        }
    }

    /// Fills the amounts, and says what the row has and what stays; the numbers are right in the first lane alone.
    RETRO_HOST_DEVICE void share(T& relevance, T& left)
    {
        relevance = static_cast<T>(scoreOf(m_row.row));
        left = 0;
        clear();
        if (m_present == 0) {
            left = relevance;
            return;
        }
        switch (m_rule) {
        case TableRule::FlipContrast:
            scoreFlips(true);
            shareByWeight(relevance);
            return;
        case TableRule::WeakestBit:
            put(m_row.weakest, T(1));
            shareByWeight(relevance);
            return;
        case TableRule::SignedFlip:
            scoreFlips(false);
            break;
        case TableRule::Shapley:
            weighShapley();
            break;
        }
        left = restOf(relevance);
    }

private:
    [[nodiscard]] RETRO_HOST_DEVICE double scoreOf(std::uint32_t row) const
    {
        const std::uint64_t neuron = neuronOf(m_row.table, row, m_row.layer.rows);
        return m_lanes.sum([&](std::uint32_t lane) { return wholeScoreLane(m_row.layer, neuron, m_perUnit, lane); });
    }

    RETRO_HOST_DEVICE void put(std::int32_t bit, T amount)
    {
        if (m_lanes.isFirst() && bit >= 0) {
            m_amounts[bit] = amount;
        }
    }

    RETRO_HOST_DEVICE void clear()
    {
        for (std::uint32_t bit = 0; bit < m_bits; ++bit) {
            put(static_cast<std::int32_t>(bit), T(0));
        }
    }

    /// What undoing each comparison takes away, times how close it was: its size, or the n-th part of it.
    RETRO_HOST_DEVICE void scoreFlips(bool isSize)
    {
        const std::uint64_t main = neuronOf(m_row.table, m_row.row, m_row.layer.rows);
        for (std::uint32_t bit = 0; bit < m_bits; ++bit) {
            T u = 0;
            if (!m_row.difference(bit, u)) {
                continue;
            }
            const std::uint64_t other =
                neuronOf(m_row.table, flipped(m_row.row, static_cast<std::int32_t>(bit)), m_row.layer.rows);
            const T effect =
                m_lanes.sum([&](std::uint32_t lane) { return scoreLane(m_row.layer, main, other, m_perUnit, lane); });
            put(static_cast<std::int32_t>(bit),
                isSize ? magnitude(effect) * doubt(u) : effect * doubt(u) / static_cast<T>(m_present));
        }
    }

    /// Of every set of comparisons that are undone together, the score of the row that is chosen then.
    RETRO_HOST_DEVICE void weighShapley()
    {
        std::uint32_t bits[kMaxShapleyBits];
        double values[kMaxShapleyBits];
        std::uint32_t count = 0;
        T u = 0;
        for (std::uint32_t bit = 0; bit < m_bits; ++bit) {
            if (m_row.difference(bit, u)) {
                values[count] = 0;
                bits[count++] = bit;
            }
        }
        for (std::uint32_t set = 0; set < 1U << count; ++set) {
            std::uint32_t row = m_row.row;
            std::uint32_t undone = 0;
            for (std::uint32_t k = 0; k < count; ++k) {
                row ^= (set >> k & 1U) << bits[k];
                undone += set >> k & 1U;
            }
            const double score = scoreOf(row);
            for (std::uint32_t k = 0; k < count; ++k) {
                values[k] += score * m_shapley[shapleyPlace(count, undone, (set >> k & 1U) != 0)];
            }
        }
        for (std::uint32_t k = 0; k < count; ++k) {
            put(static_cast<std::int32_t>(bits[k]), static_cast<T>(values[k]));
        }
    }

    /// All of the relevance, in proportion to the amounts; evenly where they are nothing.
    RETRO_HOST_DEVICE void shareByWeight(T relevance)
    {
        if (!m_lanes.isFirst()) {
            return;
        }
        T total = 0;
        for (std::uint32_t bit = 0; bit < m_bits; ++bit) {
            total += m_amounts[bit];
        }
        const bool isEven = total == T(0);
        for (std::uint32_t bit = 0; bit < m_bits; ++bit) {
            T u = 0;
            const bool hasShare = !isEven || m_row.difference(bit, u);
            const T weight = isEven ? T(1) / static_cast<T>(m_present) : m_amounts[bit] / total;
            m_amounts[bit] = hasShare ? relevance * weight : T(0);
        }
    }

    /// What the amounts leave.
    [[nodiscard]] RETRO_HOST_DEVICE T restOf(T relevance) const
    {
        T rest = relevance;
        for (std::uint32_t bit = 0; m_lanes.isFirst() && bit < m_bits; ++bit) {
            rest -= m_amounts[bit];
        }
        return rest;
    }

    TableRule m_rule;
    const double* m_shapley;
    const ChosenRow<T, W>& m_row;
    const T* m_perUnit;
    T* m_amounts;
    const Lanes& m_lanes;
    std::uint32_t m_bits;
    std::uint32_t m_present = 0; ///< comparisons that there are
};

/// share_rows: item = (sample, pair, table).
template <class T, class W, class Lanes>
RETRO_HOST_DEVICE void shareRow(const PassBuffers<T, W>& b, const ShareBuffers<T>& s, std::uint64_t item,
                                const Lanes& lanes)
{
    const ChosenRow<T, W> row = chosenRow(b, s, item);
    const std::uint64_t sample = item / b.layer.tables / choicesOf(b.layer);
    const T* perUnit = s.perUnit + (sample * b.layer.length + row.pair.later) * b.layer.outputs;
    T relevance = 0;
    T left = 0;
    RowShare<T, W, Lanes>(s, row, perUnit, s.amounts + item * rowBitsOf(b.layer), lanes).share(relevance, left);
    if (lanes.isFirst()) {
        s.chosen[item] = relevance;
        s.left[item] = left;
    }
}

/// Half of what the comparisons that read an input got, at one of the pairs of its position.
template <class T, class W>
RETRO_HOST_DEVICE T sentToInput(const PassBuffers<T, W>& b, const T* amounts, std::uint64_t input,
                                std::uint32_t firstBit)
{
    T sum = 0;
    for (std::uint64_t k = b.inputs.starts[input]; k < b.inputs.starts[input + 1]; ++k) {
        const InputUse use = b.inputs.uses[k];
        const std::uint64_t bit = firstBit + static_cast<std::uint32_t>(use.bit);
        sum += amounts[use.table * rowBitsOf(b.layer) + bit] / T(2);
    }
    return sum;
}

/// gather_input_relevance: item = (sample, position, input).
template <class T, class W>
RETRO_HOST_DEVICE void gatherInputRelevance(const PassBuffers<T, W>& b, const ShareBuffers<T>& s, std::uint64_t item)
{
    const std::uint64_t input = item % b.layer.inputs;
    const auto position = static_cast<std::uint32_t>(item / b.layer.inputs % b.layer.length);
    const std::uint64_t sample = item / b.layer.inputs / b.layer.length;
    const std::uint64_t stride = std::uint64_t{b.layer.tables} * rowBitsOf(b.layer);
    const T* amounts = s.amounts + sample * choicesOf(b.layer) * stride;
    T sum = b.layer.length == 1 ? sentToInput(b, amounts, input, 0) : T(0);
    for (std::uint32_t earlier = 0; earlier < position; ++earlier) {
        sum += sentToInput(b, amounts + pairIndex({earlier, position}) * stride, input,
                           b.layer.codeBits + b.layer.comparisons);
    }
    for (std::uint32_t later = position + 1; later < b.layer.length; ++later) {
        sum += sentToInput(b, amounts + pairIndex({position, later}) * stride, input, b.layer.codeBits);
    }
    s.inputRelevance[s.first * b.layer.length * b.layer.inputs + item] = sum;
}

/// gather_code_relevance: item = (distance, table, bit of the code); adds the samples of the scratch.
template <class T, class W>
RETRO_HOST_DEVICE void gatherCodeRelevance(const PassBuffers<T, W>& b, const ShareBuffers<T>& s, std::uint64_t item)
{
    const std::uint64_t bits = rowBitsOf(b.layer);
    const std::uint64_t bit = item % b.layer.codeBits;
    const std::uint64_t table = item / b.layer.codeBits % b.layer.tables;
    const auto lag = static_cast<std::uint32_t>(item / b.layer.codeBits / b.layer.tables);
    T sum = 0;
    for (std::uint64_t sample = 0; sample < s.samples; ++sample) {
        for (std::uint32_t earlier = 0; earlier + lag + 1 < b.layer.length; ++earlier) {
            const std::uint64_t pair = sample * choicesOf(b.layer) + pairIndex({earlier, earlier + lag + 1});
            sum += s.amounts[(pair * b.layer.tables + table) * bits + bit];
        }
    }
    s.codeRelevance[item] += sum;
}

/// gather_table_relevance: item = (sample, table).
template <class T, class W>
RETRO_HOST_DEVICE void gatherTableRelevance(const PassBuffers<T, W>& b, const ShareBuffers<T>& s, std::uint64_t item)
{
    const std::uint64_t choices = choicesOf(b.layer);
    const std::uint64_t first = item / b.layer.tables * choices;
    T sum = 0;
    for (std::uint64_t pair = first; pair < first + choices; ++pair) {
        sum += s.chosen[pair * b.layer.tables + item % b.layer.tables];
    }
    s.tableRelevance[s.first * b.layer.tables + item] = sum;
}

/// gather_bit_relevance: item = (sample, table, bit of a row).
template <class T, class W>
RETRO_HOST_DEVICE void gatherBitRelevance(const PassBuffers<T, W>& b, const ShareBuffers<T>& s, std::uint64_t item)
{
    const std::uint64_t bits = rowBitsOf(b.layer);
    const std::uint64_t table = item / bits % b.layer.tables;
    const std::uint64_t choices = choicesOf(b.layer);
    const std::uint64_t first = item / bits / b.layer.tables * choices;
    T sum = 0;
    for (std::uint64_t pair = first; pair < first + choices; ++pair) {
        sum += s.amounts[(pair * b.layer.tables + table) * bits + item % bits];
    }
    s.bitRelevance[s.first * b.layer.tables * bits + item] = sum;
}

/// gather_pair_map: item = (sample, later position, earlier position); 0 where the earlier one is not earlier.
template <class T, class W>
RETRO_HOST_DEVICE void gatherPairMap(const PassBuffers<T, W>& b, const ShareBuffers<T>& s, std::uint64_t item)
{
    const auto earlier = static_cast<std::uint32_t>(item % b.layer.length);
    const auto later = static_cast<std::uint32_t>(item / b.layer.length % b.layer.length);
    const std::uint64_t sample = item / b.layer.length / b.layer.length;
    T sum = 0;
    if (earlier < later) {
        const T* rows = s.chosen + (sample * choicesOf(b.layer) + pairIndex({earlier, later})) * b.layer.tables;
        for (std::uint64_t t = 0; t < b.layer.tables; ++t) {
            sum += rows[t];
        }
    }
    s.pairMap[s.first * b.layer.length * b.layer.length + item] = sum;
}

/// sum_unplaced: item = sample.
template <class T, class W, class Lanes>
RETRO_HOST_DEVICE void sumUnplaced(const PassBuffers<T, W>& b, const ShareBuffers<T>& s, std::uint64_t item,
                                   const Lanes& lanes)
{
    const std::uint64_t count = choicesOf(b.layer) * b.layer.tables;
    const T total = lanes.sum([&](std::uint32_t lane) {
        T sum = 0;
        for (std::uint64_t k = lane; k < count; k += kScoreLanes) {
            sum += s.left[item * count + k];
        }
        return sum;
    });
    if (lanes.isFirst()) {
        s.unplaced[s.first + item] = total;
    }
}

} // namespace retro::lut::device
