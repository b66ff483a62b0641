// SPDX-License-Identifier: Apache-2.0
#include "core/ops/algebra.h"
#include "core/ops/bind/bindcheck.h"
#include "core/ops/bind/operatorbase.h"
#include "core/ops/families.h"
#include "core/ops/kernel/axisreduction.h"
#include "core/ops/kernel/matrixproduct.h"
#include "core/ops/kernel/weightvariants.h"
#include "core/ops/linear/storedweight.h"
#include "core/ops/linearoperands.h"
#include "core/tensor/stridedcopy.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

namespace retro::ops
{

namespace
{

using tensor::Shape;

/// The subscripts of an Einsum with one letter per axis. Axes under an ellipsis are given letters of their own, the
/// same from the end for all operands.
struct EinsumPlan
{
    std::vector<std::string> operands; ///< letters of each operand's axes
    std::string output;
    std::vector<std::int64_t> extents; ///< by letter (index: unsigned char)

    /// Shape that letters stand for.
    [[nodiscard]] tensor::Shape shapeOf(const std::string& letters) const;
};

constexpr std::size_t kLetters = 256;
constexpr unsigned char kFirstEllipsis = 128; // above ASCII: letters for the axes under an ellipsis
constexpr std::string_view kEllipsis = "...";

bool has(const std::string& letters, char letter) { return letters.find(letter) != std::string::npos; }

std::size_t indexOf(char letter) { return static_cast<unsigned char>(letter); }

bool isLetter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

std::vector<std::string> split(const std::string& text)
{
    std::vector<std::string> terms{std::string()};
    for (const char c : text) {
        if (c == ',') {
            terms.emplace_back();
        } else {
            terms.back() += c;
        }
    }
    return terms;
}

/// A term with letters for `axes` axes under its ellipsis, the last one always the same letter.
base::Result<std::string> spelled(const BindContext& context, const std::string& term, std::size_t axes)
{
    const std::size_t dots = term.find(kEllipsis);
    std::string letters = term.substr(0, dots);
    if (dots != std::string::npos) {
        for (std::size_t i = axes; i-- > 0;) {
            letters += static_cast<char>(kFirstEllipsis + i);
        }
        letters += term.substr(dots + kEllipsis.size());
    }
    for (const char c : letters) {
        if (!isLetter(c) && static_cast<unsigned char>(c) < kFirstEllipsis) {
            return context.error(fmt::format("the equation contains '{}', which is no letter", c));
        }
    }
    return letters;
}

/// Axes of a rank that a term's ellipsis stands for.
base::Result<std::size_t> axesUnderEllipsis(const BindContext& context, const std::string& term, std::size_t rank)
{
    const bool hasDots = term.find(kEllipsis) != std::string::npos;
    const std::size_t named = term.size() - (hasDots ? kEllipsis.size() : 0);
    if (named > rank || (!hasDots && named != rank)) {
        return context.error(fmt::format("'{}' names {} axes of an operand of rank {}", term, named, rank));
    }
    return rank - named;
}

base::Result<void> takeExtents(const BindContext& context, const std::string& letters, const Shape& shape,
                               std::vector<std::int64_t>& extents)
{
    for (std::size_t axis = 0; axis < letters.size(); ++axis) {
        std::int64_t& known = extents[indexOf(letters[axis])];
        if (known >= 0 && known != 1 && shape[axis] != 1 && known != shape[axis]) {
            return context.error(fmt::format("one letter stands for extents {} and {}", known, shape[axis]));
        }
        known = known < 0 || known == 1 ? shape[axis] : known;
    }
    return {};
}

/// What an equation without an arrow means: axes under an ellipsis, then all letters that occur once, in order.
std::string implicitOutput(const std::vector<std::string>& operands)
{
    std::string all;
    std::string dots;
    for (const std::string& letters : operands) {
        all += letters;
    }
    std::string once;
    for (const char c : all) {
        if (static_cast<unsigned char>(c) >= kFirstEllipsis) {
            dots += has(dots, c) ? "" : std::string(1, c);
        } else if (std::count(all.begin(), all.end(), c) == 1) {
            once += c;
        }
    }
    std::sort(dots.begin(), dots.end(), [](char a, char b) { return indexOf(a) > indexOf(b); });
    std::sort(once.begin(), once.end());
    return dots + once;
}

base::Result<void> expectOutput(const BindContext& context, const EinsumPlan& plan)
{
    for (const char c : plan.output) {
        const bool isThere = plan.extents[indexOf(c)] >= 0;
        if (!isThere || std::count(plan.output.begin(), plan.output.end(), c) > 1) {
            return context.error("the output of the equation names an axis twice, or one that no operand has");
        }
    }
    return {};
}

Shape EinsumPlan::shapeOf(const std::string& letters) const
{
    Shape shape;
    for (const char c : letters) {
        shape.push_back(extents[indexOf(c)]);
    }
    return shape;
}

/// Reads an equation for operands of these shapes. Errors (by node): letters and axes that do not fit, extents that
/// differ and are not 1, an output letter that no operand has.
base::Result<EinsumPlan> readEinsum(const BindContext& context, const std::string& equation)
{
    std::string text;
    std::copy_if(equation.begin(), equation.end(), std::back_inserter(text), [](char c) { return c != ' '; });
    const std::size_t arrow = text.find("->");
    const std::vector<std::string> terms = split(text.substr(0, arrow));
    if (terms.size() != context.node.inputs.size()) {
        return context.error(
            fmt::format("the equation has {} terms for {} operands", terms.size(), context.node.inputs.size()));
    }
    EinsumPlan plan;
    plan.extents.assign(kLetters, -1);
    std::size_t longest = 0;
    for (std::size_t i = 0; i < terms.size(); ++i) {
        const Shape& shape = context.operandTypes[i].shape;
        RETRO_TRY(const std::size_t axes, axesUnderEllipsis(context, terms[i], shape.size()));
        RETRO_TRY(std::string letters, spelled(context, terms[i], axes));
        RETRO_CHECK(takeExtents(context, letters, shape, plan.extents));
        plan.operands.push_back(std::move(letters));
        longest = std::max(longest, axes);
    }
    plan.output = implicitOutput(plan.operands);
    if (arrow != std::string::npos) {
        RETRO_TRY(plan.output, spelled(context, text.substr(arrow + 2), longest));
    }
    RETRO_CHECK(expectOutput(context, plan));
    return plan;
}

/// A factor of the product, with one letter per axis.
struct Term
{
    std::string letters;
    Tensor tensor;
};

/// Axes i and j as one: a view of the diagonal.
void mergeAxes(Term& term, std::size_t i, std::size_t j)
{
    Shape shape = term.tensor.shape();
    Shape strides = term.tensor.strides();
    strides[i] = (shape[i] == 1 ? 0 : strides[i]) + (shape[j] == 1 ? 0 : strides[j]);
    shape[i] = std::max(shape[i], shape[j]);
    shape.erase(shape.begin() + static_cast<std::ptrdiff_t>(j));
    strides.erase(strides.begin() + static_cast<std::ptrdiff_t>(j));
    term.letters.erase(j, 1);
    term.tensor =
        Tensor(term.tensor.dtype(), std::move(shape), std::move(strides), term.tensor.offset(), term.tensor.storage());
}

/// A letter that stands twice becomes one axis.
Term withoutRepeats(Term term)
{
    for (std::size_t i = 0; i < term.letters.size(); ++i) {
        for (std::size_t j = term.letters.size() - 1; j > i; --j) {
            if (term.letters[j] == term.letters[i]) {
                mergeAxes(term, i, j);
            }
        }
    }
    return term;
}

/// Axes in the order of `letters`, all of which the term has.
Tensor ordered(const Term& term, const std::string& letters)
{
    Shape order;
    for (const char c : letters) {
        order.push_back(static_cast<std::int64_t>(term.letters.find(c)));
    }
    return term.tensor.permuted(order);
}

/// Summed over the letters that are not kept. An axis of extent 1 that broadcasts counts as often as the letter says.
Term reducedTo(const Term& term, const std::string& kept, const std::vector<std::int64_t>& extents)
{
    std::vector<std::size_t> axes;
    Term result{{}, term.tensor};
    Shape shape;
    double times = 1;
    for (std::size_t axis = 0; axis < term.letters.size(); ++axis) {
        const std::int64_t extent = term.tensor.shape()[axis];
        if (has(kept, term.letters[axis])) {
            result.letters += term.letters[axis];
            shape.push_back(extent);
        } else {
            axes.push_back(axis);
            times *= extent == 1 ? static_cast<double>(extents[indexOf(term.letters[axis])]) : 1;
        }
    }
    if (!axes.empty()) {
        result.tensor = sumOverAxes(term.tensor, axes).reshaped(shape);
    }
    result.tensor = times == 1 ? result.tensor : algebra::scale(result.tensor, times);
    return result;
}

/// The extents of `letters` in a term, 1 for a letter that it has not.
Shape extentsIn(const Term& term, const std::string& letters)
{
    Shape shape;
    for (const char c : letters) {
        shape.push_back(has(term.letters, c) ? term.tensor.shape()[term.letters.find(c)] : 1);
    }
    return shape;
}

/// Repeats axes of extent 1 whose letter has more elements in the other term, so that both agree on it.
Term broadcastLike(const Term& term, const std::string& letters, const Term& other)
{
    Shape shape = term.tensor.shape();
    for (std::size_t axis = 0; axis < shape.size(); ++axis) {
        if (has(letters, term.letters[axis])) {
            shape[axis] = std::max(shape[axis], extentsIn(other, std::string(1, term.letters[axis]))[0]);
        }
    }
    return {term.letters, algebra::broadcastTo(term.tensor, shape)};
}

/// What the letters of two terms are for in their product.
struct Roles
{
    std::string batch; // in both, and in the result
    std::string sums;  // in both, and summed
    std::string onlyA;
    std::string onlyB;

    Roles(const std::string& a, const std::string& b, const std::string& kept)
    {
        for (const char c : a) {
            std::string& group = !has(b, c) ? onlyA : has(kept, c) ? batch : sums;
            group += c;
        }
        std::copy_if(b.begin(), b.end(), std::back_inserter(onlyB), [&](char c) { return !has(a, c); });
    }
};

/// A term as matrices of `rows` by `columns`, one for each index of `batch`.
Tensor asMatrices(const Term& term, const std::string& batch, const std::string& rows, const std::string& columns)
{
    Shape shape = extentsIn(term, batch);
    shape.push_back(tensor::elementCount(extentsIn(term, rows)));
    shape.push_back(tensor::elementCount(extentsIn(term, columns)));
    return ordered(term, batch + rows + columns).reshaped(shape);
}

/// Product of two terms, summed over the letters that neither `kept` nor anything else needs.
Term contracted(const Term& a, const Term& b, const std::string& kept)
{
    const Roles roles(a.letters, b.letters, kept);
    const Term left = broadcastLike(a, roles.sums, b);
    const Term right = broadcastLike(b, roles.sums, a);
    const Tensor product = matrixProduct(asMatrices(left, roles.batch, roles.onlyA, roles.sums),
                                         asMatrices(right, roles.batch, roles.sums, roles.onlyB));
    Shape shape(product.shape().begin(), product.shape().end() - 2);
    const Shape rows = extentsIn(a, roles.onlyA);
    const Shape columns = extentsIn(b, roles.onlyB);
    shape.insert(shape.end(), rows.begin(), rows.end());
    shape.insert(shape.end(), columns.begin(), columns.end());
    return {roles.batch + roles.onlyA + roles.onlyB, product.reshaped(shape)};
}

/// Letters of all terms but one, and of the result.
std::string lettersBeside(const std::vector<Term>& terms, std::size_t one, const std::string& result)
{
    std::string needed = result;
    for (std::size_t i = 0; i < terms.size(); ++i) {
        needed += i == one ? "" : terms[i].letters;
    }
    return needed;
}

/// Axes in the order of `result`, those that the term has not with extent 1, and then repeated to the extents.
Tensor arranged(const Term& term, const std::string& result, const std::vector<std::int64_t>& extents)
{
    std::string present;
    Shape whole;
    for (const char c : result) {
        present += has(term.letters, c) ? std::string(1, c) : "";
        whole.push_back(extents[indexOf(c)]);
    }
    return algebra::broadcastTo(ordered(term, present).reshaped(extentsIn(term, result)), whole);
}

std::string lettersAfter(const std::vector<Term>& terms, std::size_t next, const std::string& result)
{
    std::string needed = result;
    for (std::size_t i = next; i < terms.size(); ++i) {
        needed += terms[i].letters;
    }
    return needed;
}

/// Σ over the letters that `result` has not of the product of the operands, each with one letter per axis. Axes of
/// extent 1 broadcast to a letter's extent in `extents`. Letters of `result` that no operand has are repeated. float32,
/// float64; contracted pair by pair through matrix products.
Tensor einsum(const std::vector<std::string>& letters, const std::vector<Tensor>& operands, const std::string& result,
              const std::vector<std::int64_t>& extents)
{
    std::vector<Term> terms;
    for (std::size_t i = 0; i < operands.size(); ++i) {
        terms.push_back(withoutRepeats({letters[i], operands[i]}));
    }
    for (std::size_t i = 0; i < terms.size(); ++i) { // a letter of one term alone is summed before it is multiplied
        terms[i] = reducedTo(terms[i], lettersBeside(terms, i, result), extents);
    }
    Term total = terms[0];
    for (std::size_t i = 1; i < terms.size(); ++i) {
        total = contracted(total, terms[i], lettersAfter(terms, i + 1, result));
    }
    return arranged(reducedTo(total, result, extents), result, extents);
}

/// The equation with the shapes of its operands: value and gradients.
class Equation
{
public:
    Equation(EinsumPlan plan, std::vector<Shape> operands)
        : m_plan(std::move(plan)), m_operands(std::move(operands)), m_result(m_plan.shapeOf(m_plan.output))
    {}

    [[nodiscard]] const Shape& result() const { return m_result; }
    [[nodiscard]] Tensor value(std::vector<Tensor> operands) const
    {
        return einsum(m_plan.operands, operands, m_plan.output, m_plan.extents);
    }
    /// Gradient of Σ s·z with respect to operand `slot`: the same product with s in its place.
    [[nodiscard]] Tensor gradient(const Tensor& s, std::vector<Tensor> operands, std::size_t slot) const
    {
        std::vector<std::string> letters = m_plan.operands;
        letters[slot] = m_plan.output;
        operands[slot] = s;
        std::string own;
        for (const char c : m_plan.operands[slot]) {
            own += own.find(c) == std::string::npos ? std::string(1, c) : "";
        }
        const Tensor part = einsum(letters, operands, own, m_plan.extents);
        return spread(part, own, slot);
    }
    [[nodiscard]] double flops() const
    {
        double count = 2;
        for (const std::int64_t extent : m_plan.extents) {
            count *= extent > 1 ? static_cast<double>(extent) : 1;
        }
        return count;
    }

private:
    /// Puts a letter that the operand has twice on its diagonal, and undoes broadcasting.
    [[nodiscard]] Tensor spread(const Tensor& part, const std::string& own, std::size_t slot) const
    {
        const std::string& letters = m_plan.operands[slot];
        if (own.size() == letters.size()) {
            return algebra::reduceTo(part, m_operands[slot]);
        }
        const Shape& shape = m_operands[slot];
        const Shape rows = tensor::rowMajorStrides(shape);
        Shape strides(own.size(), 0);
        Shape extents(own.size(), 1);
        for (std::size_t axis = 0; axis < letters.size(); ++axis) {
            const std::size_t at = own.find(letters[axis]);
            strides[at] += shape[axis] == 1 ? 0 : rows[axis];
            extents[at] = std::max(extents[at], shape[axis]);
        }
        tensor::TensorBuffer buffer(part.dtype(), shape);
        buffer.clear();
        tensor::copyStrided(algebra::reduceTo(part, extents), buffer.rawData(), strides);
        return std::move(buffer).freeze();
    }

    EinsumPlan m_plan;
    std::vector<Shape> m_operands;
    Shape m_result;
};

std::vector<Tensor> listOf(std::span<const Tensor> operands) { return {operands.begin(), operands.end()}; }

/// One operand, or more than two: linear in each.
class EinsumFunction final : public Operator<Differentiable>, public LinearOperands
{
public:
    EinsumFunction(tensor::DType dtype, Equation equation)
        : Operator(TensorType{dtype, equation.result()}), m_equation(std::move(equation))
    {}

    [[nodiscard]] std::vector<Tensor> forward(std::span<const Tensor> operands) const override
    {
        return {m_equation.value(listOf(operands))};
    }
    [[nodiscard]] bool isLinearIn(std::size_t) const override { return true; }
    [[nodiscard]] Reads savedForGradient() const override { return Reads::allOperands(); }
    [[nodiscard]] double flops() const override { return m_equation.flops(); }
    [[nodiscard]] Tensor pullback(std::span<const Tensor> s, std::span<const Tensor> operands, std::span<const Tensor>,
                                  std::size_t slot) const override
    {
        return m_equation.gradient(s[0], listOf(operands), slot);
    }
    [[nodiscard]] double share(std::span<const std::uint8_t> tracked, std::size_t) const override
    {
        return 1.0 / static_cast<double>(
                         std::max<std::ptrdiff_t>(std::count(tracked.begin(), tracked.end(), std::uint8_t{1}), 1));
    }

private:
    Equation m_equation;
};

/// Two operands that are computed.
class EinsumOfTwo final : public Operator<Bilinear>
{
public:
    EinsumOfTwo(tensor::DType dtype, Equation equation)
        : Operator(TensorType{dtype, equation.result()}), m_equation(std::move(equation))
    {}

    [[nodiscard]] std::vector<Tensor> forward(std::span<const Tensor> operands) const override
    {
        return {m_equation.value(listOf(operands))};
    }
    [[nodiscard]] Reads savedForGradient() const override { return {Reads::bit(0) | Reads::bit(1), 0}; }
    [[nodiscard]] double flops() const override { return m_equation.flops(); }
    [[nodiscard]] Tensor apply(const Tensor& a, const Tensor& b) const override { return m_equation.value({a, b}); }
    [[nodiscard]] Tensor pullback(const Tensor& s, const Tensor& a, const Tensor& b, std::size_t slot) const override
    {
        return m_equation.gradient(s, {a, b}, slot);
    }

private:
    Equation m_equation;
};

/// Two operands, one of them constant: a layer with weights.
class EinsumMap final : public Operator<LinearMap>
{
public:
    EinsumMap(tensor::DType dtype, Equation equation, Tensor weight, std::size_t slot)
        : Operator(TensorType{dtype, equation.result()}), m_equation(std::move(equation)),
          m_weight(std::move(weight), dtype), m_slot(slot)
    {}

    [[nodiscard]] std::vector<Tensor> forward(std::span<const Tensor> operands) const override
    {
        return {apply(operands[m_slot], {})};
    }
    [[nodiscard]] Reads savedForGradient() const override { return {Reads::bit(0) | Reads::bit(1), 0}; }
    [[nodiscard]] double flops() const override { return m_equation.flops(); }
    [[nodiscard]] std::size_t operandSlot() const override { return m_slot; }
    [[nodiscard]] bool hasBias() const override { return false; }
    [[nodiscard]] Tensor bias(WeightVariant) const override { return {}; }
    [[nodiscard]] Tensor apply(const Tensor& x, WeightVariant variant) const override
    {
        return m_equation.value(factors(x, variant));
    }
    [[nodiscard]] Tensor pullback(const Tensor& s, WeightVariant variant) const override
    {
        return m_equation.gradient(s, factors({}, variant), m_slot);
    }

private:
    [[nodiscard]] std::vector<Tensor> factors(const Tensor& x, WeightVariant variant) const
    {
        std::vector<Tensor> operands(2, x);
        operands[1 - m_slot] = m_weight.get(variant);
        return operands;
    }

    Equation m_equation;
    WeightVariants m_weight;
    std::size_t m_slot;
};

BoundResult bindEinsum(const BindContext& context)
{
    RETRO_CHECK(expect(context, OperandTypes::Floats));
    RETRO_TRY(EinsumPlan plan, readEinsum(context, context.textAttribute("equation", {})));
    RETRO_CHECK(expectSize(context, plan.shapeOf(plan.output)));
    const tensor::DType dtype = firstType(context).dtype;
    std::vector<Shape> shapes;
    for (const TensorType& type : context.operandTypes) {
        shapes.push_back(type.shape);
    }
    Equation equation(std::move(plan), std::move(shapes));
    if (context.node.inputs.size() != 2) {
        return bound<EinsumFunction>(dtype, std::move(equation));
    }
    if (context.constant(0) || context.constant(1)) {
        const std::size_t slot = context.constant(1) ? 0 : 1;
        return bound<EinsumMap>(dtype, std::move(equation), storedWeight(context, 1 - slot), slot);
    }
    return bound<EinsumOfTwo>(dtype, std::move(equation));
}

} // namespace

const OperatorFamily kEinsumOperators{
    {"", "Einsum", 12, 0, "linear map, bilinear, function", true, bindEinsum},
};

} // namespace retro::ops
