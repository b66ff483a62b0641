// SPDX-License-Identifier: Apache-2.0
#include "core/lrp/rules/wherearrived.h"

#include "core/ops/algebra.h"
#include "core/ops/kernel/visitnumber.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>

namespace retro::lrp
{

namespace algebra = ops::algebra;

namespace
{

/// In the place of which forward values another number stands. −∞ is taken late: softmax reads it as a mask. Last are
/// all elements at which nothing arrives, of operands with an element for each result: a slope can be infinite there.
enum class Wrong : std::uint8_t { Nan, NanAndInfinity, All, NoneArrives };
constexpr std::array kWrongs{Wrong::Nan, Wrong::NanAndInfinity, Wrong::All, Wrong::NoneArrives};

template <class T>
bool isWrong(T x, Wrong which)
{
    return std::isnan(x) || (std::isinf(x) && (which != Wrong::NanAndInfinity || x > 0) && which != Wrong::Nan);
}

bool isChecked(const Tensor& t) { return t.isValid() && tensor::isFloating(t.dtype()); }

bool areFinite(std::span<const Tensor> tensors)
{
    return std::ranges::all_of(tensors, [](const Tensor& t) { return !isChecked(t) || algebra::allFinite(t); });
}

/// The sums of a row tell; without a row, the parts themselves.
bool isFinite(std::span<const Tensor> parts, const event::LedgerEntry* row)
{
    if (row == nullptr) {
        return areFinite(parts);
    }
    return std::isfinite(row->handedOn) && std::isfinite(row->magnitudeHandedOn) &&
           std::ranges::all_of(row->causes, [](double amount) { return std::isfinite(amount); });
}

/// `r` is what arrived.
Tensor replaced(const Tensor& given, Wrong which, double by, const Tensor& r)
{
    const bool isAligned = which == Wrong::NoneArrives && r.isValid() && r.shape() == given.shape();
    if (!isChecked(given) || (!isAligned && algebra::allFinite(given))) {
        return given;
    }
    const Tensor from = given.contiguous();
    tensor::TensorBuffer to(from.dtype(), from.shape());
    ops::visitFloat(from.dtype(), [&](auto zero) {
        using T = decltype(zero);
        for (std::int64_t i = 0; i < from.size(); ++i) {
            const T x = from.data<T>()[i];
            to.data<T>()[i] = isWrong(x, which) || (isAligned && r.at(i) == 0) ? static_cast<T>(by) : x;
        }
    });
    return std::move(to).freeze();
}

std::vector<Tensor> replaced(std::span<const Tensor> given, Wrong which, double by, const RuleContext& context)
{
    std::vector<Tensor> made;
    std::ranges::transform(given, std::back_inserter(made),
                           [&](const Tensor& t) { return replaced(t, which, by, context.relevance[0]); });
    return made;
}

/// What arrived is finite, and 0 at results that are not.
bool isMasked(const RuleContext& context)
{
    if (!areFinite(context.relevance)) {
        return false;
    }
    for (std::size_t k = 0; k < std::min(context.relevance.size(), context.outputs.size()); ++k) {
        const Tensor& r = context.relevance[k];
        if (!r.isValid() || !isChecked(context.outputs[k])) {
            continue;
        }
        const Tensor y = context.outputs[k].contiguous();
        for (std::int64_t i = 0; i < y.size(); ++i) {
            if (!std::isfinite(y.at(i)) && r.at(i) != 0) {
                return false;
            }
        }
    }
    return true;
}

bool areEqual(std::span<const Tensor> a, std::span<const Tensor> b)
{
    return std::ranges::equal(a, b, [](const Tensor& one, const Tensor& other) {
        return one.isValid() == other.isValid() &&
               (!one.isValid() || algebra::sumAbsolute(algebra::subtract(one, other)) == 0);
    });
}

/// The rule with `by` in the place of wrong numbers; −0 becomes 0, whose sign would be that of `by`.
std::vector<Tensor> applied(const Rule& rule, const RuleContext& context, Wrong which, double by,
                            event::LedgerEntry* row)
{
    const std::vector<Tensor> operands = replaced(context.operands, which, by, context);
    const std::vector<Tensor> outputs = replaced(context.outputs, which, by, context);
    RuleContext other = context;
    other.operands = operands;
    other.outputs = outputs;
    other.ledger = row;
    std::vector<Tensor> parts = rule.apply(other);
    for (Tensor& part : parts) {
        part = part.isValid() ? algebra::add(part, algebra::filledLike(part, 0)) : part;
    }
    return parts;
}

} // namespace

std::vector<Tensor> applyWhereArrived(const Rule& rule, const RuleContext& context)
{
    const std::optional<event::LedgerEntry> before =
        context.ledger == nullptr ? std::nullopt : std::optional(*context.ledger);
    std::vector<Tensor> parts = rule.apply(context);
    if (isFinite(parts, context.ledger) || !isMasked(context)) {
        return parts;
    }
    // What is the same for two numbers in the place of the wrong ones does not depend on them.
    for (const Wrong which : kWrongs) {
        std::optional<event::LedgerEntry> row = before;
        std::vector<Tensor> masked = applied(rule, context, which, 1, row ? &*row : nullptr);
        if (areFinite(masked) && areEqual(masked, applied(rule, context, which, 2, nullptr))) {
            if (row) {
                *context.ledger = *row;
            }
            return masked;
        }
    }
    return parts;
}

void makeWhereArrived(const RuleContext& context, const MakeOfValues& make)
{
    if (areFinite(make(context.operands, context.outputs)) || !isMasked(context)) {
        return;
    }
    const auto with = [&](Wrong which, double by) {
        return make(replaced(context.operands, which, by, context), replaced(context.outputs, which, by, context));
    };
    for (const Wrong which : kWrongs) {
        const std::vector<Tensor> other = with(which, 2);
        const std::vector<Tensor> masked = with(which, 1);
        if (areFinite(masked) && areEqual(masked, other)) {
            return;
        }
    }
    static_cast<void>(make(context.operands, context.outputs));
}

} // namespace retro::lrp
