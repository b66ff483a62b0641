// SPDX-License-Identifier: Apache-2.0
#include "kernels/lut/cpu/documented.h"
#include "kernels/lut/cpu/fused.h"
#include "kernels/lut/cpu/parallel.h"

namespace retro::lut::cpu
{

namespace
{

/// Row of a detector for the inputs of one sample, with its least certain comparison.
template <class T>
std::uint32_t detect(const LayerShape& shape, const Anchor* anchors, const T* x, Weakest<T>& weakest)
{
    std::uint32_t row = 0;
    for (std::uint32_t k = 0; k < shape.comparisons; ++k) {
        if (anchors[k].a != kUnusedAnchor) {
            const T u = x[anchors[k].a] - x[anchors[k].b];
            row |= bitOf(u) << k;
            consider(weakest, static_cast<std::int32_t>(k), u);
        }
    }
    return row;
}

/// The chosen row of (sample, table), or the alternative one; false when there is none.
template <class T>
bool rowOf(const Documented<T>& run, std::uint64_t site, Variant variant, std::uint32_t& row)
{
    row = static_cast<std::uint32_t>(run.tape->rows[site]);
    if (variant == Variant::Alternative) {
        row = flipped(row, run.tape->bits[site]);
        return run.tape->bits[site] >= 0;
    }
    return true;
}

template <class T>
void fire(Documented<T>& run, std::uint64_t sample, std::uint64_t table, Variant variant)
{
    std::uint32_t row = 0;
    if (!rowOf(run, run.site(sample, 0, table), variant, row)) {
        return;
    }
    const std::uint64_t neuron = neuronOf(table, row, run.shape().rows());
    const float payload = variant == Variant::Alternative ? -1.0F : 1.0F;
    for (std::uint64_t group = run.groups.first[neuron]; group < run.groups.first[neuron + 1]; ++group) {
        run.firingEvents.push_back({static_cast<std::uint32_t>(sample), payload, group});
    }
}

} // namespace

template <class T>
SynapseGroups synapseGroups(const Layer<T>& layer)
{
    const LayerDescription<T>& given = layer.description();
    const std::uint64_t neurons = layer.shape().neurons();
    SynapseGroups groups;
    groups.all.reserve(layer.groupCount());
    groups.first.assign(neurons + 1, 0);
    for (std::uint64_t n = 0; n < neurons; ++n) {
        const std::uint64_t begin = given.rowStarts[n];
        const std::uint64_t synapses = given.rowStarts[n + 1] - begin;
        for (std::uint64_t g = 0; g < ceilDivide(synapses, given.forwardGroup); ++g) {
            const IndexRange part = groupRange(g, synapses, given.forwardGroup);
            groups.all.push_back(
                {begin + part.begin, static_cast<std::uint32_t>(part.end - part.begin), static_cast<std::uint32_t>(n)});
        }
        groups.first[n + 1] = groups.all.size();
    }
    return groups;
}

template <class T>
void checkDetectors(Documented<T>& run)
{
    const LayerShape& shape = run.shape();
    parallelItems(run.batch * shape.length, run.threads, [&](std::uint64_t position) {
        for (std::uint64_t t = 0; t < shape.tables; ++t) {
            Weakest<T> weakest;
            const std::uint32_t row =
                detect(shape, run.layer.anchorsOf(t), run.input.data() + position * shape.inputs, weakest);
            const std::uint64_t site = position * shape.tables + t;
            run.kept->rows[site] = static_cast<std::int32_t>(row);
            run.kept->deltas[site] = weakest.delta;
            run.kept->bits[site] = weakest.bit;
        }
    });
}

template <class T>
void fillOutputsFullyConnected(Documented<T>& run)
{
    const LayerShape& shape = run.shape();
    const T* weights = run.layer.description().weights.data();
    const std::uint64_t size = run.layer.description().backwardGroup;
    parallelItems(run.batch, run.threads, [&](std::uint64_t sample) {
        T* output = run.output.data() + sample * shape.outputs;
        for (std::uint64_t block = 0; block < ceilDivide(shape.tables, size); ++block) {
            const IndexRange tables = groupRange(block, shape.tables, size);
            for (std::uint64_t o = 0; o < shape.outputs; ++o) {
                double sum = 0;
                for (std::uint64_t t = tables.begin; t < tables.end; ++t) {
                    const auto row = static_cast<std::uint64_t>(run.tape->rows[run.site(sample, 0, t)]);
                    sum += weights[neuronOf(t, row, shape.rows()) * shape.outputs + o];
                }
                output[o] += static_cast<T>(sum);
            }
        }
    });
}

template <class T>
void fireDetectors(Documented<T>& run)
{
    checkDetectors(run);
    for (std::uint64_t sample = 0; sample < run.batch; ++sample) {
        for (std::uint64_t t = 0; t < run.shape().tables; ++t) {
            fire(run, sample, t, Variant::Main);
        }
    }
}

template <class T>
void fillOutputsByForwardGroups(Documented<T>& run)
{
    const LayerDescription<T>& given = run.layer.description();
    for (const FiringEvent& event : run.firingEvents) {
        const SynapseGroup& group = run.groups.all[event.group];
        T* output = run.output.data() + std::uint64_t{event.batch} * run.shape().outputs;
        for (std::uint64_t s = group.begin; s < group.begin + group.count; ++s) {
            output[given.columns[s]] += given.weights[s] * static_cast<T>(event.payload);
        }
    }
}

template <class T>
void gatherXGradientsFullyConnected(Documented<T>& run, Variant variant)
{
    const LayerShape& shape = run.shape();
    const T* weights = run.layer.description().weights.data();
    const std::uint64_t size = run.layer.description().forwardGroup;
    parallelItems(run.batch * shape.tables, run.threads, [&](std::uint64_t site) {
        std::uint32_t row = 0;
        if (!rowOf(run, site, variant, row)) {
            return;
        }
        const std::uint64_t table = site % shape.tables;
        const T* g = run.outputGradients.data() + site / shape.tables * shape.outputs;
        const T* w = weights + neuronOf(table, row, shape.rows()) * shape.outputs;
        T& score = run.dense[cellOf(site, row, shape.rows())];
        for (std::uint64_t block = 0; block < ceilDivide(shape.outputs, size); ++block) {
            const IndexRange outputs = groupRange(block, shape.outputs, size);
            double sum = 0;
            for (std::uint64_t o = outputs.begin; o < outputs.end; ++o) {
                sum += static_cast<double>(g[o]) * w[o];
            }
            score += magnitude(sum) > kNegligible ? static_cast<T>(sum) : T(0);
        }
    });
}

template <class T>
void gatherWGradientsFullyConnected(Documented<T>& run)
{
    const LayerShape& shape = run.shape();
    parallelItems(shape.tables, run.threads, [&](std::uint64_t table) {
        for (std::uint64_t sample = 0; sample < run.batch; ++sample) {
            const auto row = static_cast<std::uint64_t>(run.tape->rows[run.site(sample, 0, table)]);
            const T* g = run.outputGradients.data() + sample * shape.outputs;
            T* w = run.weightGradients.data() + neuronOf(table, row, shape.rows()) * shape.outputs;
            for (std::uint64_t o = 0; o < shape.outputs; ++o) {
                w[o] += g[o];
            }
        }
    });
}

template <class T>
void propagateThroughDetectors(Documented<T>& run)
{
    const LayerShape& shape = run.shape();
    parallelItems(run.batch, run.threads, [&](std::uint64_t sample) {
        T* gradients = run.inputGradients.data() + sample * shape.inputs;
        for (std::uint64_t t = 0; t < shape.tables; ++t) {
            const std::uint64_t site = run.site(sample, 0, t);
            const Weakest<T> weakest = weakestAt(*run.tape, site);
            const auto row = static_cast<std::uint32_t>(run.tape->rows[site]);
            T& main = run.cell(sample, 0, t, row);
            T& other = run.cell(sample, 0, t, flipped(row, weakest.bit));
            const T v = (main - other) * slope(weakest.delta);
            if (weakest.bit >= 0 && magnitude(v) > static_cast<T>(kNegligible)) {
                sendToAnchors(run.layer.anchorsOf(t)[weakest.bit], v, gradients);
            }
            main = 0;
            other = 0;
        }
    });
}

template <class T>
void fireDetectorsByLookupIndices(Documented<T>& run)
{
    for (std::uint64_t sample = 0; sample < run.batch; ++sample) {
        for (std::uint64_t t = 0; t < run.shape().tables; ++t) {
            fire(run, sample, t, Variant::Main);
            fire(run, sample, t, Variant::Alternative);
        }
    }
}

template <class T>
void gatherGradients(Documented<T>& run)
{
    const LayerDescription<T>& given = run.layer.description();
    const LayerShape& shape = run.shape();
    for (const FiringEvent& event : run.firingEvents) {
        const SynapseGroup& group = run.groups.all[event.group];
        const T* g = run.outputGradients.data() + std::uint64_t{event.batch} * shape.outputs;
        double score = 0;
        for (std::uint64_t s = group.begin; s < group.begin + group.count; ++s) {
            const T gradient = g[given.columns[s]];
            score += static_cast<double>(given.weights[s]) * gradient;
            if (event.payload > 0) {
                run.weightGradients[s] += gradient;
            }
        }
        run.cell(event.batch, 0, group.neuron / shape.rows(), group.neuron % shape.rows()) += static_cast<T>(score);
    }
}

template SynapseGroups synapseGroups(const Layer<float>&);
template SynapseGroups synapseGroups(const Layer<double>&);
template void checkDetectors(Documented<float>&);
template void checkDetectors(Documented<double>&);
template void fillOutputsFullyConnected(Documented<float>&);
template void fillOutputsFullyConnected(Documented<double>&);
template void fireDetectors(Documented<float>&);
template void fireDetectors(Documented<double>&);
template void fillOutputsByForwardGroups(Documented<float>&);
template void fillOutputsByForwardGroups(Documented<double>&);
template void gatherXGradientsFullyConnected(Documented<float>&, Variant);
template void gatherXGradientsFullyConnected(Documented<double>&, Variant);
template void gatherWGradientsFullyConnected(Documented<float>&);
template void gatherWGradientsFullyConnected(Documented<double>&);
template void propagateThroughDetectors(Documented<float>&);
template void propagateThroughDetectors(Documented<double>&);
template void fireDetectorsByLookupIndices(Documented<float>&);
template void fireDetectorsByLookupIndices(Documented<double>&);
template void gatherGradients(Documented<float>&);
template void gatherGradients(Documented<double>&);

} // namespace retro::lut::cpu
