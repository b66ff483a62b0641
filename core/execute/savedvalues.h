// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/execute/boundmodel.h"

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

namespace retro::execute
{

/// What the forward pass keeps for the backward pass.
enum class SavePolicy : std::uint8_t {
    Autograd, ///< per node: what its reverse rule reads when every float operand requires a gradient
    All,      ///< everything, so that no promise is ever raised
    Nothing,  ///< every value lives until its last reader: a forward pass alone
    Plan      ///< the values that a checkpoint plan keeps; SavePlan is told which
};

/// "autograd", "all", "nothing", "plan".
[[nodiscard]] std::string_view nameOf(SavePolicy policy);

/// What each node may read, by policy: answers for one node never use what another node kept.
class SavePlan
{
public:
    /// A policy other than Plan.
    SavePlan(const BoundModel& model, SavePolicy policy);
    /// Policy Plan: these values are kept, and every node may read them. Operands that carry no relevance count as
    /// kept, too: who holds the values computes them again (RecomputingStore).
    SavePlan(const BoundModel& model, std::span<const ValueId> kept);

    [[nodiscard]] SavePolicy policy() const { return m_policy; }
    /// What node `node` kept (inputs keep their value).
    [[nodiscard]] const ops::Reads& of(NodeId node) const { return m_reads[node.index()]; }
    /// True when some node keeps this value.
    [[nodiscard]] bool keeps(ValueId value) const { return m_kept[value.index()]; }

private:
    SavePolicy m_policy;
    std::vector<ops::Reads> m_reads;
    std::vector<bool> m_kept;
};

/// Where kept values live. Implementations decide the tier; the plain one is memory.
class ValueStore
{
public:
    virtual ~ValueStore() = default;
    /// Keeps a value; a second call for the same value replaces it.
    virtual void put(ValueId value, Tensor tensor) = 0;
    /// Invalid when the value was not kept and cannot be had in another way.
    [[nodiscard]] virtual Tensor get(ValueId value) const = 0;
    /// Invalid when the value is not kept as it is.
    [[nodiscard]] virtual Tensor kept(ValueId value) const { return get(value); }
};

/// Keeps values in memory.
class MemoryValueStore final : public ValueStore
{
public:
    explicit MemoryValueStore(std::size_t valueCount) : m_tensors(valueCount) {}
    void put(ValueId value, Tensor tensor) override { m_tensors[value.index()] = std::move(tensor); }
    [[nodiscard]] Tensor get(ValueId value) const override { return m_tensors[value.index()]; }

private:
    std::vector<Tensor> m_tensors;
};

/// Kept values of one forward pass, seen node by node. Constants and graph inputs are always at hand.
class SavedValues
{
public:
    SavedValues(std::shared_ptr<const BoundModel> model, std::shared_ptr<const SavePlan> plan,
                std::shared_ptr<const ValueStore> store)
        : m_model(std::move(model)), m_plan(std::move(plan)), m_store(std::move(store))
    {}

    [[nodiscard]] const BoundModel& model() const { return *m_model; }
    [[nodiscard]] const std::shared_ptr<const BoundModel>& sharedModel() const { return m_model; }
    [[nodiscard]] const SavePlan& plan() const { return *m_plan; }
    /// Operand `slot` as node `node` kept it, or the constant; invalid when the node did not keep it.
    [[nodiscard]] Tensor operand(NodeId node, std::size_t slot) const;
    /// Output `k` as node `node` kept it (inputs: the input); invalid when the node did not keep it.
    [[nodiscard]] Tensor output(NodeId node, std::size_t k) const;
    /// True when operand(node, slot) would be valid, without fetching it.
    [[nodiscard]] bool hasOperand(NodeId node, std::size_t slot) const;
    [[nodiscard]] bool hasOutput(NodeId node, std::size_t k) const;
    /// A value kept by anybody (for inspection and the oracle under policy All); invalid otherwise.
    [[nodiscard]] Tensor anyValue(ValueId value) const;

private:
    std::shared_ptr<const BoundModel> m_model;
    std::shared_ptr<const SavePlan> m_plan;
    std::shared_ptr<const ValueStore> m_store;
};

} // namespace retro::execute
