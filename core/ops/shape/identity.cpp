// SPDX-License-Identifier: Apache-2.0
#include "core/ops/bind/bindcheck.h"
#include "core/ops/bind/operatorbase.h"
#include "core/ops/checkpoint.h"
#include "core/ops/families.h"
#include "core/ops/kernel/rowloop.h"
#include "core/ops/kernel/visitnumber.h"
#include "core/ops/lookup.h"

#include <fmt/format.h>

namespace retro::ops
{

namespace
{

/// Hands its operand on: Identity, Dropout at inference.
class Identity : public Operator<ShapeMap>, public TokenMap
{
public:
    Identity(std::vector<TensorType> outputs, Reads reads) : Operator(std::move(outputs)), m_reads(reads) {}

    [[nodiscard]] std::vector<Tensor> forward(std::span<const Tensor> operands) const override
    {
        std::vector<Tensor> results{operands[0]};
        if (m_outputTypes.size() > 1) { // Dropout's mask: nothing is dropped
            results.push_back(Tensor::full(m_outputTypes[1].dtype, m_outputTypes[1].shape, 1));
        }
        return results;
    }
    [[nodiscard]] Reads savedForGradient() const override { return m_reads; }
    [[nodiscard]] Tensor carryBack(std::span<const Tensor> perOutput, std::size_t) const override
    {
        return perOutput[0].isValid() ? perOutput[0] : Tensor::zeros(m_outputTypes[0].dtype, m_outputTypes[0].shape);
    }

private:
    Reads m_reads;
};

/// Dropout at inference. Its ratio may be an operand of floats, on which nothing depends.
class Dropout final : public Identity
{
public:
    Dropout(std::vector<TensorType> outputs, TensorType ratio)
        : Identity(std::move(outputs), Reads::nothing()), m_ratio(std::move(ratio))
    {}

    [[nodiscard]] Tensor carryBack(std::span<const Tensor> perOutput, std::size_t slot) const override
    {
        return slot == 0 ? Identity::carryBack(perOutput, slot) : Tensor::zeros(m_ratio.dtype, m_ratio.shape);
    }

private:
    TensorType m_ratio;
};

/// Hands its operand on and keeps it: relevance that arrives is final there and gets a snapshot.
class Checkpoint final : public Identity, public CheckpointMark
{
public:
    explicit Checkpoint(const TensorType& type) : Identity({type}, Reads::firstOperand()) {}
};

/// Hands its operand on and takes no relevance for it.
class Detach final : public PassiveOperator
{
public:
    explicit Detach(TensorType output) { m_outputTypes.push_back(std::move(output)); }

    [[nodiscard]] std::vector<Tensor> forward(std::span<const Tensor> operands) const override { return {operands[0]}; }
};

struct Opposite
{
    template <class T>
    static T value(T x, RowParameters)
    {
        if constexpr (std::is_integral_v<T>) {
            return minus(T{0}, x);
        } else {
            return -x;
        }
    }
};

/// y = −x. Relevance moves unchanged; a gradient changes its sign.
class Negation final : public Operator<ShapeMap>
{
public:
    explicit Negation(TensorType type) : Operator(std::move(type)) {}

    [[nodiscard]] std::vector<Tensor> forward(std::span<const Tensor> operands) const override
    {
        const TensorType& type = m_outputTypes[0];
        return {mapNumbers(unaryNumbers<Opposite>(), type.dtype, type.shape, operands)};
    }
    [[nodiscard]] Reads savedForGradient() const override { return Reads::nothing(); }
    [[nodiscard]] Tensor carryBack(std::span<const Tensor> perOutput, std::size_t) const override
    {
        return perOutput[0].isValid() ? perOutput[0] : Tensor::zeros(m_outputTypes[0].dtype, m_outputTypes[0].shape);
    }
    [[nodiscard]] double sign() const override { return -1; }
};

BoundResult bindIdentity(const BindContext& context)
{
    return bound<Identity>(std::vector{firstType(context)}, Reads::nothing());
}

BoundResult bindCheckpoint(const BindContext& context) { return bound<Checkpoint>(firstType(context)); }

BoundResult bindDetach(const BindContext& context) { return bound<Detach>(firstType(context)); }

BoundResult bindNeg(const BindContext& context)
{
    RETRO_CHECK(expect(context, OperandTypes::AllNumbers));
    return bound<Negation>(firstType(context));
}

/// True when training_mode is missing or a constant false.
bool isInference(const BindContext& context)
{
    if (context.node.opset < 7) {
        return context.intAttribute("is_test", 0) != 0;
    }
    if (context.node.opset < 12 || !context.present(2)) {
        return true;
    }
    return context.constant(2) && context.constants[2].size() == 1 && context.constants[2].at(0) == 0;
}

BoundResult bindDropout(const BindContext& context)
{
    if (!isInference(context)) {
        return context.error("this Dropout is in training mode, which is random; export the model for inference");
    }
    for (const std::size_t slot : {std::size_t{1}, std::size_t{2}}) {
        if (context.present(slot) && tensor::elementCount(context.operandTypes[slot].shape) != 1) {
            return context.error(fmt::format("operand {} must be one number", slot));
        }
    }
    std::vector<TensorType> outputs{firstType(context)};
    if (context.node.outputs.size() > 1) {
        const tensor::DType mask = context.node.opset < 10 ? firstType(context).dtype : tensor::DType::Bool;
        outputs.push_back({mask, firstType(context).shape});
    }
    return bound<Dropout>(std::move(outputs), context.present(1) ? context.operandTypes[1] : TensorType{});
}

} // namespace

const OperatorFamily kIdentityOperators{
    {"", "Identity", 1, 0, "shape map", true, bindIdentity, true, Elements::Kept},
    {"", "Dropout", 1, 0, "shape map", true, bindDropout, true, Elements::Kept},
    {"", "Neg", 1, 0, "shape map", true, bindNeg, false, Elements::Negated},
    {"ai.retrograde", "Checkpoint", 1, 0, "shape map", true, bindCheckpoint, false, Elements::Kept},
    {"retrograde", "PassThrough", 1, 0, "shape map", true, bindIdentity, false, Elements::Kept},
    {"retrograde", "Detach", 1, 0, "no relevance", false, bindDetach, false, Elements::Kept},
};

} // namespace retro::ops
