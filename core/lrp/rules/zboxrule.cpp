// SPDX-License-Identifier: Apache-2.0
#include "core/lrp/rules/forwardparts.h"
#include "core/lrp/rules/lineardistribution.h"
#include "core/lrp/rules/ruledeclaration.h"
#include "core/ops/algebraover.h"
#include "core/ops/samplewisemap.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace retro::lrp
{

namespace algebra = ops::algebra;

namespace
{

class ZBoxRule final : public LinearMapRule
{
public:
    ZBoxRule(std::vector<double> low, std::vector<double> high, const Stabiliser& stabiliser)
        : m_low(std::move(low)), m_high(std::move(high)), m_stabiliser(stabiliser)
    {}

    [[nodiscard]] std::string_view name() const override { return "z-box"; }

    [[nodiscard]] std::string text() const override
    {
        return fmt::format("z-box {} to {}, epsilon {}", fmt::join(m_low, "/"), fmt::join(m_high, "/"),
                           textOf(m_stabiliser));
    }

    [[nodiscard]] RuleParameters parameters() const override
    {
        RuleParameters result;
        write(m_stabiliser, result);
        result["low"] = asParameter(m_low);
        result["high"] = asParameter(m_high);
        return result;
    }

    [[nodiscard]] std::string misfit(const ops::BoundOperator& op, std::span<const ops::TensorType> operands,
                                     std::span<const std::uint8_t>) const override
    {
        const tensor::Shape& shape = operands[as<ops::LinearMap>(op.structure()).operandSlot()].shape;
        for (const std::vector<double>* bounds : {&m_low, &m_high}) {
            const bool fits =
                bounds->size() == 1 || (shape.size() > 1 && shape[1] == static_cast<std::int64_t>(bounds->size()));
            if (!fits) {
                return fmt::format("has bounds for {} channels, but its input is {}; give one number, or one per "
                                   "channel (axis 1)",
                                   bounds->size(), tensor::toText(shape));
            }
        }
        return {};
    }

    [[nodiscard]] ops::Reads reads(const ops::BoundOperator& op, std::span<const std::uint8_t>) const override
    {
        return {readsOperandOf(as<ops::LinearMap>(op.structure())).operands, ops::Reads::bit(0)}; // of the denominator
    }

    [[nodiscard]] std::vector<Tensor> weigh(const WeighContext& context) const override
    {
        const auto& map = as<ops::LinearMap>(context.op.structure());
        const std::size_t slot = map.operandSlot();
        return onlyFirst(context, weighThrough(distributionOf(map, context.operands[slot], context.outputs[0]),
                                               context.weights[slot], context.memory));
    }

    [[nodiscard]] std::vector<Tensor> apply(const RuleContext& context) const override
    {
        const auto& map = as<ops::LinearMap>(context.op.structure());
        const Tensor& x = context.operands[map.operandSlot()];
        Balance balance(context);
        Tensor part = distribute(distributionOf(map, x, context.outputs[0]), context.relevance[0], balance);
        return balance.close(onlySlot(context, map.operandSlot(), std::move(part)));
    }

private:
    // x·W − l·W⁺ − h·W⁻ with W = W⁺ + W⁻: two passes instead of three.
    [[nodiscard]] LinearDistribution distributionOf(const ops::LinearMap& map, const Tensor& x, const Tensor& z) const
    {
        LinearDistribution distribution{map,
                                        {{away(x, m_low), kPositive, 1}, {away(x, m_high), kNegative, 1}},
                                        std::nullopt, // b − b⁺ − b⁻ = 0: the bias never enters
                                        {m_stabiliser, BiasPolicy::Zero}};
        distribution.own = z.isValid() ? z : map.apply(x, {});
        distribution.shift = shift(map, x, z.isValid());
        return distribution;
    }

    static RuleParameter asParameter(const std::vector<double>& bounds)
    {
        return bounds.size() == 1 ? RuleParameter(bounds.front()) : RuleParameter(bounds);
    }

    // −l·W⁺ − h·W⁻, less the bias where the forward pass has added it: the same for all samples of a convolution.
    [[nodiscard]] Tensor shift(const ops::LinearMap& map, const Tensor& x, bool isBiasIn) const
    {
        Tensor sum = algebra::scale(applyToBound(map, x, m_low, kPositive), -1);
        sum = algebra::addScaledOver(std::move(sum), applyToBound(map, x, m_high, kNegative), -1);
        return isBiasIn && map.hasBias() ? algebra::addScaledOver(std::move(sum), map.bias({}), -1) : sum;
    }

    // A bound through the map; of one sample where the map does the same to all.
    static Tensor applyToBound(const ops::LinearMap& map, const Tensor& x, const std::vector<double>& bounds,
                               WeightVariant variant)
    {
        const auto* sampleWise = dynamic_cast<const ops::SampleWiseMap*>(&map);
        return sampleWise != nullptr && x.size() > 0
                   ? sampleWise->applyToConstant(bounds, variant)
                   : map.apply(algebra::broadcastTo(asColumn(x, bounds), x.shape()), variant);
    }

    // x minus the bound.
    static Tensor away(const Tensor& x, const std::vector<double>& bounds)
    {
        return algebra::addBroadcast(x, algebra::scale(asColumn(x, bounds), -1));
    }

    // One number, or one per channel, in a shape that broadcasts to that of x.
    static Tensor asColumn(const Tensor& x, const std::vector<double>& bounds)
    {
        tensor::Shape perChannel(x.rank(), 1);
        if (bounds.size() > 1) {
            perChannel[1] = x.shape()[1];
        }
        return Tensor::of<double>(std::move(perChannel), bounds).to(x.dtype());
    }

    static constexpr WeightVariant kPositive{WeightPart::Positive, 0};
    static constexpr WeightVariant kNegative{WeightPart::Negative, 0};

    std::vector<double> m_low;
    std::vector<double> m_high;
    Stabiliser m_stabiliser;
};

constexpr Range kAnything{std::numeric_limits<double>::lowest(), std::numeric_limits<double>::max()};

} // namespace

RulePointer zBoxRule(double low, double high, const Stabiliser& stabiliser)
{
    return zBoxRule(std::vector<double>{low}, std::vector<double>{high}, stabiliser);
}

RulePointer zBoxRule(std::vector<double> low, std::vector<double> high, const Stabiliser& stabiliser)
{
    return std::make_shared<const ZBoxRule>(std::move(low), std::move(high), stabiliser);
}

std::pair<std::vector<double>, std::vector<double>> readBox(ParameterReader& reader)
{
    std::vector<double> low = reader.numbers("low", -3, kAnything);
    std::vector<double> high = reader.numbers("high", 3, kAnything);
    const std::size_t count = std::max(low.size(), high.size());
    if (std::min(low.size(), high.size()) != 1 && low.size() != high.size()) {
        reader.fail("low", fmt::format("has {} numbers but high has {}", low.size(), high.size()));
        return {{-3}, {3}};
    }
    for (std::size_t i = 0; i < count; ++i) {
        const double below = low[low.size() == 1 ? 0 : i];
        const double above = high[high.size() == 1 ? 0 : i];
        if (!(below <= above)) {
            reader.fail("low", fmt::format("low ({}) must not be above high ({})", below, above));
        }
    }
    return {std::move(low), std::move(high)};
}

namespace
{

RulePointer readZBox(ParameterReader& reader)
{
    auto [low, high] = readBox(reader);
    return zBoxRule(std::move(low), std::move(high), reader.stabiliser({}));
}

std::string zBoxFormula(const FormulaWords&)
{
    return "D = xW − low·W⁺ − high·W⁻; R_in = x·(s·Wᵀ) − low·(s·W⁺ᵀ) − high·(s·W⁻ᵀ), s = R/stab(D)";
}

} // namespace

extern const RuleDeclaration kZBoxRule{"z-box", readZBox, zBoxFormula, "linear map", "Montavon et al. 2017"};

} // namespace retro::lrp
