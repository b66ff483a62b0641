// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/tensor/tensor.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace retro::ops
{

/// The rows (last axis) of a tensor that are not all 0, packed, when an eighth of all rows or more are 0. What is
/// asked about one token leaves the rows of the others 0, behind a causal mask those of later tokens in every layer,
/// and a product need not visit these; copying the others there and back costs a small part of a product of an eighth.
class FewRows
{
public:
    /// None when more than seven eighths of the rows have something in them; a NaN is something.
    [[nodiscard]] static std::optional<FewRows> of(const tensor::Tensor& t);

    /// [rows that are not 0, length of a row].
    [[nodiscard]] const tensor::Tensor& packed() const { return m_packed; }
    /// Rows of another length, one per packed row, where those lay; zeros elsewhere. `shape` has as many rows as the
    /// tensor had.
    [[nodiscard]] tensor::Tensor spread(const tensor::Tensor& rows, const tensor::Shape& shape) const;

private:
    FewRows(std::vector<std::int64_t> places, tensor::Tensor packed)
        : m_places(std::move(places)), m_packed(std::move(packed))
    {}

    std::vector<std::int64_t> m_places;
    tensor::Tensor m_packed;
};

} // namespace retro::ops
