// SPDX-License-Identifier: Apache-2.0
#include "core/engine/forwarding/packedsigns.h"

#include <cmath>
#include <limits>
#include <vector>

namespace retro::engine
{

using tensor::DType;
using tensor::Tensor;

namespace
{

constexpr std::size_t kBits = 64;

bool bitOf(const Tensor& bits, std::size_t i)
{
    return ((bits.data<std::uint64_t>()[i / kBits] >> (i % kBits)) & 1U) != 0;
}

/// One bit per element: is it above zero?
template <class T>
Tensor aboveZero(std::span<const T> values)
{
    std::vector<std::uint64_t> bits((values.size() + kBits - 1) / kBits);
    for (std::size_t i = 0; i < values.size(); ++i) {
        bits[i / kBits] |= std::uint64_t{values[i] > 0 ? 1U : 0U} << (i % kBits);
    }
    return Tensor::of<std::uint64_t>({static_cast<std::int64_t>(bits.size())}, bits);
}

} // namespace

PackedSigns::PackedSigns(const Tensor& x, const std::optional<Tensor>& hasWon, bool smallestWins)
    : m_type(x.dtype()), m_shape(x.shape()), m_smallestWins(smallestWins)
{
    if (m_type == DType::Float64) {
        pack<double>(x, hasWon);
    } else {
        pack<float>(x, hasWon);
    }
}

template <class T>
void PackedSigns::pack(const Tensor& x, const std::optional<Tensor>& hasWon)
{
    const Tensor flat = x.contiguous();
    const std::span<const T> values = flat.span<T>();
    m_positive = aboveZero(values);
    if (!hasWon) {
        return;
    }
    const Tensor wins = hasWon->contiguous();
    std::vector<T> won(wins.span<T>().begin(), wins.span<T>().end());
    for (std::size_t i = 0; i < won.size(); ++i) {
        won[i] = std::isnan(values[i]) ? T{1} : won[i]; // a window that has one has no winner
    }
    m_won = aboveZero(std::span<const T>(won));
    std::vector<T> winners;
    for (std::size_t i = 0; i < values.size(); ++i) {
        if (won[i] > 0) {
            winners.push_back(values[i]);
        }
    }
    m_winners = Tensor::of<T>({static_cast<std::int64_t>(winners.size())}, winners);
}

template <class T>
Tensor PackedSigns::expandAs() const
{
    using Limits = std::numeric_limits<T>;
    const T positive = m_smallestWins ? Limits::infinity() : Limits::denorm_min();
    const T other = m_smallestWins ? T{0} : -Limits::infinity();
    tensor::TensorBuffer buffer(m_type, m_shape);
    const std::span<T> values = buffer.span<T>();
    const T* winner = m_won.isValid() ? m_winners.data<T>() : nullptr;
    for (std::size_t i = 0; i < values.size(); ++i) {
        values[i] = bitOf(m_positive, i) ? positive : other;
        if (winner != nullptr && bitOf(m_won, i)) {
            values[i] = *winner++;
        }
    }
    return std::move(buffer).freeze();
}

Tensor PackedSigns::expand() const { return m_type == DType::Float64 ? expandAs<double>() : expandAs<float>(); }

std::int64_t PackedSigns::bytes() const
{
    return m_positive.bytes() + (m_won.isValid() ? m_won.bytes() + m_winners.bytes() : 0);
}

} // namespace retro::engine
