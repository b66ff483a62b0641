// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/lut/cpu/wide.h"

#include <vector>

namespace retro::lut::cpu
{

/// The rows of a layer, dense or sparse, behind the few things that kernels do with them. Rows are named by their id
/// among all rows of the layer.
template <class T>
class Rows
{
public:
    explicit Rows(const Layer<T>& layer) : m_given(layer.description()) {}

    /// sums[s][·] = Σ_k row(ids[s · count + k]); sums is [sets, O].
    void sum(const std::uint64_t* ids, std::uint64_t sets, std::uint64_t count, T* sums) const
    {
        if (!m_given.isSparse) {
            sumRows(m_given.weights.data(), outputs(), ids, sets, count, sums);
            return;
        }
        std::fill(sums, sums + sets * outputs(), T(0));
        for (std::uint64_t i = 0; i < sets * count; ++i) {
            addSparse(ids[i], sums + i / count * outputs());
        }
    }

    /// results[k] = score(main[k]) − score(other[k]), score(n) = Σ_o g[o] · row(n)[o].
    void scores(const std::uint64_t* main, const std::uint64_t* other, std::uint64_t count, const T* g,
                T* results) const
    {
        if (!m_given.isSparse) {
            scoreDifferences(m_given.weights.data(), outputs(), main, other, count, g, results);
            return;
        }
        for (std::uint64_t k = 0; k < count; ++k) {
            results[k] = sparseScore(main[k], g) - sparseScore(other[k], g);
        }
    }

    /// Score of one row: Σ_o g[o] · row(n)[o].
    T score(std::uint64_t neuron, const T* g) const
    {
        if (m_given.isSparse) {
            return sparseScore(neuron, g);
        }
        double total = 0;
        for (std::uint64_t o = 0; o < outputs(); ++o) {
            total += static_cast<double>(g[o]) * m_given.weights[neuron * outputs() + o];
        }
        return static_cast<T>(total);
    }

    /// Gradient of one row: f(place of a weight, Σ_k g[ids[k]]) for each of its weights; `sum` is scratch for O
    /// elements.
    template <class F>
    void forGradient(std::uint64_t neuron, const T* g, const std::uint64_t* ids, std::uint64_t count, T* sum,
                     const F& f) const
    {
        if (!m_given.isSparse) {
            sumRows(g, outputs(), ids, 1, count, sum);
            for (std::uint64_t o = 0; o < outputs(); ++o) {
                f(neuron * outputs() + o, sum[o]);
            }
            return;
        }
        for (std::uint64_t s = m_given.rowStarts[neuron]; s < m_given.rowStarts[neuron + 1]; ++s) {
            T total = 0;
            for (std::uint64_t k = 0; k < count; ++k) {
                total += g[ids[k] * outputs() + m_given.columns[s]];
            }
            f(s, total);
        }
    }

    [[nodiscard]] std::uint64_t outputs() const { return m_given.shape.outputs; }

private:
    void addSparse(std::uint64_t neuron, T* sum) const
    {
        for (std::uint64_t s = m_given.rowStarts[neuron]; s < m_given.rowStarts[neuron + 1]; ++s) {
            sum[m_given.columns[s]] += m_given.weights[s];
        }
    }
    T sparseScore(std::uint64_t neuron, const T* g) const
    {
        T total = 0;
        for (std::uint64_t s = m_given.rowStarts[neuron]; s < m_given.rowStarts[neuron + 1]; ++s) {
            total += m_given.weights[s] * g[m_given.columns[s]];
        }
        return total;
    }

    const LayerDescription<T>& m_given;
};

} // namespace retro::lut::cpu
