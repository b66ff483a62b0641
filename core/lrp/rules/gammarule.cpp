// SPDX-License-Identifier: Apache-2.0
#include "core/lrp/rules/forwardparts.h"
#include "core/lrp/rules/lineardistribution.h"
#include "core/lrp/rules/ruledeclaration.h"
#include "core/lrp/traversal/parametersink.h"
#include "core/ops/algebraover.h"
#include "core/ops/gammadivision.h"
#include "core/ops/signsupport.h"

#include <fmt/format.h>

#include <array>
#include <utility>

namespace retro::lrp
{

namespace algebra = ops::algebra;

namespace
{

constexpr std::array<std::string_view, 2> kForms{"split", "original"};

class GammaRule final : public LinearMapRule
{
public:
    GammaRule(double gamma, const GammaOptions& options) : m_gamma(gamma), m_options(options) {}

    [[nodiscard]] std::string_view name() const override { return "gamma"; }

    [[nodiscard]] std::string text() const override
    {
        return fmt::format("gamma {}{}, epsilon {}{}", m_gamma, isOriginal() ? " original" : "",
                           textOf(m_options.linear), m_options.scalesBias ? "" : ", bias as it is");
    }

    [[nodiscard]] RuleParameters parameters() const override
    {
        RuleParameters result;
        write(m_options.linear, result);
        result["gamma"] = m_gamma;
        result["form"] = std::string(kForms[static_cast<std::size_t>(m_options.form)]);
        result["scale_bias"] = m_options.scalesBias;
        return result;
    }

    [[nodiscard]] ops::Reads reads(const ops::BoundOperator& op, std::span<const std::uint8_t>) const override
    {
        ops::Reads reads = readsOperandOf(as<ops::LinearMap>(op.structure()));
        reads.outputs = isOriginal() ? 0 : ops::Reads::bit(0); // its sign chooses the branch
        return reads;
    }

    [[nodiscard]] std::vector<Tensor> weigh(const WeighContext& context) const override
    {
        const auto& map = as<ops::LinearMap>(context.op.structure());
        const Tensor& x = context.operands[map.operandSlot()];
        const Tensor& w = context.weights[map.operandSlot()];
        if (isOriginal()) {
            return onlyFirst(context,
                             weighThrough({map, {{x, up(), 1}}, biasOf(up()), m_options.linear}, w, context.memory));
        }
        const Tensor& z = context.outputs[0];
        Tensor sum = algebra::keepWherePositive(weighThrough(branch(map, x, up(), down()), w, context.memory), z);
        if (algebra::anyNegative(z)) {
            sum = algebra::add(
                sum, algebra::keepWhereNegative(weighThrough(branch(map, x, down(), up()), w, context.memory), z));
        }
        return onlyFirst(context, sum);
    }

    [[nodiscard]] std::vector<Tensor> apply(const RuleContext& context) const override
    {
        const auto& map = as<ops::LinearMap>(context.op.structure());
        const Tensor& x = context.operands[map.operandSlot()];
        Balance balance(context);
        Tensor part =
            isOriginal() ? inOneBranch(map, x, context.relevance[0], balance) : inTwoBranches(map, x, context, balance);
        return balance.close(onlySlot(context, map.operandSlot(), std::move(part)));
    }

private:
    [[nodiscard]] bool isOriginal() const { return m_options.form == GammaForm::Original; }
    [[nodiscard]] WeightVariant up() const { return {WeightPart::GammaPositive, m_gamma}; }
    [[nodiscard]] WeightVariant down() const { return {WeightPart::GammaNegative, m_gamma}; }
    [[nodiscard]] WeightVariant biasOf(WeightVariant weight) const
    {
        return m_options.scalesBias ? weight : WeightVariant{};
    }

    [[nodiscard]] Tensor inOneBranch(const ops::LinearMap& map, const Tensor& x, const Tensor& relevance,
                                     Balance& balance) const
    {
        return distribute({map, {{x, up(), 1}}, biasOf(up()), m_options.linear}, relevance, balance);
    }

    [[nodiscard]] Tensor inTwoBranches(const ops::LinearMap& map, const Tensor& x, const RuleContext& context,
                                       Balance& balance) const
    {
        const Tensor& relevance = context.relevance[0];
        const Tensor& z = context.outputs[0];
        const algebra::SignSupport support = algebra::signSupport(relevance, z);
        LinearDistribution forPositive = branch(map, x, up(), down());
        if (support == algebra::SignSupport::Positive) { // as behind a ReLU: the second branch costs nothing
            forPositive.isWhole = true;
            return distribute(std::move(forPositive), relevance, balance);
        }
        const bool hasNegative = support == algebra::SignSupport::Negative;
        if (hasNegative && forPositive.terms.size() == 1 && m_options.linear.bias != BiasPolicy::Spread) {
            return fromResult(map, x, context, balance);
        }
        const Tensor onPositive = algebra::keepWherePositive(relevance, z);
        const Tensor onNegative = algebra::keepWhereNegative(relevance, z);
        if (balance.isWanted()) {
            const Tensor onZero = algebra::subtract(algebra::subtract(relevance, onPositive), onNegative);
            balance.book(event::Cause::ZeroDenominator, algebra::sum(onZero));
        }
        Tensor part = distribute(std::move(forPositive), onPositive, balance);
        if (!hasNegative) {
            return part;
        }
        return algebra::addOver(std::move(part), distribute(branch(map, x, down(), up()), onNegative, balance));
    }

    [[nodiscard]] LinearDistribution branch(const ops::LinearMap& map, const Tensor& x, WeightVariant onPositive,
                                            WeightVariant onNegative) const
    {
        return {map, signSplit(x, onPositive, onNegative), biasOf(onPositive), m_options.linear};
    }

    /// Of an x that is nowhere negative one pass, x·W⁺, gives both denominators, since x·W is known. What both branches
    /// hand on is multiplied by x at once.
    [[nodiscard]] Tensor fromResult(const ops::LinearMap& map, const Tensor& x, const RuleContext& context,
                                    Balance& balance) const
    {
        algebra::GammaDenominators denominators{context.outputs[0], map.apply(x, {WeightPart::Positive, 0}), m_gamma};
        if (map.hasBias()) {
            const bool isIn = m_options.linear.bias != BiasPolicy::Zero;
            denominators.bias = map.bias({});
            denominators.up = isIn ? map.bias(biasOf(up())) : Tensor();
            denominators.down = isIn ? map.bias(biasOf(down())) : Tensor();
        }
        algebra::GammaQuotients s = algebra::gammaDivision(context.relevance[0], std::move(denominators),
                                                           m_options.linear.stabiliser, balance.isWanted());
        balance.book(event::Cause::ZeroDenominator, s.atZero);
        balance.bookDivision(s.positive);
        balance.bookDivision(s.negative);
        tellParameters(x, s, balance);
        Tensor share = map.pullback(s.onPositive, up());
        share = algebra::addOver(std::move(share), map.pullback(s.onNegative, down()));
        const Tensor in = algebra::laidOutAs(x, share);
        return balance.product(std::move(share), in);
    }

    void tellParameters(const Tensor& x, const algebra::GammaQuotients& s, const Balance& balance) const
    {
        ParameterSink* const sink = balance.parameters();
        if (sink == nullptr) {
            return;
        }
        sink->throughWeights(x, up(), s.onPositive, 1);
        sink->throughWeights(x, down(), s.onNegative, 1);
        if (m_options.linear.bias != BiasPolicy::Zero) {
            sink->throughBias(biasOf(up()), s.onPositive, 1);
            sink->throughBias(biasOf(down()), s.onNegative, 1);
        }
    }

    double m_gamma;
    GammaOptions m_options;
};

} // namespace

RulePointer gammaRule(double gamma, const LinearOptions& options)
{
    return gammaRule(gamma, GammaOptions{options, GammaForm::Split, true});
}

RulePointer gammaRule(double gamma, const GammaOptions& options)
{
    return std::make_shared<const GammaRule>(gamma, options);
}

namespace
{

RulePointer readGamma(ParameterReader& reader)
{
    const double gamma = reader.number("gamma", 0.25);
    GammaOptions options;
    options.linear = reader.linearOptions(1e-6);
    options.form = static_cast<GammaForm>(reader.choice("form", kForms, 0));
    options.scalesBias = reader.flag("scale_bias", true);
    return gammaRule(gamma, options);
}

std::string gammaFormula(const FormulaWords& words)
{
    const bool isScaled = !words.has(", bias as it is");
    const std::string_view bias = isScaled ? "(b + γb⁺)" : "b";
    if (words.text.substr(0, words.text.find(',')).ends_with(" original")) {
        return weightFormula(words, "x(W + γW⁺)", bias, "x·(s·(W + γW⁺)ᵀ)", "x(W + γW⁺)");
    }
    const bool changes = isScaled && !words.has(", bias zero");
    return fmt::format("{} where z > 0; W⁺ and W⁻{} change places where z < 0",
                       weightFormula(words, "x⁺(W + γW⁺) + x⁻(W + γW⁻)", bias, "x⁺·(s·(W + γW⁺)ᵀ) + x⁻·(s·(W + γW⁻)ᵀ)",
                                     "(D without its bias)"),
                       changes ? ", b⁺ and b⁻" : "");
}

} // namespace

extern const RuleDeclaration kGammaRule{"gamma", readGamma, gammaFormula, "linear map", "Montavon et al. 2019"};

} // namespace retro::lrp
