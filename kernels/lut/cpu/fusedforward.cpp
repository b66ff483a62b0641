// SPDX-License-Identifier: Apache-2.0
#include "kernels/lut/cpu/fused.h"
#include "kernels/lut/cpu/parallel.h"
#include "kernels/lut/cpu/rows.h"

namespace retro::lut::cpu
{

namespace
{

/// Tiles of samples that a thread takes at once.
constexpr std::uint64_t kTilesPerItem = 8;
/// Rows of pairs whose ids are listed before they are summed.
constexpr std::uint64_t kListedPairs = 1U << 14;

/// Chooses rows for tiles of kLanes samples.
template <class T>
class TileChooser
{
public:
    TileChooser(const FusedForward<T>& run, std::uint64_t samples)
        : m_run(run), m_samples(samples), m_columns(std::uint64_t{run.layer.shape().inputs} * kLanes)
    {}

    /// Calls f(table, choice, first sample, number of samples) for each table of a tile.
    template <class F>
    void choose(std::uint64_t tile, const F& f)
    {
        const LayerShape& shape = m_run.layer.shape();
        const IndexRange range = groupRange(tile, m_samples, kLanes);
        const std::uint64_t count = range.end - range.begin;
        turn(m_run.call.input.data() + range.begin * shape.inputs, count);
        for (std::uint64_t t = 0; t < shape.tables; ++t) {
            chooseRows(m_columns.data(), m_run.layer.anchorsOf(t), shape.comparisons, m_run.withWeakest, m_choice);
            f(t, m_choice, range.begin, count);
        }
    }

private:
    /// Samples next to each other for each input; what the last tile lacks stays as it was.
    void turn(const T* samples, std::uint64_t count)
    {
        const std::uint64_t inputs = m_run.layer.shape().inputs;
        for (std::uint64_t lane = 0; lane < count; ++lane) {
            for (std::uint64_t i = 0; i < inputs; ++i) {
                m_columns[i * kLanes + lane] = samples[lane * inputs + i];
            }
        }
    }

    const FusedForward<T>& m_run;
    std::uint64_t m_samples;
    std::vector<T> m_columns;
    TableChoice<T> m_choice;
};

template <class T>
void keep(const TableChoice<T>& choice, std::uint64_t table, std::uint64_t tables, std::uint64_t first,
          std::uint64_t count, bool withWeakest, Tape<T>& tape)
{
    for (std::uint64_t lane = 0; lane < count; ++lane) {
        const std::uint64_t site = (first + lane) * tables + table;
        tape.rows[site] = choice.row[lane];
        if (withWeakest) {
            tape.deltas[site] = choice.delta[lane];
            tape.bits[site] = choice.bit[lane];
        }
    }
}

/// Ids of the rows that a position's pairs with all earlier ones choose in some tables; returns their number.
template <class T>
std::uint64_t listPairRows(const FusedForward<T>& run, std::uint64_t sample, std::uint32_t later, IndexRange tables,
                           std::vector<std::uint64_t>& ids)
{
    std::uint64_t count = 0;
    for (std::uint64_t t = tables.begin; t < tables.end; ++t) {
        for (std::uint32_t earlier = 0; earlier < later; ++earlier) {
            const std::uint32_t row = pairRowAt(run.layer, *run.tape, sample, {earlier, later}, t);
            ids[count++] = neuronOf(t, row, run.layer.shape().rows());
        }
    }
    return count;
}

} // namespace

template <class T>
void chooseRowsAndGather(const FusedForward<T>& run)
{
    const LayerShape& shape = run.layer.shape();
    const std::uint64_t tables = shape.tables;
    const std::uint64_t tiles = ceilDivide(run.call.batch, kLanes);
    const Rows<T> rows(run.layer);
    parallelItems(ceilDivide(tiles, kTilesPerItem), run.threads, [&](std::uint64_t item) {
        TileChooser<T> chooser(run, run.call.batch);
        std::vector<std::uint64_t> ids(kLanes * tables);
        const IndexRange range = groupRange(item, tiles, kTilesPerItem);
        for (std::uint64_t tile = range.begin; tile < range.end; ++tile) {
            chooser.choose(tile, [&](std::uint64_t t, const TableChoice<T>& choice, std::uint64_t first,
                                     std::uint64_t count) {
                for (std::uint64_t lane = 0; lane < kLanes; ++lane) {
                    ids[lane * tables + t] = neuronOf(t, static_cast<std::uint64_t>(choice.row[lane]), shape.rows());
                }
                if (run.tape != nullptr) {
                    keep(choice, t, tables, first, count, run.withWeakest, *run.tape);
                }
            });
            const IndexRange samples = groupRange(tile, run.call.batch, kLanes);
            rows.sum(ids.data(), samples.end - samples.begin, tables,
                     run.call.output.data() + samples.begin * shape.outputs);
        }
    });
}

template <class T>
void chooseRowsOfPositions(const FusedForward<T>& run)
{
    const LayerShape& shape = run.layer.shape();
    const std::uint64_t samples = run.call.batch * shape.length;
    const std::uint64_t tiles = ceilDivide(samples, kLanes);
    parallelItems(ceilDivide(tiles, kTilesPerItem), run.threads, [&](std::uint64_t item) {
        TileChooser<T> chooser(run, samples);
        const IndexRange range = groupRange(item, tiles, kTilesPerItem);
        for (std::uint64_t tile = range.begin; tile < range.end; ++tile) {
            chooser.choose(
                tile, [&](std::uint64_t t, const TableChoice<T>& choice, std::uint64_t first, std::uint64_t count) {
                    keep(choice, t, shape.tables, first, count, run.withWeakest, *run.tape);
                });
        }
    });
}

template <class T>
void checkPositionalEmbeddings(const Layer<T>& layer, Tape<T>& tape)
{
    const LayerShape& shape = layer.shape();
    const std::uint64_t places = std::uint64_t{shape.lags()} * shape.tables;
    for (std::uint64_t place = 0; place < places; ++place) {
        const T* code = layer.description().codes.data() + place * shape.codeBits;
        Weakest<T> weakest;
        std::uint32_t row = 0;
        for (std::uint32_t p = 0; p < shape.codeBits; ++p) {
            row |= bitOf(code[p]) << p;
            consider(weakest, static_cast<std::int32_t>(p), code[p]);
        }
        tape.codeRows[place] = static_cast<std::int32_t>(row);
        tape.codeDeltas[place] = weakest.delta;
        tape.codeBits[place] = weakest.bit;
    }
}

template <class T>
void gatherPairs(const FusedForward<T>& run)
{
    const LayerShape& shape = run.layer.shape();
    const Rows<T> rows(run.layer);
    parallelItems(run.call.batch * shape.length, run.threads, [&](std::uint64_t item) {
        const std::uint64_t sample = item / shape.length;
        const auto later = static_cast<std::uint32_t>(item % shape.length);
        T* sum = run.call.output.data() + item * shape.outputs;
        std::fill(sum, sum + shape.outputs, T(0));
        if (later == 0) {
            return;
        }
        const std::uint64_t together = std::clamp<std::uint64_t>(kListedPairs / later, 1, shape.tables);
        std::vector<std::uint64_t> ids(together * later);
        std::vector<T> part(shape.outputs);
        for (std::uint64_t first = 0; first < shape.tables; first += together) {
            const std::uint64_t end = std::min<std::uint64_t>(first + together, shape.tables);
            const std::uint64_t count = listPairRows(run, sample, later, {first, end}, ids);
            rows.sum(ids.data(), 1, count, part.data());
            for (std::uint64_t o = 0; o < shape.outputs; ++o) {
                sum[o] += part[o];
            }
        }
    });
}

template <class T>
void launchFused(FusedForward<T>& run, const Launch& launch)
{
    switch (launch.kernel) {
    case KernelId::ChooseRowsAndGather:
        chooseRowsAndGather(run);
        break;
    case KernelId::ChooseRows:
        chooseRowsOfPositions(run);
        break;
    case KernelId::CheckPositionalEmbeddings:
        checkPositionalEmbeddings(run.layer, *run.tape);
        break;
    case KernelId::GatherPairs:
        gatherPairs(run);
        break;
    default:
        break;
    }
}

template void checkPositionalEmbeddings(const Layer<float>&, Tape<float>&);
template void checkPositionalEmbeddings(const Layer<double>&, Tape<double>&);
template void launchFused(FusedForward<float>&, const Launch&);
template void launchFused(FusedForward<double>&, const Launch&);

} // namespace retro::lut::cpu
