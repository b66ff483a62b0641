// SPDX-License-Identifier: Apache-2.0
#include "kernels/lut/relevance.h"

#include "kernels/lut/arithmetic.h"
#include "kernels/lut/callchecks.h"
#include "kernels/lut/cpu/fused.h"
#include "kernels/lut/cpu/parallel.h"
#include "kernels/lut/cpu/rows.h"

#include <algorithm>
#include <bit>
#include <chrono>

namespace retro::lut
{

namespace
{

/// A comparison, or a bit of a positional code, that helped to choose a row.
template <class T>
struct Part
{
    std::uint32_t bit = 0; ///< of the row
    T difference = 0;
    T* first = nullptr;  ///< where one half of its share goes
    T* second = nullptr; ///< and the other; the same place for a code
};

/// What is worked out for one sample.
template <class T>
class SampleRelevance
{
public:
    SampleRelevance(const Layer<T>& layer, const RelevanceCall<T>& call, std::uint64_t sample, T* codes)
        : m_layer(layer), m_call(call), m_rows(layer), m_sample(sample), m_codes(codes),
          m_inputs(std::uint64_t{layer.shape().length} * layer.shape().inputs), m_tables(layer.shape().tables),
          m_bits(call.bitRelevance.empty() ? 0 : std::size_t{layer.shape().tables} * layer.shape().rowBits())
    {}

    void work()
    {
        const LayerShape& shape = m_layer.shape();
        for (std::uint32_t position = 0; position < shape.length; ++position) {
            weighOutputs(position);
            for (std::uint64_t t = 0; t < shape.tables; ++t) {
                workOnTable(position, t);
            }
        }
        put(m_inputs, m_call.inputRelevance);
        put(m_tables, m_call.tableRelevance);
        put(m_bits, m_call.bitRelevance);
        if (!m_call.unplaced.empty()) {
            m_call.unplaced[m_sample] = m_unplaced;
        }
    }

private:
    /// Relevance per unit of output, with the stabiliser of sign +1 at 0.
    void weighOutputs(std::uint64_t position)
    {
        const LayerShape& shape = m_layer.shape();
        const std::uint64_t first = (m_sample * shape.length + position) * shape.outputs;
        m_share.resize(shape.outputs);
        for (std::uint64_t o = 0; o < shape.outputs; ++o) {
            const T y = m_call.output[first + o];
            m_share[o] = m_call.outputRelevance[first + o] / (y + (y < T(0) ? -m_call.epsilon : m_call.epsilon));
        }
    }

    void workOnTable(std::uint32_t position, std::uint64_t table)
    {
        const LayerShape& shape = m_layer.shape();
        if (!shape.isSequence) {
            m_parts.clear();
            addComparisons(0, table, 0);
            share(table, static_cast<std::uint32_t>(m_call.tape->rows[m_sample * shape.tables + table]),
                  cpu::weakestAt(*m_call.tape, m_sample * shape.tables + table).bit);
            return;
        }
        for (std::uint32_t earlier = 0; earlier < position; ++earlier) {
            workOnPair({earlier, position}, table);
        }
    }

    void workOnPair(PositionPair pair, std::uint64_t table)
    {
        const LayerShape& shape = m_layer.shape();
        m_parts.clear();
        addCode(pair.later - pair.earlier - 1, table);
        addComparisons(pair.earlier, table, shape.codeBits);
        addComparisons(pair.later, table, shape.codeBits + shape.comparisons);
        const T relevance = share(table, cpu::pairRowAt(m_layer, *m_call.tape, m_sample, pair, table),
                                  cpu::pairChoiceAt(m_layer, *m_call.tape, m_sample, pair, table).bit);
        if (!m_call.pairMap.empty()) {
            m_call.pairMap[(m_sample * shape.length + pair.later) * shape.length + pair.earlier] += relevance;
        }
    }

    void addComparisons(std::uint64_t position, std::uint64_t table, std::uint32_t firstBit)
    {
        const LayerShape& shape = m_layer.shape();
        const T* x = m_call.input.data() + (m_sample * shape.length + position) * shape.inputs;
        T* to = m_inputs.data() + position * shape.inputs;
        for (std::uint32_t k = 0; k < shape.comparisons; ++k) {
            const Anchor& anchor = m_layer.anchorsOf(table)[k];
            if (anchor.a == kUnusedAnchor) {
                continue;
            }
            const T u = x[anchor.a] - x[anchor.b];
            if (u == u) {
                m_parts.push_back({firstBit + k, u, to + anchor.a, to + anchor.b});
            }
        }
    }

    void addCode(std::uint64_t lag, std::uint64_t table)
    {
        const LayerShape& shape = m_layer.shape();
        const std::uint64_t place = (lag * shape.tables + table) * shape.codeBits;
        for (std::uint32_t p = 0; p < shape.codeBits; ++p) {
            const T u = m_layer.description().codes[place + p];
            if (u == u) {
                m_parts.push_back({p, u, m_codes + place + p, m_codes + place + p});
            }
        }
    }

    /// Shares the relevance of one chosen row among m_parts; returns it.
    T share(std::uint64_t table, std::uint32_t row, std::int32_t weakestBit)
    {
        const std::uint64_t rows = m_layer.shape().rows();
        const std::uint64_t neuron = neuronOf(table, row, rows);
        const T relevance = m_rows.score(neuron, m_share.data());
        m_tables[table] += relevance;
        if (m_parts.empty()) {
            m_unplaced += relevance;
            return relevance;
        }
        m_weights.assign(m_parts.size(), T(0));
        switch (m_call.rule) {
        case TableRule::FlipContrast:
            weighFlips(table, row, neuron);
            shareByWeight(table, relevance);
            break;
        case TableRule::WeakestBit:
            weighWeakest(weakestBit);
            shareByWeight(table, relevance);
            break;
        case TableRule::SignedFlip:
            weighSignedFlips(table, row, neuron);
            handOut(table, relevance);
            break;
        case TableRule::Shapley:
            weighShapley(table, row);
            handOut(table, relevance);
            break;
        }
        return relevance;
    }

    /// All of the relevance, in proportion to the weights.
    void shareByWeight(std::uint64_t table, T relevance)
    {
        T total = 0;
        for (const T weight : m_weights) {
            total += weight;
        }
        const bool isEven = total == T(0);
        for (std::size_t k = 0; k < m_parts.size(); ++k) {
            const T weight = isEven ? T(1) / static_cast<T>(m_parts.size()) : m_weights[k] / total;
            hand(table, m_parts[k], relevance * weight);
        }
    }

    /// The weights are amounts; what they leave stays with the table.
    void handOut(std::uint64_t table, T relevance)
    {
        T rest = relevance;
        for (std::size_t k = 0; k < m_parts.size(); ++k) {
            hand(table, m_parts[k], m_weights[k]);
            rest -= m_weights[k];
        }
        m_unplaced += rest;
    }

    /// Half to each anchor.
    void hand(std::uint64_t table, const Part<T>& part, T amount)
    {
        *part.first += amount / T(2);
        *part.second += amount / T(2);
        if (!m_bits.empty()) {
            m_bits[table * m_layer.shape().rowBits() + part.bit] += amount;
        }
    }

    void scoreFlips(std::uint64_t table, std::uint32_t row, std::uint64_t neuron)
    {
        m_main.assign(m_parts.size(), neuron);
        m_other.clear();
        for (const Part<T>& part : m_parts) {
            m_other.push_back(
                neuronOf(table, flipped(row, static_cast<std::int32_t>(part.bit)), m_layer.shape().rows()));
        }
        m_rows.scores(m_main.data(), m_other.data(), m_parts.size(), m_share.data(), m_weights.data());
    }

    void weighSignedFlips(std::uint64_t table, std::uint32_t row, std::uint64_t neuron)
    {
        scoreFlips(table, row, neuron);
        for (std::size_t k = 0; k < m_parts.size(); ++k) {
            m_weights[k] = m_weights[k] * doubt(m_parts[k].difference) / static_cast<T>(m_parts.size());
        }
    }

    /// Scores of all rows that the comparisons can choose; entry e differs from the chosen row in the parts of its
    /// bits. In double: the transform adds many of them.
    void scoreAll(std::uint64_t table, std::uint32_t row)
    {
        m_scores.resize(std::size_t{1} << m_parts.size());
        for (std::size_t e = 0; e < m_scores.size(); ++e) {
            std::uint32_t other = row;
            for (std::size_t k = 0; k < m_parts.size(); ++k) {
                other ^= static_cast<std::uint32_t>(e >> k & 1U) << m_parts[k].bit;
            }
            m_scores[e] =
                static_cast<double>(m_rows.score(neuronOf(table, other, m_layer.shape().rows()), m_share.data()));
        }
    }

    /// Entry e becomes what the comparisons of its bits do only together.
    void transformScores()
    {
        for (std::size_t step = 1; step < m_scores.size(); step *= 2) {
            for (std::size_t k = 0; k < m_scores.size() / 2; ++k) {
                const std::size_t e = k / step * 2 * step + k % step; // the k-th entry without this bit
                const double sum = m_scores[e] + m_scores[e | step];
                m_scores[e | step] = m_scores[e] - m_scores[e | step];
                m_scores[e] = sum;
            }
        }
    }

    /// By a Walsh-Hadamard transform: of what comparisons do only together, each of them gets an equal part.
    void weighShapley(std::uint64_t table, std::uint32_t row)
    {
        scoreAll(table, row);
        transformScores();
        for (std::size_t k = 0; k < m_parts.size(); ++k) {
            double value = 0;
            for (std::size_t e = 0; e < m_scores.size(); ++e) {
                value += (e >> k & 1U) != 0 ? m_scores[e] / std::popcount(e) : 0.0;
            }
            m_weights[k] = static_cast<T>(value / static_cast<double>(m_scores.size()));
        }
    }

    void weighWeakest(std::int32_t weakestBit)
    {
        for (std::size_t k = 0; k < m_parts.size(); ++k) {
            m_weights[k] = static_cast<std::int32_t>(m_parts[k].bit) == weakestBit ? T(1) : T(0);
        }
    }

    void weighFlips(std::uint64_t table, std::uint32_t row, std::uint64_t neuron)
    {
        scoreFlips(table, row, neuron);
        for (std::size_t k = 0; k < m_parts.size(); ++k) {
            m_weights[k] = magnitude(m_weights[k]) * doubt(m_parts[k].difference);
        }
    }

    void put(const std::vector<T>& values, std::span<T> result) const
    {
        if (!result.empty()) {
            std::copy(values.begin(), values.end(),
                      result.begin() + static_cast<std::ptrdiff_t>(m_sample * values.size()));
        }
    }

    const Layer<T>& m_layer;
    const RelevanceCall<T>& m_call;
    cpu::Rows<T> m_rows;
    std::uint64_t m_sample;
    T* m_codes;
    std::vector<T> m_inputs;
    std::vector<T> m_tables;
    std::vector<T> m_bits;
    T m_unplaced = 0;
    std::vector<T> m_share;
    std::vector<Part<T>> m_parts;
    std::vector<T> m_weights;
    std::vector<std::uint64_t> m_main;
    std::vector<std::uint64_t> m_other;
    std::vector<double> m_scores;
};

/// That the rule can take the layer, and products of the call's sizes do not overflow.
template <class T>
Status checkRule(const Layer<T>& layer, const RelevanceCall<T>& call)
{
    const LayerShape& shape = layer.shape();
    if (call.rule == TableRule::Shapley && shape.rowBits() > kMaxShapleyBits) {
        return {StatusCode::BadShape, "the Shapley rule reads every row of a table and takes at most " +
                                          std::to_string(kMaxShapleyBits) + " bits of a row; this layer has " +
                                          std::to_string(shape.rowBits()) + "; take the flip-contrast rule"};
    }
    const auto most =
        checkedProduct({call.batch, shape.length, std::max({shape.inputs, shape.outputs, shape.tables, shape.length}),
                        8 * kMaxRowBits});
    return most ? Status{}
                : Status{StatusCode::TooLarge, "a batch of " + std::to_string(call.batch) + " overflows a 64-bit size"};
}

/// That there is a tape of the same layer and batch.
template <class T>
Status checkTapeOf(const Layer<T>& layer, const RelevanceCall<T>& call)
{
    if (call.tape == nullptr || call.tape->batch != call.batch) {
        return {StatusCode::BadSize, "relevance needs the tape of a forward pass with the same layer and batch"};
    }
    return checkTape(layer, call.tape, call.batch, Path::Fused); // whose events relevance does not read
}

/// As checkSize; what is empty is not wanted.
Status checkWanted(const char* name, std::size_t has, std::uint64_t needs)
{
    return has == 0 ? Status{} : checkSize(name, has, needs);
}

template <class T>
Status checkArrays(const Layer<T>& layer, const RelevanceCall<T>& call)
{
    const LayerShape& shape = layer.shape();
    const std::uint64_t positions = call.batch * shape.length;
    return firstBad({checkSize("Input", call.input.size(), positions * shape.inputs),
                     checkSize("Output", call.output.size(), positions * shape.outputs),
                     checkSize("relevance of the output", call.outputRelevance.size(), positions * shape.outputs),
                     checkWanted("relevance of the input", call.inputRelevance.size(), positions * shape.inputs),
                     checkWanted("relevance of the codes", call.codeRelevance.size(), layer.description().codes.size()),
                     checkWanted("relevance of the tables", call.tableRelevance.size(), call.batch * shape.tables),
                     checkWanted("relevance of the comparisons", call.bitRelevance.size(),
                                 call.batch * shape.tables * shape.rowBits()),
                     checkWanted("pair map", call.pairMap.size(), positions * shape.length),
                     checkWanted("unplaced relevance", call.unplaced.size(), call.batch)});
}

} // namespace

template <class T>
Status checkRelevance(const Layer<T>& layer, const RelevanceCall<T>& call)
{
    // In this order: sizes are multiplied only once they cannot overflow.
    if (Status status = checkRule(layer, call); !status.ok()) {
        return status;
    }
    if (Status status = checkTapeOf(layer, call); !status.ok()) {
        return status;
    }
    return checkArrays(layer, call);
}

template <class T>
Status relevance(const Layer<T>& layer, const RelevanceCall<T>& call, int threads)
{
    if (Status status = checkRelevance(layer, call); !status.ok()) {
        return status;
    }
    using Clock = std::chrono::steady_clock;
    const auto start = Clock::now();
    const WideLayer<T> wide(layer);
    const std::uint64_t codes = layer.description().codes.size();
    Array<T> perSample(call.batch * codes, call.memory);
    std::fill(call.pairMap.begin(), call.pairMap.end(), T(0));
    cpu::parallelItems(call.batch, cpu::threadCount(threads), [&](std::uint64_t sample) {
        SampleRelevance<T>(wide.layer(), call, sample, perSample.data() + sample * codes).work();
    });
    const auto shared = Clock::now();
    std::fill(call.codeRelevance.begin(), call.codeRelevance.end(), T(0));
    for (std::uint64_t i = 0; i < (call.codeRelevance.empty() ? 0 : perSample.size()); ++i) {
        call.codeRelevance[i % codes] += perSample[i];
    }
    if (call.seconds != nullptr) {
        const auto between = [](auto from, auto to) { return std::chrono::duration<double>(to - from).count(); };
        *call.seconds = {between(start, shared)};
        if (layer.shape().isSequence) { // the codes have a launch of their own
            call.seconds->push_back(between(shared, Clock::now()));
        }
    }
    return {};
}

template Status checkRelevance(const Layer<float>&, const RelevanceCall<float>&);
template Status checkRelevance(const Layer<double>&, const RelevanceCall<double>&);
template Status relevance(const Layer<float>&, const RelevanceCall<float>&, int);
template Status relevance(const Layer<double>&, const RelevanceCall<double>&, int);

} // namespace retro::lut
