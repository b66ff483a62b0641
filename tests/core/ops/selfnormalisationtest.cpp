// SPDX-License-Identifier: Apache-2.0
// LayerNormalization and its relatives: values by hand, what the opsets changed, refusals.
#include "tests/core/ops/opcase.h"

#include <QtTest>

using namespace retro::tests;
using retro::ops::StructureKind;

namespace
{

/// No epsilon, so that numbers stay round.
OpCase exact(const char* op, std::int64_t opset = 23, std::string domain = {})
{
    return OpCase(op, opset, std::move(domain)).with("epsilon", 0.0);
}

} // namespace

class SelfNormalisationTest : public QObject
{
    Q_OBJECT
private slots:
    void layer()
    {
        OpCase c = exact("LayerNormalization").operand(doubles({2, 2}, {1, 3, 10, 4})).constant(doubles({2}, {2, 1}));
        c.constant(doubles({2}, {0, 1})).outputs(3);
        QCOMPARE(q(c.run()), "[2 × 2] -2 2 2 0");
        QCOMPARE(q(c.run(1)), "[2 × 1] 2 7");
        QCOMPARE(q(c.run(2)), "[2 × 1] 1 0.333333");
        QVERIFY(c.op().structure().kind() == StructureKind::SelfNormalisation);
    }

    void layerFromAnAxisOn()
    {
        OpCase c = exact("LayerNormalization").with("axis", std::int64_t{1});
        c.operand(doubles({1, 2, 2}, {0, 0, 4, 4})).constant(doubles({2, 2}, {1, 1, 1, 1}));
        QCOMPARE(q(c.run()), "[1 × 2 × 2] -1 -1 1 1");
    }

    void epsilonIsAddedToTheVariance()
    {
        OpCase c = OpCase("LayerNormalization", 17).with("epsilon", 3.0).operand(doubles({1, 2}, {1, 3}));
        QCOMPARE(q(c.constant(doubles({2}, {1, 1})).run()), "[1 × 2] -0.5 0.5");
    }

    void rootMeanSquare()
    {
        for (const char* op : {"RMSNormalization", "SimplifiedLayerNormalization"}) {
            OpCase c = exact(op).operand(doubles({1, 2}, {1, 7})).constant(doubles({2}, {1, 10}));
            QCOMPARE(q(c.run()), "[1 × 2] 0.2 14");
        }
    }

    void instance()
    {
        OpCase c = exact("InstanceNormalization").operand(doubles({1, 2, 2}, {1, 3, 0, 8}));
        QCOMPARE(q(c.constant(doubles({2}, {1, 2})).constant(doubles({2}, {5, 0})).run()), "[1 × 2 × 2] 4 6 -2 2");
    }

    void scaleOfGroupsIsPerGroupBeforeOpset21()
    {
        const Tensor x = doubles({1, 4, 1}, {1, 3, 0, 8});
        OpCase old = exact("GroupNormalization", 18).with("num_groups", std::int64_t{2}).operand(x);
        QCOMPARE(q(old.constant(doubles({2}, {1, 2})).constant(doubles({2}, {0, 1})).run()), "[1 × 4 × 1] -1 1 -1 3");
        OpCase now = exact("GroupNormalization", 21).with("num_groups", std::int64_t{2}).operand(x);
        QCOMPARE(q(now.constant(doubles({4}, {1, 2, 3, 4})).constant(doubles({4}, {0, 0, 0, 1})).run()),
                 "[1 × 4 × 1] -1 2 -3 5");
        QVERIFY(q(exact("GroupNormalization", 21)
                      .with("num_groups", std::int64_t{3})
                      .operand(x)
                      .constant(doubles({4}, {1, 2, 3, 4}))
                      .constant(doubles({4}, {1, 2, 3, 4}))
                      .refusal())
                    .contains("num_groups is 3"));
    }

    void meanAndVariance()
    {
        OpCase c = OpCase("MeanVarianceNormalization").with("axes", std::vector<std::int64_t>{0});
        QCOMPARE(q(c.operand(doubles({2, 2}, {1, 4, 3, 10})).run()), "[2 × 2] -1 -1 1 1");
    }

    void norms()
    {
        OpCase two = OpCase("LpNormalization").operand(doubles({2, 2}, {3, 4, 0, 0}));
        QCOMPARE(q(two.run()), "[2 × 2] 0.6 0.8 0 0");
        OpCase one = OpCase("LpNormalization").with("p", std::int64_t{1}).with("axis", std::int64_t{0});
        QCOMPARE(q(one.operand(doubles({2, 1}, {3, -1})).run()), "[2 × 1] 0.75 -0.25");
        QVERIFY(q(OpCase("LpNormalization").with("p", std::int64_t{3}).operand(doubles({1}, {1})).refusal())
                    .contains("p is 3"));
    }

    void neighbouringChannels()
    {
        OpCase c = OpCase("LRN").with("size", std::int64_t{3}).with("alpha", 3.0).with("beta", 1.0);
        QCOMPARE(q(c.operand(doubles({1, 3, 1}, {1, 2, 3})).run()), "[1 × 3 × 1] 0.166667 0.133333 0.214286");
    }

    void anEvenWindowReachesFurtherBehind()
    {
        OpCase c = OpCase("LRN").with("size", std::int64_t{2}).with("alpha", 2.0).with("beta", 1.0);
        QCOMPARE(q(c.operand(doubles({1, 2, 1}, {1, 2})).run()), "[1 × 2 × 1] 0.166667 0.4");
    }

    void computedStatistics()
    {
        OpCase c = exact("BatchNormalization", 15).operand(doubles({1, 2, 1}, {3, 5})).operand(doubles({2}, {2, 1}));
        c.operand(doubles({2}, {1, 0})).operand(doubles({2}, {1, 1})).operand(doubles({2}, {4, 16}));
        QCOMPARE(q(c.run()), "[1 × 2 × 1] 3 1");
        QVERIFY(c.op().structure().kind() == StructureKind::SelfNormalisation);
    }
};

QTEST_GUILESS_MAIN(SelfNormalisationTest)
#include "selfnormalisationtest.moc"
