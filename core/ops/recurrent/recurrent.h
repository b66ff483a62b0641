// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/ops/bind/operatorbase.h"
#include "core/ops/recurrent/recurrentform.h"

namespace retro::ops
{

/// Slot of sequence_lens, the only operand of integers.
inline constexpr std::size_t kSequenceLengths = 4;

/// RNN, GRU or LSTM. Operands X, W, R, B, sequence_lens, initial_h and, for LSTM, initial_c and P; outputs Y, Y_h and,
/// for LSTM, Y_c. Rows of the batch run in parallel.
class Recurrent final : public Operator<Composed>
{
public:
    Recurrent(std::vector<TensorType> outputs, RecurrentForm form, std::vector<tensor::Shape> operands);

    /// Lengths of sequences lie within the steps.
    [[nodiscard]] base::Result<void> check(std::span<const Tensor> operands) const override;
    [[nodiscard]] std::vector<Tensor> forward(std::span<const Tensor> operands) const override;
    [[nodiscard]] Reads savedForGradient() const override { return Reads::allOperands(); }
    /// By any floating operand: back through all steps.
    [[nodiscard]] Tensor pullback(std::span<const Tensor> s, std::span<const Tensor> operands,
                                  std::span<const Tensor> outputs, std::size_t slot) const override;
    [[nodiscard]] double flops() const override;

private:
    RecurrentForm m_form;
    std::vector<tensor::Shape> m_operands; // per slot
};

} // namespace retro::ops
