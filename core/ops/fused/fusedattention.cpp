// SPDX-License-Identifier: Apache-2.0
#include "core/ops/algebra.h"
#include "core/ops/attention/attentioncore.h"
#include "core/ops/bind/bindcheck.h"
#include "core/ops/bind/operatorbase.h"
#include "core/ops/families.h"
#include "core/ops/kernel/filled.h"
#include "core/ops/kernel/matrixproduct.h"
#include "core/ops/kernel/slices.h"

#include <fmt/format.h>

#include <array>
#include <cmath>

namespace retro::ops
{

namespace
{

using tensor::DType;
using tensor::Shape;

struct FusedAttentionSlot
{
    enum : std::size_t { kInput, kWeights, kBias, kMaskIndex, kPast, kAttentionBias, kPastLength };
};

struct FusedAttentionSetting
{
    AttentionForm form;
    std::int64_t hidden = 0;      ///< of queries and of keys
    std::int64_t valueHidden = 0; ///< of values
    double maskedValue = -10000;  ///< added where the mask is 0
    bool givesPresent = false;    ///< the node has the output for keys and values
    std::vector<Shape> operands;
};

/// com.microsoft's Attention: self-attention with its projection: x·W + b is queries, keys and values side by side.
/// Keys and values of the past come in front of them. Outputs: y, and keys and values, one below the other.
class FusedAttention final : public Operator<Composed>
{
public:
    FusedAttention(std::vector<TensorType> outputs, FusedAttentionSetting setting)
        : Operator(std::move(outputs)), m_setting(std::move(setting))
    {}

    [[nodiscard]] std::vector<Tensor> forward(std::span<const Tensor> operands) const override
    {
        const Parts parts = partsOf(operands);
        std::vector<Tensor> results{joinHeads(attended(m_setting.form, parts.q, parts.k, parts.v, parts.mask))};
        if (m_setting.givesPresent) {
            results.push_back(stacked(parts.k, parts.v));
        }
        return results;
    }
    [[nodiscard]] Reads savedForGradient() const override { return Reads::allOperands(); }
    [[nodiscard]] Tensor pullback(std::span<const Tensor> s, std::span<const Tensor> operands, std::span<const Tensor>,
                                  std::size_t slot) const override
    {
        const Parts parts = partsOf(operands);
        const AttentionValues values = attend(m_setting.form, parts.q, parts.k, parts.v, parts.mask);
        AttentionArriving arriving;
        if (s[0].isValid()) {
            arriving.y = splitHeads(s[0], m_setting.form.heads);
        }
        AttentionGradients gradients = attendBack(m_setting.form, parts.q, parts.k, parts.v, values, arriving);
        if (slot == FusedAttentionSlot::kAttentionBias) {
            return algebra::reduceTo(gradients.scores, m_setting.operands[slot]);
        }
        if (s.size() > 1 && s[1].isValid()) {
            gradients.k = algebra::add(gradients.k, half(s[1], 0));
            gradients.v = algebra::add(gradients.v, half(s[1], 1));
        }
        const std::int64_t past = m_setting.form.past;
        if (slot == FusedAttentionSlot::kPast) {
            return stacked(slice(gradients.k, 2, 0, past), slice(gradients.v, 2, 0, past));
        }
        const std::int64_t tokens = m_setting.form.queries;
        const std::array projected{joinHeads(gradients.q), joinHeads(slice(gradients.k, 2, past, tokens).contiguous()),
                                   joinHeads(slice(gradients.v, 2, past, tokens).contiguous())};
        const std::array extents{m_setting.hidden, m_setting.hidden, m_setting.valueHidden};
        const std::int64_t width = 2 * m_setting.hidden + m_setting.valueHidden;
        const Tensor whole = joined({m_outputTypes[0].dtype, {m_setting.form.batch, m_setting.form.queries, width}},
                                    projected, extents, 2)
                                 .contiguous();
        return throughProjection(whole, operands, slot, width);
    }

private:
    struct Parts
    {
        Tensor q;
        Tensor k;
        Tensor v;
        AttentionMask mask;
    };

    /// Keys (0) or values (1) of a past or a present: batch × heads × tokens × width.
    [[nodiscard]] static Tensor half(const Tensor& both, std::int64_t which)
    {
        const Shape& own = both.shape();
        return slice(both, 0, which, 1).contiguous().reshaped({own[1], own[2], own[3], own[4]});
    }
    /// Keys and values, one below the other.
    [[nodiscard]] static Tensor stacked(const Tensor& k, const Tensor& v)
    {
        Shape shape = k.shape();
        shape.insert(shape.begin(), 2);
        const std::array parts{withAxis(k.contiguous(), 0), withAxis(v.contiguous(), 0)};
        const std::array<std::int64_t, 2> extents{1, 1};
        return joined({k.dtype(), std::move(shape)}, parts, extents, 0).contiguous();
    }
    /// Those of the past in front.
    [[nodiscard]] Tensor withPast(const Tensor& now, std::span<const Tensor> operands, std::int64_t which) const
    {
        if (operands.size() <= FusedAttentionSlot::kPast || !operands[FusedAttentionSlot::kPast].isValid()) {
            return now;
        }
        Shape shape = now.shape();
        shape[2] = m_setting.form.keys;
        const std::array parts{half(operands[FusedAttentionSlot::kPast], which), now};
        const std::array extents{m_setting.form.past, m_setting.form.queries};
        return joined({now.dtype(), std::move(shape)}, parts, extents, 2).contiguous();
    }

    [[nodiscard]] Tensor throughProjection(const Tensor& whole, std::span<const Tensor> operands, std::size_t slot,
                                           std::int64_t width) const
    {
        const Tensor rows = whole.reshaped({m_setting.form.batch * m_setting.form.queries, width});
        if (slot == FusedAttentionSlot::kBias) {
            return algebra::reduceTo(rows, {width});
        }
        if (slot == FusedAttentionSlot::kInput) {
            return matrixProduct(rows, swapped(operands[FusedAttentionSlot::kWeights]))
                .reshaped(m_setting.operands[FusedAttentionSlot::kInput]);
        }
        const Shape flat{rows.shape()[0], m_setting.operands[FusedAttentionSlot::kInput][2]};
        return matrixProduct(swapped(operands[FusedAttentionSlot::kInput].contiguous().reshaped(flat)), rows);
    }

    [[nodiscard]] Parts partsOf(std::span<const Tensor> operands) const
    {
        Tensor projected = matrixProduct(operands[FusedAttentionSlot::kInput], operands[FusedAttentionSlot::kWeights]);
        if (operands.size() > FusedAttentionSlot::kBias && operands[FusedAttentionSlot::kBias].isValid()) {
            projected = algebra::addBroadcast(projected, operands[FusedAttentionSlot::kBias]);
        }
        const std::int64_t heads = m_setting.form.heads;
        Parts parts;
        parts.q = splitHeads(slice(projected, 2, 0, m_setting.hidden), heads);
        parts.k = withPast(splitHeads(slice(projected, 2, m_setting.hidden, m_setting.hidden), heads), operands, 0);
        parts.v =
            withPast(splitHeads(slice(projected, 2, 2 * m_setting.hidden, m_setting.valueHidden), heads), operands, 1);
        takeMask(operands, parts.mask);
        return parts;
    }

    void takeMask(std::span<const Tensor> operands, AttentionMask& mask) const
    {
        if (operands.size() > FusedAttentionSlot::kMaskIndex && operands[FusedAttentionSlot::kMaskIndex].isValid()) {
            const Tensor given = operands[FusedAttentionSlot::kMaskIndex].to(DType::Int64).contiguous();
            mask.bias = given.rank() == 1 ? biasOfLengths(given) : biasOf(given);
        }
        if (operands.size() > FusedAttentionSlot::kAttentionBias &&
            operands[FusedAttentionSlot::kAttentionBias].isValid()) {
            const Tensor& bias = operands[FusedAttentionSlot::kAttentionBias];
            const Tensor wide = algebra::broadcastTo(bias, m_setting.form.scoreShape());
            mask.bias = mask.bias.isValid() ? algebra::addBroadcast(wide, mask.bias) : wide;
        }
    }

    /// 0 where a token counts, else the masked value; batch × 1 × 1 × keys. Of each image the first key that does not
    /// count any more, then, where there are as many numbers again, the first one that counts.
    [[nodiscard]] Tensor biasOfLengths(const Tensor& given) const
    {
        const std::int64_t batch = m_setting.form.batch;
        const std::int64_t keys = m_setting.form.keys;
        const std::span<const std::int64_t> ends = given.span<std::int64_t>();
        return filled(m_outputTypes[0].dtype, {batch, 1, 1, keys}, [&](auto* out) {
            using T = std::decay_t<decltype(*out)>;
            for (std::int64_t i = 0; i < batch * keys; ++i) {
                const auto image = static_cast<std::size_t>(i / keys);
                const auto from = image + static_cast<std::size_t>(batch);
                const bool counts = i % keys < ends[image] && (from >= ends.size() || i % keys >= ends[from]);
                out[i] = counts ? T{0} : static_cast<T>(m_setting.maskedValue);
            }
        });
    }

    /// 0 where the mask is above 0, else the masked value; batch × 1 × (1 or queries) × keys.
    [[nodiscard]] Tensor biasOf(const Tensor& given) const
    {
        const Shape& own = given.shape();
        const Shape shape = own.size() == 2 ? Shape{own[0], 1, 1, own[1]} : Shape{own[0], 1, own[1], own[2]};
        return filled(m_outputTypes[0].dtype, shape, [&](auto* out) {
            using T = std::decay_t<decltype(*out)>;
            const auto values = given.span<std::int64_t>();
            for (std::size_t i = 0; i < values.size(); ++i) {
                out[i] = values[i] > 0 ? T{0} : static_cast<T>(m_setting.maskedValue);
            }
        });
    }

    FusedAttentionSetting m_setting;
};

base::Result<void> expectFusedAttention(const BindContext& context)
{
    if (context.intAttribute("past_present_share_buffer", 0) != 0 || context.intAttribute("do_rotary", 0) != 0 ||
        context.present(FusedAttentionSlot::kPastLength)) {
        return context.error("past_present_share_buffer, past_sequence_length (operand 6) and do_rotary are not "
                             "supported; export the model without them");
    }
    const Shape& x = firstType(context).shape;
    const Shape& w = context.operandTypes[FusedAttentionSlot::kWeights].shape;
    if (!tensor::isFloating(firstType(context).dtype) || x.size() != 3 || w.size() != 2 || w[0] != x[2]) {
        return context.error("a floating operand batch × tokens × inputs and weights inputs × (queries, keys, values) "
                             "are needed");
    }
    return {};
}

/// Past keys and values fit those that the projection gives, which are of one width then.
base::Result<void> expectPast(const BindContext& context, const AttentionForm& form)
{
    const bool isGiven = context.present(FusedAttentionSlot::kPast);
    const bool isAsked = context.node.outputs.size() > 1 && context.node.outputs[1].isValid();
    if ((isGiven || isAsked) && form.width != form.valueWidth) {
        return context.error(
            fmt::format("with a past or a present, keys and values must be of one width, but they have "
                        "{} and {} per head",
                        form.width, form.valueWidth));
    }
    if (!isGiven) {
        return {};
    }
    const TensorType& past = context.operandTypes[FusedAttentionSlot::kPast];
    if (past.dtype != firstType(context).dtype ||
        past.shape != Shape{2, form.batch, form.heads, form.past, form.width}) {
        return context.error(
            fmt::format("past (operand 4) must have the type of operand 0 and the shape [2 × {} × {} × "
                        "past tokens × {}]: keys and values, batch, heads, tokens, width",
                        form.batch, form.heads, form.width));
    }
    return context.present(FusedAttentionSlot::kAttentionBias)
               ? base::Result<void>(context.error("past (operand 4) and attention_bias (operand 5) do not go together"))
               : base::Result<void>();
}

base::Result<void> expectMaskIndex(const BindContext& context, const AttentionForm& form)
{
    if (!context.present(FusedAttentionSlot::kMaskIndex)) {
        return {};
    }
    const TensorType& mask = context.operandTypes[FusedAttentionSlot::kMaskIndex];
    const std::array known{Shape{form.batch}, Shape{2 * form.batch}, Shape{form.batch, form.keys},
                           Shape{form.batch, form.queries, form.keys}};
    if (tensor::isFloating(mask.dtype) || std::find(known.begin(), known.end(), mask.shape) == known.end()) {
        return context.error("mask_index must hold integers: an end per image, ends and then starts, batch × keys or "
                             "batch × queries × keys, with those of the past in front");
    }
    return {};
}

base::Result<FusedAttentionSetting> settingOf(const BindContext& context)
{
    const Shape& x = firstType(context).shape;
    const std::int64_t width = context.operandTypes[FusedAttentionSlot::kWeights].shape[1];
    const auto sizes = context.intsAttribute("qkv_hidden_sizes", {width / 3, width / 3, width - 2 * (width / 3)});
    const std::int64_t heads = context.intAttribute("num_heads", 0);
    const bool fits = sizes.size() == 3 && sizes[0] == sizes[1] && sizes[0] + sizes[1] + sizes[2] == width &&
                      heads > 0 && sizes[0] > 0 && sizes[0] % heads == 0 && sizes[2] % heads == 0;
    if (!fits) {
        return context.error(
            fmt::format("{} columns of weights do not split into queries, keys and values of {} heads", width, heads));
    }
    if (context.present(FusedAttentionSlot::kBias) &&
        context.operandTypes[FusedAttentionSlot::kBias].shape != Shape{width}) {
        return context.error(fmt::format("the bias must have the shape [{}]", width));
    }
    FusedAttentionSetting setting;
    const bool hasPast =
        context.present(FusedAttentionSlot::kPast) && context.operandTypes[FusedAttentionSlot::kPast].shape.size() == 5;
    const std::int64_t past = hasPast ? context.operandTypes[FusedAttentionSlot::kPast].shape[3] : 0;
    setting.form = {x[0], heads, heads, x[1], past + x[1], sizes[0] / heads, sizes[2] / heads};
    setting.form.past = past;
    setting.givesPresent = context.node.outputs.size() > 1 && context.node.outputs[1].isValid();
    const double scale = context.floatAttribute("scale", 0);
    setting.form.scale = scale == 0 ? 1 / std::sqrt(static_cast<double>(setting.form.width)) : scale;
    setting.form.isCausal = context.intAttribute("unidirectional", 0) != 0;
    setting.maskedValue = context.floatAttribute("mask_filter_value", -10000);
    setting.hidden = sizes[0];
    setting.valueHidden = sizes[2];
    RETRO_CHECK(expectPast(context, setting.form));
    RETRO_CHECK(expectMaskIndex(context, setting.form));
    for (const TensorType& type : context.operandTypes) {
        setting.operands.push_back(type.shape);
    }
    return setting;
}

BoundResult bindFusedAttention(const BindContext& context)
{
    RETRO_CHECK(expectFusedAttention(context));
    RETRO_TRY(FusedAttentionSetting setting, settingOf(context));
    if (context.present(FusedAttentionSlot::kAttentionBias)) {
        RETRO_TRY(const Shape shape, broadcastShape(context, setting.form.scoreShape(),
                                                    context.operandTypes[FusedAttentionSlot::kAttentionBias].shape));
        if (shape != setting.form.scoreShape()) {
            return context.error("attention_bias does not broadcast to the scores");
        }
    }
    Shape shape{setting.form.batch, setting.form.queries, setting.valueHidden};
    RETRO_CHECK(expectSize(context, setting.form.scoreShape()));
    std::vector<TensorType> outputs{{firstType(context).dtype, std::move(shape)}};
    if (setting.givesPresent) {
        const AttentionForm& form = setting.form;
        outputs.push_back({firstType(context).dtype, {2, form.batch, form.heads, form.keys, form.width}});
        RETRO_CHECK(expectSize(context, outputs.back().shape));
    }
    return bound<FusedAttention>(std::move(outputs), std::move(setting));
}

} // namespace

const OperatorFamily kFusedAttentionOperators{
    {"com.microsoft", "Attention", 1, 0, "composed", true, bindFusedAttention},
};

} // namespace retro::ops
