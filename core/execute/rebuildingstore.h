// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/execute/savedvalues.h"

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <set>
#include <span>
#include <vector>

namespace retro::execute
{

/// What a RebuildingStore may keep. Where what it keeps takes more than `budget`, results of matrix products and of
/// attentions are not kept either, as far as computing them again takes at most `share` of the operations of a forward
/// pass; beyond `most` bytes, whatever it takes.
struct KeepingBounds
{
    std::int64_t least = 0; ///< what takes less is kept as it is
    std::int64_t budget = std::numeric_limits<std::int64_t>::max();
    std::int64_t most = std::numeric_limits<std::int64_t>::max();
    double share = 0;
};

/// Values of a forward pass until they are let go one by one, for a pass that knows its last reader of each. A value
/// that costs little next to a matrix product (a function of elements, a sum or product of them, a normalisation of
/// rows, a move) and that follows from others that are kept is not kept itself: it is computed again whenever somebody
/// asks, with the bits of the forward pass. What it follows from then lives until it is let go. The result of a product
/// that is not kept (KeepingBounds) is computed once, when it is first needed, and lives from then on. Used by one
/// thread.
class RebuildingStore final : public ValueStore
{
public:
    /// `read`: what get() will be asked for; of those, `asIs` are kept in any case.
    RebuildingStore(std::shared_ptr<const BoundModel> model, std::span<const ValueId> read,
                    std::span<const ValueId> asIs, const KeepingBounds& bounds);
    RebuildingStore(std::shared_ptr<const BoundModel> model, std::span<const ValueId> read,
                    std::span<const ValueId> asIs, std::int64_t least)
        : RebuildingStore(std::move(model), read, asIs, KeepingBounds{least})
    {}

    /// What a forward pass must put.
    [[nodiscard]] const std::vector<ValueId>& keptValues() const { return m_keptValues; }
    /// Values of `read` that are computed again.
    [[nodiscard]] std::size_t rebuiltCount() const { return m_rebuiltCount; }
    /// It is computed again whenever it is asked for.
    [[nodiscard]] bool isRebuilt(ValueId value) const { return m_isRebuilt[value.index()]; }
    /// Results of products that are computed when they are first needed, and the operations that takes.
    [[nodiscard]] const std::vector<ValueId>& lateValues() const { return m_lateValues; }
    [[nodiscard]] double lateFlops() const { return m_lateFlops; }

    /// Nodes that run again if every value of `read` is asked for once, each as often as it does.
    [[nodiscard]] std::vector<NodeId> nodesAgain() const;

    void put(ValueId value, Tensor tensor) override { m_tensors[value.index()] = std::move(tensor); }
    /// Invalid when the value was let go.
    [[nodiscard]] Tensor get(ValueId value) const override;
    [[nodiscard]] Tensor kept(ValueId value) const override { return get(value); }
    /// Nobody asks for the value any more.
    void letGo(ValueId value);

private:
    void choose(std::span<const ValueId> read, std::span<const ValueId> asIs);
    /// Decides whether a value is kept (as `staysAsIs` asks) or, where it is read, computed again.
    void settle(ValueId value, bool isRead, bool staysAsIs);
    void chooseLate(std::span<const ValueId> asIs, const KeepingBounds& bounds);
    /// Those first that save most bytes for an operation.
    [[nodiscard]] std::vector<ValueId> lateCandidates(std::span<const ValueId> asIs) const;
    [[nodiscard]] double flopsOf(ValueId value) const;
    /// How many bytes less are kept then.
    std::int64_t makeLate(ValueId value);
    [[nodiscard]] bool canBeLate(ValueId value) const;
    [[nodiscard]] std::int64_t keptBytes() const;
    [[nodiscard]] std::size_t depthOf(ValueId value) const;
    [[nodiscard]] std::vector<ValueId> sourcesOf(ValueId value) const;
    [[nodiscard]] bool isKept(ValueId value) const;
    [[nodiscard]] std::set<NodeId> nodesOf(ValueId value) const;
    [[nodiscard]] Tensor computed(ValueId value) const;
    void make(ValueId value) const;
    void dropSources(ValueId value) const;
    void releaseUnneeded(ValueId value) const;

    std::shared_ptr<const BoundModel> m_model;
    mutable std::vector<Tensor> m_tensors; // by ValueId
    std::vector<std::size_t> m_depth;      // by ValueId: steps from what is kept; kBeyond where too many
    std::vector<bool> m_isRebuilt;         // by ValueId
    std::vector<bool> m_isAsked;           // by ValueId: it is read and was not let go
    mutable std::vector<bool> m_isLate;    // by ValueId: a product that was not computed yet
    /// By ValueId: rebuilt values that are still asked for, and late ones, that follow from it.
    mutable std::vector<std::size_t> m_dependents;
    std::vector<ValueId> m_keptValues;
    std::vector<ValueId> m_lateValues;
    std::size_t m_rebuiltCount = 0;
    double m_lateFlops = 0;
};

} // namespace retro::execute
