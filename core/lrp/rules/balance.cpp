// SPDX-License-Identifier: Apache-2.0
#include "core/lrp/rules/balance.h"

#include "core/base/failure.h"
#include "core/lrp/traversal/knownsums.h"
#include "core/ops/algebraover.h"

#include <algorithm>
#include <cmath>
#include <optional>

namespace retro::lrp
{

namespace algebra = ops::algebra;

namespace
{

double roundingOf(tensor::DType dtype) { return dtype == tensor::DType::Float64 ? kRoundingDouble : kRoundingFloat; }

} // namespace

Balance::Balance(const RuleContext& context) : m_ledger(context.ledger), m_parameters(context.parameters)
{
    if (m_ledger == nullptr) {
        return;
    }
    for (const Tensor& relevance : context.relevance) {
        if (relevance.isValid()) {
            const algebra::SumAndMagnitude sums = knownSums(relevance);
            m_row.arrived += sums.sum;
            m_row.magnitude += sums.magnitude;
            m_tolerance = roundingOf(relevance.dtype());
            m_arrived = relevance;
            m_sumsOfArrived = sums;
        }
    }
    m_tolerance *= m_row.magnitude;
}

// What is passed on as it came has been summed already, and closeAs() sums what close() sums again.
const algebra::SumAndMagnitude& Balance::sumsOf(const Tensor& part)
{
    const auto isSame = [&part](const Tensor& known) {
        return known.isValid() && known.storage() == part.storage() && known.offset() == part.offset() &&
               known.shape() == part.shape() && known.strides() == part.strides();
    };
    if (isSame(m_arrived)) {
        return m_sumsOfArrived;
    }
    if (!isSame(m_part)) {
        m_part = part;
        m_sumsOfPart = knownSums(part);
    }
    return m_sumsOfPart;
}

void Balance::book(event::Cause cause, double amount) { m_row.causes[static_cast<std::size_t>(cause)] += amount; }

double Balance::bookDivision(const Tensor& r, const Tensor& s, const Tensor& d, double factor)
{
    if (!isWanted()) {
        return 0;
    }
    const algebra::DivisionSums sums = algebra::divisionSums(r, s, d);
    book(event::Cause::ZeroDenominator, factor * sums.overZero);
    book(event::Cause::Stabiliser, factor * (sums.dividend - sums.overZero - sums.product));
    return sums.product;
}

void Balance::bookDivision(const algebra::DivisionAmounts& amounts, double factor)
{
    const algebra::DivisionSums& sums = amounts.sums;
    book(event::Cause::ZeroDenominator, factor * sums.overZero);
    book(event::Cause::Stabiliser, factor * (sums.dividend - sums.overZero - sums.product));
    book(event::Cause::Bias, factor * amounts.bias);
}

Tensor Balance::quotient(const Tensor& r, algebra::Denominator d, const algebra::Stabiliser& stabiliser,
                         algebra::DivisionAmounts& amounts) const
{
    if (!isWanted()) {
        return algebra::stabilisedDivision(r, std::move(d), stabiliser, nullptr);
    }
    const auto known = rememberedSums(r);
    return algebra::stabilisedDivision(r, std::move(d), stabiliser, &amounts,
                                       known ? std::optional(known->sum) : std::nullopt);
}

Tensor Balance::product(Tensor a, const Tensor& b, double factor)
{
    if (!isWanted()) {
        return algebra::multiplyScaledOver(std::move(a), b, factor);
    }
    algebra::SummedTensor product = algebra::multiplyAndSum(std::move(a), b, factor);
    keepSums(product.tensor, product.sums);
    return std::move(product.tensor);
}

std::vector<Tensor> Balance::close(std::vector<Tensor> parts)
{
    if (!isWanted()) {
        return parts;
    }
    for (const Tensor& part : parts) {
        if (part.isValid()) {
            const algebra::SumAndMagnitude& sums = sumsOf(part);
            m_row.handedOn += sums.sum;
            m_row.magnitudeHandedOn += sums.magnitude;
        }
    }
    const double rest = m_row.unexplained();
    if (std::abs(rest) <= m_tolerance) {
        book(event::Cause::Rounding, rest);
    }
    m_ledger->arrived += m_row.arrived;
    m_ledger->handedOn += m_row.handedOn;
    m_ledger->magnitude += m_row.magnitude;
    m_ledger->magnitudeHandedOn += m_row.magnitudeHandedOn;
    for (std::size_t cause = 0; cause < event::kCauseCount; ++cause) {
        m_ledger->causes[cause] += m_row.causes[cause];
    }
    return parts;
}

std::vector<Tensor> Balance::closeRearranged(std::vector<Tensor> parts)
{
    const auto part = std::ranges::find_if(parts, [](const Tensor& each) { return each.isValid(); });
    if (isWanted() && part != parts.end() && m_arrived.isValid()) {
        base::guard(part->size() == m_arrived.size(), "what was rearranged has as many elements");
        m_part = *part;
        m_sumsOfPart = m_sumsOfArrived;
        keepSums(*part, m_sumsOfArrived);
    }
    return close(std::move(parts));
}

std::vector<Tensor> Balance::closeAs(event::Cause cause, std::vector<Tensor> parts)
{
    if (isWanted()) {
        double rest = m_row.unexplained();
        for (const Tensor& part : parts) {
            rest -= part.isValid() ? sumsOf(part).sum : 0;
        }
        if (std::abs(rest) > m_tolerance) {
            book(cause, rest);
        }
    }
    return close(std::move(parts));
}

std::vector<Tensor> onlySlot(const RuleContext& context, std::size_t slot, Tensor tensor)
{
    std::vector<Tensor> parts(context.tracked.size());
    for (std::size_t i = 0; i < parts.size(); ++i) {
        if (context.tracked[i] != 0) {
            const ops::TensorType& type = context.operandTypes[i];
            parts[i] = i == slot ? tensor : Tensor::zeros(type.dtype, type.shape);
        }
    }
    return parts;
}

void bookFiltered(event::LedgerEntry* ledger, const Tensor& arrived, const Tensor& kept)
{
    if (ledger == nullptr || !arrived.isValid()) {
        return;
    }
    const Tensor dropped = ops::algebra::subtract(arrived, kept);
    const double amount = ops::algebra::sum(dropped);
    ledger->arrived += amount;
    ledger->magnitude += ops::algebra::sumAbsolute(dropped);
    ledger->causes[static_cast<std::size_t>(event::Cause::Filter)] += amount;
}

} // namespace retro::lrp
