// SPDX-License-Identifier: Apache-2.0
#include "core/ops/algebra.h"
#include "core/ops/bind/bindcheck.h"
#include "core/ops/bind/operatorbase.h"
#include "core/ops/families.h"
#include "core/ops/kernel/fewrows.h"
#include "core/ops/kernel/filled.h"
#include "core/ops/kernel/matrixproduct.h"
#include "core/ops/kernel/slices.h"
#include "core/ops/kernel/weightvariants.h"
#include "core/ops/linear/packedproduct.h"
#include "core/ops/linear/storedweight.h"
#include "core/ops/quantise/gatherblockquantized.h"
#include "core/ops/quantise/nbitsweight.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <vector>

namespace retro::ops
{

namespace
{

using tensor::DType;
using tensor::Shape;

struct ExpertSlot
{
    enum : std::size_t { kInput, kWeights, kBias, kScales, kZeroPoints };
};

/// The stack: experts × rows × columns, one layer of it. Packed weights hold several levels in a byte, low bits first.
struct ExpertForm
{
    std::int64_t expert = 0;
    std::int64_t rows = 0;    ///< results of the layer
    std::int64_t columns = 0; ///< of its operand
    std::int64_t bits = 0;    ///< 0: the weights are numbers
    std::int64_t block = 0;   ///< columns that share a scale

    [[nodiscard]] std::int64_t blocks() const { return (columns + block - 1) / block; }
};

/// x·Wᵀ + b of one expert, tokens × columns. Rows of x that are 0 are those of tokens that chose others: they are not
/// multiplied, and where there are only such rows the weights are not even widened. Widened weights are not kept.
class ExpertProduct final : public Operator<LinearMap>
{
public:
    ExpertProduct(const TensorType& input, const ExpertForm& form, std::span<const Tensor> constants)
        : Operator(TensorType{input.dtype, {input.shape[0], form.rows}}), m_form(form),
          m_weights(layerOf(constants[ExpertSlot::kWeights]))
    {
        if (constants.size() > ExpertSlot::kBias && constants[ExpertSlot::kBias].isValid()) {
            m_bias.emplace(layerOf(constants[ExpertSlot::kBias]).contiguous(), input.dtype);
        }
        if (form.bits != 0) {
            m_scales = layerOf(constants[ExpertSlot::kScales]).to(DType::Float64).contiguous();
        }
        if (constants.size() > ExpertSlot::kZeroPoints && constants[ExpertSlot::kZeroPoints].isValid()) {
            m_zeros = layerOf(constants[ExpertSlot::kZeroPoints]).contiguous();
        }
    }

    [[nodiscard]] std::vector<Tensor> forward(std::span<const Tensor> operands) const override
    {
        Tensor z = apply(operands[ExpertSlot::kInput], {});
        return {hasBias() ? algebra::addBroadcast(z, m_bias->get({})) : z};
    }
    [[nodiscard]] Reads savedForGradient() const override { return Reads::firstOperand(); }
    [[nodiscard]] double flops() const override
    {
        return 2.0 * static_cast<double>(m_outputTypes[0].shape[0]) * static_cast<double>(m_form.rows * m_form.columns);
    }

    [[nodiscard]] std::size_t operandSlot() const override { return ExpertSlot::kInput; }
    [[nodiscard]] bool hasBias() const override { return m_bias.has_value(); }
    [[nodiscard]] Tensor bias(WeightVariant variant) const override { return m_bias ? m_bias->get(variant) : Tensor(); }
    [[nodiscard]] Tensor apply(const Tensor& x, WeightVariant variant) const override
    {
        return product(x, variant, m_outputTypes[0].shape, false);
    }
    [[nodiscard]] Tensor pullback(const Tensor& s, WeightVariant variant) const override
    {
        return product(s, variant, {m_outputTypes[0].shape[0], m_form.columns}, true);
    }

private:
    /// The part of a stack that belongs to the expert, without the axis of the experts.
    [[nodiscard]] Tensor layerOf(const Tensor& stack) const
    {
        return withoutAxis(slice(stack, 0, m_form.expert, 1), 0);
    }

    [[nodiscard]] Tensor product(const Tensor& x, WeightVariant variant, const Shape& shape, bool isBackward) const
    {
        const std::optional<FewRows> few = FewRows::of(x);
        const Tensor rows = few ? few->packed() : x.contiguous();
        if (rows.shape()[0] == 0 || tensor::elementCount(shape) == 0) {
            return Tensor::zeros(x.dtype(), shape);
        }
        const Tensor weight = variantOf(widened(x.dtype()), variant);
        const Tensor made = matrixProduct(rows, isBackward ? weight : swapped(weight));
        return few ? few->spread(made, shape) : made;
    }

    /// rows × columns.
    [[nodiscard]] Tensor widened(DType type) const
    {
        if (m_form.bits == 0) {
            return m_weights.to(type);
        }
        const Tensor packed = m_weights.contiguous();
        const auto* const bytes = packed.data<std::uint8_t>();
        const double* const scales = m_scales.data<double>();
        const std::int64_t perByte = 8 / m_form.bits;
        const std::int64_t rowBytes = packed.size() / m_form.rows;
        const unsigned mask = (1U << static_cast<unsigned>(m_form.bits)) - 1;
        return filled(type, {m_form.rows, m_form.columns}, [&](auto* w) {
            using T = std::decay_t<decltype(*w)>;
            for (std::int64_t row = 0; row < m_form.rows; ++row) {
                for (std::int64_t k = 0; k < m_form.columns; ++k) {
                    const unsigned byte = bytes[row * rowBytes + k / perByte];
                    const unsigned level = (byte >> static_cast<unsigned>(k % perByte * m_form.bits)) & mask;
                    const std::int64_t group = k / m_form.block;
                    *w++ = static_cast<T>((static_cast<double>(level) - zeroOf(row, group)) *
                                          scales[row * m_form.blocks() + group]);
                }
            }
        });
    }

    [[nodiscard]] double zeroOf(std::int64_t row, std::int64_t group) const
    {
        if (!m_zeros.isValid()) {
            return static_cast<double>(1U << static_cast<unsigned>(m_form.bits - 1));
        }
        // per block, each row of blocks from a byte on; or one per row, packed along the rows
        const std::int64_t perByte = 8 / m_form.bits;
        const bool isPerRow = m_zeros.rank() == 1;
        const std::int64_t at = isPerRow ? row : group;
        const std::int64_t start = isPerRow ? 0 : row * m_zeros.shape().back();
        const unsigned byte = m_zeros.data<std::uint8_t>()[start + at / perByte];
        return (byte >> static_cast<unsigned>(at % perByte * m_form.bits)) &
               ((1U << static_cast<unsigned>(m_form.bits)) - 1);
    }

    ExpertForm m_form;
    Tensor m_weights;
    std::optional<WeightVariants> m_bias;
    Tensor m_scales; // rows × blocks
    Tensor m_zeros;
};

base::Result<void> expectExpertZeros(const BindContext& context, const ExpertForm& form, std::int64_t experts,
                                     bool isPerRow)
{
    if (!context.present(ExpertSlot::kZeroPoints)) {
        return {};
    }
    const TensorType& zeros = context.operandTypes[ExpertSlot::kZeroPoints];
    const std::int64_t perByte = 8 / form.bits;
    const Shape packedBlocks{experts, form.rows, (form.blocks() + perByte - 1) / perByte};
    const Shape packedRows{experts, (form.rows + perByte - 1) / perByte};
    const bool isKnown = zeros.shape == packedBlocks || (isPerRow && zeros.shape == packedRows);
    if (zeros.dtype != DType::UInt8 || !isKnown || !context.constant(ExpertSlot::kZeroPoints)) {
        return context.error(fmt::format("the zero points of the experts must be constant bytes of uint8 [{}]",
                                         tensor::toText(isPerRow ? packedRows : packedBlocks)));
    }
    return {};
}

/// Scales, and the block that shares one.
base::Result<void> expectExpertScales(const BindContext& context, ExpertForm& form, std::int64_t experts)
{
    form.block = context.intAttribute("block_size", 0);
    const bool isPower = form.block >= 16 && (form.block & (form.block - 1)) == 0;
    if (form.block != 0 && !isPower) {
        return context.error(
            fmt::format("block_size is {}, but must be 0 (a scale per row) or a power of two from 16", form.block));
    }
    const bool isPerRow = form.block == 0;
    form.block = isPerRow ? std::max<std::int64_t>(form.columns, 1) : form.block;
    if (!context.constant(ExpertSlot::kScales)) {
        return context.error("the scales of the experts must be constant");
    }
    const TensorType& scales = context.operandTypes[ExpertSlot::kScales];
    const Shape perBlock{experts, form.rows, form.blocks()};
    const bool fits = scales.shape == perBlock || (isPerRow && scales.shape == Shape{experts, form.rows});
    if (!tensor::isFloating(scales.dtype) || !fits) {
        return context.error(fmt::format("the scales of the experts are [{}], but must be [{}]",
                                         tensor::toText(scales.shape), tensor::toText(perBlock)));
    }
    return expectExpertZeros(context, form, experts, isPerRow);
}

/// The weights are numbers, or levels of 2, 4 or 8 bits, and have the columns of the operand.
base::Result<void> expectExpertWeights(const BindContext& context, const ExpertForm& form)
{
    const TensorType& weights = context.operandTypes[ExpertSlot::kWeights];
    const bool isPacked = form.bits == 2 || form.bits == 4 || form.bits == 8;
    if (form.bits != 0 && !isPacked) {
        return context.error(fmt::format("expert_weight_bits is {}, but must be 2, 4 or 8", form.bits));
    }
    const bool isTyped = isPacked ? weights.dtype == DType::UInt8 : tensor::isFloating(weights.dtype);
    const std::int64_t columns = isPacked ? weights.shape[2] * (8 / form.bits) : weights.shape[2];
    if (!isTyped || columns != form.columns) {
        return context.error(fmt::format("the weights of the experts are {} [{}], but must be {} of {} columns",
                                         tensor::nameOf(weights.dtype), tensor::toText(weights.shape),
                                         isPacked ? "uint8 that hold rows" : "floating", form.columns));
    }
    return {};
}

base::Result<void> expectExpertBias(const BindContext& context, const ExpertForm& form, std::int64_t experts)
{
    const bool isThere = context.present(ExpertSlot::kBias);
    const bool fits = isThere && context.constant(ExpertSlot::kBias) &&
                      context.operandTypes[ExpertSlot::kBias].shape == Shape{experts, form.rows};
    if (isThere && !fits) {
        return context.error(fmt::format("the bias of the experts must be constant [{} × {}]", experts, form.rows));
    }
    return {};
}

base::Result<ExpertForm> expertForm(const BindContext& context)
{
    const TensorType& x = firstType(context);
    const TensorType& weights = context.operandTypes[ExpertSlot::kWeights];
    if (!tensor::isFloating(x.dtype) || x.shape.size() != 2) {
        return context.error("operand 0 must be floating, tokens × columns");
    }
    if (weights.shape.size() != 3 || !context.constant(ExpertSlot::kWeights)) {
        return context.error("the weights of the experts must be constant, experts × rows × columns");
    }
    ExpertForm form{context.intAttribute("expert", 0), weights.shape[1], x.shape[1], context.intAttribute("bits", 0)};
    if (form.rows < 1) {
        return context.error("the weights of the experts have no rows");
    }
    if (form.expert < 0 || form.expert >= weights.shape[0]) {
        return context.error(fmt::format("there is no expert {} of {}", form.expert, weights.shape[0]));
    }
    RETRO_CHECK(expectExpertWeights(context, form));
    RETRO_CHECK(expectExpertBias(context, form, weights.shape[0]));
    if (form.bits != 0) {
        RETRO_CHECK(expectExpertScales(context, form, weights.shape[0]));
    }
    return form;
}

/// ExpertProduct of the domain retrograde: x·Wᵀ + b of one layer (attribute `expert`) out of a stack of constants.
/// Operands: x, tokens × columns; weights, experts × rows × columns, or with `bits` levels packed in bytes of uint8;
/// bias, experts × rows (may be absent); scales and zero points of packed weights, per row, or per block of
/// `block_size` columns. Errors (Input): constants that do not fit.
BoundResult bindExpertProduct(const BindContext& context)
{
    RETRO_TRY(const ExpertForm form, expertForm(context));
    RETRO_CHECK(expectSize(context, {form.rows, form.columns}, "the weights of one expert"));
    std::vector<Tensor> constants(context.constants.begin(), context.constants.end());
    constants[ExpertSlot::kWeights] = storedWeight(context, ExpertSlot::kWeights);
    return bound<ExpertProduct>(firstType(context), form, constants);
}

using tensor::DType;

constexpr std::size_t kBlockedBiasSlot = 5;

/// x·Wᵀ + b is a linear layer; relevance and gradients are those of one with the widened weights, which stay packed.
BoundResult bindMatMulNBits(const BindContext& context)
{
    if (!context.present(0) || !tensor::isFloating(firstType(context).dtype)) {
        return context.error("operand 0 must be floating");
    }
    const DType type = firstType(context).dtype;
    RETRO_TRY(const std::shared_ptr<const PackedMatrix> weight, packedNBits(context));
    const bool hasBias = context.present(kBlockedBiasSlot);
    graph::Node node = context.node;
    node.domain = hasBias ? "retrograde" : "";
    node.op = "MatMul";
    node.opset = hasBias ? 1 : kNewestOpset;
    node.attributes.clear();
    const graph::ValueId made(context.graph.valueCount()); // not what the graph stores there
    node.inputs = {node.inputs[0], made};
    std::vector<TensorType> types{firstType(context), {type, weight->shape()}};
    std::vector<Tensor> constants{Tensor(), shapeOnly(type, weight->shape())};
    if (hasBias) {
        node.inputs.push_back(made);
        types.push_back(context.operandTypes[kBlockedBiasSlot]);
        constants.push_back(context.constants[kBlockedBiasSlot]);
    }
    return bindPackedProduct({context.graph, context.id, node, types, constants, context.floatType, context.source},
                             weight);
}

} // namespace

const OperatorFamily kMatMulNBitsOperators{
    {"com.microsoft", "GatherBlockQuantized", 1, 0, "shape map", true, bindGatherBlockQuantized, true},
    {"com.microsoft", "MatMulNBits", 1, 0, "linear map", true, bindMatMulNBits},
    {"retrograde", "ExpertProduct", 1, 0, "linear map", true, bindExpertProduct},
};

} // namespace retro::ops
