// SPDX-License-Identifier: Apache-2.0
// Checks of the flow of relevance: each fires on its fault and is silent without it.
#include <QtTest>

#include "tests/core/diagnosis/diagnosed.h"

using namespace retro;
using namespace retro::tests;

namespace
{

/// x → Pad with a constant → Conv → sum over all.
SharedGraph padded(float fill)
{
    Writer writer;
    const ValueId x = writer.input("x", {1, 1, 2, 2});
    const ValueId pads = writer.constant("pads", Tensor::of<std::int64_t>({8}, Whole{0, 0, 2, 2, 0, 0, 2, 2}));
    const ValueId value = writer.constant("fill", Tensor::scalar<float>(fill));
    const ValueId wide = writer.node("Pad", "pad", {x, pads, value});
    const ValueId w = writer.constant("w", floats({2, 1, 6, 6}, std::vector<float>(72, 0.5F)));
    const ValueId map = writer.node("Conv", "conv", {wide, w});
    writer.output(writer.node("Flatten", "flat", {map}));
    return writer.finish();
}

const Asked kPicture{{floats({1, 1, 2, 2}, {1, 2, 3, 4})}};

} // namespace

class FlowChecksTest : public QObject
{
    Q_OBJECT

private slots:
    void relevanceOnPaddingIsNamed()
    {
        const Diagnosis found = diagnosed(padded(4), kPicture, "flow.unread");
        QVERIFY(hasAll(firstText(found), {"warning pad", "unread", "pads with 4"}));
        // 32 padded elements of 4 beside 10 in all: 128 of 138.
        QVERIFY(std::abs(found.findings.front().number("lost_of_sum_abs_R") - 128.0 / 138) < 1e-4);
        QVERIFY(isSilent(diagnosed(padded(0), kPicture, "flow.unread")));
    }

    void gradientsAreNotChecked()
    {
        Asked gradient = kPicture;
        gradient.composite = "gradient";
        const Diagnosis found = diagnosed(padded(4), gradient, "flow.unread");
        QVERIFY(!only(found).isRun);
        QCOMPARE(only(found).why, std::string("a gradient is not conserved"));
    }
};

QTEST_APPLESS_MAIN(FlowChecksTest)
#include "flowcheckstest.moc"
