// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/execute/savedvalues.h"

#include <utility>
#include <vector>

namespace retro::execute
{

/// Keeps values in memory until they are let go one by one: for a pass that knows its last reader of each.
class ReleasingStore final : public ValueStore
{
public:
    explicit ReleasingStore(std::size_t valueCount) : m_tensors(valueCount) {}
    void put(ValueId value, Tensor tensor) override { m_tensors[value.index()] = std::move(tensor); }
    /// Invalid, too, when the value was let go.
    [[nodiscard]] Tensor get(ValueId value) const override { return m_tensors[value.index()]; }
    /// Nobody asks for the value any more.
    void letGo(ValueId value) { m_tensors[value.index()] = {}; }

private:
    std::vector<Tensor> m_tensors;
};

} // namespace retro::execute
