// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/execute/savedvalues.h"

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

namespace retro::execute
{

/// Values of a forward pass until they are let go one by one, for a pass that knows its last reader of each. A value
/// that costs little next to a matrix product (a function of elements, a sum or product of them, a normalisation of
/// rows, a move) and that follows from others that are kept is not kept itself: it is computed again whenever somebody
/// asks, with the bits of the forward pass. What it follows from then lives until it is let go. Used by one thread.
class RebuildingStore final : public ValueStore
{
public:
    /// `read`: what get() will be asked for; of those, `asIs` are kept in any case, and so are all of them where they
    /// take fewer than `least` bytes together.
    RebuildingStore(std::shared_ptr<const BoundModel> model, std::span<const ValueId> read,
                    std::span<const ValueId> asIs, std::int64_t least);

    /// What a forward pass must put.
    [[nodiscard]] const std::vector<ValueId>& keptValues() const { return m_keptValues; }
    /// Values of `read` that are computed again.
    [[nodiscard]] std::size_t rebuiltCount() const { return m_rebuiltCount; }

    void put(ValueId value, Tensor tensor) override { m_tensors[value.index()] = std::move(tensor); }
    /// Invalid when the value was let go.
    [[nodiscard]] Tensor get(ValueId value) const override;
    [[nodiscard]] Tensor kept(ValueId value) const override { return get(value); }
    /// Nobody asks for the value any more.
    void letGo(ValueId value);

private:
    void choose(std::span<const ValueId> read, std::span<const ValueId> asIs);
    [[nodiscard]] std::size_t depthOf(ValueId value) const;
    [[nodiscard]] std::vector<ValueId> sourcesOf(ValueId value) const;
    void releaseUnneeded(ValueId value);

    std::shared_ptr<const BoundModel> m_model;
    std::vector<Tensor> m_tensors;         // by ValueId
    std::vector<std::size_t> m_depth;      // by ValueId: steps from what is kept; kBeyond where too many
    std::vector<std::size_t> m_dependents; // by ValueId: rebuilt values that are still asked for and follow from it
    std::vector<bool> m_isRebuilt;         // by ValueId
    std::vector<bool> m_isAsked;           // by ValueId: it is read and was not let go
    std::vector<ValueId> m_keptValues;
    std::size_t m_rebuiltCount = 0;
};

} // namespace retro::execute
