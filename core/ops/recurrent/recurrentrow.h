// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/ops/recurrent/recurrentform.h"

#include <algorithm>
#include <cstddef>

namespace retro::ops
{

/// y[i] += factor·x[i].
template <class T>
void addScaledRow(T factor, const T* x, std::int64_t count, T* y)
{
    for (std::int64_t i = 0; i < count; ++i) {
        y[i] += factor * x[i];
    }
}

/// Weights of one direction, with the transposed copies that a forward step reads.
template <class T>
struct RecurrentWeights
{
    const T* w;
    const T* r;
    const T* b;        ///< Wb then Rb; may be null
    const T* p;        ///< may be null
    std::vector<T> wT; ///< inputs × gates·hidden
    std::vector<T> rT; ///< hidden × gates·hidden

    RecurrentWeights(const RecurrentForm& form, const RecurrentData<const T>& data, std::int64_t d)
    {
        const std::int64_t rows = form.gates() * form.hidden;
        w = data.w + d * rows * form.inputs;
        r = data.r + d * rows * form.hidden;
        b = data.b == nullptr ? nullptr : data.b + d * 2 * rows;
        p = data.p == nullptr ? nullptr : data.p + d * 3 * form.hidden;
        wT = transposed(w, rows, form.inputs);
        rT = transposed(r, rows, form.hidden);
    }

private:
    static std::vector<T> transposed(const T* m, std::int64_t rows, std::int64_t columns)
    {
        std::vector<T> result(static_cast<std::size_t>(rows * columns));
        for (std::int64_t i = 0; i < rows; ++i) {
            for (std::int64_t j = 0; j < columns; ++j) {
                result[static_cast<std::size_t>(j * rows + i)] = m[i * columns + j];
            }
        }
        return result;
    }
};

/// What one step leaves behind.
template <class T>
struct RecurrentStep
{
    std::int64_t t = 0;
    std::vector<T> before; ///< h before the step
    std::vector<T> cellBefore;
    std::vector<T> sums;  ///< what the activations are applied to, gate by gate
    std::vector<T> gates; ///< what they give
    std::vector<T> inner; ///< GRU: h as the candidate reads it (r ⊙ h, or R·h + b before it is reset)
    std::vector<T> cell;  ///< c after the step
    std::vector<T> state; ///< h after the step
};

/// One sequence of one direction: runs forward step by step, and back.
template <class T>
class RecurrentRow
{
public:
    RecurrentRow(const RecurrentForm& form, const RecurrentWeights<T>& weights, std::int64_t direction)
        : m_form(form), m_weights(weights), m_activations(form.activations[static_cast<std::size_t>(direction)]),
          m_hidden(form.hidden), m_width(form.gates() * form.hidden)
    {}

    /// The state `h` (and `c` for LSTM) moved on by the input x of step t.
    [[nodiscard]] RecurrentStep<T> forward(std::int64_t t, const T* x, std::vector<T> h, std::vector<T> c) const
    {
        RecurrentStep<T> step;
        step.t = t;
        step.before = std::move(h);
        step.cellBefore = std::move(c);
        step.sums.assign(size(m_width), T{0});
        step.gates.assign(size(m_width), T{0});
        step.state.assign(size(m_hidden), T{0});
        addBias(0, m_width, step.sums.data());
        for (std::int64_t i = 0; i < m_form.inputs; ++i) {
            addScaledRow(x[i], m_weights.wT.data() + i * m_width, m_width, step.sums.data());
        }
        switch (m_form.kind) {
        case RecurrentKind::Rnn:
            forwardRnn(step);
            break;
        case RecurrentKind::Gru:
            forwardGru(step);
            break;
        case RecurrentKind::Lstm:
            forwardLstm(step);
            break;
        }
        return step;
    }

    /// Gradients of the state (and cell) after the step become those before it; `x` and `into` are those of the row
    /// (offset to this direction), null where nobody asks.
    void backward(const RecurrentStep<T>& step, const T* x, const RecurrentData<T>& into, std::vector<T>& h,
                  std::vector<T>& c) const
    {
        std::vector<T> sums(size(m_width), T{0});      // gradient of the input's part of the sums
        std::vector<T> recurrent(size(m_width), T{0}); // gradient of the state's part
        std::vector<T> before(size(m_hidden), T{0});
        switch (m_form.kind) {
        case RecurrentKind::Rnn:
            backwardRnn(step, h, sums);
            recurrent = sums;
            break;
        case RecurrentKind::Gru:
            backwardGru(step, h, sums, recurrent, before);
            break;
        case RecurrentKind::Lstm:
            backwardLstm(step, h, c, sums, into);
            recurrent = sums;
            break;
        }
        spread(step, x, sums, recurrent, into);
        addThroughState(step, recurrent, before);
        h = std::move(before);
    }

private:
    static std::size_t size(std::int64_t n) { return static_cast<std::size_t>(n); }
    [[nodiscard]] T clipped(T v) const
    {
        return static_cast<T>(std::clamp(static_cast<double>(v), -m_form.clip, m_form.clip));
    }
    [[nodiscard]] T value(std::size_t which, T sum) const
    {
        return static_cast<T>(m_activations[which].value(static_cast<double>(clipped(sum))));
    }
    /// Derivative by the sum; 0 where it was clipped.
    [[nodiscard]] T slope(std::size_t which, T sum) const
    {
        return std::abs(static_cast<double>(sum)) > m_form.clip
                   ? T{0}
                   : static_cast<T>(m_activations[which].slope(static_cast<double>(sum)));
    }

    void addBias(std::int64_t begin, std::int64_t end, T* sums) const
    {
        for (std::int64_t i = begin; m_weights.b != nullptr && i < end; ++i) {
            sums[i] += m_weights.b[i];
        }
    }
    /// sums of the gates [begin, end) += R·h + Rb.
    void addState(const std::vector<T>& h, std::int64_t begin, std::int64_t end, T* sums) const
    {
        const std::int64_t first = begin * m_hidden;
        const std::int64_t count = (end - begin) * m_hidden;
        for (std::int64_t i = 0; m_weights.b != nullptr && i < count; ++i) {
            sums[i] += m_weights.b[m_width + first + i];
        }
        for (std::int64_t k = 0; k < m_hidden; ++k) {
            addScaledRow(h[size(k)], m_weights.rT.data() + k * m_width + first, count, sums);
        }
    }
    void activate(RecurrentStep<T>& step, std::int64_t gate, std::size_t which) const
    {
        for (std::int64_t i = gate * m_hidden; i < (gate + 1) * m_hidden; ++i) {
            step.gates[size(i)] = value(which, step.sums[size(i)]);
        }
    }

    void forwardRnn(RecurrentStep<T>& step) const
    {
        addState(step.before, 0, 1, step.sums.data());
        activate(step, 0, 0);
        step.state = step.gates;
    }

    void forwardGru(RecurrentStep<T>& step) const
    {
        addState(step.before, 0, 2, step.sums.data());
        activate(step, 0, 0);
        activate(step, 1, 0);
        const T* reset = step.gates.data() + m_hidden;
        T* candidate = step.sums.data() + 2 * m_hidden;
        step.inner.assign(size(m_hidden), T{0});
        if (m_form.resetsAfter) {
            addState(step.before, 2, 3, step.inner.data());
            for (std::int64_t i = 0; i < m_hidden; ++i) {
                candidate[i] += reset[i] * step.inner[size(i)];
            }
        } else {
            for (std::int64_t i = 0; i < m_hidden; ++i) {
                step.inner[size(i)] = reset[i] * step.before[size(i)];
            }
            addState(step.inner, 2, 3, candidate);
        }
        activate(step, 2, 1);
        for (std::int64_t i = 0; i < m_hidden; ++i) {
            const T update = step.gates[size(i)];
            step.state[size(i)] = (1 - update) * step.gates[size(2 * m_hidden + i)] + update * step.before[size(i)];
        }
    }

    /// sums of the gate += peephole · cell; peepholes are in the order i, o, f, as the gates.
    void addPeephole(RecurrentStep<T>& step, std::int64_t gate, const std::vector<T>& cell) const
    {
        for (std::int64_t i = 0; m_weights.p != nullptr && i < m_hidden; ++i) {
            step.sums[size(gate * m_hidden + i)] += m_weights.p[gate * m_hidden + i] * cell[size(i)];
        }
    }

    void forwardLstm(RecurrentStep<T>& step) const
    {
        addState(step.before, 0, 4, step.sums.data());
        addPeephole(step, 0, step.cellBefore);
        addPeephole(step, 2, step.cellBefore);
        activate(step, 0, 0);
        activate(step, 2, 0);
        activate(step, 3, 1);
        for (std::int64_t i = 0; m_form.isCoupled && i < m_hidden; ++i) {
            step.gates[size(2 * m_hidden + i)] = 1 - step.gates[size(i)];
        }
        const T* gates = step.gates.data();
        step.cell.assign(size(m_hidden), T{0});
        for (std::int64_t i = 0; i < m_hidden; ++i) {
            step.cell[size(i)] =
                gates[2 * m_hidden + i] * step.cellBefore[size(i)] + gates[i] * gates[3 * m_hidden + i];
        }
        addPeephole(step, 1, step.cell);
        activate(step, 1, 0);
        for (std::int64_t i = 0; i < m_hidden; ++i) {
            step.state[size(i)] = gates[m_hidden + i] * value(2, step.cell[size(i)]);
        }
    }

    void backwardRnn(const RecurrentStep<T>& step, const std::vector<T>& h, std::vector<T>& sums) const
    {
        for (std::int64_t i = 0; i < m_hidden; ++i) {
            sums[size(i)] = h[size(i)] * slope(0, step.sums[size(i)]);
        }
    }

    void backwardGru(const RecurrentStep<T>& step, const std::vector<T>& h, std::vector<T>& sums,
                     std::vector<T>& recurrent, std::vector<T>& before) const
    {
        const T* update = step.gates.data();
        const T* reset = update + m_hidden;
        const T* candidate = reset + m_hidden;
        std::vector<T> inner(size(m_hidden), T{0}); // gradient of what the candidate reads
        for (std::int64_t i = 0; i < m_hidden; ++i) {
            const T g = h[size(i)];
            before[size(i)] = g * update[i];
            sums[size(i)] = g * (step.before[size(i)] - candidate[i]) * slope(0, step.sums[size(i)]);
            sums[size(2 * m_hidden + i)] = g * (1 - update[i]) * slope(1, step.sums[size(2 * m_hidden + i)]);
        }
        const T* ofCandidate = sums.data() + 2 * m_hidden;
        for (std::int64_t i = 0; i < m_hidden; ++i) {
            if (m_form.resetsAfter) {
                recurrent[size(2 * m_hidden + i)] = ofCandidate[i] * reset[i];
                inner[size(i)] = ofCandidate[i] * step.inner[size(i)];
            } else {
                recurrent[size(2 * m_hidden + i)] = ofCandidate[i];
                addScaledRow(ofCandidate[i], m_weights.r + (2 * m_hidden + i) * m_hidden, m_hidden, inner.data());
            }
        }
        for (std::int64_t i = 0; i < m_hidden; ++i) {
            const T ofReset = m_form.resetsAfter ? inner[size(i)] : inner[size(i)] * step.before[size(i)];
            before[size(i)] += m_form.resetsAfter ? T{0} : inner[size(i)] * reset[i];
            sums[size(m_hidden + i)] = ofReset * slope(0, step.sums[size(m_hidden + i)]);
        }
        std::copy(sums.begin(), sums.begin() + 2 * m_hidden, recurrent.begin());
    }

    void backwardLstm(const RecurrentStep<T>& step, const std::vector<T>& h, std::vector<T>& c, std::vector<T>& sums,
                      const RecurrentData<T>& into) const
    {
        const T* gates = step.gates.data();
        const T* p = m_weights.p;
        for (std::int64_t i = 0; i < m_hidden; ++i) {
            const auto at = [&](std::int64_t gate) { return size(gate * m_hidden + i); };
            const T cell = step.cell[size(i)];
            const T cellBefore = step.cellBefore[size(i)];
            sums[at(1)] = h[size(i)] * value(2, cell) * slope(0, step.sums[at(1)]);
            T g = c[size(i)] + h[size(i)] * gates[m_hidden + i] * slope(2, cell);
            g += p == nullptr ? T{0} : sums[at(1)] * p[m_hidden + i];
            const T ofForget = m_form.isCoupled ? T{0} : g * cellBefore; // coupled, it is the input gate's
            const T ofInput = g * (gates[3 * m_hidden + i] - (m_form.isCoupled ? cellBefore : T{0}));
            sums[at(0)] = ofInput * slope(0, step.sums[at(0)]);
            sums[at(2)] = ofForget * slope(0, step.sums[at(2)]);
            sums[at(3)] = g * gates[i] * slope(1, step.sums[at(3)]);
            c[size(i)] = g * gates[2 * m_hidden + i];
            c[size(i)] += p == nullptr ? T{0} : sums[at(0)] * p[i] + sums[at(2)] * p[2 * m_hidden + i];
            if (into.p != nullptr) {
                into.p[i] += sums[at(0)] * cellBefore;
                into.p[m_hidden + i] += sums[at(1)] * cell;
                into.p[2 * m_hidden + i] += sums[at(2)] * cellBefore;
            }
        }
    }

    /// Adds to the gradients of the input, the weights and the biases.
    void spread(const RecurrentStep<T>& step, const T* x, const std::vector<T>& sums, const std::vector<T>& recurrent,
                const RecurrentData<T>& into) const
    {
        const bool isReset = m_form.kind == RecurrentKind::Gru && !m_form.resetsAfter;
        for (std::int64_t row = 0; row < m_width; ++row) {
            if (into.x != nullptr) {
                addScaledRow(sums[size(row)], m_weights.w + row * m_form.inputs, m_form.inputs, into.x);
            }
            if (into.w != nullptr) {
                addScaledRow(sums[size(row)], x, m_form.inputs, into.w + row * m_form.inputs);
            }
            if (into.r != nullptr) {
                const std::vector<T>& read = isReset && row >= 2 * m_hidden ? step.inner : step.before;
                addScaledRow(recurrent[size(row)], read.data(), m_hidden, into.r + row * m_hidden);
            }
            if (into.b != nullptr) {
                into.b[row] += sums[size(row)];
                into.b[m_width + row] += recurrent[size(row)];
            }
        }
    }

    /// before += Rᵀ·gradient, for the gates that read the state itself.
    void addThroughState(const RecurrentStep<T>&, const std::vector<T>& recurrent, std::vector<T>& before) const
    {
        const bool isReset = m_form.kind == RecurrentKind::Gru && !m_form.resetsAfter;
        for (std::int64_t row = 0; row < (isReset ? 2 * m_hidden : m_width); ++row) {
            addScaledRow(recurrent[size(row)], m_weights.r + row * m_hidden, m_hidden, before.data());
        }
    }

    const RecurrentForm& m_form;
    const RecurrentWeights<T>& m_weights;
    std::array<GateActivation, 3> m_activations;
    std::int64_t m_hidden;
    std::int64_t m_width;
};

} // namespace retro::ops
