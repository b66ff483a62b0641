// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/lut/arithmetic.h"
#include "kernels/lut/indexing.h"
#include "kernels/lut/rowtype.h"

#include <cstdint>

// What one item of a kernel of the fused path does on a device: everything but how items are given to threads. Host and
// device compile the same code, so that a machine without a device checks it over whole layers. Each item owns what it
// writes, and sums have the order of the CPU back end: no atomics, and for full connectivity the same bits.
namespace retro::lut::device
{

/// Partial sums of a dot product, each in a lane of its own.
inline constexpr std::uint32_t kScoreLanes = 16;
/// Rows that are added before the sum goes to the total, as on the CPU.
inline constexpr std::uint32_t kRun = 256;
/// Rows of pairs that the CPU lists, and sums, together.
inline constexpr std::uint64_t kListedPairs = 1U << 14;
/// Anchor of an unused pair.
inline constexpr std::uint32_t kUnused = 0xFFFFFFFF;

/// Two inputs; laid out as in a layer's list of anchors.
struct AnchorPair
{
    std::uint32_t a;
    std::uint32_t b;
};

/// A layer in the memory of the device, whose weights are stored as W. Lists of synapses are null where connectivity is
/// full.
template <class T, class W = T>
struct DeviceLayer
{
    std::uint32_t inputs;
    std::uint32_t outputs;
    std::uint32_t tables;
    std::uint32_t comparisons;
    std::uint32_t codeBits;
    std::uint32_t length;
    std::uint64_t rows; ///< of a table
    const AnchorPair* anchors;
    const W* weights;
    const std::uint64_t* rowStarts;
    const std::uint32_t* columns;
    const T* codes;
};

/// One weight, in the type of the pass.
template <class T, class W>
RETRO_HOST_DEVICE T weightAt(const DeviceLayer<T, W>& layer, std::uint64_t place)
{
    return static_cast<T>(widened(layer.weights[place]));
}

/// What a forward pass keeps, in the memory of the device; shapes as of the tape.
template <class T>
struct DeviceTape
{
    std::int32_t* rows;
    T* deltas;
    std::int32_t* bits;
    std::int32_t* codeRows;
    T* codeDeltas;
    std::int32_t* codeBits;
};

/// A long sum in runs, which are then added up.
template <class T>
class RunSum
{
public:
    /// One more term.
    RETRO_HOST_DEVICE void add(T value)
    {
        if (m_count == kRun) {
            m_total = current();
            m_run = 0;
            m_count = 0;
            m_isFirst = false;
        }
        m_run += value;
        ++m_count;
    }
    [[nodiscard]] RETRO_HOST_DEVICE T value() const { return current(); }

private:
    [[nodiscard]] RETRO_HOST_DEVICE T current() const { return m_isFirst ? m_run : m_total + m_run; }

    T m_total = 0;
    T m_run = 0;
    std::uint32_t m_count = 0;
    bool m_isFirst = true;
};

/// Terms that are read before the first of them is added.
inline constexpr std::uint64_t kReadAhead = 8;
/// The same of rows of pairs, which lie anywhere in a table beyond every cache. On an H100 16 give 88 % of the rate of
/// a copy, 8 give 66 %.
inline constexpr std::uint64_t kRowsAhead = 16;

/// Adds value(0) … value(count − 1) in this order. Some are read ahead, so that one does not wait for another's memory.
template <class T, class F>
RETRO_HOST_DEVICE void addAll(RunSum<T>& sum, std::uint64_t count, const F& value)
{
    std::uint64_t next = 0;
    for (; next + kReadAhead <= count; next += kReadAhead) {
        T read[kReadAhead];
        for (std::uint64_t i = 0; i < kReadAhead; ++i) {
            read[i] = value(next + i);
        }
        for (std::uint64_t i = 0; i < kReadAhead; ++i) {
            sum.add(read[i]);
        }
    }
    for (; next < count; ++next) {
        sum.add(value(next));
    }
}

/// choose_rows: item = (sample, position, table).
template <class T, class W>
RETRO_HOST_DEVICE void chooseRow(const DeviceLayer<T, W>& layer, const T* input, const DeviceTape<T>& tape,
                                 std::uint64_t item)
{
    const T* x = input + item / layer.tables * layer.inputs;
    const AnchorPair* anchors = layer.anchors + item % layer.tables * layer.comparisons;
    Weakest<T> weakest;
    std::uint32_t row = 0;
    for (std::uint32_t k = 0; k < layer.comparisons; ++k) {
        if (anchors[k].a != kUnused) {
            const T u = x[anchors[k].a] - x[anchors[k].b];
            row |= bitOf(u) << k;
            consider(weakest, static_cast<std::int32_t>(k), u);
        }
    }
    tape.rows[item] = static_cast<std::int32_t>(row);
    tape.deltas[item] = weakest.delta;
    tape.bits[item] = weakest.bit;
}

/// check_positional_embeddings: item = (distance, table).
template <class T, class W>
RETRO_HOST_DEVICE void checkCode(const DeviceLayer<T, W>& layer, const DeviceTape<T>& tape, std::uint64_t item)
{
    Weakest<T> weakest;
    std::uint32_t row = 0;
    for (std::uint32_t p = 0; p < layer.codeBits; ++p) {
        const T u = layer.codes[item * layer.codeBits + p];
        row |= bitOf(u) << p;
        consider(weakest, static_cast<std::int32_t>(p), u);
    }
    tape.codeRows[item] = static_cast<std::int32_t>(row);
    tape.codeDeltas[item] = weakest.delta;
    tape.codeBits[item] = weakest.bit;
}

/// A pair of positions of one sample, in one table.
struct PairPlace
{
    std::uint64_t sample;
    PositionPair pair;
    std::uint64_t table;
};

template <class T, class W>
RETRO_HOST_DEVICE std::uint64_t querySite(const DeviceLayer<T, W>& layer, const PairPlace& place)
{
    return siteOf(place.sample, place.pair.later, place.table, layer.length, layer.tables);
}

template <class T, class W>
RETRO_HOST_DEVICE std::uint64_t keySite(const DeviceLayer<T, W>& layer, const PairPlace& place)
{
    return siteOf(place.sample, place.pair.earlier, place.table, layer.length, layer.tables);
}

template <class T, class W>
RETRO_HOST_DEVICE std::uint64_t codePlace(const DeviceLayer<T, W>& layer, const PairPlace& place)
{
    return std::uint64_t{place.pair.later - place.pair.earlier - 1} * layer.tables + place.table;
}

/// Row of a pair inside its table.
template <class T, class W>
RETRO_HOST_DEVICE std::uint32_t rowOfPair(const DeviceLayer<T, W>& layer, const DeviceTape<T>& tape,
                                          const PairPlace& place)
{
    return pairRow(static_cast<std::uint32_t>(tape.rows[querySite(layer, place)]),
                   static_cast<std::uint32_t>(tape.rows[keySite(layer, place)]),
                   static_cast<std::uint32_t>(tape.codeRows[codePlace(layer, place)]), layer.comparisons,
                   layer.codeBits);
}

/// Which bits of a pair's row are flipped for its gradient.
template <class T, class W>
RETRO_HOST_DEVICE PairChoice<T> choiceOfPair(const DeviceLayer<T, W>& layer, const DeviceTape<T>& tape,
                                             const PairPlace& place)
{
    const std::uint64_t query = querySite(layer, place);
    const std::uint64_t key = keySite(layer, place);
    const std::uint64_t code = codePlace(layer, place);
    return choosePair(Weakest<T>{tape.bits[query], tape.deltas[query]}, Weakest<T>{tape.bits[key], tape.deltas[key]},
                      Weakest<T>{tape.codeBits[code], tape.codeDeltas[code]}, layer.comparisons, layer.codeBits);
}

/// Gather without positions: item = (sample, output); full connectivity.
template <class T, class W>
RETRO_HOST_DEVICE void gatherOutput(const DeviceLayer<T, W>& layer, const DeviceTape<T>& tape, T* output,
                                    std::uint64_t item)
{
    const std::uint64_t sample = item / layer.outputs;
    const std::uint64_t o = item % layer.outputs;
    RunSum<T> sum;
    addAll(sum, layer.tables, [&](std::uint64_t t) {
        const auto row = static_cast<std::uint64_t>(tape.rows[sample * layer.tables + t]);
        return weightAt(layer, neuronOf(t, row, layer.rows) * layer.outputs + o);
    });
    output[item] = sum.value();
}

/// The (sample, position) number `place` of a batch, last positions first. Those have the most pairs: so all parts of a
/// device get as much to do, and the longest work starts first.
template <class T, class W>
RETRO_HOST_DEVICE std::uint64_t longestFirst(const DeviceLayer<T, W>& layer, std::uint64_t batch, std::uint64_t place)
{
    return place % batch * layer.length + (layer.length - 1 - place / batch);
}

/// How the terms of one output at a position are cut: lists of whole tables as on the CPU, and runs of a list. A thread
/// adds one run; the runs of a list are then added up, and the lists.
struct PairRuns
{
    std::uint64_t terms = 0;  ///< of a table: pairs that end at the position
    std::uint64_t tables = 0; ///< of a list; the last list may have fewer
    std::uint64_t allTables = 0;

    RETRO_HOST_DEVICE PairRuns(std::uint64_t later, std::uint64_t tablesOfLayer)
        : terms(later), tables(later == 0 ? tablesOfLayer : kListedPairs / later), allTables(tablesOfLayer)
    {
        tables = tables < 1 ? 1 : (tables > allTables ? allTables : tables);
    }
    /// Runs of a whole list.
    [[nodiscard]] RETRO_HOST_DEVICE std::uint64_t runsOfList() const { return ceilDivide(tables * terms, kRun); }
    /// All runs; those of the last list that has fewer tables count as if it had all.
    [[nodiscard]] RETRO_HOST_DEVICE std::uint64_t count() const
    {
        return terms == 0 ? 0 : ceilDivide(allTables, tables) * runsOfList();
    }
    /// The terms of a run, counted from the first of all tables; none behind the last list.
    [[nodiscard]] RETRO_HOST_DEVICE IndexRange termsOf(std::uint64_t run) const
    {
        const std::uint64_t list = run / runsOfList();
        const std::uint64_t end = (list + 1) * tables < allTables ? (list + 1) * tables * terms : allTables * terms;
        const std::uint64_t first = list * tables * terms + run % runsOfList() * kRun;
        return {first < end ? first : end, first + kRun < end ? first + kRun : end};
    }
};

/// Most runs of a position: not always those of the last one.
RETRO_HOST_DEVICE inline std::uint64_t mostPairRuns(std::uint64_t length, std::uint64_t tables)
{
    std::uint64_t most = 0;
    for (std::uint64_t later = 1; later < length; ++later) {
        const std::uint64_t runs = PairRuns(later, tables).count();
        most = runs > most ? runs : most;
    }
    return most;
}

/// So many neighbouring weights of a row, which a device reads at once.
template <class W, std::uint32_t N>
struct alignas(N * sizeof(W)) WeightGroup
{
    W weights[N];
};

template <std::uint32_t N, class T, class W>
RETRO_HOST_DEVICE WeightGroup<W, N> weightGroupAt(const DeviceLayer<T, W>& layer, std::uint64_t place)
{
#ifdef __CUDA_ARCH__
    return *reinterpret_cast<const WeightGroup<W, N>*>(layer.weights + place);
#else
    WeightGroup<W, N> group;
    for (std::uint32_t i = 0; i < N; ++i) {
        group.weights[i] = layer.weights[place + i];
    }
    return group;
#endif
}

/// Outputs of a layer that a thread gathers together: as many weights lie beside each other in every row.
template <class T, class W>
RETRO_HOST_DEVICE std::uint32_t outputsTogether(const DeviceLayer<T, W>& layer)
{
    return layer.outputs % 4 == 0 ? 4 : 1;
}

/// Walks over the rows of a run: table by table, in each the pairs that end at a position.
template <class T, class W>
class PairRows
{
public:
    RETRO_HOST_DEVICE PairRows(const DeviceLayer<T, W>& layer, const DeviceTape<T>& tape, std::uint64_t position,
                               std::uint64_t firstTerm)
        : m_layer(layer), m_tape(tape), m_position(position),
          m_later(static_cast<std::uint32_t>(position % layer.length)),
          m_earlier(static_cast<std::uint32_t>(firstTerm % m_later)),
          m_table(static_cast<std::uint32_t>(firstTerm / m_later))
    {
        enterTable();
    }

    /// Row id of the next term.
    RETRO_HOST_DEVICE std::uint64_t next()
    {
        if (m_earlier == m_later) {
            m_earlier = 0;
            ++m_table;
            enterTable();
        }
        const std::int32_t key = m_keys[std::uint64_t{m_earlier} * m_layer.tables];
        const std::int32_t code = m_codes[std::uint64_t{m_later - 1 - m_earlier} * m_layer.tables];
        ++m_earlier;
        return m_firstRow + pairRow(m_query, static_cast<std::uint32_t>(key), static_cast<std::uint32_t>(code),
                                    m_layer.comparisons, m_layer.codeBits);
    }

private:
    RETRO_HOST_DEVICE void enterTable()
    {
        m_query = static_cast<std::uint32_t>(m_tape.rows[m_position * m_layer.tables + m_table]);
        m_keys = m_tape.rows + (m_position - m_later) * m_layer.tables + m_table;
        m_codes = m_tape.codeRows + m_table;
        m_firstRow = m_table * m_layer.rows;
    }

    const DeviceLayer<T, W>& m_layer;
    const DeviceTape<T>& m_tape;
    std::uint64_t m_position;
    std::uint32_t m_later;
    std::uint32_t m_earlier;
    std::uint32_t m_table;
    std::uint32_t m_query = 0;
    const std::int32_t* m_keys = nullptr;
    const std::int32_t* m_codes = nullptr;
    std::uint64_t m_firstRow = 0;
};

/// Gather over pairs, first part: item = (position and sample as longestFirst, run, N outputs); full connectivity.
/// `runs` is [B, S, most, O].
template <std::uint32_t N, class T, class W>
RETRO_HOST_DEVICE void gatherPairRun(const DeviceLayer<T, W>& layer, std::uint64_t batch, const DeviceTape<T>& tape,
                                     std::uint64_t most, T* runs, std::uint64_t item)
{
    const std::uint64_t groups = layer.outputs / N;
    const std::uint64_t o = item % groups * N;
    const std::uint64_t run = item / groups % most;
    const std::uint64_t position = longestFirst(layer, batch, item / groups / most);
    const PairRuns all(position % layer.length, layer.tables);
    if (run >= all.count()) {
        return;
    }
    const IndexRange terms = all.termsOf(run);
    T sums[N] = {};
    if (terms.begin < terms.end) {
        PairRows<T, W> rows(layer, tape, position, terms.begin);
        std::uint64_t left = terms.end - terms.begin;
        for (; left >= kRowsAhead; left -= kRowsAhead) {
            WeightGroup<W, N> read[kRowsAhead];
            for (std::uint64_t i = 0; i < kRowsAhead; ++i) {
                read[i] = weightGroupAt<N>(layer, rows.next() * layer.outputs + o);
            }
            for (std::uint64_t i = 0; i < kRowsAhead; ++i) {
                for (std::uint32_t k = 0; k < N; ++k) {
                    sums[k] += static_cast<T>(widened(read[i].weights[k]));
                }
            }
        }
        for (; left > 0; --left) {
            const WeightGroup<W, N> read = weightGroupAt<N>(layer, rows.next() * layer.outputs + o);
            for (std::uint32_t k = 0; k < N; ++k) {
                sums[k] += static_cast<T>(widened(read.weights[k]));
            }
        }
    }
    for (std::uint32_t k = 0; k < N; ++k) {
        runs[(position * most + run) * layer.outputs + o + k] = sums[k];
    }
}

/// Gather over pairs, second part: item = (sample, position, output), which adds up its runs in their order.
template <class T, class W>
RETRO_HOST_DEVICE void addPairRuns(const DeviceLayer<T, W>& layer, std::uint64_t most, const T* runs, T* output,
                                   std::uint64_t item)
{
    const std::uint64_t position = item / layer.outputs;
    const PairRuns all(position % layer.length, layer.tables);
    const T* sums = runs + position * most * layer.outputs + item % layer.outputs;
    T total = 0;
    for (std::uint64_t first = 0; first < all.count(); first += all.runsOfList()) {
        T listed = sums[first * layer.outputs];
        for (std::uint64_t run = first + 1; run < first + all.runsOfList(); ++run) {
            const IndexRange terms = all.termsOf(run);
            listed = terms.begin < terms.end ? listed + sums[run * layer.outputs] : listed;
        }
        total += listed;
    }
    output[item] = total;
}

/// Adds a sparse row to an output.
template <class T, class W>
RETRO_HOST_DEVICE void addSparseRow(const DeviceLayer<T, W>& layer, std::uint64_t neuron, T* output)
{
    for (std::uint64_t s = layer.rowStarts[neuron]; s < layer.rowStarts[neuron + 1]; ++s) {
        output[layer.columns[s]] += weightAt(layer, s);
    }
}

/// Gather of sparse rows: item = (sample, position).
template <class T, class W>
RETRO_HOST_DEVICE void gatherSparse(const DeviceLayer<T, W>& layer, const DeviceTape<T>& tape, T* output,
                                    std::uint64_t item)
{
    T* sum = output + item * layer.outputs;
    for (std::uint64_t o = 0; o < layer.outputs; ++o) {
        sum[o] = 0;
    }
    const auto later = static_cast<std::uint32_t>(item % layer.length);
    for (std::uint64_t t = 0; t < layer.tables; ++t) {
        if (layer.length == 1) {
            const auto row = static_cast<std::uint64_t>(tape.rows[item * layer.tables + t]);
            addSparseRow(layer, neuronOf(t, row, layer.rows), sum);
        }
        for (std::uint32_t earlier = 0; earlier < later; ++earlier) {
            const std::uint32_t row = rowOfPair(layer, tape, {item / layer.length, {earlier, later}, t});
            addSparseRow(layer, neuronOf(t, row, layer.rows), sum);
        }
    }
}

/// One lane's part of a sparse row's score.
template <class T, class W>
RETRO_HOST_DEVICE T sparseScoreLane(const DeviceLayer<T, W>& layer, std::uint64_t neuron, const T* g,
                                    std::uint32_t lane)
{
    T sum = 0;
    for (std::uint64_t s = layer.rowStarts[neuron] + lane; s < layer.rowStarts[neuron + 1]; s += kScoreLanes) {
        sum += weightAt(layer, s) * g[layer.columns[s]];
    }
    return sum;
}

/// One lane's part of score(main) − score(other). The parts are added as a tree: lane l takes l + 8, then l + 4 …
template <class T, class W>
RETRO_HOST_DEVICE T scoreLane(const DeviceLayer<T, W>& layer, std::uint64_t main, std::uint64_t other, const T* g,
                              std::uint32_t lane)
{
    if (layer.rowStarts != nullptr) {
        return sparseScoreLane(layer, main, g, lane) - sparseScoreLane(layer, other, g, lane);
    }
    const std::uint64_t a = main * layer.outputs;
    const std::uint64_t b = other * layer.outputs;
    T sum = 0;
    for (std::uint64_t o = lane; o < layer.outputs; o += kScoreLanes) {
        sum += g[o] * (weightAt(layer, a + o) - weightAt(layer, b + o));
    }
    return sum;
}

/// Scores without positions: item = (sample, table). `Lanes` adds the parts of all lanes and knows which one this is.
template <class T, class W, class Lanes>
RETRO_HOST_DEVICE void scoreSite(const DeviceLayer<T, W>& layer, const DeviceTape<T>& tape, const T* gradients,
                                 T* positionScores, std::uint64_t item, const Lanes& lanes)
{
    const std::uint64_t table = item % layer.tables;
    const auto row = static_cast<std::uint32_t>(tape.rows[item]);
    const std::uint64_t main = neuronOf(table, row, layer.rows);
    const std::uint64_t other = neuronOf(table, flipped(row, tape.bits[item]), layer.rows);
    const T* g = gradients + item / layer.tables * layer.outputs;
    const T score = lanes.sum([&](std::uint32_t lane) { return scoreLane(layer, main, other, g, lane); });
    if (lanes.isFirst()) {
        positionScores[item] = score;
    }
}

/// Scores of a pair of positions, one for each row on the other side that the pair may have; 0 without such a row.
template <class T>
struct PairScore
{
    T position; ///< of the weaker position's row
    T code;     ///< of the positional code's row
};

/// score_pairs, first part: item = (position and sample as longestFirst, table), with all positions before it.
template <class T, class W, class Lanes>
RETRO_HOST_DEVICE void scorePairs(const DeviceLayer<T, W>& layer, std::uint64_t batch, const DeviceTape<T>& tape,
                                  const T* gradients, PairScore<T>* pairScores, std::uint64_t item, const Lanes& lanes)
{
    const std::uint64_t table = item % layer.tables;
    const std::uint64_t position = longestFirst(layer, batch, item / layer.tables);
    const std::uint64_t sample = position / layer.length;
    const auto later = static_cast<std::uint32_t>(position % layer.length);
    const T* g = gradients + position * layer.outputs;
    PairScore<T>* scores = pairScores + (sample * pairCount(layer.length) + pairCount(later)) * layer.tables + table;
    for (std::uint32_t earlier = 0; earlier < later; ++earlier) {
        const PairPlace place{sample, {earlier, later}, table};
        const std::uint32_t row = rowOfPair(layer, tape, place);
        const PairChoice<T> choice = choiceOfPair(layer, tape, place);
        const std::uint64_t main = neuronOf(table, row, layer.rows);
        const auto scoreAgainst = [&](std::int32_t bit) {
            const std::uint64_t other = neuronOf(table, flipped(row, bit), layer.rows);
            return bit < 0 ? T(0)
                           : lanes.sum([&](std::uint32_t lane) { return scoreLane(layer, main, other, g, lane); });
        };
        const PairScore<T> score{scoreAgainst(choice.bit), scoreAgainst(choice.codeBit)};
        if (lanes.isFirst()) {
            scores[std::uint64_t{earlier} * layer.tables] = score;
        }
    }
}

/// score_pairs, second part: item = (sample, position, table), which adds the scores of its pairs in their order: those
/// with the positions before it, then those with the positions behind it.
template <class T, class W>
RETRO_HOST_DEVICE void sumPositionScore(const DeviceLayer<T, W>& layer, const DeviceTape<T>& tape,
                                        const PairScore<T>* pairScores, T* positionScores, std::uint64_t item)
{
    const std::uint64_t table = item % layer.tables;
    const std::uint64_t sample = item / layer.tables / layer.length;
    const auto position = static_cast<std::uint32_t>(item / layer.tables % layer.length);
    const PairScore<T>* scores = pairScores + sample * pairCount(layer.length) * layer.tables + table;
    T sum = 0;
    const auto addOf = [&](PositionPair pair, bool isQuery) {
        const PairChoice<T> choice = choiceOfPair(layer, tape, {sample, pair, table});
        if (choice.bit >= 0 && choice.isQuery == isQuery) {
            sum += scores[pairIndex(pair) * layer.tables].position;
        }
    };
    for (std::uint32_t earlier = 0; earlier < position; ++earlier) {
        addOf({earlier, position}, true);
    }
    for (std::uint32_t later = position + 1; later < layer.length; ++later) {
        addOf({position, later}, false);
    }
    positionScores[item] = sum;
}

/// score_pairs, third part: item = (sample, distance, table).
template <class T, class W>
RETRO_HOST_DEVICE void sumCodeScore(const DeviceLayer<T, W>& layer, const DeviceTape<T>& tape,
                                    const PairScore<T>* pairScores, T* positionalScores, std::uint64_t item)
{
    const std::uint64_t table = item % layer.tables;
    const std::uint64_t sample = item / layer.tables / (layer.length - 1);
    const auto lag = static_cast<std::uint32_t>(item / layer.tables % (layer.length - 1));
    const PairScore<T>* scores = pairScores + sample * pairCount(layer.length) * layer.tables + table;
    T sum = 0;
    for (std::uint32_t earlier = 0; earlier + lag + 1 < layer.length; ++earlier) {
        const PositionPair pair{earlier, earlier + lag + 1};
        if (choiceOfPair(layer, tape, {sample, pair, table}).codeBit >= 0) {
            sum += scores[pairIndex(pair) * layer.tables].code;
        }
    }
    positionalScores[item] = sum;
}

/// A comparison that reads an input: of which table, which bit, and on which side of the difference.
struct InputUse
{
    std::uint32_t table;
    std::int32_t bit;
    std::int32_t isSecond; ///< 1 = it is subtracted
};

/// The comparisons that read each input, in the order of tables; inputs + 1 starts.
struct InputUses
{
    const std::uint64_t* starts = nullptr;
    const InputUse* uses = nullptr;
};

/// propagate_positions: item = (sample, position, input), which takes what the tables send to it whose weakest
/// comparison reads it.
template <class T, class W>
RETRO_HOST_DEVICE void propagateInput(const DeviceLayer<T, W>& layer, const InputUses& inputs,
                                      const DeviceTape<T>& tape, const T* positionScores, T* inputGradients,
                                      std::uint64_t item)
{
    const std::uint64_t first = item / layer.inputs * layer.tables;
    const std::uint64_t input = item % layer.inputs;
    T sum = 0;
    for (std::uint64_t k = inputs.starts[input]; k < inputs.starts[input + 1]; ++k) {
        const InputUse use = inputs.uses[k];
        const std::uint64_t site = first + use.table;
        if (tape.bits[site] == use.bit) {
            const T sent = positionScores[site] * slope(tape.deltas[site]);
            sum = use.isSecond != 0 ? sum - sent : sum + sent;
        }
    }
    inputGradients[item] = sum;
}

/// propagate_positional_embeddings: item = (distance, table).
template <class T, class W>
RETRO_HOST_DEVICE void propagateCode(const DeviceLayer<T, W>& layer, const DeviceTape<T>& tape,
                                     const T* positionalScores, std::uint64_t batch, T* codeGradients,
                                     std::uint64_t item)
{
    const std::uint64_t places = std::uint64_t{layer.length - 1} * layer.tables;
    T sum = 0;
    for (std::uint64_t sample = 0; sample < batch; ++sample) {
        sum += positionalScores[sample * places + item];
    }
    for (std::uint32_t p = 0; p < layer.codeBits; ++p) {
        const bool isWeakest = static_cast<std::int32_t>(p) == tape.codeBits[item];
        codeGradients[item * layer.codeBits + p] = isWeakest ? sum * slope(tape.codeDeltas[item]) : T(0);
    }
}

/// Visits of a pass that weight gradients sum over.
template <class T, class W>
RETRO_HOST_DEVICE std::uint64_t visitCount(const DeviceLayer<T, W>& layer, std::uint64_t batch)
{
    return batch * layer.tables * (layer.length == 1 ? 1 : pairCount(layer.length));
}

/// Row id of a visit, and the place of the gradient that it adds: item = (sample, pair, table).
template <class T, class W>
RETRO_HOST_DEVICE void listVisit(const DeviceLayer<T, W>& layer, const DeviceTape<T>& tape, std::uint32_t* neurons,
                                 std::uint64_t* places, std::uint64_t item)
{
    const std::uint64_t table = item % layer.tables;
    if (layer.length == 1) {
        neurons[item] =
            static_cast<std::uint32_t>(neuronOf(table, static_cast<std::uint64_t>(tape.rows[item]), layer.rows));
        places[item] = item / layer.tables;
        return;
    }
    const std::uint64_t pairs = pairCount(layer.length);
    const std::uint64_t visit = item / layer.tables;
    const PairPlace place{visit / pairs, pairAt(visit % pairs), table};
    neurons[item] = static_cast<std::uint32_t>(neuronOf(table, rowOfPair(layer, tape, place), layer.rows));
    places[item] = place.sample * layer.length + place.pair.later;
}

/// First place in an ascending list that is not below `value`.
template <class N>
RETRO_HOST_DEVICE std::uint64_t lowerBound(const N* list, std::uint64_t count, std::uint64_t value)
{
    std::uint64_t first = 0;
    while (count > 0) {
        const std::uint64_t half = count / 2;
        if (list[first + half] < value) {
            first += half + 1;
            count -= half + 1;
        } else {
            count = half;
        }
    }
    return first;
}

/// Where the visits of a row start in the sorted list: item = row id, and one past the last.
RETRO_HOST_DEVICE inline void startOfRow(const std::uint32_t* neurons, std::uint64_t visits, std::uint64_t* starts,
                                         std::uint64_t item)
{
    starts[item] = lowerBound(neurons, visits, item);
}

/// Weight gradients: item = (row id, output), or a synapse. Rows that nobody visits get 0.
template <class T, class W>
RETRO_HOST_DEVICE void sumWeight(const DeviceLayer<T, W>& layer, const T* gradients, const std::uint64_t* starts,
                                 const std::uint64_t* places, std::uint64_t neurons, T* weightGradients,
                                 std::uint64_t item)
{
    std::uint64_t neuron = item / layer.outputs;
    std::uint64_t o = item % layer.outputs;
    if (layer.rowStarts != nullptr) {
        neuron = lowerBound(layer.rowStarts, neurons + 1, item + 1) - 1;
        o = layer.columns[item];
    }
    const std::uint64_t first = starts[neuron];
    RunSum<T> sum;
    addAll(sum, starts[neuron + 1] - first,
           [&](std::uint64_t k) { return gradients[places[first + k] * layer.outputs + o]; });
    weightGradients[item] = sum.value();
}

} // namespace retro::lut::device
