// SPDX-License-Identifier: Apache-2.0
#include "core/lrp/rules/forwardparts.h"
#include "core/lrp/rules/lineardistribution.h"
#include "core/lrp/rules/ruledeclaration.h"

#include <fmt/format.h>

namespace retro::lrp
{

namespace
{

/// Flat and w-square: weight rules that look at the weights alone, as if every input were 1.
class InputFreeRule : public LinearMapRule
{
public:
    InputFreeRule(WeightVariant weight, const LinearOptions& options) : m_options(options), m_weight(weight) {}

    [[nodiscard]] ops::Reads reads(const ops::BoundOperator&, std::span<const std::uint8_t>) const override
    {
        return ops::Reads::nothing();
    }

    [[nodiscard]] std::vector<Tensor> weigh(const WeighContext& context) const override
    {
        const auto& map = as<ops::LinearMap>(context.op.structure());
        const Tensor& w = context.weights[map.operandSlot()];
        const Tensor ones = Tensor::full(w.dtype(), w.shape(), 1);
        return onlyFirst(context, weighThrough({map, {{ones, m_weight, 1}}, m_weight, m_options}, w, context.memory));
    }

    [[nodiscard]] std::vector<Tensor> apply(const RuleContext& context) const override
    {
        const auto& map = as<ops::LinearMap>(context.op.structure());
        const ops::TensorType& type = context.operandTypes[map.operandSlot()];
        Balance balance(context);
        LinearDistribution distribution{
            map, {{Tensor::full(type.dtype, type.shape, 1), m_weight, 1}}, m_weight, m_options};
        distribution.isWhole = true;
        Tensor part = distribute(std::move(distribution), context.relevance[0], balance);
        return balance.close(onlySlot(context, map.operandSlot(), std::move(part)));
    }

protected:
    LinearOptions m_options;

private:
    WeightVariant m_weight;
};

class FlatRule final : public InputFreeRule
{
public:
    explicit FlatRule(const Stabiliser& stabiliser)
        : InputFreeRule({WeightPart::Ones, 0}, {stabiliser, BiasPolicy::Zero})
    {}

    [[nodiscard]] std::string_view name() const override { return "flat"; }
    [[nodiscard]] std::string text() const override
    {
        return fmt::format("flat, epsilon {}", textOf(m_options.stabiliser));
    }
    [[nodiscard]] RuleParameters parameters() const override
    {
        RuleParameters result;
        write(m_options.stabiliser, result);
        return result;
    }
};

class WSquareRule final : public InputFreeRule
{
public:
    explicit WSquareRule(const LinearOptions& options) : InputFreeRule({WeightPart::Square, 0}, options) {}

    [[nodiscard]] std::string_view name() const override { return "w-square"; }
    [[nodiscard]] std::string text() const override { return fmt::format("w-square, epsilon {}", textOf(m_options)); }
    [[nodiscard]] RuleParameters parameters() const override
    {
        RuleParameters result;
        write(m_options, result);
        return result;
    }
};

} // namespace

RulePointer flatRule(const Stabiliser& stabiliser) { return std::make_shared<const FlatRule>(stabiliser); }

RulePointer wSquareRule(const LinearOptions& options) { return std::make_shared<const WSquareRule>(options); }

namespace
{

RulePointer readFlat(ParameterReader& reader) { return flatRule(reader.stabiliser({})); }

std::string flatFormula(const FormulaWords&) { return "D = number of inputs; R_in = s·1ᵀ, s = R/stab(D)"; }

RulePointer readWSquare(ParameterReader& reader) { return wSquareRule(reader.linearOptions(1e-6)); }

std::string wSquareFormula(const FormulaWords& words) { return weightFormula(words, "ΣW²", "b²", "s·(W²)ᵀ", "ΣW²"); }

} // namespace

extern const RuleDeclaration kFlatRule{"flat", readFlat, flatFormula, "linear map", "Lapuschkin et al. 2019"};
extern const RuleDeclaration kWSquareRule{"w-square", readWSquare, wSquareFormula, "linear map",
                                          "Montavon et al. 2017"};

} // namespace retro::lrp
