// SPDX-License-Identifier: Apache-2.0
#include "core/ops/algebra.h"
#include "core/ops/attention/attentioncore.h"
#include "core/ops/bind/bindcheck.h"
#include "core/ops/bind/operatorbase.h"
#include "core/ops/families.h"
#include "core/ops/kernel/elementloop.h"
#include "core/ops/kernel/elementmap.h"
#include "core/ops/kernel/filled.h"
#include "core/ops/kernel/slices.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <limits>

namespace retro::ops
{

namespace
{

using tensor::DType;
using tensor::Shape;

struct AttentionSlot
{
    enum : std::size_t { kQuery, kKey, kValue, kMask, kPastKey, kPastValue, kLengths };
};
enum class Scores : std::uint8_t { Raw, Capped, Biased, Probabilities };

/// What is the same for every run, besides the form.
struct AttentionSetting
{
    AttentionForm form;
    bool isFlat = false; ///< operands of rank 3, heads side by side
    Scores kept = Scores::Raw;
    bool wantsScores = false;    ///< the node has the output for them
    std::vector<Shape> operands; ///< per slot
};

/// ONNX's Attention: softmax(scale·q·kᵀ + mask)·v with past keys, grouped queries and a soft cap. Outputs: y, present
/// key, present value, scores.
class Attention final : public Operator<Composed>
{
public:
    Attention(std::vector<TensorType> outputs, AttentionSetting setting)
        : Operator(std::move(outputs)), m_setting(std::move(setting))
    {}

    [[nodiscard]] base::Result<void> check(std::span<const Tensor> operands) const override
    {
        const Tensor lengths = given(operands, AttentionSlot::kLengths);
        if (!lengths.isValid()) {
            return {};
        }
        for (const std::int64_t length : integersOf(lengths)) {
            if (length < 0 || length > m_setting.form.keys) {
                return base::inputError(
                    fmt::format("nonpad_kv_seqlen (operand 6) has the length {}, but there are {} keys", length,
                                m_setting.form.keys));
            }
        }
        return {};
    }

    [[nodiscard]] std::vector<Tensor> forward(std::span<const Tensor> operands) const override
    {
        const Parts parts = partsOf(operands);
        if (!m_setting.wantsScores) {
            const Tensor y = attended(m_setting.form, parts.q, parts.k, parts.v, parts.mask);
            return {m_setting.isFlat ? joinHeads(y) : y, parts.k.contiguous(), parts.v.contiguous(), Tensor()};
        }
        const AttentionValues values = attend(m_setting.form, parts.q, parts.k, parts.v, parts.mask);
        return {m_setting.isFlat ? joinHeads(values.y) : values.y, parts.k.contiguous(), parts.v.contiguous(),
                keptOf(values)};
    }
    [[nodiscard]] Reads savedForGradient() const override { return Reads::allOperands(); }
    [[nodiscard]] Tensor pullback(std::span<const Tensor> s, std::span<const Tensor> operands, std::span<const Tensor>,
                                  std::size_t slot) const override
    {
        if (slot == AttentionSlot::kLengths) {
            return Tensor::zeros(m_outputTypes[0].dtype, m_setting.operands[slot]);
        }
        const Parts parts = partsOf(operands);
        const AttentionValues values = attend(m_setting.form, parts.q, parts.k, parts.v, parts.mask);
        const AttentionGradients gradients =
            attendBack(m_setting.form, parts.q, parts.k, parts.v, values, arrivingOf(s));
        switch (slot) {
        case AttentionSlot::kQuery:
            return asGiven(gradients.q);
        case AttentionSlot::kMask:
            return maskGradient(gradients.scores);
        case AttentionSlot::kKey:
        case AttentionSlot::kPastKey:
            return cachePart(gradients.k, given(s, 1), slot == AttentionSlot::kPastKey);
        default:
            return cachePart(gradients.v, given(s, 2), slot == AttentionSlot::kPastValue);
        }
    }
    [[nodiscard]] double flops() const override
    {
        const AttentionForm& f = m_setting.form;
        return 2.0 * static_cast<double>(f.batch * f.heads * f.queries) *
               static_cast<double>(f.keys * (f.width + f.valueWidth));
    }

private:
    struct Parts
    {
        Tensor q;
        Tensor k;
        Tensor v;
        AttentionMask mask;
    };

    static Tensor given(std::span<const Tensor> t, std::size_t i) { return i < t.size() ? t[i] : Tensor(); }
    [[nodiscard]] Tensor headsOf(const Tensor& t, std::int64_t heads) const
    {
        return m_setting.isFlat ? splitHeads(t, heads) : t.contiguous();
    }
    [[nodiscard]] Tensor asGiven(const Tensor& t) const { return m_setting.isFlat ? joinHeads(t) : t.contiguous(); }

    /// Past ones in front of the new ones.
    [[nodiscard]] Tensor withPast(const Tensor& now, const Tensor& past) const
    {
        if (!past.isValid()) {
            return now;
        }
        Shape shape = now.shape();
        shape[2] += past.shape()[2];
        const std::array parts{past, now};
        const std::array extents{past.shape()[2], now.shape()[2]};
        return joined({now.dtype(), shape}, parts, extents, 2).contiguous();
    }

    [[nodiscard]] Parts partsOf(std::span<const Tensor> operands) const
    {
        const AttentionForm& form = m_setting.form;
        Parts parts;
        parts.q = headsOf(operands[AttentionSlot::kQuery], form.heads);
        parts.k =
            withPast(headsOf(operands[AttentionSlot::kKey], form.keyHeads), given(operands, AttentionSlot::kPastKey));
        parts.v = withPast(headsOf(operands[AttentionSlot::kValue], form.keyHeads),
                           given(operands, AttentionSlot::kPastValue));
        parts.mask.bias = biasOf(given(operands, AttentionSlot::kMask));
        if (const Tensor lengths = given(operands, AttentionSlot::kLengths); lengths.isValid()) {
            takeLengths(lengths.to(DType::Int64).contiguous(), parts.mask);
            parts.mask.lengthsShiftCausal = !given(operands, AttentionSlot::kPastKey).isValid();
        }
        return parts;
    }

    /// Keys that count, per image; what CacheAppend says has those in front of the queries beside them.
    void takeLengths(const Tensor& lengths, AttentionMask& mask) const
    {
        const std::size_t columns = lengths.rank() == 2 ? 2 : 1;
        const std::span<const std::int64_t> all = lengths.span<std::int64_t>();
        for (std::size_t at = 0; at + columns <= all.size(); at += columns) {
            mask.lengths.push_back(std::clamp<std::int64_t>(all[at], 0, m_setting.form.keys));
            if (columns == 2) {
                mask.before.push_back(std::clamp<std::int64_t>(all[at + 1], 0, m_setting.form.keys));
            }
        }
    }

    /// The mask as it is added: −∞ for false, rank 4, and −∞ for keys behind its end.
    [[nodiscard]] Tensor biasOf(const Tensor& mask) const
    {
        if (!mask.isValid()) {
            return {};
        }
        const DType type = m_outputTypes[0].dtype;
        const Tensor wide = mask.to(type).contiguous();
        const bool isBoolean = mask.dtype() == DType::Bool;
        Shape shape(4 - mask.rank(), 1);
        shape.insert(shape.end(), mask.shape().begin(), mask.shape().end());
        const std::int64_t width = shape.back();
        const bool isRepeated = width == 1;
        shape.back() = isRepeated ? 1 : m_setting.form.keys;
        return filled(type, shape, [&](auto* out) {
            using T = std::decay_t<decltype(*out)>;
            const T* in = elements(wide, out);
            for (std::int64_t i = 0; i < tensor::elementCount(shape); ++i) {
                const std::int64_t column = i % shape.back();
                const bool isBeyond = column >= width;
                out[i] = added(isBeyond ? T{0} : in[i / shape.back() * width + column], isBoolean || isBeyond);
            }
        });
    }

    /// What a mask element adds to a logit: itself, or 0 and −∞ for true and false.
    template <class T>
    static T added(T value, bool isBoolean)
    {
        if (!isBoolean) {
            return value;
        }
        return value == 0 ? -std::numeric_limits<T>::infinity() : T{0};
    }

    [[nodiscard]] Tensor maskGradient(const Tensor& scores) const
    {
        const Shape& own = m_setting.operands[AttentionSlot::kMask];
        Shape wide(4 - own.size(), 1);
        wide.insert(wide.end(), own.begin(), own.end());
        const std::int64_t width = wide.back();
        const Tensor cut = width == 1 ? scores : slice(scores, 3, 0, width);
        return algebra::reduceTo(cut.contiguous(), wide).contiguous().reshaped(own);
    }

    /// The part of a gradient by keys or values that belongs to the past ones or to the new ones.
    [[nodiscard]] Tensor cachePart(const Tensor& gradient, const Tensor& present, bool isPast) const
    {
        const Tensor whole = present.isValid() ? algebra::add(gradient, present.contiguous()) : gradient;
        const std::int64_t past = m_setting.form.past;
        return isPast ? slice(whole, 2, 0, past).contiguous()
                      : asGiven(slice(whole, 2, past, m_setting.form.keys - past));
    }

    [[nodiscard]] Tensor keptOf(const AttentionValues& values) const
    {
        switch (m_setting.kept) {
        case Scores::Raw:
            return values.raw;
        case Scores::Capped:
            return values.capped;
        case Scores::Biased:
            return values.biased;
        case Scores::Probabilities:
            return values.probabilities;
        }
        return {};
    }
    [[nodiscard]] AttentionArriving arrivingOf(std::span<const Tensor> s) const
    {
        AttentionArriving arriving;
        if (given(s, 0).isValid()) {
            arriving.y = m_setting.isFlat ? splitHeads(s[0], m_setting.form.heads) : s[0].contiguous();
        }
        const Tensor scores = given(s, 3);
        (m_setting.kept == Scores::Raw      ? arriving.raw
         : m_setting.kept == Scores::Capped ? arriving.capped
         : m_setting.kept == Scores::Biased ? arriving.biased
                                            : arriving.probabilities) = scores;
        return arriving;
    }

    AttentionSetting m_setting;
};

base::Result<void> expectAttention(const BindContext& context)
{
    const TensorType& q = firstType(context);
    for (const std::size_t slot :
         {AttentionSlot::kKey, AttentionSlot::kValue, AttentionSlot::kPastKey, AttentionSlot::kPastValue}) {
        if (context.present(slot) && context.operandTypes[slot].dtype != q.dtype) {
            return context.error(fmt::format("operand {} must have the type of operand 0", slot));
        }
    }
    const std::size_t rank = q.shape.size();
    if (!tensor::isFloating(q.dtype) || (rank != 3 && rank != 4) ||
        context.operandTypes[AttentionSlot::kKey].shape.size() != rank ||
        context.operandTypes[AttentionSlot::kValue].shape.size() != rank) {
        return context.error("queries, keys and values must be floating and of rank 3 or 4 alike");
    }
    if (context.present(AttentionSlot::kPastKey) != context.present(AttentionSlot::kPastValue)) {
        return context.error("past_key and past_value go together");
    }
    return {};
}

/// The shape of a rank-3 or rank-4 operand as batch × heads × tokens × width.
base::Result<Shape> headShape(const BindContext& context, std::size_t slot, std::string_view headsName)
{
    const Shape& shape = context.operandTypes[slot].shape;
    if (shape.size() == 4) {
        return shape;
    }
    const std::int64_t heads = context.intAttribute(headsName, 0);
    if (heads < 1 || shape[2] % heads != 0) {
        return context.error(fmt::format("{} is {}, which does not divide {}", headsName, heads, shape[2]));
    }
    return Shape{shape[0], heads, shape[1], shape[2] / heads};
}

base::Result<void> expectMask(const BindContext& context, const AttentionForm& form)
{
    if (!context.present(AttentionSlot::kMask)) {
        return {};
    }
    const TensorType& mask = context.operandTypes[AttentionSlot::kMask];
    const bool isKnown = mask.dtype == DType::Bool || mask.dtype == firstType(context).dtype;
    Shape wide(mask.shape.size() > 4 ? 0 : 4 - mask.shape.size(), 1);
    wide.insert(wide.end(), mask.shape.begin(), mask.shape.end());
    const Shape scores = form.scoreShape();
    bool fits = isKnown && wide.size() == 4 && !mask.shape.empty() && wide[3] <= scores[3];
    for (std::size_t axis = 0; fits && axis < 3; ++axis) {
        fits = wide[axis] == 1 || wide[axis] == scores[axis];
    }
    if (!fits) {
        return context.error(fmt::format("the mask must be bool or of the type of operand 0 and broadcast to [{}]",
                                         tensor::toText(scores)));
    }
    return {};
}

base::Result<AttentionForm> formOf(const BindContext& context)
{
    RETRO_TRY(const Shape q, headShape(context, AttentionSlot::kQuery, "q_num_heads"));
    RETRO_TRY(const Shape k, headShape(context, AttentionSlot::kKey, "kv_num_heads"));
    RETRO_TRY(const Shape v, headShape(context, AttentionSlot::kValue, "kv_num_heads"));
    AttentionForm form{q[0], q[1], k[1], q[2], k[2], q[3], v[3]};
    if (context.present(AttentionSlot::kPastKey)) {
        const Shape& past = context.operandTypes[AttentionSlot::kPastKey].shape;
        form.past = past.size() == 4 ? past[2] : 0;
        if (past != Shape{k[0], k[1], form.past, k[3]} ||
            context.operandTypes[AttentionSlot::kPastValue].shape != Shape{v[0], v[1], form.past, v[3]}) {
            return context.error("past_key and past_value must be batch × heads × tokens × width like keys and values");
        }
        form.keys += form.past;
    }
    const bool fits =
        k[0] == q[0] && v[0] == q[0] && k[1] == v[1] && k[2] == v[2] && k[3] == q[3] && k[1] > 0 && q[1] % k[1] == 0;
    if (!fits) {
        return context.error(fmt::format("queries [{}], keys [{}] and values [{}] do not fit together",
                                         tensor::toText(q), tensor::toText(k), tensor::toText(v)));
    }
    form.scale = context.floatAttribute("scale", 1 / std::sqrt(static_cast<double>(std::max<std::int64_t>(q[3], 1))));
    form.softcap = context.floatAttribute("softcap", 0);
    form.isCausal = context.intAttribute("is_causal", 0) != 0;
    form.left = context.intAttribute("left_window_size", -1);
    form.right = context.intAttribute("right_window_size", -1);
    if (form.left < -1 || form.right < -1) {
        return context.error(fmt::format("left_window_size {} and right_window_size {} must be -1 (all) or more",
                                         form.left, form.right));
    }
    RETRO_CHECK(expectMask(context, form));
    return form;
}

/// A number of keys per image; CacheAppend gives those in front of the first query beside it.
base::Result<void> expectLengths(const BindContext& context, std::int64_t batch)
{
    if (context.present(AttentionSlot::kLengths)) {
        const Shape& shape = context.operandTypes[AttentionSlot::kLengths].shape;
        if (shape != Shape{batch} && shape != Shape{batch, 2}) {
            return context.error(fmt::format("nonpad_kv_seqlen must have the shape [{}]", batch));
        }
    }
    return {};
}

BoundResult bindAttention(const BindContext& context)
{
    RETRO_CHECK(expectAttention(context));
    RETRO_TRY(const AttentionForm form, formOf(context));
    const std::int64_t mode = context.intAttribute("qk_matmul_output_mode", 0);
    if (mode < 0 || mode > 3) {
        return context.error(fmt::format("qk_matmul_output_mode {} is not between 0 and 3", mode));
    }
    RETRO_CHECK(expectLengths(context, form.batch));
    const bool wantsScores = context.node.outputs.size() > 3 && context.node.outputs[3].isValid();
    AttentionSetting setting{form, firstType(context).shape.size() == 3, static_cast<Scores>(mode), wantsScores, {}};
    for (const TensorType& type : context.operandTypes) {
        setting.operands.push_back(type.shape);
    }
    const DType type = firstType(context).dtype;
    const Shape y = setting.isFlat ? Shape{form.batch, form.queries, form.heads * form.valueWidth}
                                   : Shape{form.batch, form.heads, form.queries, form.valueWidth};
    RETRO_CHECK(expectSize(context, form.scoreShape()));
    std::vector<TensorType> outputs{{type, y},
                                    {type, {form.batch, form.keyHeads, form.keys, form.width}},
                                    {type, {form.batch, form.keyHeads, form.keys, form.valueWidth}},
                                    {type, form.scoreShape()}};
    return bound<Attention>(std::move(outputs), std::move(setting));
}

} // namespace

const OperatorFamily kAttentionOperators{
    {"", "Attention", 23, 0, "composed", true, bindAttention},
};

} // namespace retro::ops
