// SPDX-License-Identifier: Apache-2.0
#include "core/ops/scoretail.h"

#include "core/graph/attributes.h"
#include "core/ops/elements.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <limits>
#include <string_view>

namespace retro::ops
{

namespace
{

using base::NodeId;
using base::ValueId;
using graph::Graph;
using graph::Node;

/// Of a probability above one half a score is above 0.
constexpr double kHalf = 0.5;

/// A function of one score that only rises.
struct RisingFunction
{
    std::string_view op;
    double (*of)(double);
    bool keepsSign; ///< it is 0 at 0, so it says as much as its operand
};

constexpr std::array kRising{RisingFunction{"Sigmoid", [](double x) { return 1 / (1 + std::exp(-x)); }, false},
                             RisingFunction{"HardSigmoid", [](double) { return kHalf; }, false},
                             RisingFunction{"Log", [](double x) { return std::log(x); }, false},
                             RisingFunction{"Exp", [](double x) { return std::exp(x); }, false},
                             RisingFunction{"Softplus", [](double x) { return std::log1p(std::exp(x)); }, false},
                             RisingFunction{"Asinh", [](double x) { return std::asinh(x); }, true},
                             RisingFunction{"Celu", [](double x) { return x < 0 ? std::expm1(x) : x; }, true},
                             RisingFunction{"Elu", [](double x) { return x < 0 ? std::expm1(x) : x; }, true},
                             RisingFunction{"Selu", [](double x) { return x < 0 ? std::expm1(x) : x; }, true},
                             RisingFunction{"Tanh", [](double x) { return std::tanh(x); }, true},
                             RisingFunction{"Erf", [](double x) { return std::erf(x); }, true},
                             RisingFunction{"Atan", [](double x) { return std::atan(x); }, true},
                             RisingFunction{"Softsign", [](double x) { return x / (1 + std::abs(x)); }, true},
                             RisingFunction{"Sqrt", [](double x) { return std::sqrt(x); }, true}};

/// What hands its first operand on, but for its type, for rounding and for bounds: in its order, or elsewhere.
bool isInOrder(const Node& node)
{
    return keepsElements(node) || areElements(node, {Elements::Rounded, Elements::Quantised, Elements::Bounded}) ||
           node.op == "Expand" || node.op == "Relu";
}
bool isElsewhere(const Node& node)
{
    return areElements(node, {Elements::PickedBy, Elements::Taken, Elements::Turned}) || node.op == "TopK";
}

bool isAmong(std::span<const std::string_view> names, std::string_view name)
{
    return std::ranges::find(names, name) != names.end();
}

const Node* nodeOf(const Graph& graph, ValueId value)
{
    const NodeId id = value.isValid() ? graph.nodeOf(value) : NodeId();
    return id.isValid() && !graph.isInput(id) ? &graph.node(id) : nullptr;
}

/// A reduction of axes that have one element, as far as the file says: it hands that one on.
bool reducesNothing(const Graph& graph, const Node& node, ValueId made)
{
    static constexpr std::array<std::string_view, 4> kReductions{"ReduceMax", "ReduceMean", "ReduceMin", "ReduceSum"};
    const auto& before = graph.value(node.inputs.front()).shape;
    const auto& after = graph.value(made).shape;
    const auto isLong = [](const graph::Dimension& axis) { return axis.extent != 1; };
    return isAmong(kReductions, node.op) && before && after &&
           std::ranges::count_if(*before, isLong) == std::ranges::count_if(*after, isLong);
}

/// Operators of two operands.
constexpr std::array<std::string_view, 4> kOfTwo{"Add", "Sub", "Mul", "Div"};

bool hasItsOperands(const Node& node) { return node.inputs.size() >= (isAmong(kOfTwo, node.op) ? 2 : 1); }

/// The node that makes a value, where it is of the standard and of this name.
const Node* makerOf(const Graph& graph, ValueId value, std::string_view op)
{
    const Node* node = nodeOf(graph, value);
    return node != nullptr && node->domain.empty() && node->op == op && hasItsOperands(*node) ? node : nullptr;
}

/// The numbers of a constant, one for each class.
struct Numbers
{
    double least = 0;
    double most = 0;

    [[nodiscard]] bool areOne() const { return least == most; }
    /// What is multiplied by them rises, or falls; where one of them is 0, a class is left out.
    [[nodiscard]] bool areFactors() const
    {
        return least * most >= 0 && least + most != 0 && std::isfinite(least) && std::isfinite(most);
    }
};

bool isConstant(const Graph& graph, ValueId value)
{
    return value.isValid() && graph.value(value).kind == graph::ValueKind::Constant;
}

/// Nothing of what is computed, and of longer lists than there are classes.
std::optional<Numbers> numbersOf(const Graph& graph, ValueId value)
{
    constexpr std::int64_t kMostClasses = std::int64_t{1} << 20U;
    const tensor::Tensor* constant = isConstant(graph, value) ? &graph.value(value).constant : nullptr;
    if (constant == nullptr || !constant->isValid() || constant->size() < 1 || constant->size() > kMostClasses) {
        return std::nullopt;
    }
    Numbers numbers{constant->at(0), constant->at(0)};
    for (std::int64_t i = 1; i < constant->size(); ++i) {
        numbers.least = std::min(numbers.least, constant->at(i));
        numbers.most = std::max(numbers.most, constant->at(i));
    }
    return numbers;
}

/// The one operand beside constants that bound it, stand in for some of it, or are added to it: of Max, Mean, Min, Sum,
/// Where. Invalid where there is more than one, or none.
ValueId operandBesideConstants(const Graph& graph, const Node& node)
{
    static constexpr std::array<std::string_view, 5> kJoining{"Max", "Mean", "Min", "Sum", "Where"};
    if (!node.domain.empty() || !isAmong(kJoining, node.op)) {
        return {};
    }
    std::vector<ValueId> open(node.inputs.begin() + (node.op == "Where" ? 1 : 0), node.inputs.end());
    std::erase_if(open, [&](ValueId input) { return isConstant(graph, input); });
    return open.size() == 1 ? open.front() : ValueId();
}

/// Elements over a sum of them all.
struct Shares
{
    ValueId of;              ///< invalid: no shares
    bool addUpToOne = false; ///< where no element is below 0
};

/// What is divided by a norm or a sum of all its own elements.
Shares sharesOf(const Graph& graph, const Node& node)
{
    static constexpr std::array<std::string_view, 5> kSums{"ReduceL1", "ReduceL2", "ReduceMax", "ReduceMean",
                                                           "ReduceSum"};
    if (node.op == "LpNormalization") {
        return {node.inputs[0], graph::attributeOr<std::int64_t>(node, "p", 2) == 1};
    }
    const Node* sum = node.op == "Div" ? nodeOf(graph, node.inputs[1]) : nullptr;
    while (sum != nullptr && hasItsOperands(*sum) && (isInOrder(*sum) || isAmong(kOfTwo, sum->op))) {
        const bool isSecond = isConstant(graph, sum->inputs[0]); // a bound, or a small number that is added
        sum = sum->inputs.size() < 2 || isSecond || isConstant(graph, sum->inputs[1]) || !isAmong(kOfTwo, sum->op)
                  ? nodeOf(graph, sum->inputs[isSecond ? 1 : 0])
                  : nullptr;
    }
    const bool isItsOwn =
        sum != nullptr && sum->domain.empty() && isAmong(kSums, sum->op) && sum->inputs[0] == node.inputs[0];
    return isItsOwn ? Shares{node.inputs[0], sum->op == "ReduceL1" || sum->op == "ReduceSum"} : Shares();
}

/// The exponential that a value is, or is somewhere (Where).
const Node* exponentialOf(const Graph& graph, ValueId value)
{
    const Node* choice = makerOf(graph, value, "Where");
    const Node* found = makerOf(graph, value, "Exp");
    for (std::size_t slot = 1; choice != nullptr && found == nullptr && slot < choice->inputs.size(); ++slot) {
        found = makerOf(graph, choice->inputs[slot], "Exp");
    }
    return found;
}

/// Scores, looked at through a difference from the largest of them.
ValueId beforeDifference(const Graph& graph, ValueId scores)
{
    const Node* difference = makerOf(graph, scores, "Sub");
    const bool isFromLargest = difference != nullptr && makerOf(graph, difference->inputs[1], "ReduceMax") != nullptr;
    return isFromLargest ? difference->inputs[0] : scores;
}

/// The scores of a softmax that is written in steps: exponentials, maybe of differences from the largest score, over
/// their sum; also SOFTMAX_ZERO of ONNX-ML. Invalid where `node` does not end one.
ValueId writtenSoftmax(const Graph& graph, const Node& node)
{
    const Shares shares = sharesOf(graph, node);
    const Node* sum = node.op == "Div" ? makerOf(graph, node.inputs[1], "ReduceSum") : nullptr;
    const ValueId summed = shares.addUpToOne ? shares.of : sum != nullptr ? sum->inputs[0] : ValueId();
    const Node* exponential = exponentialOf(graph, summed);
    if (exponential == nullptr) {
        return {};
    }
    const Node* others = makerOf(graph, node.inputs[0], "Add");
    const bool isShare = node.inputs[0] == summed ||
                         (others != nullptr && std::ranges::find(others->inputs, summed) != others->inputs.end());
    const Node* difference = makerOf(graph, exponential->inputs[0], "Sub");
    const ValueId scores = difference == nullptr ? exponential->inputs[0] : difference->inputs[0];
    return isShare ? scores : ValueId();
}

/// What ReduceLogSumExp reads, or Log of the sum of its exponentials.
ValueId operandOfLogSum(const Graph& graph, ValueId value)
{
    if (const Node* sum = makerOf(graph, value, "ReduceLogSumExp"); sum != nullptr) {
        return sum->inputs[0];
    }
    const Node* logarithm = makerOf(graph, value, "Log");
    const Node* sum = logarithm == nullptr ? nullptr : makerOf(graph, logarithm->inputs[0], "ReduceSum");
    const Node* exponential = sum == nullptr ? nullptr : makerOf(graph, sum->inputs[0], "Exp");
    return exponential == nullptr ? ValueId() : exponential->inputs[0];
}

/// The scores of a logarithm of a softmax that is written in steps: z - ln Σ exp z, maybe + the largest score.
ValueId writtenLogSoftmax(const Graph& graph, const Node& node)
{
    if (node.op != "Sub") {
        return {};
    }
    ValueId sum = node.inputs[1];
    if (const Node* back = makerOf(graph, sum, "Add"); back != nullptr) { // ln Σ exp(z - max) + max
        const bool isSecond = makerOf(graph, back->inputs[0], "ReduceMax") != nullptr;
        sum = back->inputs[isSecond ? 1 : 0];
    }
    const ValueId summed = operandOfLogSum(graph, sum);
    const ValueId scores = beforeDifference(graph, node.inputs[0]);
    return summed.isValid() && beforeDifference(graph, summed) == scores ? scores : ValueId();
}

/// 1 where no element of a value is below 0, -1 where none is above, 0 where that is not known.
int signOf(const Graph& graph, ValueId value)
{
    static constexpr std::array<std::string_view, 8> kPositive{"Abs",     "Exp",     "HardSigmoid", "Relu",
                                                               "Sigmoid", "Softmax", "Softplus",    "Sqrt"};
    static constexpr std::array<std::string_view, 2> kAtMostOne{"Sigmoid", "Softmax"};
    const Node* node = nodeOf(graph, value);
    int sign = 1;
    bool isOfLogarithm = false;
    while (node != nullptr && hasItsOperands(*node)) {
        const bool isOne = writtenSoftmax(graph, *node).isValid() || isAmong(kAtMostOne, node->op);
        if (isOne || (!isOfLogarithm && isAmong(kPositive, node->op))) {
            return isOfLogarithm ? -sign : sign;
        }
        if (!isOfLogarithm && (node->op == "LogSoftmax" || writtenLogSoftmax(graph, *node).isValid())) {
            return -sign;
        }
        const bool isFactor = node->op == "Mul" || node->op == "Div";
        const std::optional<Numbers> factors =
            isFactor && !isOfLogarithm ? numbersOf(graph, node->inputs[1]) : std::nullopt;
        const bool goesOn = isInOrder(*node) || isElsewhere(*node) || (factors && factors->areFactors()) ||
                            (!isOfLogarithm && (node->op == "Neg" || node->op == "Log" || node->op == "Reciprocal"));
        if (!goesOn) {
            return 0;
        }
        isOfLogarithm = isOfLogarithm || node->op == "Log";
        sign = node->op == "Neg" || (factors && factors->least < 0) ? -sign : sign;
        node = nodeOf(graph, node->inputs.front());
    }
    return 0;
}

/// The walk from a result to the scores.
class TailWalk
{
public:
    TailWalk(const Graph& graph, ValueId value) : m_graph(graph), m_value(value) {}

    ScoreTail take()
    {
        for (const Node* node = nodeOf(m_graph, m_value); node != nullptr && step(*node);
             node = nodeOf(m_graph, m_value)) {
        }
        m_tail.atZero = ofZero(m_functions.size() - m_kept);
        return std::move(m_tail);
    }

private:
    /// Goes behind a node; false where the tail ends.
    bool step(const Node& node)
    {
        if (!hasItsOperands(node) || !node.inputs.front().isValid()) {
            return false;
        }
        if (isInOrder(node) || isElsewhere(node) || reducesNothing(m_graph, node, m_value)) {
            const auto* order = graph::attributeOf<std::vector<std::int64_t>>(node, "perm");
            const bool turns =
                node.op == "Transpose" && order != nullptr && *order == std::vector<std::int64_t>{0, 2, 1};
            m_isTurned = m_isTurned != turns;
            m_keepsOrder = m_keepsOrder && (turns || !isElsewhere(node));
            m_value = node.inputs.front();
            return true;
        }
        if (const ValueId operand = operandBesideConstants(m_graph, node); operand.isValid()) {
            stepJoined(node, operand);
            return true;
        }
        return node.domain.empty() &&
               (stepSoftmax(node) || stepShare(node) || stepFunction(node) || stepPower(node) || stepNumber(node));
    }

    /// Goes on to the one operand beside constants. Those of a sum are added, and a mean divides.
    void stepJoined(const Node& node, ValueId operand)
    {
        const bool isMean = node.op == "Mean";
        const double count = isMean ? static_cast<double>(node.inputs.size()) : 1;
        double sum = 0;
        for (const ValueId input : isMean || node.op == "Sum" ? node.inputs : std::vector<ValueId>()) {
            const std::optional<Numbers> numbers = numbersOf(m_graph, input);
            const bool isSame = input == operand || (numbers && numbers->areOne());
            sum += input == operand ? 0 : isSame ? numbers->least : std::numeric_limits<double>::quiet_NaN();
            m_ranksSame = m_ranksSame && isSame;
            m_isScaled = m_isScaled || input != operand;
        }
        m_functions.emplace_back([sum, count](double x) { return (x + sum) / count; });
        m_value = operand;
    }

    /// Shares of a whole, and differences from the largest element: all scores of a row are in each of them.
    bool stepShare(const Node& node)
    {
        const Shares shares = sharesOf(m_graph, node);
        const ValueId whole = shares.of;
        const ValueId before = whole.isValid() || node.op != "Sub" ? whole : beforeDifference(m_graph, m_value);
        if (!before.isValid() || before == m_value) {
            return false;
        }
        m_isShared = true;
        m_isScaled = m_isScaled || (whole.isValid() && !shares.addUpToOne);
        m_logarithms += whole.isValid() ? 0 : 1;
        m_value = before;
        if (!whole.isValid() || signOf(m_graph, whole) != 0) {
            found(whole.isValid() ? "Share" : "Difference");
        }
        return true;
    }

    /// A softmax ends the walk: its rows are scores.
    bool stepSoftmax(const Node& node)
    {
        const ValueId written = writtenSoftmax(m_graph, node);
        const ValueId writtenLogarithm = writtenLogSoftmax(m_graph, node);
        const bool isLogarithm = node.op == "LogSoftmax" || writtenLogarithm.isValid();
        if (!isLogarithm && node.op != "Softmax" && !written.isValid()) {
            return false;
        }
        m_logarithms += isLogarithm ? 1 : 0;
        m_tail.isMixed = true;
        m_value = written.isValid() ? written : writtenLogarithm.isValid() ? writtenLogarithm : node.inputs.front();
        found(isLogarithm ? "LogSoftmax" : "Softmax");
        m_value = ValueId();
        return true;
    }

    bool stepFunction(const Node& node)
    {
        const auto* function = std::ranges::find(kRising, std::string_view(node.op), &RisingFunction::op);
        if (function == kRising.end()) {
            return stepFall(node);
        }
        m_functions.emplace_back(function->of);
        m_logarithms += node.op == "Log" ? 1 : node.op == "Exp" ? -1 : 0;
        m_value = node.inputs.front();
        if (!function->keepsSign || (!m_tail.isValid() && ofZero(0) != 0)) { // tanh(x) + 1 has no sign of x
            found(node.op);
        }
        return true;
    }

    /// 1/x, -x, and |x| of what is never above 0 (of what is never below, it hands on); -x in front of the other
    /// functions only where scores rise by it.
    bool stepFall(const Node& node)
    {
        const int sign = node.op == "Abs" ? signOf(m_graph, node.inputs.front()) : 0;
        if (sign > 0) {
            m_value = node.inputs.front();
            return true;
        }
        if (sign == 0 && node.op != "Neg" && node.op != "Reciprocal") {
            return stepLeaky(node);
        }
        const bool isNegative = node.op != "Reciprocal";
        m_functions.emplace_back([isNegative](double x) { return isNegative ? -x : 1 / x; });
        m_value = node.inputs.front();
        m_rises = !m_rises;
        takeBack();
        return true;
    }

    /// LeakyRelu, and PRelu by one slope above 0: they keep the sign.
    bool stepLeaky(const Node& node)
    {
        const std::optional<Numbers> slopes =
            node.op == "PRelu" && node.inputs.size() > 1 ? numbersOf(m_graph, node.inputs[1]) : std::nullopt;
        const bool isOne = slopes && slopes->areOne();
        const double slope = isOne ? slopes->least : floatAttribute(node, "alpha", 0.01);
        if ((node.op != "LeakyRelu" && !isOne) || slope <= 0) {
            return false;
        }
        m_functions.emplace_back([slope](double x) { return x < 0 ? slope * x : x; });
        m_value = node.inputs.front();
        return true;
    }

    /// A power of what has one sign, and odd powers; x·x is one, too. Of a number, with the score as its exponent.
    bool stepPower(const Node& node)
    {
        const std::optional<Numbers> base = node.op == "Pow" ? numbersOf(m_graph, node.inputs[0]) : std::nullopt;
        if (base && base->areOne() && base->least > 0 && base->least != 1 && node.inputs.size() > 1) {
            m_functions.emplace_back([number = base->least](double x) { return std::pow(number, x); });
            m_rises = m_rises == (base->least > 1);
            m_value = node.inputs[1];
            found("Exp");
            return true;
        }
        const bool isSquare = node.op == "Mul" && node.inputs[0] == node.inputs[1];
        const std::optional<Numbers> given =
            node.op == "Pow" && node.inputs.size() > 1 ? numbersOf(m_graph, node.inputs[1]) : std::nullopt;
        if (!isSquare && !(given && given->areOne() && given->areFactors())) {
            return false;
        }
        const double exponent = isSquare ? 2 : given->least;
        const bool isOdd = std::fmod(std::abs(exponent), 2) == 1;
        const int sign = isOdd ? 1 : signOf(m_graph, node.inputs.front());
        if (sign == 0) {
            return false;
        }
        m_functions.emplace_back([exponent](double x) { return std::pow(x, exponent); });
        m_rises = m_rises == (exponent * sign > 0);
        m_isScaled = true;
        m_value = node.inputs.front();
        takeBack();
        return true;
    }

    /// Add, Sub, Mul and Div with one number, or with one for each class.
    bool stepNumber(const Node& node)
    {
        if (!isAmong(kOfTwo, node.op)) {
            return false;
        }
        const std::optional<Numbers> second = numbersOf(m_graph, node.inputs[1]);
        const std::optional<Numbers> numbers = second ? second : numbersOf(m_graph, node.inputs[0]);
        const bool isFactor = node.op == "Mul" || node.op == "Div";
        if (!numbers || (isFactor && !numbers->areFactors())) {
            return false;
        }
        const double number = numbers->areOne() ? numbers->least : std::numeric_limits<double>::quiet_NaN();
        m_functions.emplace_back([op = std::string_view(node.op), number, isSecond = second.has_value()](double x) {
            const bool staysZero = x == 0 && isSecond && (op == "Mul" || op == "Div");
            return staysZero ? 0 : numberStep(op, x, number, isSecond);
        });
        const bool turns = (isFactor && numbers->least < 0) != (!second && (node.op == "Sub" || node.op == "Div"));
        m_rises = m_rises != turns;
        m_isScaled = true;
        m_ranksSame = m_ranksSame && numbers->areOne();
        m_value = node.inputs[second ? 0 : 1];
        takeBack();
        return true;
    }

    static double numberStep(std::string_view op, double x, double number, bool isSecond)
    {
        if (op == "Add") {
            return x + number;
        }
        if (op == "Mul") {
            return x * number;
        }
        const double a = isSecond ? x : number;
        const double b = isSecond ? number : x;
        return op == "Sub" ? a - b : a / b;
    }

    /// The result of 0, but for the last `left` steps to the scores.
    [[nodiscard]] double ofZero(std::size_t left) const
    {
        double result = 0;
        for (auto one = m_functions.rbegin() + static_cast<std::ptrdiff_t>(left); one != m_functions.rend(); ++one) {
            result = (*one)(result);
        }
        return result;
    }

    /// The value behind the node that was stepped over is the scores of what is known now.
    void found(std::string name)
    {
        m_tail.functions.push_back(std::move(name));
        m_tail.isLogarithm = m_logarithms > 0;
        m_tail.isMixed = m_tail.isMixed || m_isShared;
        m_tail.isScaled = m_isScaled;
        m_tail.keepsOrder = m_keepsOrder && !m_isTurned;
        m_tail.isTurned = m_keepsOrder && m_isTurned;
        m_tail.ranksSame = m_ranksSame;
        takeScores();
    }

    /// A falling step in front of the functions belongs to them where the result rises with what it reads.
    void takeBack()
    {
        if (m_tail.isValid() && !m_tail.rises && m_rises) {
            takeScores();
        }
    }

    void takeScores()
    {
        m_tail.scores = m_value;
        m_tail.rises = m_rises;
        m_kept = m_functions.size();
    }

    const Graph& m_graph;
    ValueId m_value;
    ScoreTail m_tail;
    std::vector<std::function<double(double)>> m_functions; // from the result to the scores
    std::size_t m_kept = 0;                                 // of them, up to the scores
    int m_logarithms = 0;
    bool m_isShared = false;
    bool m_isScaled = false;
    bool m_keepsOrder = true;
    bool m_isTurned = false;
    bool m_ranksSame = true;
    bool m_rises = true;
};

} // namespace

bool ScoreTail::isSoftmax() const
{
    return std::ranges::any_of(functions, [](const auto& name) { return name == "Softmax" || name == "LogSoftmax"; });
}

bool ScoreTail::isOfLogits() const
{
    return isSoftmax() || std::ranges::find(functions, "Difference") != functions.end();
}

bool ScoreTail::isProbability() const
{
    const bool isPlain = !isScaled && rises && !isLogarithm;
    return isPlain && (isSoftmax() || (!isMixed && functions.size() == 1 && functions.front() == "Sigmoid"));
}

std::string ScoreTail::words() const
{
    const std::string_view last = functions.empty() ? std::string_view() : std::string_view(functions.back());
    const std::string_view inner = isSoftmax()            ? "a softmax"
                                   : last == "Difference" ? "a difference from the largest score"
                                   : isMixed              ? "a share of the sum of all scores"
                                   : last == "Sigmoid"    ? "a sigmoid"
                                                          : last;
    if (isLogarithm && (isSoftmax() || last == "Sigmoid")) {
        return fmt::format("the logarithm of {}", inner);
    }
    return std::string(inner);
}

bool ScoreTail::turnsSign(double result) const
{
    const double fromZero = rises ? result - atZero : atZero - result; // of the sign of the score
    return !isMixed && (std::isnan(atZero) || fromZero * result < 0);
}

ScoreTail scoreTail(const Graph& graph, ValueId value) { return TailWalk(graph, value).take(); }

std::optional<ValueId> outputOfScores(const Graph& graph, ValueId scores)
{
    const auto found = std::ranges::find_if(graph.outputs(),
                                            [&](ValueId output) { return scoreTail(graph, output).scores == scores; });
    return found == graph.outputs().end() || !scores.isValid() ? std::nullopt : std::optional(*found);
}

} // namespace retro::ops
