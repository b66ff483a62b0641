// SPDX-License-Identifier: Apache-2.0
// P8 operator by operator, over every shape of up to three axes of extent 0 to 3: ⟨tangent, upstream⟩ = ⟨direction,
// parts⟩. Operators that a scalar has no numbers for are refused over it.
#include "tests/core/tape/tapeproperties.h"

#include <QtTest>

#include <cmath>
#include <concepts>
#include <limits>
#include <map>

using namespace retro;
using namespace retro::tape;
using namespace retro::tapetest;
using tensor::Shape;

namespace
{

constexpr std::int64_t kMostExtent = 3;

std::vector<Shape> shapesOf(std::size_t axes)
{
    std::vector<Shape> all{Shape{}};
    for (std::size_t axis = 0; axis < axes; ++axis) {
        std::vector<Shape> longer;
        for (const Shape& shape : all) {
            for (std::int64_t extent = 0; extent <= kMostExtent; ++extent) {
                longer.push_back(shape);
                longer.back().push_back(extent);
            }
        }
        all = std::move(longer);
    }
    return all;
}

std::vector<Shape> allShapes()
{
    std::vector<Shape> all;
    for (std::size_t axes = 0; axes <= 3; ++axes) {
        std::ranges::move(shapesOf(axes), std::back_inserter(all));
    }
    return all;
}

/// An operator over operands of these shapes; `repeats`: both are the same value.
struct Case
{
    std::string name;
    std::vector<Shape> operands;
    Shape shape = {};                     ///< of broadcast
    std::vector<std::int64_t> index = {}; ///< of gather0
    bool repeats = false;

    [[nodiscard]] QString text() const
    {
        QString words = QString::fromStdString(name);
        for (const Shape& one : operands) {
            words += QStringLiteral(" [%1]").arg(QString::fromStdString(tensor::toText(one)));
        }
        return words + (repeats ? QStringLiteral(" twice") : QString());
    }
};

/// Element by element: any shape.
std::vector<Case> elementWiseCases(const std::string& name)
{
    std::vector<Case> cases;
    for (const Shape& shape : allShapes()) {
        cases.push_back({name, {shape}});
    }
    return cases;
}

std::vector<Case> pairCases(const std::string& name)
{
    std::vector<Case> cases;
    for (const Shape& shape : allShapes()) {
        cases.push_back({name, {shape, shape}});
        cases.push_back({name, {shape, shape}, {}, {}, true});
    }
    return cases;
}

std::vector<Case> matrixProducts()
{
    std::vector<Case> cases;
    for (const Shape& shape : shapesOf(3)) {
        cases.push_back({"matmul", {{shape[0], shape[1]}, {shape[1], shape[2]}}});
    }
    for (std::int64_t extent = 0; extent <= kMostExtent; ++extent) {
        cases.push_back({"matmul", {{extent, extent}, {extent, extent}}, {}, {}, true});
    }
    return cases;
}

std::vector<Case> transposes()
{
    std::vector<Case> cases;
    for (const Shape& shape : shapesOf(2)) {
        cases.push_back({"transpose", {shape}});
    }
    return cases;
}

/// To every shape that an operand can be broadcast to.
std::vector<Case> broadcasts()
{
    std::vector<Case> cases;
    for (const Shape& from : allShapes()) {
        for (const Shape& to : allShapes()) {
            if (tape::detail::broadcasts(from, to)) {
                cases.push_back({"broadcast", {from}, to});
            }
        }
    }
    return cases;
}

/// Every row once, the last one twice; and of no row at all.
std::vector<Case> gathers()
{
    std::vector<Case> cases;
    for (const Shape& shape : allShapes()) {
        if (shape.empty()) {
            continue;
        }
        std::vector<std::int64_t> rows;
        for (std::int64_t row = 0; row < shape.front(); ++row) {
            rows.push_back(row);
        }
        cases.push_back({"gather0", {shape}, {}, {}});
        if (!rows.empty()) {
            rows.push_back(rows.back());
            cases.push_back({"gather0", {shape}, {}, rows});
        }
    }
    return cases;
}

/// Three operands of one to three rows.
std::vector<Case> concatenations()
{
    std::vector<Case> cases;
    for (const Shape& shape : allShapes()) {
        if (shape.empty()) {
            continue;
        }
        Case made{"concat0", {shape, shape, shape}};
        made.operands[1].front() = 1;
        made.operands[2].front() = 0;
        cases.push_back(std::move(made));
        cases.push_back({"concat0", {shape, shape}, {}, {}, true});
    }
    return cases;
}

std::vector<Case> casesOf(const std::string& name)
{
    if (name == "add" || name == "mul") {
        return pairCases(name);
    }
    const std::map<std::string, std::vector<Case> (*)()> makers{{"matmul", matrixProducts},
                                                                {"transpose", transposes},
                                                                {"broadcast", broadcasts},
                                                                {"gather0", gathers},
                                                                {"concat0", concatenations}};
    const auto maker = makers.find(name);
    return maker == makers.end() ? elementWiseCases(name) : maker->second();
}

const std::vector<std::string> kOperators{"add", "mul",       "scale",   "matmul",  "transpose",
                                          "sum", "broadcast", "concat0", "gather0", "relu",
                                          "inv", "exp",       "sigmoid", "log",     "payload_scale"};

/// Whole numbers from 1 on, so that every operator has a value and a slope; of rounded numbers quarters, at which no
/// slope is lost: 1 − σ(x) keeps its digits for small x alone.
template <class K>
Array<K> positive(const Shape& shape, SmallNumbers& numbers)
{
    Array<K> array{shape, {}};
    for (std::int64_t i = 0; i < tensor::elementCount(shape); ++i) {
        K number = static_cast<K>(numbers.next() + 4);
        if constexpr (std::floating_point<K>) {
            number /= 4;
        }
        array.data.push_back(number);
    }
    return array;
}

template <class K>
OperatorSpec<K> specOf(const Case& one)
{
    return {one.name, K(3), one.shape, one.index, "factor"};
}

/// Both sides, and what rounding may be measured by: Σ of what is added, without signs.
template <class K>
struct Sides
{
    K left = K(0);
    K right = K(0);
    double size = 0;

    void add(K& side, const Array<K>& a, const Array<K>& b)
    {
        for (std::size_t i = 0; i < a.data.size(); ++i) {
            const K product = a.data[i] * b.data[i];
            side = side + product;
            if constexpr (std::floating_point<K>) {
                size += std::abs(static_cast<double>(product));
            }
        }
    }
    [[nodiscard]] bool areEqual() const
    {
        if constexpr (std::floating_point<K>) {
            // A few roundings per element of what is summed.
            return std::abs(left - right) <= 64 * std::numeric_limits<K>::epsilon() * static_cast<K>(size);
        } else {
            return left == right;
        }
    }
};

template <class K>
Sides<K> sidesOf(const Case& one)
{
    SmallNumbers numbers(static_cast<std::uint32_t>(one.operands.size()) + 5);
    std::vector<Array<K>> leaves;
    std::vector<Array<K>> directions;
    std::vector<Array<Dual<K>>> moving;
    std::vector<Id> parents;
    for (std::size_t i = 0; i < one.operands.size(); ++i) {
        parents.push_back(one.repeats ? 0 : static_cast<Id>(i));
        if (!one.repeats || i == 0) {
            leaves.push_back(positive<K>(one.operands[i], numbers));
            directions.push_back(smallArray<K>(one.operands[i], numbers));
            moving.push_back({one.operands[i], {}});
            for (std::size_t k = 0; k < leaves.back().data.size(); ++k) {
                moving.back().data.push_back({leaves.back().data[k], directions.back().data[k]});
            }
        }
    }
    const NodeList<Array<K>> nodes{{*makeArrayOperator<K>(specOf<K>(one), parents.size()), parents, one.name}};
    const NodeList<Array<Dual<K>>> dualNodes{
        {*makeArrayOperator<Dual<K>>(specOf<Dual<K>>(one), parents.size()), parents, one.name}};
    const auto tape = taken(compile(nodes, leaves, {{"factor", scalarArray(K(5))}}));
    const auto dual = taken(compile(dualNodes, moving, {{"factor", scalarArray(Dual<K>(K(5), K(0)))}}));
    const Id last = static_cast<Id>(leaves.size());
    const Array<K> upstream = smallArray<K>(tape.cell(last).value.shape, numbers);
    Sides<K> sides;
    Array<K> slopes{upstream.shape, {}};
    for (const Dual<K>& element : dual.cell(last).value.data) {
        slopes.data.push_back(element.tangent);
    }
    sides.add(sides.left, slopes, upstream);
    for (const Contribution<Array<K>>& part : taken(contributionsOf(tape, last, upstream))) {
        sides.add(sides.right, directions[part.parent], part.value);
    }
    return sides;
}

/// Cases that were compared; the operators in `refused` have no meaning over K.
template <class K>
void everyOperatorIsAdjoint(const std::vector<std::string>& refused)
{
    for (const std::string& name : kOperators) {
        const std::vector<Case> cases = casesOf(name);
        QVERIFY(cases.size() >= 16);
        const bool isRefused = std::ranges::find(refused, name) != refused.end();
        for (const Case& one : cases) {
            QCOMPARE(makeArrayOperator<K>(specOf<K>(one), one.operands.size()).ok(), !isRefused);
            QVERIFY2(isRefused || sidesOf<K>(one).areEqual(), qPrintable(one.text()));
        }
    }
}

} // namespace

class OperatorAdjointTest : public QObject
{
    Q_OBJECT

private slots:
    void inFloat() { everyOperatorIsAdjoint<float>({}); }
    void inDouble() { everyOperatorIsAdjoint<double>({}); }
    void inModular() { everyOperatorIsAdjoint<Modular>({"relu", "exp", "sigmoid", "log"}); }
    void inRational() { everyOperatorIsAdjoint<Rational>({"exp", "sigmoid", "log"}); }
    void inDual() { everyOperatorIsAdjoint<DualNumber>({"relu", "exp", "sigmoid", "log"}); }
};

QTEST_APPLESS_MAIN(OperatorAdjointTest)
#include "operatoradjointtest.moc"
