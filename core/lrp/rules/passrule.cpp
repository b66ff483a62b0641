// SPDX-License-Identifier: Apache-2.0
#include "core/lrp/rules/balance.h"
#include "core/lrp/rules/forwardparts.h"
#include "core/lrp/rules/gradientparts.h"
#include "core/lrp/rules/linearform.h"
#include "core/lrp/rules/ruledeclaration.h"
#include "core/lrp/rules/statistics.h"
#include "core/lrp/rules/titledrule.h"
#include "core/ops/lookup.h"
#include "core/ops/masking.h"
#include "core/ops/quantise/straightthrough.h"
#include "core/ops/resample/axisresampling.h"

#include <fmt/format.h>

namespace retro::lrp
{

namespace algebra = ops::algebra;
using ops::StructureKind;

namespace
{

// True for an operand whose elements can be among the result's: not an index list, not the scalar that fills a padding.
bool isData(const RuleContext& context, std::size_t slot)
{
    const ops::TensorType& type = context.operandTypes[slot];
    const bool fits = type.shape.size() == context.op.outputTypes().front().shape.size() ||
                      type.shape == context.operandTypes[0].shape; // a stacked one has an axis less
    return fits && tensor::isFloating(type.dtype) && !type.shape.empty();
}

// Relevance that a shape map brings back to operands that carry none (a constant part of a Concat). The tokens of an
// embedding stand for its table.
double carriedToUntracked(const RuleContext& context)
{
    double amount = 0;
    if (context.tracked.size() > ops::Lookup::kIndices && context.tracked[ops::Lookup::kIndices] != 0 &&
        ops::isTokenSlot(context.op.structure(), ops::Lookup::kIndices)) {
        return amount;
    }
    for (std::size_t slot = 0; slot < context.tracked.size(); ++slot) {
        if (context.tracked[slot] == 0 && isData(context, slot)) {
            amount += algebra::sum(carriedBack(context, slot));
        }
    }
    return amount;
}

// Of a constant and what is computed, the latter takes all.
bool isCombination(const ops::Structure& structure)
{
    return structure.kind() == StructureKind::SumOfOperands || structure.kind() == StructureKind::Product;
}

bool isResampling(const ops::Structure& structure)
{
    return structure.kind() == StructureKind::Differentiable &&
           dynamic_cast<const ops::ResamplesAxes*>(&structure) != nullptr;
}

class PassRule final : public TitledRule
{
public:
    PassRule()
        : TitledRule({"pass",
                      {StructureKind::ElementWise, StructureKind::Normalisation, StructureKind::SelfNormalisation,
                       StructureKind::Softmax, StructureKind::ShapeMap, StructureKind::Quotient,
                       StructureKind::LinearMap, StructureKind::SumOfOperands, StructureKind::Product}})
    {}

    [[nodiscard]] bool accepts(const ops::Structure& structure) const override
    {
        return TitledRule::accepts(structure) || isResampling(structure);
    }

    [[nodiscard]] std::string misfit(const ops::BoundOperator& op, std::span<const ops::TensorType> operands,
                                     std::span<const std::uint8_t> tracked) const override
    {
        if (isCombination(op.structure())) {
            const std::size_t takers = takersOf(tracked);
            return takers < 2 ? std::string()
                              : fmt::format("passes relevance on to the one computed operand, but {} operands are "
                                            "computed; choose another rule",
                                            takers);
        }
        if (op.structure().kind() != StructureKind::LinearMap) {
            return {};
        }
        const tensor::Shape& from = operands[as<ops::LinearMap>(op.structure()).operandSlot()].shape;
        const tensor::Shape& to = op.outputTypes().front().shape;
        return from == to ? std::string()
                          : fmt::format("passes relevance on unchanged, but the result is {} and the input {}; choose "
                                        "another rule",
                                        tensor::toText(to), tensor::toText(from));
    }

    [[nodiscard]] ops::Reads reads(const ops::BoundOperator& op, std::span<const std::uint8_t>) const override
    {
        return op.structure().kind() == StructureKind::ShapeMap ? carryReads(op) : statisticsReads(op);
    }

    [[nodiscard]] std::string noForward(const ops::BoundOperator& op,
                                        std::span<const std::uint8_t> tracked) const override
    {
        return op.structure().kind() == StructureKind::Differentiable ? derivativeFault(op, tracked) : std::string();
    }

    [[nodiscard]] std::vector<Tensor> weigh(const WeighContext& context) const override
    {
        switch (context.op.structure().kind()) {
        case StructureKind::ShapeMap:
            return carriedForward(context);
        case StructureKind::LinearMap:
            return onlyFirst(context, context.weights[as<ops::LinearMap>(context.op.structure()).operandSlot()]);
        case StructureKind::Differentiable:
            return alongDerivative(context, context.weights);
        case StructureKind::Quotient:
        case StructureKind::SumOfOperands:
        case StructureKind::Product: {
            const Tensor& w = context.weights[firstTaker(context.tracked)];
            return onlyFirst(context, w.isValid() ? asResult(context, w) : Tensor());
        }
        default:
            return onlyFirst(context, context.weights[0]);
        }
    }

    [[nodiscard]] std::vector<Tensor> apply(const RuleContext& context) const override
    {
        switch (context.op.structure().kind()) {
        case StructureKind::ShapeMap:
            return applyToShapeMap(context);
        case StructureKind::Quotient:
            return applyToQuotient(context);
        case StructureKind::LinearMap: {
            const std::size_t slot = as<ops::LinearMap>(context.op.structure()).operandSlot();
            return Balance(context).close(onlySlot(context, slot, context.relevance[0]));
        }
        case StructureKind::SumOfOperands:
        case StructureKind::Product:
            return Balance(context).close(toTracked(context));
        case StructureKind::SelfNormalisation: {
            Balance balance(context);
            Tensor part = withStatistics(context, {}, balance, context.relevance[0]);
            return balance.close(onlySlot(context, 0, std::move(part)));
        }
        case StructureKind::Differentiable:
            // By the weights alone, whatever the elements; what lies outside the operand came from nowhere.
            return Balance(context).closeAs(event::Cause::Unread, onlySlot(context, 0, gradientPart(context, 0)));
        default:
            return Balance(context).close(onlySlot(context, 0, context.relevance[0]));
        }
    }

private:
    static std::vector<Tensor> applyToShapeMap(const RuleContext& context)
    {
        Balance balance(context);
        std::vector<Tensor> parts = forTracked(context, [&](std::size_t slot) { return carriedBack(context, slot); });
        if (as<ops::ShapeMap>(context.op.structure()).isRearrangement()) {
            return balance.closeRearranged(std::move(parts));
        }
        if (ops::isMasking(context.op.structure())) {
            return balance.closeAs(event::Cause::Mask, std::move(parts));
        }
        if (ops::isSaturating(context.op)) {
            return balance.closeAs(event::Cause::Saturation, std::move(parts));
        }
        if (balance.isWanted()) {
            balance.book(event::Cause::Constant, carriedToUntracked(context));
        }
        return balance.closeAs(event::Cause::Unread, std::move(parts));
    }

    static std::vector<Tensor> applyToQuotient(const RuleContext& context)
    {
        const std::size_t taker = context.tracked[0] != 0 ? 0 : 1;
        Tensor part = algebra::reduceTo(context.relevance[0], context.operandTypes[taker].shape);
        return Balance(context).close(onlySlot(context, taker, std::move(part)));
    }
};

class StopRule final : public Rule, public LinearRule
{
public:
    [[nodiscard]] std::string_view name() const override { return "stop"; }

    [[nodiscard]] bool accepts(const ops::Structure& structure) const override
    {
        return structure.kind() != StructureKind::NoRelevance;
    }

    [[nodiscard]] ops::Reads reads(const ops::BoundOperator&, std::span<const std::uint8_t>) const override
    {
        return ops::Reads::nothing();
    }

    [[nodiscard]] std::vector<Tensor> weigh(const WeighContext& context) const override
    {
        return onlyFirst(context, {});
    }

    [[nodiscard]] std::vector<Tensor> apply(const RuleContext& context) const override
    {
        return Balance(context).closeAs(event::Cause::Filter, onlySlot(context, context.tracked.size(), {}));
    }
};

} // namespace

RulePointer passRule() { return std::make_shared<const PassRule>(); }

RulePointer stopRule() { return std::make_shared<const StopRule>(); }

namespace
{

std::string passFormula(const FormulaWords& words)
{
    if (words.is(StructureKind::ShapeMap)) {
        return "R_in = R, each element where it came from";
    }
    if (words.is(StructureKind::SumOfOperands) || words.is(StructureKind::Product)) {
        return "R_in = R for the one operand that is computed";
    }
    if (words.is(StructureKind::Differentiable)) {
        return "R_in = Wᵀ·R, W the weights of the resampling";
    }
    return words.is(StructureKind::Quotient) ? "R_a = R, R_b = 0; R_b = R where a carries no relevance" : "R_in = R";
}

} // namespace

extern const RuleDeclaration kPassRule{"pass", [](ParameterReader&) { return passRule(); }, passFormula,
                                       "what hands its elements on (see below)"};
extern const RuleDeclaration kStopRule{"stop", [](ParameterReader&) { return stopRule(); },
                                       [](const FormulaWords&) { return std::string("R_in = 0"); }, "everything"};

} // namespace retro::lrp
