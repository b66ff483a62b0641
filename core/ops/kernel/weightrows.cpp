// SPDX-License-Identifier: Apache-2.0
#include "core/ops/kernel/weightrows.h"

#include "core/base/failure.h"
#include "core/ops/kernel/producttile.h"
#include "core/ops/kernel/registers.h"

#include <algorithm>
#include <bit>
#include <type_traits>

namespace retro::ops
{

using tensor::DType;

namespace
{

/// float16 by arithmetic and selections alone, so that a loop over it vectorises. Exact: what is multiplied is a power
/// of two.
struct FromHalf
{
    float operator()(std::uint16_t bits) const
    {
        constexpr float kBias = 0x1p112F;
        const std::uint32_t magnitude = static_cast<std::uint32_t>(bits & 0x7fffU) << 13U;
        const std::uint32_t sign = static_cast<std::uint32_t>(bits & 0x8000U) << 16U;
        const std::uint32_t finite = std::bit_cast<std::uint32_t>(std::bit_cast<float>(magnitude) * kBias);
        const bool isFinite = magnitude < (0x7c00U << 13U);
        return std::bit_cast<float>(sign | (isFinite ? finite : magnitude | 0x7f800000U));
    }
};

struct FromBfloat
{
    float operator()(std::uint16_t bits) const { return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16U); }
};

struct FromFloat
{
    float operator()(float number) const { return number; }
};

template <class From, class T, class F>
void mapNumbers(const T* from, std::int64_t count, float* to, const F& f)
{
    onWidestRegisters([from, count, to, f] {
        for (std::int64_t i = 0; i < count; ++i) {
            to[i] = f(From{}(from[i]));
        }
    });
}

/// Each number as the variant has it; in one rounding less nowhere than variantOf() (weightvariants.h).
template <class From, class T>
void widenNumbers(const T* from, std::int64_t count, float* to, WeightVariant variant)
{
    const float g = static_cast<float>(variant.gamma);
    switch (variant.part) {
    case WeightPart::All:
        return mapNumbers<From>(from, count, to, [](float w) { return w; });
    case WeightPart::Positive:
        return mapNumbers<From>(from, count, to, [](float w) { return w < 0 ? 0.0F : w; });
    case WeightPart::Negative:
        return mapNumbers<From>(from, count, to, [](float w) { return w > 0 ? 0.0F : w; });
    case WeightPart::GammaPositive:
        return mapNumbers<From>(from, count, to, [g](float w) { return w + g * (w < 0 ? 0.0F : w); });
    case WeightPart::GammaNegative:
        return mapNumbers<From>(from, count, to, [g](float w) { return w + g * (w > 0 ? 0.0F : w); });
    case WeightPart::Square:
        return mapNumbers<From>(from, count, to, [](float w) { return w * w; });
    case WeightPart::Ones:
        std::fill_n(to, count, 1.0F);
        return;
    }
}

template <class From, class T>
class StoredRows final : public WeightRows
{
public:
    StoredRows(Tensor matrix, const T* data, WeightVariant variant)
        : WeightRows(matrix.shape()[0], matrix.shape()[1]), m_matrix(std::move(matrix)), m_data(data),
          m_variant(variant)
    {}

    void widen(std::int64_t row, std::int64_t begin, std::int64_t count, float* to) const override
    {
        widenNumbers<From>(m_data + row * length() + begin, count, to, m_variant);
    }

    void widenPanels(std::int64_t first, std::int64_t rows, std::int64_t begin, std::int64_t count,
                     const Panels& panels) const override
    {
        const T* const from = m_data + first * length() + begin;
        if (count != panels.width || !beginsFast()) {
            WeightRows::widenPanels(first, rows, begin, count, panels);
        } else if (count == 4 * kEight) {
            widenPanel<4 * kEight>(from, rows, panels.to);
        } else if (count == 2 * kEight) {
            widenPanel<2 * kEight>(from, rows, panels.to);
        } else if (count == kEight) {
            widenPanel<kEight>(from, rows, panels.to);
        } else {
            WeightRows::widenPanels(first, rows, begin, count, panels);
        }
    }
    [[nodiscard]] bool beginsFast() const override { return m_variant.part == WeightPart::All; }
    [[nodiscard]] const std::uint16_t* bfloats(std::int64_t row, std::int64_t begin) const override
    {
        if constexpr (std::is_same_v<From, FromBfloat>) {
            return m_variant.part == WeightPart::All ? m_data + row * length() + begin : nullptr;
        }
        return nullptr;
    }
    [[nodiscard]] bool multiplyFew(const TurnedProduct& product, std::int64_t first) const override
    {
        TurnedProduct own = product;
        own.bfloats = bfloats(first, 0);
        own.bColumn = length();
        if (own.bfloats != nullptr) {
            productTiles().multiplyTurned(own);
        }
        return own.bfloats != nullptr;
    }
    void fetch(std::int64_t row, std::int64_t begin, std::int64_t count) const override
    {
        fetchBytes(m_data + row * length() + begin, count * static_cast<std::int64_t>(sizeof(T)));
    }

private:
    static constexpr std::int64_t kEight = 8;

    /// Pieces of so many numbers of each row, one after the other.
    template <std::int64_t width>
    void widenPanel(const T* from, std::int64_t rows, float* to) const
    {
        const std::int64_t row = length();
        onWidestRegisters([from, rows, row, to] {
            for (std::int64_t k = 0; k < rows; ++k) {
                for (std::int64_t i = 0; i < width; ++i) {
                    to[k * width + i] = From{}(from[k * row + i]);
                }
            }
        });
    }

    Tensor m_matrix; // keeps the data in place
    const T* m_data;
    WeightVariant m_variant;
};

template <class From, class T>
std::unique_ptr<const WeightRows> storedRows(const Tensor& matrix, WeightVariant variant)
{
    return std::make_unique<const StoredRows<From, T>>(matrix, reinterpret_cast<const T*>(matrix.rawData()), variant);
}

} // namespace

void WeightRows::widenPanels(std::int64_t first, std::int64_t rows, std::int64_t begin, std::int64_t count,
                             const Panels& panels) const
{
    for (std::int64_t k = 0; k < rows; ++k) {
        widen(first + k, begin, count, panels.line);
        float* to = panels.to + k * panels.width;
        for (std::int64_t j = 0; j < count; j += panels.width, to += panels.step) {
            const std::int64_t together = std::min(panels.width, count - j);
            std::copy_n(panels.line + j, together, to);
            std::fill(to + together, to + panels.width, 0.0F);
        }
    }
}

void fetchBytes(const void* from, std::int64_t count)
{
    constexpr std::int64_t kLine = 64;
    constexpr int kSecondCache = 2;
    for (std::int64_t at = 0; at < count; at += kLine) {
        __builtin_prefetch(static_cast<const std::byte*>(from) + at, 0, kSecondCache);
    }
}

void applyVariant(float* numbers, std::int64_t count, WeightVariant variant)
{
    if (variant.part != WeightPart::All) {
        widenNumbers<FromFloat>(numbers, count, numbers, variant);
    }
}

bool hasWeightRows(const Tensor& matrix)
{
    const DType type = matrix.dtype();
    const bool isKnown = type == DType::Float32 || type == DType::Float16 || type == DType::BFloat16;
    return matrix.isValid() && isKnown && matrix.rank() == 2 && matrix.isContiguous();
}

std::unique_ptr<const WeightRows> weightRows(const Tensor& matrix, WeightVariant variant)
{
    base::guard(hasWeightRows(matrix), "rows are read of a matrix that lies row by row");
    switch (matrix.dtype()) {
    case DType::Float16:
        return storedRows<FromHalf, std::uint16_t>(matrix, variant);
    case DType::BFloat16:
        return storedRows<FromBfloat, std::uint16_t>(matrix, variant);
    default:
        return storedRows<FromFloat, float>(matrix, variant);
    }
}

} // namespace retro::ops
