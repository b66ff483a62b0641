// SPDX-License-Identifier: Apache-2.0
// The example of docs/extending/composite.md: compiled, run, and compared with the page letter by letter.
#include <QtTest>

#include "core/lrp/composite/composite.h"
#include "core/lrp/rules/rules.h"
#include "tests/core/lrp/rules/rulefixture.h"
#include "tests/docs/snippet.h"

using namespace retro;

namespace
{

// [example]
using namespace retro::lrp;

/// Gamma in convolutions, epsilon in the other layers with weights; everything else as its derivative says.
Composite gammaInConvolutions(ParameterReader& reader)
{
    const double gamma = reader.number("gamma", 0.25);
    Composite composite;
    Matcher convolution;
    convolution.ops = {"Conv", "ConvTranspose"};
    composite.entries.push_back({convolution, gammaRule(gamma)});
    Matcher linear;
    linear.structure = ops::StructureKind::LinearMap;
    composite.entries.push_back({linear, epsilonRule()});
    composite.entries.push_back({Matcher(), gradientRule()}); // matches every node: the last entry
    return composite;
}
// [end]

} // namespace

class ExtendingComposite : public QObject
{
    Q_OBJECT

private slots:
    void thePageShowsThisCode()
    {
        const QString code =
            tests::between(tests::sourceText("tests/docs/extendingcomposite.cpp"), "// [example]", "// [end]");
        const QString page = tests::between(tests::sourceText("docs/extending/composite.md"), "```cpp", "```");
        QVERIFY(!code.isEmpty());
        QCOMPARE(page, code);
    }

    void thePageShowsTheSameAsAFile()
    {
        const QString file = tests::between(tests::sourceText("docs/extending/composite.md"), "```json", "```");
        const auto read = parseComposite(file.toStdString(), "gamma.json");
        QVERIFY2(read.ok(), read.ok() ? "" : read.error().text().c_str());
        RuleParameters none;
        ParameterReader reader(none);
        const Composite built = gammaInConvolutions(reader);
        QVERIFY(reader.finish().ok());
        QCOMPARE(read->entries.size(), built.entries.size());
        for (std::size_t i = 0; i < built.entries.size(); ++i) {
            QCOMPARE(read->entries[i].matcher.text(), built.entries[i].matcher.text());
            QCOMPARE(read->entries[i].rule->text(), built.entries[i].rule->text());
        }
    }
};

QTEST_GUILESS_MAIN(ExtendingComposite)
#include "extendingcomposite.moc"
