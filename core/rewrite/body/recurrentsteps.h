// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/ops/recurrent/recurrentnode.h"
#include "core/rewrite/body/bodybuilder.h"

#include <array>
#include <initializer_list>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

namespace retro::rewrite
{

/// Operands of the recurrent operators.
enum RecurrentSlot : std::size_t {
    kInput,
    kWeights,
    kStateWeights,
    kBiases,
    kLengths,
    kInitialState,
    kInitialCell,
    kPeepholes
};

/// A recurrent node with all extents known.
struct RecurrentSetting
{
    ops::RecurrentKind kind = ops::RecurrentKind::Rnn;
    std::vector<bool> isReverse;                                      ///< per direction
    std::vector<std::array<ops::GateActivation, 3>> activations = {}; ///< f, g, h per direction
    std::int64_t steps = 0;
    std::int64_t batch = 0;
    std::int64_t inputs = 0;
    std::int64_t hidden = 0;
    bool isBatchFirst = false;
    bool resetsAfter = false; ///< linear_before_reset
    bool isCoupled = false;   ///< input_forget: the forget gate is 1 − input gate
    double clip = std::numeric_limits<double>::infinity();
};

/// What one step hands to the next, each batch × hidden.
struct RecurrentState
{
    ValueId hidden;
    ValueId cell; ///< LSTM only
};

/// Rows of a batch that end early: where a step is behind the end of its row, the state stays and the result is 0.
class RecurrentLengths
{
public:
    RecurrentLengths(BodyBuilder& body, const RecurrentSetting& setting);

    /// `value` in the rows that have a step t, else what was before.
    [[nodiscard]] ValueId valueOrKept(const std::string& name, std::size_t t, ValueId value, ValueId before);
    /// `value` in the rows that have a step t, else 0.
    [[nodiscard]] ValueId orZero(const std::string& name, std::size_t t, ValueId value);

private:
    [[nodiscard]] ValueId runs(std::size_t t);

    BodyBuilder& m_body;
    ValueId m_lengths; // batch × 1; invalid without sequence_lens
    ValueId m_zero;
    std::vector<ValueId> m_runs; // per step
};

/// Writes the steps of one direction.
class RecurrentSteps
{
public:
    RecurrentSteps(BodyBuilder& body, const RecurrentSetting& setting, std::size_t direction);

    /// State after step t, whose input x is batch × inputs.
    [[nodiscard]] RecurrentState step(std::size_t t, ValueId x, const RecurrentState& before);
    /// Name of something in step t.
    [[nodiscard]] std::string name(std::size_t t, std::string_view what) const;

private:
    /// x·W[rows]ᵀ + bias, for the gates [first, last).
    struct Layer
    {
        ValueId weights;
        ValueId bias; ///< may be invalid
    };
    enum class Reads : std::uint8_t { Both, Input, State };

    [[nodiscard]] Layer layerOf(const std::string& name, std::int64_t first, std::int64_t last,
                                Reads reads = Reads::Both);
    [[nodiscard]] bool areConstant(std::initializer_list<std::size_t> slots) const;
    [[nodiscard]] tensor::Tensor constantPart(std::size_t slot, std::int64_t begin, std::int64_t count) const;
    [[nodiscard]] ValueId partOf(const std::string& name, std::size_t slot, std::int64_t begin, std::int64_t count);
    [[nodiscard]] ValueId weightsOf(const std::string& name, std::int64_t begin, std::int64_t rows, Reads reads);
    [[nodiscard]] ValueId biasOf(const std::string& name, std::int64_t begin, std::int64_t rows, Reads reads);
    [[nodiscard]] ValueId peephole(const std::string& name, std::int64_t gate);
    [[nodiscard]] ValueId apply(const std::string& name, const Layer& layer, ValueId x);
    [[nodiscard]] ValueId beside(const std::string& name, ValueId x, ValueId state);
    [[nodiscard]] ValueId gated(const std::string& name, ValueId signal, ValueId gate);
    [[nodiscard]] ValueId activated(const std::string& name, std::size_t which, ValueId sum);
    [[nodiscard]] ValueId withPeephole(const std::string& name, ValueId sum, ValueId cell, ValueId weights);

    [[nodiscard]] RecurrentState rnn(std::size_t t, ValueId x, const RecurrentState& before);
    [[nodiscard]] RecurrentState gru(std::size_t t, ValueId x, const RecurrentState& before);
    [[nodiscard]] ValueId oneLess(const std::string& what, std::size_t t, ValueId gate);
    [[nodiscard]] RecurrentState lstm(std::size_t t, ValueId x, const RecurrentState& before);
    [[nodiscard]] ValueId gruCandidate(std::size_t t, ValueId x, ValueId state, ValueId reset);

    BodyBuilder& m_body;
    const RecurrentSetting& m_setting;
    std::size_t m_direction;
    std::string m_name;
    Layer m_gates;
    Layer m_candidate;
    Layer m_candidateState;             // GRU with linear_before_reset: the state's part alone
    std::array<ValueId, 3> m_peepholes; // i, o, f; invalid without
};

} // namespace retro::rewrite
