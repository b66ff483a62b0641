// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/lrp/rules/rule.h"

#include <span>
#include <stop_token>
#include <string>
#include <vector>

namespace retro::lrp
{

/// What weigh() makes of forward values alone, kept from one region to the next: denominators. One thread at a time.
class WeighMemory
{
public:
    /// Keeps at most `bytes`; what is beyond is made again.
    WeighMemory(std::size_t nodes, std::int64_t bytes) : m_kept(nodes), m_left(bytes) {}
    /// What follows belongs to weigh() of that node.
    void begin(base::NodeId node)
    {
        m_node = node.index();
        m_next = 0;
    }
    /// The next tensor of this node, which is the same in every weigh() of it.
    template <class Make>
    [[nodiscard]] Tensor recall(Make&& make)
    {
        std::vector<Tensor>& kept = m_kept[m_node];
        const std::size_t at = m_next++;
        if (at < kept.size()) {
            return kept[at];
        }
        Tensor made = make();
        const std::int64_t bytes = made.bytes();
        if (at == kept.size() && bytes <= m_left) {
            m_left -= bytes;
            kept.push_back(made);
        }
        return made;
    }

private:
    std::vector<std::vector<Tensor>> m_kept;
    std::int64_t m_left;
    std::size_t m_node = 0;
    std::size_t m_next = 0;
};

/// What a rule may look at when the weights of a node's results are made of those of its operands: what reads() named,
/// as for apply(), and the weights.
struct WeighContext
{
    const ops::BoundOperator& op;
    std::span<const Tensor> operands;
    std::span<const Tensor> outputs;
    std::span<const std::uint8_t> tracked;
    std::span<const ops::TensorType> operandTypes;
    /// Per operand slot, in the operand's shape: which part of one unit of relevance at an element of the operand is
    /// meant. Invalid = zero, as for all that takes no relevance. At least one is valid.
    std::span<const Tensor> weights;
    WeighMemory* memory = nullptr; ///< null: nothing is kept
    std::stop_token stop = {};     ///< when it is asked for, what is given is without meaning

    /// What apply() gets, where `relevance` arrives.
    [[nodiscard]] RuleContext with(std::span<const Tensor> relevance) const
    {
        return {op, operands, outputs, relevance, tracked, operandTypes};
    }
};

/// A rule that is linear in what arrives: with the forward values held, apply() hands R·M on, and M depends on values
/// and parameters alone. Rules that look at the relevance itself (deconvnet, filters) are none. A rule that does not
/// say so is refused where weights are asked for.
class LinearRule
{
public:
    virtual ~LinearRule() = default;
    /// False with parameters under which it is none after all.
    [[nodiscard]] virtual bool isLinear() const { return true; }
    /// Why M cannot be applied forwards at this operator, in words: "how relevance passes … is not known"; empty when
    /// it can.
    [[nodiscard]] virtual std::string noForward(const ops::BoundOperator& op,
                                                std::span<const std::uint8_t> tracked) const
    {
        (void)op;
        (void)tracked;
        return {};
    }
    /// The transpose of apply(): per output, Σ over operands of Mᵀ·w; invalid = zero. ⟨weigh(w), R⟩ = ⟨w, apply(R)⟩ for
    /// every R. Where noForward() is empty.
    [[nodiscard]] virtual std::vector<Tensor> weigh(const WeighContext& context) const = 0;
};

/// The rule as one that is linear; null when it does not say so.
[[nodiscard]] inline const LinearRule* asLinear(const Rule& rule)
{
    const auto* linear = dynamic_cast<const LinearRule*>(&rule);
    return linear != nullptr && linear->isLinear() ? linear : nullptr;
}

} // namespace retro::lrp
