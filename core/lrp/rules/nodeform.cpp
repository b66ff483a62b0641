// SPDX-License-Identifier: Apache-2.0
#include "core/lrp/rules/nodeform.h"

#include "core/lrp/rules/balance.h"
#include "core/lrp/rules/forwardparts.h"
#include "core/lrp/rules/gradientparts.h"
#include "core/lrp/traversal/parametersink.h"
#include "core/ops/algebraover.h"
#include "core/ops/detachable.h"
#include "core/ops/lookup.h"
#include "core/ops/masking.h"
#include "core/ops/quantise/straightthrough.h"
#include "core/ops/stabiliseddivision.h"
#include "core/ops/windowsums.h"

#include <algorithm>
#include <cmath>

namespace retro::lrp
{

namespace algebra = ops::algebra;
using event::Cause;
using ops::Reads;
using ops::StructureKind;

namespace
{

bool isReduction(const ops::BoundOperator& op) { return op.structure().kind() == StructureKind::Reduction; }

/// Elements that one result of a reduction adds.
double addedPerResult(const Tensor& elements, const Tensor& results)
{
    return static_cast<double>(elements.size()) / static_cast<double>(results.size());
}

/// The operator on `t` in the place of its first operand.
Tensor runOnFirst(const ops::BoundOperator& op, std::span<const Tensor> operands, const Tensor& t)
{
    std::vector<Tensor> changed(operands.begin(), operands.end());
    changed[0] = t;
    return op.forward(changed)[0];
}

/// Σ of t, which has the shape of the operand, over each window.
Tensor sumOfWindows(const ops::BoundOperator& op, std::span<const Tensor> operands, const Tensor& t)
{
    if (!isReduction(op)) {
        return ops::windowsOf(op.structure())->sumWindows(t);
    }
    Tensor sum = runOnFirst(op, operands, t);
    return as<ops::Reduction>(op.structure()).isMean() ? algebra::scale(sum, addedPerResult(t, sum)) : sum;
}

/// What relevance at operand `slot` is multiplied by: of its shape, or on the way Same of that of the result.
Tensor weightOf(const NodeForm& form, const ops::BoundOperator& op, std::span<const Tensor> operands,
                std::span<const Tensor> outputs, std::size_t slot)
{
    const Tensor& x = operands[slot];
    switch (form.weight) {
    case Weight::One:
        break;
    case Weight::Operand:
        return x;
    case Weight::Magnitude: {
        if (form.way != Way::Same) {
            return algebra::absolute(x);
        }
        const Tensor wide = algebra::broadcastTo(x, op.outputTypes()[0].shape);
        const bool isDivisor = slot == 1 && op.structure().kind() == StructureKind::Quotient;
        return algebra::absolute(
            isDivisor ? algebra::stabilisedQuotient(algebra::filledLike(wide, 1), wide, kUnstabilised) : wide);
    }
    case Weight::Slope:
        return algebra::stabilisedQuotient(outputs[0], x, kUnstabilised);
    case Weight::Sigmoid:
        return algebra::sigmoid(algebra::scale(x, form.beta));
    case Weight::Scaled:
        return algebra::multiplyBroadcast(x, as<ops::Normalisation>(op.structure()).scale());
    }
    return {};
}

/// Of a normalisation: the part of what the shift and the stabiliser keep back that stays with them.
double absorbedOf(const LinearOptions& options)
{
    return options.bias == BiasPolicy::Spread ? 1 - options.biasFactor : 1;
}

/// Weights and their sum.
struct Weighed
{
    std::vector<Tensor> weights; ///< per slot; invalid where nothing is taken, or where they are 1
    Tensor sum;                  ///< where it is divided by
};

Weighed weighed(const NodeForm& form, const ops::BoundOperator& op, std::span<const std::uint8_t> tracked,
                std::span<const Tensor> operands, std::span<const Tensor> outputs)
{
    Weighed made{std::vector<Tensor>(tracked.size()), {}};
    for (std::size_t slot = 0; slot < tracked.size(); ++slot) {
        if (tracked[slot] != 0 && form.factor(slot) != 0) {
            made.weights[slot] = weightOf(form, op, operands, outputs, slot);
            if (form.divisor == Divisor::Weights) {
                addTo(made.sum, made.weights[slot]);
            }
        }
    }
    if (form.divisor == Divisor::Weights && form.way == Way::Windows) {
        made.sum = sumOfWindows(op, operands, made.sum);
    }
    if (form.weight == Weight::Scaled && form.options.bias != BiasPolicy::Zero) {
        made.sum = algebra::addBroadcast(made.sum, as<ops::Normalisation>(op.structure()).shift());
    }
    return made;
}

/// One input per unit of a normalisation: spreading gives it everything.
Tensor spreadToOne(const LinearOptions& options, const Tensor& relevance, Tensor share)
{
    const double absorbed = absorbedOf(options);
    if (absorbed == 1) {
        return share;
    }
    return absorbed == 0 ? relevance : algebra::addScaled(share, algebra::subtract(relevance, share), 1 - absorbed);
}

/// True for an operand whose elements can be among the result's: not an index list, not the scalar that fills a
/// padding.
bool isData(const RuleContext& context, std::size_t slot)
{
    const ops::TensorType& type = context.operandTypes[slot];
    const bool fits = type.shape.size() == context.op.outputTypes().front().shape.size() ||
                      type.shape == context.operandTypes[0].shape; // a stacked one has an axis less
    return fits && tensor::isFloating(type.dtype) && !type.shape.empty();
}

/// Relevance that a shape map brings back to operands that carry none (a constant part of a Concat). The tokens of an
/// embedding stand for its table.
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

constexpr std::size_t kDeviation = 2; ///< the output 1/deviation of a self-normalisation

/// True for a self-normalisation that gives mean and 1/deviation of each group beside its result (outputs 1 and 2).
bool hasStatistics(const ops::BoundOperator& op)
{
    return op.structure().kind() == StructureKind::SelfNormalisation && op.outputTypes().size() > 1;
}

/// As the forward pass made them, or made again. Nobody divides by statistics here.
std::vector<Tensor> resultsOf(const ops::BoundOperator& op, std::span<const Tensor> operands,
                              std::span<const Tensor> outputs)
{
    const bool isKnown = hasStatistics(op) ? outputs[0].isValid() : std::ranges::all_of(outputs, &Tensor::isValid);
    return isKnown ? std::vector<Tensor>(outputs.begin(), outputs.end()) : op.run(operands);
}

/// One application to a node.
class NodeApplication
{
public:
    NodeApplication(const NodeForm& form, const RuleContext& context)
        : m_form(form), m_given(context), m_now(context), m_balance(context),
          m_s(context.relevance.begin(), context.relevance.end())
    {
        m_now.relevance = m_s;
    }

    [[nodiscard]] std::vector<Tensor> run()
    {
        if (m_form.isGradient() && m_balance.parameters() != nullptr) {
            m_balance.parameters()->gradient(m_s[0]);
        }
        take();
        if (m_form.way == Way::Same || m_form.way == Way::Windows) {
            m_weighed = weighed(m_form, m_given.op, m_given.tracked, m_given.operands, m_given.outputs);
        }
        divide();
        if (m_given.op.structure().kind() == StructureKind::SumOfOperands && m_form.weight == Weight::Operand &&
            m_balance.isWanted()) {
            bookConstants();
        }
        return closed(parts());
    }

private:
    [[nodiscard]] const algebra::Stabiliser& stabiliser() const { return m_form.options.stabiliser; }

    /// R⁺ or R·f(x).
    void take()
    {
        if (m_form.takesPositive) {
            if (m_balance.isWanted() && m_form.rest != Cause::ClippedSign) {
                m_balance.book(Cause::ClippedSign, algebra::sum(algebra::negativePart(m_s[0])));
            }
            m_s[0] = algebra::positivePart(m_s[0]);
        }
        if (m_form.timesResult) {
            m_s[0] = algebra::multiply(m_s[0], m_given.outputs[0]);
        }
    }

    void divide()
    {
        switch (m_form.divisor) {
        case Divisor::None:
            return;
        case Divisor::Operand:
            m_s[0] = algebra::stabilisedQuotient(m_s[0], algebra::broadcastTo(m_given.operands[1], m_s[0].shape()),
                                                 kUnstabilised);
            return;
        case Divisor::Weights:
            divideByWeights();
            return;
        case Divisor::Result:
        case Divisor::Made:
            divideByResults();
        }
    }

    void divideByWeights()
    {
        const double absorbed = absorbedOf(m_form.options);
        const bool isAffine = m_form.weight == Weight::Scaled;
        algebra::DivisionAmounts amounts;
        m_s[0] = m_balance.quotient(m_s[0], {std::move(m_weighed.sum)}, stabiliser(), amounts);
        m_balance.bookDivision(amounts, isAffine ? absorbed : 1);
        if (isAffine && m_balance.isWanted()) {
            m_balance.book(Cause::Bias, absorbed * (amounts.sums.product - algebra::dot(m_s[0], m_weighed.weights[0])));
        }
    }

    void divideByResults()
    {
        m_outputs = resultsOf(m_given.op, m_given.operands, m_given.outputs);
        const bool readsThem = gradientReads(m_given.op, m_given.tracked).outputs != 0;
        for (std::size_t k = 0; k < m_s.size(); ++k) {
            if (m_s[k].isValid() && (k == 0 || !hasStatistics(m_given.op))) {
                Tensor z = readsThem ? m_outputs[k] : std::move(m_outputs[k]);
                algebra::DivisionAmounts amounts;
                m_s[k] = m_balance.quotient(m_s[k], {std::move(z)}, stabiliser(), amounts);
                m_balance.bookDivision(amounts);
                bookDuplicates(amounts);
            }
        }
        if (readsThem) {
            m_now.outputs = m_outputs;
        }
        if (m_balance.parameters() != nullptr && m_s[0].isValid()) {
            m_balance.parameters()->throughOperands(m_s[0]);
        }
    }

    /// Of a product of matrices each operand may get more or less than its part.
    void bookDuplicates(const algebra::DivisionAmounts& amounts)
    {
        if (m_given.op.structure().kind() != StructureKind::Bilinear || !m_balance.isWanted()) {
            return;
        }
        double handedOn = 0;
        for (std::size_t slot = 0; slot < m_given.tracked.size(); ++slot) {
            handedOn += m_given.tracked[slot] != 0 ? m_form.factor(slot) : 0;
        }
        m_balance.book(Cause::Duplicate, (1 - handedOn) * amounts.sums.product);
    }

    void bookConstants()
    {
        for (std::size_t slot = 0; slot < m_given.tracked.size(); ++slot) {
            if (m_given.tracked[slot] == 0) {
                m_balance.book(Cause::Constant, constantShare(slot));
            }
        }
    }

    /// What a constant operand of a sum takes. An infinite element (a mask) takes all that arrives there, the limit of
    /// its share.
    [[nodiscard]] double constantShare(std::size_t slot) const
    {
        const Tensor& operand = m_given.operands[slot];
        const Tensor s = gradientPart(m_now, slot);
        if (algebra::allFinite(operand)) {
            return algebra::dot(s, operand);
        }
        const Tensor arrived = algebra::reduceTo(m_given.relevance[0], operand.shape());
        double share = 0;
        for (std::int64_t i = 0; i < operand.size(); ++i) {
            share += std::isinf(operand.at(i)) ? arrived.at(i) : s.at(i) * operand.at(i);
        }
        return share;
    }

    [[nodiscard]] std::vector<Tensor> parts()
    {
        std::vector<Tensor> parts(m_given.tracked.size());
        const auto isTaker = [&](std::size_t slot) { return m_given.tracked[slot] != 0 && m_form.factor(slot) != 0; };
        std::size_t last = parts.size();
        while (last > 0 && !isTaker(last - 1)) {
            --last;
        }
        for (std::size_t slot = 0; slot < parts.size(); ++slot) {
            if (m_given.tracked[slot] == 0) {
                continue;
            }
            const ops::TensorType& type = m_given.operandTypes[slot];
            const bool takes = m_form.way != Way::Nowhere && isTaker(slot);
            parts[slot] = takes ? part(slot, slot + 1 == last) : Tensor::zeros(type.dtype, type.shape);
        }
        return parts;
    }

    /// `isLast`: nobody reads what is divided after that.
    [[nodiscard]] Tensor part(std::size_t slot, bool isLast)
    {
        const double factor = m_form.factor(slot);
        if (m_form.way == Way::Same) {
            return withStatistics(scaled(same(slot), factor));
        }
        Tensor back = m_form.way == Way::Detached && !m_s[0].isValid() ? Tensor() : wayBack(slot);
        if (isLast) {
            m_s.assign(m_s.size(), {}); // where the way back is what is divided itself, the part takes its memory
        }
        if (m_form.weight == Weight::One || !back.isValid()) {
            return withStatistics(scaled(std::move(back), factor));
        }
        const Tensor& weight = m_form.weight == Weight::Operand ? m_given.operands[slot] : m_weighed.weights[slot];
        return withStatistics(m_balance.product(std::move(back), weight, factor));
    }

    [[nodiscard]] static Tensor scaled(Tensor t, double factor)
    {
        return factor == 1 || !t.isValid() ? t : algebra::scale(t, factor);
    }

    [[nodiscard]] Tensor same(std::size_t slot) const
    {
        if (!m_s[0].isValid()) {
            return {};
        }
        const Tensor& weight = m_form.weight == Weight::One ? Tensor() : m_weighed.weights[slot];
        const Tensor share = weight.isValid() ? algebra::multiply(m_s[0], weight) : m_s[0];
        return m_form.weight == Weight::Scaled ? spreadToOne(m_form.options, m_given.relevance[0], share)
                                               : algebra::reduceTo(share, m_given.operandTypes[slot].shape);
    }

    [[nodiscard]] Tensor wayBack(std::size_t slot) const
    {
        const ops::Structure& structure = m_given.op.structure();
        switch (m_form.way) {
        case Way::Carried:
            return structure.kind() == StructureKind::ShapeMap ? carriedBack(m_now, slot) : gradientPart(m_now, slot);
        case Way::Detached:
            return dynamic_cast<const ops::Detachable&>(structure).detachedPullback(m_s[0], m_given.operands);
        case Way::Mean: {
            const Tensor spread = as<ops::Reduction>(structure).spread(m_s[0]);
            return algebra::scale(spread, 1 / addedPerResult(spread, m_s[0]));
        }
        case Way::Windows:
            return isReduction(m_given.op) ? as<ops::Reduction>(structure).spread(m_s[0])
                                           : ops::windowsOf(structure)->spreadWindows(m_s[0]);
        case Way::Softmax:
            return ops::windowsOf(structure)->shareBySoftmax(m_s[0], m_given.operands[0], m_form.beta);
        default: // ReLU's slope is 1 where its result is above 0, else 0, whatever arrives
            return m_form.takesPositive ? algebra::keepWherePositive(m_s[0], m_given.outputs[0])
                                        : gradientPart(m_now, slot);
        }
    }

    /// `part` (of operand 0; may be invalid) and what the statistics of a self-normalisation hand on of what arrived
    /// at them: by their gradient where the relevance is one, else by the form of the rule norm, x ⊙ Jᵀ(R/stab(z)) for
    /// a mean, which grows with x, and the negative of it for 1/deviation, which grows with 1/x.
    [[nodiscard]] Tensor withStatistics(Tensor part)
    {
        if (!hasStatistics(m_given.op) || m_form.way == Way::Gradient ||
            std::ranges::none_of(m_given.relevance.subspan(1), &Tensor::isValid)) {
            return part;
        }
        std::vector<Tensor> arrived(m_given.relevance.begin(), m_given.relevance.end());
        arrived[0] = {};
        const auto& function = as<ops::Differentiable>(m_given.op.structure());
        const bool isOfGradient = m_form.way == Way::Detached && m_form.divisor == Divisor::None;
        const Tensor own = isOfGradient ? function.pullback(arrived, m_given.operands, m_given.outputs, 0)
                                        : byNorm(function, std::move(arrived));
        return part.isValid() ? algebra::add(own, part) : own;
    }

    [[nodiscard]] Tensor byNorm(const ops::Differentiable& function, std::vector<Tensor> arrived)
    {
        const std::vector<Tensor> z = m_given.op.run(m_given.operands);
        for (std::size_t k = 1; k < arrived.size(); ++k) {
            if (arrived[k].isValid()) {
                const Tensor r = arrived[k];
                arrived[k] = algebra::stabilisedQuotient(r, z[k], stabiliser());
                m_balance.bookDivision(r, arrived[k], z[k]);
                arrived[k] = k == kDeviation ? algebra::scale(arrived[k], -1) : arrived[k];
            }
        }
        return algebra::multiply(function.pullback(arrived, m_given.operands, z, 0), m_given.operands[0]);
    }

    [[nodiscard]] std::vector<Tensor> closed(std::vector<Tensor> parts)
    {
        if (m_given.op.structure().kind() == StructureKind::ShapeMap && m_form.way == Way::Carried) {
            return closedShapeMap(std::move(parts));
        }
        return m_form.rest ? m_balance.closeAs(*m_form.rest, std::move(parts)) : m_balance.close(std::move(parts));
    }

    [[nodiscard]] std::vector<Tensor> closedShapeMap(std::vector<Tensor> parts)
    {
        const ops::Structure& structure = m_given.op.structure();
        if (as<ops::ShapeMap>(structure).isRearrangement()) {
            return m_balance.closeRearranged(std::move(parts));
        }
        if (ops::isMasking(structure)) {
            return m_balance.closeAs(Cause::Mask, std::move(parts));
        }
        if (ops::isSaturating(m_given.op)) {
            return m_balance.closeAs(Cause::Saturation, std::move(parts));
        }
        if (m_balance.isWanted()) {
            m_balance.book(Cause::Constant, carriedToUntracked(m_given));
        }
        return m_balance.closeAs(Cause::Unread, std::move(parts));
    }

    const NodeForm& m_form;
    const RuleContext& m_given;
    RuleContext m_now; ///< with what is divided in the place of the relevance
    Balance m_balance;
    std::vector<Tensor> m_s; ///< per output: what arrived, as it is divided
    std::vector<Tensor> m_outputs;
    Weighed m_weighed;
};

/// The transpose of a form.
class NodeWeights
{
public:
    NodeWeights(const NodeForm& form, const WeighContext& context) : m_form(form), m_given(context), m_here(context) {}

    [[nodiscard]] std::vector<Tensor> run()
    {
        if (m_form.divisor == Divisor::Result || m_form.divisor == Divisor::Made) {
            m_outputs = resultsOf(m_given.op, m_given.operands, m_given.outputs);
            m_here.outputs = m_outputs;
        }
        if (m_form.way == Way::Same || m_form.way == Way::Windows) {
            m_weighed = weighed(m_form, m_given.op, m_given.tracked, m_given.operands, m_given.outputs);
        }
        std::vector<Tensor> v = weightedOperands();
        if (m_form.way == Way::Nowhere || std::ranges::none_of(v, &Tensor::isValid)) {
            return onlyFirst(m_given, {});
        }
        std::vector<Tensor> made = m_form.way == Way::Same ? onlyFirst(m_given, same(v)) : forward(v);
        divide(made);
        if (m_form.timesResult) {
            made[0] = algebra::multiply(made[0], m_given.outputs[0]);
        }
        return made;
    }

private:
    /// Per slot the weights of relevance there, times what the form multiplies it by there.
    [[nodiscard]] std::vector<Tensor> weightedOperands() const
    {
        std::vector<Tensor> v(m_given.weights.begin(), m_given.weights.end());
        for (std::size_t slot = 0; slot < v.size(); ++slot) {
            const double factor = m_form.factor(slot);
            if (factor == 0 || !v[slot].isValid()) {
                v[slot] = {};
                continue;
            }
            if (m_form.way != Way::Same && m_form.weight != Weight::One) {
                const bool isOperand = m_form.weight == Weight::Operand;
                v[slot] = algebra::multiply(isOperand ? m_given.operands[slot] : m_weighed.weights[slot], v[slot]);
            }
            v[slot] = factor == 1 || m_form.way == Way::Same ? v[slot] : algebra::scale(v[slot], factor);
        }
        return v;
    }

    /// Operands that take relevance at all take equal parts of it.
    [[nodiscard]] Tensor same(const std::vector<Tensor>& v) const
    {
        Tensor sum;
        double factor = 1;
        for (std::size_t slot = 0; slot < v.size(); ++slot) {
            if (v[slot].isValid()) {
                const Tensor weight = m_form.weight == Weight::Scaled ? Tensor() : m_weighed.weights[slot];
                const Tensor wide = asResult(m_given, v[slot]);
                addTo(sum, weight.isValid() ? algebra::multiply(weight, wide) : wide);
                factor = m_form.factor(slot);
            }
        }
        return factor == 1 ? sum : algebra::scale(sum, factor);
    }

    [[nodiscard]] std::vector<Tensor> forward(const std::vector<Tensor>& v) const
    {
        const ops::Structure& structure = m_given.op.structure();
        switch (m_form.way) {
        case Way::Carried: {
            WeighContext along = m_given;
            along.weights = v;
            return structure.kind() == StructureKind::ShapeMap ? carriedForward(along) : alongDerivative(m_given, v);
        }
        case Way::Detached:
            return onlyFirst(m_given,
                             dynamic_cast<const ops::Detachable&>(structure).detachedForward(v[0], m_given.operands));
        case Way::Mean: {
            const Tensor whole = runOnFirst(m_given.op, m_given.operands, v[0]);
            const bool isSum = !as<ops::Reduction>(structure).isMean();
            return onlyFirst(m_given, isSum ? algebra::scale(whole, 1 / addedPerResult(v[0], whole)) : whole);
        }
        case Way::Windows:
            return onlyFirst(m_given, sumOfWindows(m_given.op, m_given.operands, v[0]));
        case Way::Softmax:
            return onlyFirst(m_given,
                             ops::windowsOf(structure)->averageBySoftmax(v[0], m_given.operands[0], m_form.beta));
        default:
            return alongDerivative(m_here, v);
        }
    }

    void divide(std::vector<Tensor>& made) const
    {
        const algebra::Stabiliser& stabiliser = m_form.options.stabiliser;
        switch (m_form.divisor) {
        case Divisor::None:
            return;
        case Divisor::Operand:
            made[0] = algebra::stabilisedQuotient(made[0], asResult(m_given, m_given.operands[1]), kUnstabilised);
            return;
        case Divisor::Weights:
            made[0] = algebra::stabilisedQuotient(made[0], m_weighed.sum, stabiliser);
            if (m_form.weight == Weight::Scaled) { // element by element: its own transpose
                made[0] =
                    spreadToOne(m_form.options, m_given.weights[0], algebra::multiply(made[0], m_weighed.weights[0]));
            }
            return;
        case Divisor::Result:
        case Divisor::Made:
            for (std::size_t k = 0; k < made.size(); ++k) {
                made[k] = made[k].isValid() ? algebra::stabilisedQuotient(made[k], m_outputs[k], stabiliser) : Tensor();
            }
        }
    }

    const NodeForm& m_form;
    const WeighContext& m_given;
    WeighContext m_here; ///< with the results
    std::vector<Tensor> m_outputs;
    Weighed m_weighed;
};

Reads readsOfWeight(const NodeForm& form, const NodeSite& site)
{
    switch (form.weight) {
    case Weight::One:
        return Reads::nothing();
    case Weight::Operand:
        return form.way == Way::Windows ? Reads::firstOperand() : Reads::allOperands();
    case Weight::Magnitude: {
        Reads reads;
        for (std::size_t slot = 0; slot < site.tracked.size(); ++slot) {
            reads.operands |= site.tracked[slot] != 0 ? Reads::bit(slot) : 0;
        }
        return reads;
    }
    case Weight::Slope:
        return {Reads::bit(0), Reads::bit(0)};
    case Weight::Sigmoid:
    case Weight::Scaled:
        break;
    }
    return Reads::firstOperand();
}

Reads readsOfWay(const NodeForm& form, const NodeSite& site)
{
    switch (form.way) {
    case Way::Nowhere:
    case Way::Mean:
    case Way::Taylor:
        return Reads::nothing();
    case Way::Same:
        return hasStatistics(site.op) ? site.op.savedForGradient() : Reads::nothing();
    case Way::Carried:
        return site.kind() == StructureKind::ShapeMap ? carryReads(site.op) : Reads::nothing();
    case Way::Gradient:
        return gradientReads(site.op, site.tracked);
    case Way::Detached:
        return Reads::allOperands();
    case Way::Windows:
    case Way::Softmax:
        break;
    }
    return Reads::firstOperand();
}

Reads both(const Reads& a, const Reads& b) { return {a.operands | b.operands, a.outputs | b.outputs}; }

/// A rule that is its form.
class FormRule final : public TitledRule
{
public:
    FormRule(RuleTitle title, FormOfNode form, MisfitOfNode misfit)
        : TitledRule(std::move(title)), m_form(std::move(form)), m_misfit(std::move(misfit))
    {}

    [[nodiscard]] std::optional<NodeForm> form(const ops::BoundOperator& op,
                                               std::span<const std::uint8_t> tracked) const override
    {
        return m_form({op, tracked});
    }
    [[nodiscard]] std::string misfit(const ops::BoundOperator& op, std::span<const ops::TensorType> operands,
                                     std::span<const std::uint8_t> tracked) const override
    {
        return m_misfit ? m_misfit({op, tracked}, operands) : std::string();
    }
    [[nodiscard]] Reads reads(const ops::BoundOperator& op, std::span<const std::uint8_t> tracked) const override
    {
        return readsOf(m_form({op, tracked}), {op, tracked});
    }
    [[nodiscard]] std::vector<Tensor> apply(const RuleContext& context) const override
    {
        return applyForm(m_form({context.op, context.tracked}), context);
    }
    [[nodiscard]] std::string noForward(const ops::BoundOperator& op,
                                        std::span<const std::uint8_t> tracked) const override
    {
        return forwardFault(m_form({op, tracked}), {op, tracked});
    }
    [[nodiscard]] std::vector<Tensor> weigh(const WeighContext& context) const override
    {
        return weighForm(m_form({context.op, context.tracked}), context);
    }

private:
    FormOfNode m_form;
    MisfitOfNode m_misfit;
};

} // namespace

std::optional<NodeForm> Rule::form(const ops::BoundOperator&, std::span<const std::uint8_t>) const
{
    return std::nullopt;
}

bool NodeForm::vanishesWithOperand() const
{
    return linear != nullptr ? std::ranges::all_of(linear->shares, &LinearShare::vanishesWithInput)
                             : weight == Weight::Operand;
}

std::vector<double> onlyFactor(const NodeSite& site, std::size_t slot)
{
    std::vector<double> factors(site.tracked.size(), 0);
    if (slot < factors.size()) {
        factors[slot] = 1;
    }
    return factors;
}

std::vector<double> equalFactors(const NodeSite& site)
{
    return std::vector<double>(site.tracked.size(), 1.0 / static_cast<double>(takersOf(site.tracked)));
}

Reads readsOf(const NodeForm& form, const NodeSite& site)
{
    if (form.linear != nullptr) {
        return readsOf(*form.linear, as<ops::LinearMap>(site.op.structure()));
    }
    if (form.divisor == Divisor::Made) {
        return Reads::allOperands();
    }
    Reads reads = both(readsOfWay(form, site), readsOfWeight(form, site));
    reads.operands |= form.divisor == Divisor::Operand ? Reads::bit(1) : 0;
    reads.outputs |= form.divisor == Divisor::Result || form.timesResult ? Reads::bit(0) : 0;
    return reads;
}

std::vector<Tensor> applyForm(const NodeForm& form, const RuleContext& context)
{
    return form.linear != nullptr ? applyForm(*form.linear, context) : NodeApplication(form, context).run();
}

std::string forwardFault(const NodeForm& form, const NodeSite& site)
{
    const bool isByDerivative =
        form.linear == nullptr &&
        (form.way == Way::Gradient || (form.way == Way::Carried && site.kind() == StructureKind::Differentiable));
    return isByDerivative ? derivativeFault(site.op, site.tracked) : std::string();
}

std::vector<Tensor> weighForm(const NodeForm& form, const WeighContext& context)
{
    return form.linear != nullptr ? weighForm(*form.linear, context) : NodeWeights(form, context).run();
}

RulePointer formRule(RuleTitle title, FormOfNode form, MisfitOfNode misfit)
{
    return std::make_shared<const FormRule>(std::move(title), std::move(form), std::move(misfit));
}

} // namespace retro::lrp
