// SPDX-License-Identifier: Apache-2.0
// Operators that move elements: values, every form over the opsets, and the transposed map that carries relevance back.
#include "core/ops/axismap.h"
#include "core/ops/kernel/elementmap.h"
#include "tests/core/ops/opcase.h"

#include <QtTest>

using namespace retro::tests;
using retro::ops::ShapeMap;
using Ints = std::vector<std::int64_t>;

namespace
{

Tensor counting(Shape shape)
{
    std::vector<double> values(static_cast<std::size_t>(retro::tensor::elementCount(shape)));
    for (std::size_t i = 0; i < values.size(); ++i) {
        values[i] = static_cast<double>(i);
    }
    return doubles(std::move(shape), values);
}

const std::string kOwn = "ai.retrograde";

/// Σ over outputs ⟨forward(x), s⟩ = sign · Σ over slots ⟨x, carryBack(s)⟩, for maps without a fill.
void checkAdjoint(OpCase c)
{
    QVERIFY2(c.bind(), c.error().c_str());
    const auto& map = c.structure<ShapeMap>();
    const auto results = c.forward();
    std::vector<Tensor> relevance;
    double forward = 0;
    for (std::size_t k = 0; k < results.size(); ++k) {
        relevance.push_back(randomTensor(results[k].shape(), DType::Float64, 20 + static_cast<std::uint32_t>(k)));
        forward += retro::ops::algebra::dot(results[k], relevance.back());
    }
    double backward = 0;
    for (std::size_t slot = 0; slot < c.operands().size(); ++slot) {
        if (!retro::tensor::isFloating(c.operands()[slot].dtype())) {
            continue;
        }
        const Tensor back = map.carryBack(relevance, slot);
        QVERIFY(back.shape() == c.operands()[slot].shape());
        backward += map.sign() * retro::ops::algebra::dot(c.operands()[slot], back);
    }
    QVERIFY(std::abs(forward - backward) < 1e-12 * (1 + std::abs(forward)));
    // Relevance that is not there is zero.
    const std::vector<Tensor> nothing(results.size());
    const Tensor zero = map.carryBack(nothing, 0);
    QVERIFY(zero.shape() == c.operands()[0].shape());
    QCOMPARE(retro::ops::algebra::sumAbsolute(zero), 0.0);
}

/// The numbers of the places along one axis.
Tensor placesAlong(const Shape& shape, std::size_t axis)
{
    Tensor places = counting({shape[axis]});
    Shape wide(shape.size(), 1);
    wide[axis] = shape[axis];
    return retro::ops::algebra::broadcastTo(places.reshaped(wide), shape).contiguous();
}

/// An axis of the result is one of operand 0, whole: places along it are the places there, whatever the others are.
void checkAxes(OpCase c)
{
    QVERIFY2(c.bind(), c.error().c_str());
    const std::shared_ptr<const retro::graph::Graph> graph = c.makeGraph();
    const Shape from = c.operands()[0].shape();
    const Shape to = c.op().outputTypes()[0].shape;
    const auto numbers = [&](std::size_t slot) {
        const bool isThere = slot < c.operands().size() && c.operands()[slot].isValid();
        return isThere ? std::optional(retro::ops::integersOf(c.operands()[slot])) : std::nullopt;
    };
    for (const bool knowsShapes : {true, false}) {
        const auto map = retro::ops::axesOf(
            {graph->nodes()[0], from.size(), knowsShapes ? &from : nullptr, knowsShapes ? &to : nullptr, numbers});
        QVERIFY2(map || !knowsShapes, c.text().c_str());
        for (std::size_t axis = 0; map && axis < map->size(); ++axis) {
            const std::optional<retro::ops::AxisSource>& source = (*map)[axis];
            if (source && source->isWhole) {
                std::vector<Tensor> operands = c.operands();
                operands[0] = placesAlong(from, source->axis);
                QCOMPARE(q(textOf(c.forward(operands)[0])), q(textOf(placesAlong(to, axis))));
            }
        }
    }
}

} // namespace

class ShapeMapTest : public QObject
{
    Q_OBJECT
private slots:
    void reshape()
    {
        const auto reshape = [](const Ints& shape) {
            return OpCase("Reshape").operand(counting({2, 3, 2})).constant(ints(shape)).run();
        };
        QCOMPARE(q(reshape({3, 4})), "[3 × 4] 0 1 2 3 4 5 6 7 8 9 10 11");
        QCOMPARE(q(reshape({0, -1})).left(7), "[2 × 6]");
        QCOMPARE(q(reshape({-1, 2, 1, 2})).left(15), "[3 × 2 × 1 × 2]");
        QCOMPARE(q(OpCase("Reshape", 1).with("shape", Ints{4, 3}).operand(counting({2, 6})).run()).left(7), "[4 × 3]");
        QCOMPARE(q(OpCase("Reshape", 14)
                       .with("allowzero", std::int64_t{1})
                       .operand(Tensor::zeros(DType::Float64, {0, 3}))
                       .constant(ints({3, 0}))
                       .run()),
                 "[3 × 0]");
        checkAdjoint(OpCase("Reshape").operand(inOtherOrder(counting({2, 3, 2}))).constant(ints({4, 3})));
    }

    void flatten()
    {
        const auto flatten = [](std::int64_t axis) {
            return OpCase("Flatten").with("axis", axis).operand(counting({2, 3, 2})).run();
        };
        QCOMPARE(q(OpCase("Flatten").operand(counting({2, 3, 2})).run()).left(7), "[2 × 6]");
        QCOMPARE(q(flatten(0)).left(8), "[1 × 12]");
        QCOMPARE(q(flatten(-1)).left(7), "[6 × 2]");
        QCOMPARE(q(flatten(3)).left(8), "[12 × 1]");
        checkAdjoint(OpCase("Flatten").operand(counting({2, 3, 2})));
    }

    void squeezeAndUnsqueeze()
    {
        const Tensor x = counting({1, 3, 1, 2});
        QCOMPARE(q(OpCase("Squeeze").operand(x).run()).left(7), "[3 × 2]");
        QCOMPARE(q(OpCase("Squeeze").operand(x).constant(ints({-2})).run()).left(11), "[1 × 3 × 2]");
        QCOMPARE(q(OpCase("Squeeze", 11).with("axes", Ints{0}).operand(x).run()).left(11), "[3 × 1 × 2]");
        QCOMPARE(q(OpCase("Unsqueeze").operand(counting({3, 2})).constant(ints({0, -1})).run()).left(15),
                 "[1 × 3 × 2 × 1]");
        QCOMPARE(q(OpCase("Unsqueeze", 11).with("axes", Ints{1}).operand(counting({3, 2})).run()).left(11),
                 "[3 × 1 × 2]");
        checkAdjoint(OpCase("Squeeze").operand(x));
        checkAdjoint(OpCase("Unsqueeze").operand(x).constant(ints({2})));
    }

    void transpose()
    {
        QCOMPARE(q(OpCase("Transpose").operand(counting({2, 3})).run()), "[3 × 2] 0 3 1 4 2 5");
        checkAdjoint(OpCase("Transpose").operand(counting({2, 3, 4})));
        checkAdjoint(OpCase("Transpose").with("perm", Ints{1, 2, 0}).operand(counting({2, 3, 4})));
        QCOMPARE(q(OpCase("Transpose").operand(doubles({}, {5})).run()), "[scalar] 5");
    }

    void concat()
    {
        const auto concat = [] { return OpCase("Concat").with("axis", std::int64_t{1}); };
        QCOMPARE(q(concat().operand(counting({2, 2})).operand(counting({2, 1})).run()), "[2 × 3] 0 1 0 2 3 1");
        checkAdjoint(concat()
                         .operand(counting({2, 2, 2}))
                         .operand(inOtherOrder(counting({2, 3, 2})))
                         .operand(counting({2, 0, 2})));
        QCOMPARE(q(OpCase("Concat", 1).operand(counting({1, 2})).operand(counting({1, 1})).run()), "[1 × 3] 0 1 0");
        OpCase integers("Concat");
        QVERIFY(integers.with("axis", std::int64_t{0}).operand(ints({1})).operand(ints({2})).bind());
        QVERIFY(integers.op().structure().kind() == retro::ops::StructureKind::NoRelevance);
    }

    void split()
    {
        const Tensor x = counting({2, 5});
        const auto last = std::int64_t{1};
        QCOMPARE(q(OpCase("Split").with("axis", last).operand(x).constant(ints({2, 3})).outputs(2).run(1)),
                 "[2 × 3] 2 3 4 7 8 9");
        QCOMPARE(q(OpCase("Split", 11).with("axis", last).with("split", Ints{4, 1}).operand(x).outputs(2).run(1)),
                 "[2 × 1] 4 9");
        QCOMPARE(q(OpCase("Split", 1).with("axis", last).operand(x).constant(ints({4, 1})).outputs(2).run(1)),
                 "[2 × 1] 4 9");
        QCOMPARE(
            q(OpCase("Split", 18).with("axis", last).with("num_outputs", std::int64_t{2}).operand(x).outputs(2).run(1)),
            "[2 × 2] 3 4 8 9");
        QCOMPARE(q(OpCase("Split").operand(x).outputs(2).run(1)), "[1 × 5] 5 6 7 8 9");
        checkAdjoint(OpCase("Split").with("axis", last).operand(x).constant(ints({2, 0, 3})).outputs(3));
    }

    void partOfTheRelevanceOfASplit()
    {
        OpCase c("Split");
        QVERIFY(c.with("axis", std::int64_t{1}).operand(counting({2, 3})).constant(ints({1, 2})).outputs(2).bind());
        const std::vector<Tensor> relevance{Tensor{}, doubles({2, 2}, {1, 2, 3, 4})};
        QCOMPARE(q(textOf(c.structure<ShapeMap>().carryBack(relevance, 0))), "[2 × 3] 0 1 2 0 3 4");
    }

    void stackAndUnbind()
    {
        const auto stack = [](std::int64_t axis) {
            OpCase c("Stack", 1, kOwn);
            c.with("axis", axis).operand(counting({2, 2})).operand(doubles({2, 2}, {9, 8, 7, 6}));
            return c;
        };
        QCOMPARE(q(stack(0).run()), "[2 × 2 × 2] 0 1 2 3 9 8 7 6");
        QCOMPARE(q(stack(1).run()), "[2 × 2 × 2] 0 1 9 8 2 3 7 6");
        QCOMPARE(q(stack(-1).run()), "[2 × 2 × 2] 0 9 1 8 2 7 3 6");
        checkAdjoint(stack(0));
        checkAdjoint(stack(2));
        const auto unbind = [] {
            return OpCase("Unbind", 1, kOwn).with("axis", std::int64_t{1}).operand(counting({2, 3})).outputs(3);
        };
        QCOMPARE(q(unbind().run(2)), "[2] 2 5");
        checkAdjoint(unbind());
    }

    void pad()
    {
        const auto pad = [](const Ints& pads, double value) {
            return OpCase("Pad").operand(counting({2, 2})).constant(ints(pads)).constant(doubles({}, {value})).run();
        };
        QCOMPARE(q(pad({0, 1, 1, 0}, 7)), "[3 × 3] 7 0 1 7 2 3 7 7 7");
        QCOMPARE(q(pad({0, -1, 0, 1}, 7)), "[2 × 2] 1 7 3 7");
        QCOMPARE(q(pad({0, -3, 0, 2}, 7)), "[2 × 1] 7 7");
        QCOMPARE(q(OpCase("Pad", 2).with("pads", Ints{1, 0, 0, 0}).with("value", 5.0).operand(counting({1, 2})).run()),
                 "[2 × 2] 5 5 0 1");
        QCOMPARE(
            q(OpCase("Pad", 18).operand(counting({1, 2})).constant(ints({1, 0})).absent().constant(ints({-1})).run()),
            "[1 × 3] 0 0 1");
        checkAdjoint(OpCase("Pad").operand(inOtherOrder(counting({2, 3, 4}))).constant(ints({1, 0, -1, 0, 2, 1})));
        OpCase c("Pad");
        QVERIFY(c.operand(counting({2, 2})).constant(ints({0, 1, 1, 0})).constant(doubles({}, {7})).bind());
        const std::vector<Tensor> relevance{counting({3, 3})};
        QCOMPARE(q(textOf(c.structure<ShapeMap>().carryBack(relevance, 0))), "[2 × 2] 1 2 4 5");
    }

    void gather()
    {
        const Tensor x = counting({3, 2});
        QCOMPARE(q(OpCase("Gather").operand(x).constant(ints({2, 0, -1})).run()), "[3 × 2] 4 5 0 1 4 5");
        QCOMPARE(q(OpCase("Gather").with("axis", std::int64_t{1}).operand(x).constant(ints({1})).run()),
                 "[3 × 1] 1 3 5");
        QCOMPARE(q(OpCase("Gather").operand(ints({7, 8})).constant(Tensor::scalar(std::int64_t{1})).run()),
                 "[scalar] 8");
        checkAdjoint(OpCase("Gather")
                         .operand(inOtherOrder(counting({3, 4, 2})))
                         .constant(ints({1, 1, 0}))
                         .with("axis", std::int64_t{1}));
        OpCase c("Gather");
        QVERIFY(c.operand(x).constant(ints({2, 0, 2})).bind());
        const std::vector<Tensor> relevance{doubles({3, 2}, {1, 2, 3, 4, 5, 6})};
        QCOMPARE(q(textOf(c.structure<ShapeMap>().carryBack(relevance, 0))), "[3 × 2] 3 4 0 0 6 8");
    }

    void sliceTakesRanges()
    {
        const Tensor x = counting({2, 5});
        const auto slice = [&](const Ints& starts, const Ints& ends, const Ints& axes, const Ints& steps) {
            return OpCase("Slice")
                .operand(x)
                .constant(ints(starts))
                .constant(ints(ends))
                .constant(ints(axes))
                .constant(ints(steps));
        };
        constexpr std::int64_t kFar = std::numeric_limits<std::int64_t>::max();
        constexpr std::int64_t kNear = std::numeric_limits<std::int64_t>::min();
        QCOMPARE(q(slice({1}, {4}, {1}, {2}).run()), "[2 × 2] 1 3 6 8");
        QCOMPARE(q(slice({-2}, {kFar}, {-1}, {1}).run()), "[2 × 2] 3 4 8 9");
        QCOMPARE(q(slice({kFar}, {kNear}, {1}, {-2}).run()), "[2 × 3] 4 2 0 9 7 5");
        QCOMPARE(q(slice({0}, {kFar}, {1}, {kFar}).run()), "[2 × 1] 0 5");
        QCOMPARE(q(slice({4}, {2}, {1}, {1}).run()), "[2 × 0]");
        // A start before the first element is cut to it, backwards as well (onnxruntime; NumPy takes nothing there).
        QCOMPARE(q(slice({-9}, {-20}, {1}, {-1}).run()), "[2 × 1] 0 5");
        QCOMPARE(q(slice({-6}, {kNear}, {1}, {-2}).run()), "[2 × 1] 0 5");
        QCOMPARE(q(slice({-7}, {-5}, {1}, {-1}).run()), "[2 × 0]");
        QCOMPARE(q(slice({-7}, {3}, {1}, {1}).run()), "[2 × 3] 0 1 2 5 6 7");
        checkAdjoint(slice({-9}, {-20}, {1}, {-1}));
        for (const std::int64_t step : {-1, 1}) {
            OpCase empty = OpCase("Slice").operand(Tensor::zeros(DType::Float64, {0}));
            empty.constant(ints({-7})).constant(ints({9 * step})).constant(ints({0})).constant(ints({step}));
            QCOMPARE(q(empty.run()), "[0]");
        }
        QCOMPARE(q(OpCase("Slice", 9).with("starts", Ints{1}).with("ends", Ints{2}).operand(x).run()),
                 "[1 × 5] 5 6 7 8 9");
        checkAdjoint(slice({1, 4}, {2, 0}, {0, 1}, {1, -3}));
        checkAdjoint(slice({1}, {4}, {1}, {2}));
    }

    void knownResults()
    {
        const Tensor x = counting({2, 5, 3});
        QCOMPARE(q(OpCase("Shape").operand(x).run()), "[3] 2 5 3");
        QCOMPARE(q(OpCase("Shape", 15).with("start", std::int64_t{-2}).operand(x).run()), "[2] 5 3");
        QCOMPARE(q(OpCase("Shape", 15).with("end", std::int64_t{1}).operand(x).run()), "[1] 2");
        QCOMPARE(q(OpCase("ConstantOfShape").constant(ints({2, 2})).run()), "[2 × 2] 0 0 0 0");
        QCOMPARE(q(OpCase("ConstantOfShape").with("value", ints({7})).constant(ints({2})).run()), "[2] 7 7");
        OpCase c("Shape");
        QVERIFY(c.operand(x).bind());
        QCOMPARE(q(textOf(c.op().knownResults().at(0))), "[3] 2 5 3");
        QVERIFY(c.op().structure().kind() == retro::ops::StructureKind::NoRelevance);
    }

    void cast()
    {
        const Tensor x = doubles({3}, {1.75, -1.75, 0});
        QCOMPARE(q(OpCase("Cast").with("to", std::int64_t{7}).operand(x).run()), "[3] 1 -1 0");
        QCOMPARE(q(OpCase("Cast").with("to", std::int64_t{9}).operand(x).run()), "[3] 1 1 0");
        OpCase floats("Cast");
        QVERIFY(floats.with("to", std::int64_t{10}).operand(x).bind());
        QVERIFY(floats.op().outputTypes()[0].dtype == DType::Float64); // a run has one floating type
        checkAdjoint(OpCase("Cast").with("to", std::int64_t{1}).operand(x));
        OpCase integers("Cast");
        QVERIFY(integers.with("to", std::int64_t{7}).operand(x).bind());
        QVERIFY(integers.op().structure().kind() == retro::ops::StructureKind::NoRelevance);
        QCOMPARE(q(OpCase("Cast", 5).with("to", std::string("INT32")).operand(x).run()), "[3] 1 -1 0");
    }

    void axesAreWhereOperatorsSay()
    {
        const Tensor x = counting({2, 3, 4});
        checkAxes(OpCase("Identity").operand(x));
        checkAxes(OpCase("Transpose").operand(x));
        checkAxes(OpCase("Transpose").with("perm", Ints{1, 2, 0}).operand(x));
        checkAxes(OpCase("Reshape").operand(x).constant(ints({2, 12})));
        checkAxes(OpCase("Reshape").operand(x).constant(ints({2, 3, 2, 2})));
        checkAxes(OpCase("Unsqueeze").operand(x).constant(ints({-1, 1})));
        checkAxes(OpCase("Squeeze").operand(counting({2, 1, 3, 1})).constant(ints({-1, 1})));
        checkAxes(OpCase("Slice").operand(x).constant(ints({1})).constant(ints({3})).constant(ints({-1})));
        checkAxes(OpCase("Split").with("axis", std::int64_t{1}).operand(x).constant(ints({1, 2})).outputs(2));
        checkAxes(OpCase("Gather").with("axis", std::int64_t{1}).operand(x).constant(ints({2, 0})));
        checkAxes(OpCase("Expand").operand(counting({3, 1})).constant(ints({2, 3, 4})));
        checkAxes(OpCase("Pad").operand(x).constant(ints({0, 1, 0, 0, 0, 0})));
    }

    void identities()
    {
        const Tensor x = counting({3});
        QCOMPARE(q(OpCase("Identity").operand(x).run()), "[3] 0 1 2");
        QCOMPARE(q(OpCase("Neg").operand(x).run()), "[3] -0 -1 -2");
        QCOMPARE(q(OpCase("Neg").operand(ints({1, -2})).run()), "[2] -1 2");
        QCOMPARE(q(OpCase("Dropout").operand(x).outputs(2).run(1)), "[3] 1 1 1");
        for (const char* op : {"Identity", "Neg", "Dropout"}) {
            OpCase c(op);
            checkAdjoint(c.operand(x));
            QVERIFY(c.bind());
            QCOMPARE(c.op().savedForGradient().operands, 0U);
        }
        OpCase checkpoint("Checkpoint", 1, kOwn);
        checkAdjoint(checkpoint.operand(x));
        QVERIFY(checkpoint.bind());
        QCOMPARE(checkpoint.op().savedForGradient().operands, 1U);
    }
};

QTEST_GUILESS_MAIN(ShapeMapTest)
#include "shapemaptest.moc"
