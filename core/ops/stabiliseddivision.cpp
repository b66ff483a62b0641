// SPDX-License-Identifier: Apache-2.0
#include "core/ops/stabiliseddivision.h"

#include "core/base/failure.h"
#include "core/ops/kernel/divisionblock.h"
#include "core/ops/kernel/mapover.h"
#include "core/ops/kernel/visitnumber.h"

#include <array>
#include <optional>
#include <utility>
#include <vector>

namespace retro::ops::algebra
{

namespace
{

enum class DivisionSumsWanted : std::uint8_t { None, AllButDividend, All };

/// A few elements on their way from base and bias to the quotient.
template <class T>
struct Block
{
    const T* d = nullptr; ///< denominators: where base has them, or `sums`
    std::array<T, kSumBlock> sums{};
    std::array<T, kSumBlock> bias{};
    std::int64_t count = 0;
};

/// All of one division. r, base and s are dense in one order.
template <class T>
struct Division
{
    const T* r;
    const T* base;
    T* s; ///< may be base
    std::int64_t size;
    BiasRow<T> bias;
    bool isBiasIn;
    const Stabiliser& stabiliser;
    DivisionSumsWanted sums;

    void load(Block<T>& block, std::int64_t at, bool wantsBias) const
    {
        const bool adds = bias.data != nullptr && !isBiasIn;
        if (adds || (bias.data != nullptr && wantsBias)) {
            bias.fillBlock(block.bias.data(), at, block.count);
        }
        block.d = base + at;
        if (adds) {
            blockAdd(base + at, block.bias.data(), block.sums.data(), block.count);
        } else if (s == base) { // which is about to be written over
            std::copy(block.d, block.d + block.count, block.sums.begin());
        }
        block.d = adds || s == base ? block.sums.data() : block.d;
    }

    [[nodiscard]] DivisionAmounts chunk(std::int64_t begin, std::int64_t end) const
    {
        Block<T> block;
        DivisionAmounts amounts;
        for (std::int64_t at = begin; at < end; at += block.count) {
            block.count = std::min(kSumBlock, end - at);
            load(block, at, sums != DivisionSumsWanted::None);
            const T* const x = r + at;
            T* const out = s + at;
            const bool isSpecial = blockQuotient(x, block.d, stabiliser, out, block.count);
            if (sums != DivisionSumsWanted::None) {
                amounts +=
                    amountsOf(DividedBlock<T>{x, out, block.d, bias.data != nullptr ? block.bias.data() : nullptr,
                                              block.count, isSpecial, sums == DivisionSumsWanted::All});
            }
        }
        return amounts;
    }

    [[nodiscard]] DivisionAmounts run() const
    {
        std::vector<DivisionAmounts> parts(static_cast<std::size_t>((size + kSumChunk - 1) / kSumChunk));
        parallelFor(static_cast<std::int64_t>(parts.size()), 4, [&](std::int64_t first, std::int64_t last) {
            for (std::int64_t i = first; i < last; ++i) {
                parts[static_cast<std::size_t>(i)] = chunk(i * kSumChunk, std::min(size, (i + 1) * kSumChunk));
            }
        });
        return sumPairwise(parts.data(), parts.size());
    }
};

bool isDividedHere(const Denominator& denominator, const Stabiliser& stabiliser)
{
    const Tensor& bias = denominator.bias;
    return stabiliser.kind != StabiliserKind::RmsScaled && denominator.base.isDense() &&
           (!bias.isValid() || bias.rank() <= denominator.base.rank());
}

/// The same in steps, for what the one walk does not cover.
Tensor divideInSteps(const Tensor& r, const Denominator& denominator, const Stabiliser& stabiliser,
                     DivisionAmounts* amounts)
{
    const auto& [base, bias, isBiasIn] = denominator;
    const Tensor d = bias.isValid() && !isBiasIn ? addBroadcast(base, bias) : base;
    const Tensor s = stabilisedQuotient(r, d, stabiliser);
    if (amounts != nullptr) {
        *amounts = {divisionSums(r, s, d), bias.isValid() ? dot(s, broadcastTo(bias, s.shape())) : 0};
    }
    return s;
}

template <class T>
Tensor divideAtOnce(const Tensor& r, Denominator denominator, const BiasRow<T>& bias, const Stabiliser& stabiliser,
                    DivisionAmounts* amounts, std::optional<double> sumOfDividend)
{
    Tensor& base = denominator.base;
    const Tensor dividend = withStrides(r, base.strides());
    const tensor::Shape shape = base.shape();
    const tensor::Shape strides = base.strides();
    T* out = writable<T>(base);
    std::optional<tensor::TensorBuffer> buffer;
    if (out == nullptr) {
        buffer.emplace(base.dtype(), shape, strides);
        out = buffer->template data<T>();
    }
    using enum DivisionSumsWanted;
    const auto sums = amounts == nullptr ? None : sumOfDividend ? AllButDividend : All;
    const Division<T> division{dividend.data<T>(),   base.data<T>(), out, base.size(), bias,
                               denominator.isBiasIn, stabiliser,     sums};
    const DivisionAmounts made = division.run();
    if (amounts != nullptr) {
        *amounts = made;
        amounts->sums.dividend = sumOfDividend.value_or(made.sums.dividend);
    }
    return buffer ? std::move(*buffer).freeze() : std::move(base);
}

} // namespace

Tensor stabilisedDivision(const Tensor& r, Denominator denominator, const Stabiliser& stabiliser,
                          DivisionAmounts* amounts, std::optional<double> dividend)
{
    base::guard(r.shape() == denominator.base.shape(), "what is divided and by what have one shape");
    if (!isDividedHere(denominator, stabiliser)) {
        return divideInSteps(r, denominator, stabiliser, amounts);
    }
    return visitFloat(r.dtype(), [&](auto zero) {
        using T = decltype(zero);
        const BiasRow<T> bias =
            denominator.bias.isValid() ? rowOf<T>(denominator.bias, denominator.base) : BiasRow<T>();
        return denominator.bias.isValid() && bias.data == nullptr
                   ? divideInSteps(r, denominator, stabiliser, amounts)
                   : divideAtOnce(r, std::move(denominator), bias, stabiliser, amounts, dividend);
    });
}

} // namespace retro::ops::algebra
