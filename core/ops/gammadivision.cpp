// SPDX-License-Identifier: Apache-2.0
#include "core/ops/gammadivision.h"

#include "core/base/failure.h"
#include "core/ops/kernel/divisionblock.h"
#include "core/ops/kernel/mapover.h"
#include "core/ops/kernel/visitnumber.h"
#include "core/ops/kernel/wideregisters.h"

#include <array>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

namespace retro::ops::algebra
{

namespace
{

template <class T>
using Elements = std::array<T, kSumBlock>;

/// A few elements on their way from z and p to both quotients. Biases that do not exist are 0.
template <class T>
struct GammaBlock
{
    Elements<T> bias{};
    Elements<T> up{};
    Elements<T> down{};
    Elements<T> positiveShare{}; ///< r where z > 0
    Elements<T> negativeShare{};
    Elements<T> positive{}; ///< first denominators
    Elements<T> negative{};
    bool isPositiveSpecial = false; ///< one of them is 0 or infinite
    bool isNegativeSpecial = false;
    std::int64_t count = 0;
};

/// True when r is somewhere not 0 where z has no sign.
template <class T>
[[gnu::always_inline]] inline bool fillInline(const T* r, const T* z, const T* p, T gamma, GammaBlock<T>& block)
{
    int isAtZero = 0;
    for (std::int64_t i = 0; i < block.count; ++i) {
        const auto at = static_cast<std::size_t>(i);
        const T own = z[i] - block.bias[at];
        const T first = own + gamma * p[i];
        const T second = own + gamma * static_cast<T>(own - p[i]);
        block.positive[at] = first + block.up[at];
        block.negative[at] = second + block.down[at];
        block.positiveShare[at] = z[i] > T{0} ? r[i] : T{0};
        block.negativeShare[at] = z[i] < T{0} ? r[i] : T{0};
        const T rest = r[i] - block.positiveShare[at] - block.negativeShare[at];
        isAtZero |= rest != T{0} ? 1 : 0;
    }
    return isAtZero != 0;
}

RETRO_WIDE_REGISTERS bool fillBlock(const float* r, const float* z, const float* p, float gamma,
                                    GammaBlock<float>& block)
{
    return fillInline(r, z, p, gamma, block);
}

RETRO_WIDE_REGISTERS bool fillBlock(const double* r, const double* z, const double* p, double gamma,
                                    GammaBlock<double>& block)
{
    return fillInline(r, z, p, gamma, block);
}

struct GammaAmounts
{
    DivisionAmounts positive;
    DivisionAmounts negative;
    double atZero = 0;
};

/// All of one division. Every tensor is dense in one order.
template <class T>
struct GammaDivision
{
    const T* r;
    const T* z;
    const T* p;
    T* onPositive; ///< may be p
    T* onNegative;
    std::int64_t size;
    T gamma;
    BiasRow<T> bias;
    BiasRow<T> up;
    BiasRow<T> down;
    const Stabiliser& stabiliser;
    bool wantsAmounts;

    void load(GammaBlock<T>& block, std::int64_t at) const
    {
        const auto fill = [&](const BiasRow<T>& row, Elements<T>& to) {
            if (row.data != nullptr) {
                row.fillBlock(to.data(), at, block.count);
            }
        };
        fill(bias, block.bias);
        fill(up, block.up);
        fill(down, block.down);
    }

    void sum(const GammaBlock<T>& block, std::int64_t at, GammaAmounts& amounts) const
    {
        amounts.positive += amountsOf(DividedBlock<T>{
            block.positiveShare.data(), onPositive + at, block.positive.data(),
            up.data != nullptr ? block.up.data() : nullptr, block.count, block.isPositiveSpecial, true});
        amounts.negative += amountsOf(DividedBlock<T>{
            block.negativeShare.data(), onNegative + at, block.negative.data(),
            down.data != nullptr ? block.down.data() : nullptr, block.count, block.isNegativeSpecial, true});
    }

    [[nodiscard]] double sumAtZero(std::int64_t begin, std::int64_t end) const
    {
        double sum = 0;
        for (std::int64_t i = begin; i < end; ++i) {
            const bool hasSign = z[i] > T{0} || z[i] < T{0};
            sum += hasSign ? 0 : static_cast<double>(r[i]);
        }
        return sum;
    }

    [[nodiscard]] GammaAmounts chunk(std::int64_t begin, std::int64_t end) const
    {
        GammaBlock<T> block;
        GammaAmounts amounts;
        for (std::int64_t at = begin; at < end; at += block.count) {
            block.count = std::min(kSumBlock, end - at);
            load(block, at);
            if (fillBlock(r + at, z + at, p + at, gamma, block) && wantsAmounts) {
                amounts.atZero += sumAtZero(at, at + block.count);
            }
            block.isPositiveSpecial = blockQuotient(block.positiveShare.data(), block.positive.data(), stabiliser,
                                                    onPositive + at, block.count);
            block.isNegativeSpecial = blockQuotient(block.negativeShare.data(), block.negative.data(), stabiliser,
                                                    onNegative + at, block.count);
            if (wantsAmounts) {
                sum(block, at, amounts);
            }
        }
        return amounts;
    }

    [[nodiscard]] GammaAmounts run() const
    {
        const auto count = static_cast<std::size_t>((size + kSumChunk - 1) / kSumChunk);
        std::vector<DivisionAmounts> positive(count);
        std::vector<DivisionAmounts> negative(count);
        std::vector<double> atZero(count);
        parallelFor(static_cast<std::int64_t>(count), 4, [&](std::int64_t first, std::int64_t last) {
            for (std::int64_t i = first; i < last; ++i) {
                const GammaAmounts made = chunk(i * kSumChunk, std::min(size, (i + 1) * kSumChunk));
                positive[static_cast<std::size_t>(i)] = made.positive;
                negative[static_cast<std::size_t>(i)] = made.negative;
                atZero[static_cast<std::size_t>(i)] = made.atZero;
            }
        });
        return {sumPairwise(positive.data(), count), sumPairwise(negative.data(), count),
                std::accumulate(atZero.begin(), atZero.end(), 0.0)};
    }
};

/// A row for what there is; nothing when it is of another kind.
template <class T>
std::optional<BiasRow<T>> rowOrNone(const Tensor& bias, const Tensor& base)
{
    if (!bias.isValid()) {
        return BiasRow<T>();
    }
    const BiasRow<T> row = bias.rank() <= base.rank() ? rowOf<T>(bias, base) : BiasRow<T>();
    return row.data != nullptr ? std::optional(row) : std::nullopt;
}

/// The same in steps, for what the one walk does not cover.
GammaQuotients divideInSteps(const Tensor& r, const GammaDenominators& d, const Stabiliser& stabiliser,
                             bool wantsAmounts)
{
    const Tensor own = d.bias.isValid() ? addBroadcast(d.z, scale(d.bias, -1)) : d.z;
    const Tensor first = addScaled(own, d.p, d.gamma);
    const Tensor second = addScaled(own, subtract(own, d.p), d.gamma);
    const Tensor positive = keepWherePositive(r, d.z);
    const Tensor negative = keepWhereNegative(r, d.z);
    GammaQuotients result;
    result.onPositive =
        stabilisedDivision(positive, {first, d.up, false}, stabiliser, wantsAmounts ? &result.positive : nullptr);
    result.onNegative =
        stabilisedDivision(negative, {second, d.down, false}, stabiliser, wantsAmounts ? &result.negative : nullptr);
    result.atZero = wantsAmounts ? algebra::sum(subtract(subtract(r, positive), negative)) : 0;
    return result;
}

template <class T>
struct Rows
{
    std::optional<BiasRow<T>> bias;
    std::optional<BiasRow<T>> up;
    std::optional<BiasRow<T>> down;
    [[nodiscard]] bool isWhole() const { return bias && up && down; }
};

template <class T>
GammaQuotients divideAtOnce(const Tensor& r, GammaDenominators d, const Rows<T>& rows, const Stabiliser& stabiliser,
                            bool wantsAmounts)
{
    const tensor::Shape shape = d.z.shape();
    const tensor::Shape strides = d.z.strides();
    const Tensor dividend = withStrides(r, strides);
    d.p = withStrides(std::move(d.p), strides);
    T* first = writable<T>(d.p);
    std::optional<tensor::TensorBuffer> buffer;
    if (first == nullptr) {
        buffer.emplace(d.p.dtype(), shape, strides);
        first = buffer->template data<T>();
    }
    tensor::TensorBuffer second(d.z.dtype(), shape, strides);
    const GammaDivision<T> division{
        dividend.data<T>(),      d.z.data<T>(), d.p.data<T>(), first,      second.data<T>(), d.z.size(),
        static_cast<T>(d.gamma), *rows.bias,    *rows.up,      *rows.down, stabiliser,       wantsAmounts};
    const GammaAmounts amounts = division.run();
    return {buffer ? std::move(*buffer).freeze() : std::move(d.p), std::move(second).freeze(), amounts.positive,
            amounts.negative, amounts.atZero};
}

} // namespace

GammaQuotients gammaDivision(const Tensor& r, GammaDenominators denominators, const Stabiliser& stabiliser,
                             bool wantsAmounts)
{
    const Tensor& z = denominators.z;
    base::guard(r.shape() == z.shape() && denominators.p.shape() == z.shape(),
                "what is divided and by what have one shape");
    return visitFloat(r.dtype(), [&](auto zero) {
        using T = decltype(zero);
        const Rows<T> rows{rowOrNone<T>(denominators.bias, z), rowOrNone<T>(denominators.up, z),
                           rowOrNone<T>(denominators.down, z)};
        const bool isAtOnce = stabiliser.kind != StabiliserKind::RmsScaled && z.isDense() && rows.isWhole();
        return isAtOnce ? divideAtOnce(r, std::move(denominators), rows, stabiliser, wantsAmounts)
                        : divideInSteps(r, denominators, stabiliser, wantsAmounts);
    });
}

} // namespace retro::ops::algebra
