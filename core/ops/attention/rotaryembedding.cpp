// SPDX-License-Identifier: Apache-2.0
#include "core/ops/attention/attentioncore.h"
#include "core/ops/attention/keycache.h"
#include "core/ops/bind/bindcheck.h"
#include "core/ops/bind/operatorbase.h"
#include "core/ops/families.h"
#include "core/ops/kernel/filled.h"
#include "core/ops/linearoperands.h"

#include <fmt/format.h>

namespace retro::ops
{

namespace
{

using tensor::DType;
using tensor::Shape;

struct Rotation
{
    std::int64_t batch = 1;
    std::int64_t heads = 1;
    std::int64_t tokens = 1;
    std::int64_t width = 1;
    std::int64_t rotated = 1; ///< leading elements of a head that turn
    bool isFlat = false;      ///< heads side by side: batch × tokens × heads·width
    bool isInterleaved = false;
    bool hasPositions = false;
    bool isOffset = false;   ///< positions are one number, that of the first token
    std::int64_t rows = 1;   ///< of the caches
    std::size_t cosines = 1; ///< operand slots
    std::size_t sines = 2;
    std::size_t positions = 3;

    /// Token, counted over the whole batch, of a row of batch × heads × tokens.
    [[nodiscard]] std::int64_t tokenOf(std::int64_t row) const
    {
        return row / (tokens * heads) * tokens + row % tokens;
    }
    /// First element of that row in the operand.
    [[nodiscard]] std::int64_t startOf(std::int64_t row) const
    {
        return (isFlat ? tokenOf(row) * heads + row / tokens % heads : row) * width;
    }
};

/// Pairs of elements turned by angles that follow from the token's position: linear in operand 0.
class RotaryEmbedding final : public Operator<Differentiable>, public LinearOperands
{
public:
    RotaryEmbedding(TensorType output, Shape cache, const Rotation& rotation)
        : Operator(std::move(output)), m_cache(std::move(cache)), m_rotation(rotation)
    {}

    [[nodiscard]] base::Result<void> check(std::span<const Tensor> operands) const override
    {
        if (!m_rotation.hasPositions) {
            return {};
        }
        const Tensor positions = operands[m_rotation.positions].to(DType::Int64).contiguous();
        const std::int64_t behind = m_rotation.isOffset ? std::max<std::int64_t>(m_rotation.tokens - 1, 0) : 0;
        for (const std::int64_t position : positions.span<std::int64_t>()) {
            if (position < 0 || position >= m_rotation.rows - behind) {
                return base::inputError(
                    fmt::format("position {} is outside the caches of {} rows", position + behind, m_rotation.rows));
            }
        }
        return {};
    }
    [[nodiscard]] std::vector<Tensor> forward(std::span<const Tensor> operands) const override
    {
        return {turned(operands[0], operands, 1)};
    }
    [[nodiscard]] bool isLinearIn(std::size_t slot) const override { return slot == 0; }
    [[nodiscard]] Reads savedForGradient() const override { return Reads::allOperands(); }
    [[nodiscard]] Tensor pullback(std::span<const Tensor> s, std::span<const Tensor> operands, std::span<const Tensor>,
                                  std::size_t slot) const override
    {
        if (slot == 0) {
            return turned(s[0], operands, -1);
        }
        if (slot == m_rotation.positions) {
            return Tensor::zeros(s[0].dtype(), operands[slot].shape());
        }
        const Tensor x = operands[0].contiguous();
        const Tensor gradient = s[0].contiguous();
        return accumulated(gradient.dtype(), m_cache, [&](auto* r) {
            const auto* in = elements(x, r);
            const auto* g = elements(gradient, r);
            forEachPair(operands, [&](std::int64_t a, std::int64_t b, std::int64_t angle) {
                r[angle] += slot == m_rotation.cosines ? g[a] * in[a] + g[b] * in[b] : g[b] * in[a] - g[a] * in[b];
            });
        });
    }
    /// The angles choose coefficients and take no relevance.
    [[nodiscard]] double share(std::span<const std::uint8_t>, std::size_t slot) const override
    {
        return slot == 0 ? 1 : 0;
    }

private:
    /// Turned forwards (sign 1) or back (−1).
    [[nodiscard]] Tensor turned(const Tensor& t, std::span<const Tensor> operands, int sign) const
    {
        const Tensor x = t.contiguous();
        const Tensor cosines = operands[m_rotation.cosines].contiguous();
        const Tensor sines = operands[m_rotation.sines].contiguous();
        return filled(x.dtype(), x.shape(), [&](auto* y) {
            using T = std::decay_t<decltype(*y)>;
            const T* in = elements(x, y);
            std::copy(in, in + x.size(), y);
            forEachPair(operands, [&](std::int64_t a, std::int64_t b, std::int64_t angle) {
                const T c = elements(cosines, y)[angle];
                const T s = static_cast<T>(sign) * elements(sines, y)[angle];
                y[a] = in[a] * c - in[b] * s;
                y[b] = in[a] * s + in[b] * c;
            });
        });
    }

    /// Calls f(first element, second element, element of the caches) for every pair that turns.
    template <class F>
    void forEachPair(std::span<const Tensor> operands, const F& f) const
    {
        const Rotation& r = m_rotation;
        const Tensor positions = r.hasPositions ? operands[r.positions].to(DType::Int64).contiguous() : Tensor();
        const auto* position = r.hasPositions ? positions.data<std::int64_t>() : nullptr;
        for (std::int64_t row = 0; row < r.batch * r.heads * r.tokens; ++row) {
            const std::int64_t token = r.tokenOf(row);
            const std::int64_t line = position == nullptr ? token : lineOf(position, token);
            forEachPairOfRow(r.startOf(row), line * (r.rotated / 2), f);
        }
    }

    /// Row of the caches for a token, counted over the whole batch.
    [[nodiscard]] std::int64_t lineOf(const std::int64_t* position, std::int64_t token) const
    {
        const std::int64_t line = m_rotation.isOffset ? position[0] + token % m_rotation.tokens : position[token];
        return std::clamp<std::int64_t>(line, 0, m_rotation.rows - 1);
    }

    template <class F>
    void forEachPairOfRow(std::int64_t at, std::int64_t angle, const F& f) const
    {
        const std::int64_t half = m_rotation.rotated / 2;
        const std::int64_t step = m_rotation.isInterleaved ? 2 : 1;
        const std::int64_t distance = m_rotation.isInterleaved ? 1 : half;
        for (std::int64_t i = 0; i < half; ++i) {
            f(at + step * i, at + step * i + distance, angle + i);
        }
    }

    Shape m_cache;
    Rotation m_rotation;
};

/// Extents of operand 0.
base::Result<Rotation> headsOf(const BindContext& context)
{
    const Shape& x = firstType(context).shape;
    Rotation r;
    if (x.size() == 4) {
        r.batch = x[0];
        r.heads = x[1];
        r.tokens = x[2];
        r.width = x[3];
        return r;
    }
    r.isFlat = true;
    r.heads = context.intAttribute("num_heads", 0);
    if (x.size() != 3 || r.heads < 1 || x[2] % r.heads != 0) {
        return context.error("batch × heads × tokens × width, or batch × tokens × hidden with a num_heads that divides "
                             "it, is needed");
    }
    r.batch = x[0];
    r.tokens = x[1];
    r.width = x[2] / r.heads;
    return r;
}

base::Result<Rotation> rotationOf(const BindContext& context)
{
    RETRO_TRY(Rotation r, headsOf(context));
    r.isInterleaved = context.intAttribute("interleaved", 0) != 0;
    r.hasPositions = context.present(3);
    r.rotated = context.intAttribute("rotary_embedding_dim", 0);
    r.rotated = r.rotated == 0 ? r.width : r.rotated;
    if (r.rotated < 2 || r.rotated % 2 != 0 || r.rotated > r.width) {
        return context.error(fmt::format("{} elements of a head of {} cannot turn in pairs", r.rotated, r.width));
    }
    const Shape& cache = context.operandTypes[1].shape;
    r.rows = cache.empty() ? 0 : cache[0];
    const Shape wanted = r.hasPositions ? Shape{r.rows, r.rotated / 2} : Shape{r.batch, r.tokens, r.rotated / 2};
    if (cache != wanted || context.operandTypes[2].shape != wanted || r.rows == 0) {
        return context.error(fmt::format("cos_cache and sin_cache must have the shape [{}]", tensor::toText(wanted)));
    }
    return r;
}

BoundResult bindRotaryEmbedding(const BindContext& context)
{
    const TensorType& x = firstType(context);
    if (!tensor::isFloating(x.dtype) || context.operandTypes[1].dtype != x.dtype ||
        context.operandTypes[2].dtype != x.dtype) {
        return context.error("operand and caches must be floating and of one type");
    }
    RETRO_TRY(const Rotation rotation, rotationOf(context));
    if (rotation.hasPositions && context.operandTypes[3].shape != Shape{rotation.batch, rotation.tokens}) {
        return context.error(
            fmt::format("position_ids must have the shape [{} × {}]", rotation.batch, rotation.tokens));
    }
    return bound<RotaryEmbedding>(x, context.operandTypes[1].shape, rotation);
}

/// Width of a head where so many lie side by side: 0 where they do not divide the row, `usual` where there is no
/// number.
std::int64_t flatWidth(std::int64_t hidden, std::int64_t heads, std::int64_t usual)
{
    if (heads <= 0) {
        return usual;
    }
    return hidden % heads == 0 ? hidden / heads : 0;
}

/// Extents of the operand: batch × heads × tokens × width, or batch × tokens × hidden. There are 0 heads where it does
/// not divide into them.
void takeHeadExtents(Rotation& r, const Shape& x, std::int64_t heads)
{
    if (x.size() == 4) {
        r.batch = x[0];
        r.heads = x[1];
        r.tokens = x[2];
        r.width = x[3];
    } else if (x.size() == 3) {
        r.isFlat = true;
        r.batch = x[0];
        r.tokens = x[1];
        r.width = flatWidth(x[2], heads, r.rotated);
        r.heads = r.width > 0 && x[2] % r.width == 0 ? x[2] / r.width : 0;
    }
}

/// Whether the positions are one number, that of the first token; else there is one for each token.
base::Result<bool> isOffsetAlone(const BindContext& context, const Rotation& r)
{
    const TensorType& positions = context.operandTypes[r.positions];
    const bool isOffset = positions.shape == Shape{1};
    if (tensor::isFloating(positions.dtype) || (!isOffset && positions.shape != Shape{r.batch, r.tokens})) {
        return context.error(fmt::format("position_ids (operand 1) must be integers [{} × {}], or [1]: the position of "
                                         "the first token",
                                         r.batch, r.tokens));
    }
    return isOffset;
}

/// The operator of com.microsoft: positions are operand 1, the caches say how many elements of a head turn.
base::Result<Rotation> fusedRotationOf(const BindContext& context)
{
    Rotation r;
    r.positions = 1;
    r.cosines = 2;
    r.sines = 3;
    r.hasPositions = true;
    r.isInterleaved = context.intAttribute("interleaved", 0) != 0;
    const Shape& cache = context.operandTypes[r.cosines].shape;
    if (cache.size() != 2 || cache[0] < 1 || cache[1] < 1 || context.operandTypes[r.sines].shape != cache) {
        return context.error("cos_cache and sin_cache (operands 2 and 3) must both be positions × half of the elements "
                             "that turn");
    }
    r.rows = cache[0];
    r.rotated = 2 * cache[1];
    const Shape& x = firstType(context).shape;
    const std::int64_t heads = context.intAttribute("num_heads", 0);
    const std::int64_t wanted = context.intAttribute("rotary_embedding_dim", 0);
    if (heads < 0 || wanted < 0 || (wanted > 0 && wanted != r.rotated) || (wanted > 0 && heads == 0 && x.size() == 3)) {
        return context.error(fmt::format("rotary_embedding_dim is {} and num_heads {}, but the caches turn {} elements "
                                         "of a head; with rotary_embedding_dim num_heads is needed",
                                         wanted, heads, r.rotated));
    }
    takeHeadExtents(r, x, heads);
    if ((x.size() != 3 && x.size() != 4) || r.rotated > r.width || r.heads == 0) {
        return context.error(fmt::format("operand 0 [{}] does not divide into heads of at least {} elements; batch × "
                                         "heads × tokens × width, or batch × tokens × hidden, is needed",
                                         tensor::toText(x), r.rotated));
    }
    RETRO_TRY(r.isOffset, isOffsetAlone(context, r));
    return r;
}

BoundResult bindFusedRotaryEmbedding(const BindContext& context)
{
    if (context.intAttribute("is_packed_batching", 0) != 0 || context.floatAttribute("scale", 1) != 1) {
        return context.error("is_packed_batching and a scale other than 1 are not supported");
    }
    const TensorType& x = firstType(context);
    if (!tensor::isFloating(x.dtype) || context.operandTypes[2].dtype != x.dtype ||
        context.operandTypes[3].dtype != x.dtype) {
        return context.error("operand and caches must be floating and of one type");
    }
    RETRO_TRY(const Rotation rotation, fusedRotationOf(context));
    return bound<RotaryEmbedding>(x, context.operandTypes[2].shape, rotation);
}

} // namespace

const OperatorFamily kRotaryEmbeddingOperators{
    {"", "RotaryEmbedding", 23, 0, "function", true, bindRotaryEmbedding},
    {"com.microsoft", "RotaryEmbedding", 1, 0, "function", true, bindFusedRotaryEmbedding},
    {"retrograde", "CacheAppend", 1, 0, "shape map", true, bindCacheAppend},
};

} // namespace retro::ops
