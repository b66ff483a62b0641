// SPDX-License-Identifier: Apache-2.0
// The example of docs/extending/check.md: it compiles, it does what the page says, and the page shows this code.
#include "tests/core/diagnosis/diagnosed.h"
#include "tests/docs/flatcheck.h"
#include "tests/docs/snippet.h"
#include <QTest>

using namespace retro;
using namespace retro::tests;

namespace
{

/// x → Gemm → Relu, which is all 0 for inputs below 0.
std::vector<diagnosis::Finding> found(float x)
{
    Writer writer;
    const ValueId weight = writer.constant("w", floats({1, 4}, {1, 2, 3, 4}));
    const ValueId sums = writer.node("Gemm", "fc", {writer.input("x", {1, 1}), weight});
    writer.output(writer.node("Relu", "relu", {sums}));
    const auto facts = factsFor(writer.finish(), {{floats({1, 1}, {x})}});
    diagnosis::Probe probe(diagnosis::forwardFlat.id);
    diagnosis::forwardFlat.run(*facts, probe);
    return probe.findings();
}

} // namespace

class ExtendingCheckTest : public QObject
{
    Q_OBJECT

private slots:
    void thePageShowsTheCode()
    {
        const QString code = sourceText("tests/docs/flatcheck.h");
        const QString page = sourceText("docs/extending/check.md");
        QVERIFY(!code.isEmpty());
        QVERIFY(page.contains("```cpp\n" + code + "```\n"));
    }

    void theCheckFindsWhatIsFlat()
    {
        QCOMPARE(found(-1).size(), std::size_t{1});
        QCOMPARE(QString::fromStdString(found(-1).front().line()),
                 QStringLiteral("relu all 4 elements of its result are 0 [forward.flat]"));
        QVERIFY(found(1).empty());
    }
};

QTEST_GUILESS_MAIN(ExtendingCheckTest)
#include "extendingcheck.moc"
