// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/runtime/jointprogram.h"
#include "core/runtime/reversehalf.h"

#include <functional>
#include <optional>
#include <span>
#include <vector>

namespace retro::runtime
{

using tensor::Tensor;

/// Computes single operators of a joint graph from values that somebody else holds. An operator sees only what the
/// graph says that it reads: what is missing there shows.
class JointWork
{
public:
    /// What an operator made: a tensor per output of the operator, and what it took.
    struct Outcome
    {
        std::vector<Tensor> outputs;
        double flops = 0;
    };
    /// A value of the joint graph that an operator reads; valid.
    using Operands = std::function<Tensor(OpValueId)>;

    /// Everything is borrowed for the life of the work. Errors: of a node that reads constants alone.
    [[nodiscard]] static base::Result<JointWork> make(const JointProgram& program, std::span<const Tensor> inputs,
                                                      const ReverseHalf& half);
    /// Runs an operator. Errors (Input): data that it cannot work with, by node.
    [[nodiscard]] base::Result<Outcome> run(OpId op, const Operands& operands, bool isRepeat = false);

private:
    JointWork(const JointProgram& program, std::span<const Tensor> inputs, const ReverseHalf& half)
        : m_program(program), m_inputs(inputs), m_half(half), m_isNothing(program.graph().values().size(), 0)
    {}

    [[nodiscard]] Tensor known(ValueId value) const;
    [[nodiscard]] Tensor forwardValue(OpId op, ValueId value, const Operands& operands) const;
    [[nodiscard]] Tensor upstreamOf(OpId op, ValueId value, const Operands& operands) const;
    [[nodiscard]] Tensor zerosFor(OpValueId gradient) const;
    [[nodiscard]] base::Result<Outcome> runForward(OpId op, const Operands& operands, bool isRepeat) const;
    [[nodiscard]] base::Result<Outcome> runGradient(OpId op, const Operands& operands);
    /// What a reader gives the operands of a group, summed; invalid when nothing arrives at the reader.
    [[nodiscard]] base::Result<Tensor> groupOf(OpId op, const std::vector<Part>& group, const Operands& operands,
                                               double& flops) const;

    const JointProgram& m_program;
    std::span<const Tensor> m_inputs;
    const ReverseHalf& m_half;
    std::vector<Tensor> m_constants; ///< per value of the model: results of nodes that read constants alone
    /// Per value of the joint graph: a gradient at which nothing arrived. It is zeros, and its readers do not run.
    std::vector<std::uint8_t> m_isNothing;
};

} // namespace retro::runtime
