// SPDX-License-Identifier: Apache-2.0
// The composite file: what is read, what is written, and where errors point.
#include "core/lrp/composite/composite.h"
#include "core/lrp/composite/jsontext.h"
#include "core/lrp/rules/ruleformulas.h"
#include "core/lrp/rules/rules.h"
#include "core/ops/structure.h"

#include <QDirIterator>
#include <QFile>
#include <QFileInfo>
#include <QMap>
#include <QRegularExpression>
#include <QTest>

#include <fmt/format.h>

#include <algorithm>

using namespace retro;

namespace
{

const char* const kExample = R"({
  "format": "retrograde-composite/1",
  "name": "mine",
  "entries": [
    {
      "match": { "op": ["Conv", "ConvTranspose"], "first": true },
      "rule": { "name": "z-box", "params": { "low": -2.1, "high": 2.6 } }
    },
    {
      "match": { "structure": "linear map", "scope": "features", "name": "*conv?" },
      "rule": { "name": "gamma", "params": { "gamma": 0.1, "bias": "zero", "signed": true } }
    },
    {
      "match": { "structure": "bilinear", "operand_from": "Softmax", "operand": 0 },
      "rule": { "name": "signal-take-all", "params": { "signal": 1 } }
    },
    { "rule": { "name": "gradient" } }
  ]
}
)";

QString errorOf(const QString& text)
{
    const auto composite = lrp::parseComposite(text.toStdString(), "mine.json");
    return composite.ok() ? QString() : QString::fromStdString(composite.error().text());
}

QString replaced(const char* before, const char* after)
{
    const QString text = QString::fromUtf8(kExample);
    const QString result = QString(text).replace(QLatin1String(before), QLatin1String(after));
    return result == text ? QString() : result;
}

QStringList listed(const nlohmann::json& names)
{
    QStringList list;
    for (const auto& name : names) {
        list << QString::fromStdString(name.get<std::string>());
    }
    list.sort();
    return list;
}

QStringList fieldsOf(const nlohmann::json& schema)
{
    QStringList list;
    for (const auto& [field, value] : schema["properties"].items()) {
        list << QString::fromStdString(field);
    }
    list.sort();
    return list;
}

/// What an error says that it knows, sorted.
QStringList knownIn(const QString& error)
{
    const QString known = error.section(QLatin1String("known are "), 1).section(QLatin1Char(';'), 0, 0);
    QStringList list = known.split(QLatin1String(", "));
    list.sort();
    return list;
}

QString pageOf(const char* path)
{
    QFile file(QStringLiteral(RETRO_SOURCE_DIR "/docs/") + QLatin1String(path));
    return file.open(QIODevice::ReadOnly) ? QString::fromUtf8(file.readAll()) : QString();
}

/// A page of the documentation with a part between two texts put in; with RETRO_UPDATE_DOCS=1 that is written.
QString pageWith(const char* path, const QString& begin, const QString& end, const QString& part)
{
    QString text = pageOf(path);
    const qsizetype from = text.indexOf(begin) + begin.size();
    const qsizetype until = text.indexOf(end, from);
    if (from < begin.size() || until < 0) {
        return {};
    }
    text.replace(from, until - from, part);
    if (qEnvironmentVariableIntValue("RETRO_UPDATE_DOCS") != 0) {
        QFile file(QStringLiteral(RETRO_SOURCE_DIR "/docs/") + QLatin1String(path));
        return file.open(QIODevice::WriteOnly) && file.write(text.toUtf8()) > 0 ? text : QString();
    }
    return text;
}

/// Lines of at most 119 characters; those after the first begin with `indent`.
QString wrapped(const QStringList& words, const QString& indent)
{
    QStringList lines{words.value(0)};
    for (const QString& word : words.mid(1)) {
        if (lines.last().size() + 1 + word.size() > 119) {
            lines << indent + word;
        } else {
            lines.last() += QLatin1Char(' ') + word;
        }
    }
    return lines.join(QLatin1Char('\n'));
}

/// The schema with the names of the registry.
QString schemaText()
{
    QStringList names;
    for (const std::string_view name : lrp::ruleNames()) {
        names << QStringLiteral("\"%1\",").arg(QString::fromStdString(std::string(name)));
    }
    names.front().prepend(QStringLiteral("          "));
    return pageWith("formats/composite.schema.json", QStringLiteral("\"name\": { \"enum\": [\n"),
                    QStringLiteral("\n        ] }"), wrapped(names, QStringLiteral("          ")).chopped(1));
}

/// Every rule as the registry has it.
QString listOfRules()
{
    QString list;
    for (const lrp::RuleEntry& rule : lrp::ruleEntries()) {
        std::string text = fmt::format("- `{}` for: {}. `{}`.", rule.name, rule.use, rule.formula);
        text += rule.parameters.empty() ? "" : " Parameters: " + rule.parameters + ".";
        text += rule.source.empty() ? "" : fmt::format(" From {}.", rule.source);
        list += wrapped(QString::fromStdString(text).split(QLatin1Char(' ')), QStringLiteral("  ")) + QLatin1Char('\n');
    }
    return list;
}

} // namespace

class CompositeJsonTest : public QObject
{
    Q_OBJECT

private slots:
    void reads()
    {
        RETRO_MADE(composite, lrp::parseComposite(kExample, "mine.json"));
        QCOMPARE(QString::fromStdString(composite->name), QStringLiteral("mine"));
        QVERIFY(!composite->timesInput);
        QCOMPARE(composite->entries.size(), std::size_t{4});
        const lrp::CompositeEntry& box = composite->entries[0];
        QCOMPARE(QString::fromStdString(box.matcher.text()), QStringLiteral("first Conv, ConvTranspose"));
        QCOMPARE(QString::fromStdString(box.rule->text()), QStringLiteral("z-box -2.1 to 2.6, epsilon 1e-06"));
        const lrp::CompositeEntry& gamma = composite->entries[1];
        QCOMPARE(QString::fromStdString(gamma.matcher.text()),
                 QStringLiteral("structure linear map and name *conv? and scope features"));
        QCOMPARE(QString::fromStdString(gamma.rule->text()), QStringLiteral("gamma 0.1, epsilon 1e-06, bias zero"));
        QCOMPARE(QString::fromStdString(composite->entries[2].matcher.text()),
                 QStringLiteral("structure bilinear and operand 0 from Softmax"));
        QCOMPARE(QString::fromStdString(composite->entries[3].matcher.text()), QStringLiteral("everything"));
    }

    void writesWhatItReads()
    {
        const auto composite = lrp::parseComposite(kExample, "mine.json");
        const std::string once = lrp::toJson(*composite);
        RETRO_MADE(again, lrp::parseComposite(once, "again.json"));
        QCOMPARE(QString::fromStdString(lrp::toJson(*again)), QString::fromStdString(once));
        QCOMPARE(again->entries.size(), composite->entries.size());
        for (std::size_t i = 0; i < again->entries.size(); ++i) {
            QCOMPARE(QString::fromStdString(again->entries[i].matcher.text()),
                     QString::fromStdString(composite->entries[i].matcher.text()));
            QCOMPARE(QString::fromStdString(again->entries[i].rule->text()),
                     QString::fromStdString(composite->entries[i].rule->text()));
        }
    }

    void everyRuleGoesRound()
    {
        lrp::Composite composite;
        composite.name = "all";
        composite.timesInput = composite.dividesStart = true;
        for (const std::string_view name : lrp::ruleNames()) {
            RETRO_MADE(rule, lrp::makeRule(name, {}));
            QCOMPARE(QString::fromUtf8((*rule)->name().data()), QString::fromStdString(std::string(name)));
            composite.entries.push_back({{}, *rule});
        }
        const lrp::LinearOptions options{{lrp::StabiliserKind::Clip, 0.5, false}, lrp::BiasPolicy::Spread};
        composite.entries.push_back({{}, lrp::epsilonRule(options, lrp::BilinearShare::Full)});
        composite.entries.push_back({{}, lrp::alphaBetaRule(3, 2, options)});
        RETRO_MADE(again, lrp::parseComposite(lrp::toJson(composite), "all.json"));
        QVERIFY(again->timesInput && again->dividesStart);
        for (std::size_t i = 0; i < composite.entries.size(); ++i) {
            QVERIFY(again->entries[i].rule->parameters() == composite.entries[i].rule->parameters());
            QCOMPARE(QString::fromStdString(again->entries[i].rule->text()),
                     QString::fromStdString(composite.entries[i].rule->text()));
        }
    }

    void theExampleOfThePageIsValid()
    {
        const QString example = pageOf("formats/composite.md").section(QStringLiteral("```json\n"), 1, 1);
        const QString text = example.section(QStringLiteral("```"), 0, 0);
        QVERIFY(!text.isEmpty());
        QCOMPARE(errorOf(text), QString());
    }

    void thePageNamesEveryComposite()
    {
        const QString page = pageOf("composites.md");
        for (const std::string& name : lrp::builtinNames()) {
            QVERIFY2(page.contains("| `" + QString::fromStdString(name) + "` |"), name.c_str());
        }
    }

    // A new rule is its file and its line in the registry.
    void thePageHasTheRulesOfTheRegistry()
    {
        const QString wanted = pageWith("composites.md", QStringLiteral("\n### Every rule\n"),
                                        QStringLiteral("\n### Linear maps\n"), QLatin1Char('\n') + listOfRules());
        QCOMPARE(pageOf("composites.md"), wanted);
        for (const lrp::RuleEntry& rule : lrp::ruleEntries()) {
            QVERIFY2(!rule.use.empty() && !rule.formula.empty(), std::string(rule.name).c_str());
        }
    }

    void whatARuleTakesIsDescribed()
    {
        const auto rules = lrp::ruleEntries();
        const auto described = [&](std::string_view name) {
            return QString::fromStdString(std::ranges::find(rules, name, &lrp::RuleEntry::name)->parameters);
        };
        QCOMPARE(described("epsilon"), QStringLiteral("linear, `bilinear` (`half`, `full`)"));
        QCOMPARE(described("z-box"), QStringLiteral("`low` (-3), `high` (3), stabiliser"));
        QCOMPARE(described("softmax-taylor"), QStringLiteral("`causal` (false), stabiliser"));
        QCOMPARE(described("stop"), QString());
    }

    void thePageOfTestsNamesTests()
    {
        static const QRegularExpression kName(QStringLiteral("`(\\w+)::(\\w+)`"));
        QMap<QString, QString> programs; // their sources
        QDirIterator files(QStringLiteral(RETRO_SOURCE_DIR "/tests/core"), {QStringLiteral("*test.cpp")}, QDir::Files,
                           QDirIterator::Subdirectories);
        while (files.hasNext()) {
            QFile file(files.next());
            QVERIFY(file.open(QIODevice::ReadOnly));
            programs[QFileInfo(file).completeBaseName()] = QString::fromUtf8(file.readAll());
        }
        int names = 0;
        const QString page = pageOf("rules.md");
        for (auto match = kName.globalMatch(page); match.hasNext(); ++names) {
            const QRegularExpressionMatch name = match.next();
            QVERIFY2(programs[name.captured(1)].contains(QStringLiteral("void %1()").arg(name.captured(2))),
                     qPrintable(name.captured()));
        }
        QVERIFY(names > 60);
    }

    // What is written, what is read and what the schema allows are the same fields and names.
    void theSchemaKnowsEveryFieldAndName()
    {
        const auto schema = nlohmann::json::parse(schemaText().toStdString());
        const auto& parts = schema["$defs"];
        QCOMPARE(pageOf("formats/composite.schema.json"), schemaText());
        QCOMPARE(listed(parts["match"]["properties"]["structure"]["enum"]),
                 knownIn(errorOf(replaced("linear map", "linear mop"))));
        const auto written =
            nlohmann::json::parse(lrp::toJson(*lrp::parseComposite(std::string(kExample), "mine.json")));
        for (const auto& [field, value] : written.items()) {
            QVERIFY2(schema["properties"].contains(field), field.c_str());
        }
        for (const auto& entry : written["entries"]) {
            const auto match = entry.value("match", nlohmann::json::object());
            for (const auto& [field, value] : match.items()) {
                QVERIFY2(parts["match"]["properties"].contains(field), field.c_str());
            }
        }
        QCOMPARE(fieldsOf(schema), knownIn(errorOf(replaced("\"entries\"", "\"entrees\""))));
        QCOMPARE(fieldsOf(parts["entry"]),
                 knownIn(errorOf(replaced("{ \"rule\": { \"name\": \"gradient\" } }",
                                          "{ \"rule\": { \"name\": \"gradient\" }, \"matsch\": {} }"))));
        QCOMPARE(fieldsOf(parts["match"]), knownIn(errorOf(replaced("\"scope\"", "\"scoop\""))));
        QCOMPARE(fieldsOf(parts["rule"]),
                 knownIn(errorOf(replaced("{ \"name\": \"gradient\" }", "{ \"name\": \"gradient\", \"parms\": {} }"))));
    }

    // What is saved of a built-in composite, with every structure among its matchers, is within the schema.
    void everyStructureIsWritten()
    {
        const auto schema = nlohmann::json::parse(schemaText().toStdString());
        QStringList structures;
        for (int kind = 0; kind < static_cast<int>(ops::StructureKind::NoRelevance); ++kind) {
            lrp::Composite composite{"one", {}, {}};
            lrp::Matcher matcher;
            matcher.structure = static_cast<ops::StructureKind>(kind);
            composite.entries.push_back({matcher, *lrp::makeRule("stop", {})});
            const auto written = nlohmann::json::parse(lrp::toJson(composite));
            structures << QString::fromStdString(written["entries"][0]["match"]["structure"].get<std::string>());
        }
        structures.sort();
        QCOMPARE(listed(schema["$defs"]["match"]["properties"]["structure"]["enum"]), structures);
    }

    void theFirstLayerOfAnInputGoesRound()
    {
        const auto composite =
            lrp::parseComposite(replaced("\"first\": true", "\"first\": \"depth\"").toStdString(), "mine.json");
        RETRO_OK(composite);
        RETRO_MADE(again, lrp::parseComposite(lrp::toJson(*composite), "written.json"));
        for (const lrp::Composite& one : {*composite, *again}) {
            QCOMPARE(QString::fromStdString(one.entries[0].matcher.text()),
                     QStringLiteral("first Conv, ConvTranspose from input \"depth\""));
        }
    }

    void errors_data()
    {
        QTest::addColumn<QString>("text");
        QTest::addColumn<QString>("message");
        QTest::newRow("syntax") << replaced("\"first\": true }", "\"first\": }")
                                << "mine.json, line 6: this is not valid";
        QTest::newRow("first") << replaced("\"first\": true", "\"first\": 1")
                               << "field entries[0].match.first: true, false or the name of an input is needed here";
        QTest::newRow("end") << QString::fromUtf8(kExample).left(60) << "mine.json, line 4: this is not valid JSON";
        QTest::newRow("empty") << QString() + " "
                               << "mine.json, line 1: this is not valid JSON";
        QTest::newRow("huge number") << replaced("0.1", "1e999") << "mine.json, line 11: a number here is out of range";
        QTest::newRow("list") << "[]"
                              << "mine.json, line 1: it must be an object in braces";
        QTest::newRow("format") << replaced("composite/1", "composite/2")
                                << "mine.json, line 2, field format: the format is \"retrograde-composite/2\"";
        QTest::newRow("no format") << "{}"
                                   << "field format: the field \"format\" must be";
        QTest::newRow("field") << replaced("\"scope\"", "\"scoop\"")
                               << "line 10, field entries[1].match.scoop: there is no such field; known are op";
        QTest::newRow("structure") << replaced("linear map", "linear")
                                   << "line 10, field entries[1].match.structure: there is no structure \"linear\"";
        QTest::newRow("rule") << replaced("\"gamma\", \"p", "\"gama\", \"p")
                              << "line 11, field entries[1].rule.name: there is no rule \"gama\"; known are lrp-0";
        QTest::newRow("parameter") << replaced("\"low\": -2.1", "\"lows\": -2.1")
                                   << "line 7, field entries[0].rule.params.lows: there is no such parameter";
        QTest::newRow("number") << replaced("0.1", "\"much\"")
                                << "line 11, field entries[1].rule.params.gamma: must be a number of at least 0";
        QTest::newRow("choice") << replaced("\"zero\"", "\"none\"")
                                << "field entries[1].rule.params.bias: must be one of absorb, zero, spread";
        QTest::newRow("numbers") << replaced("0.1", "[1]")
                                 << "entries[1].rule.params.gamma: must be a number of at least 0, not [1]";
        QTest::newRow("no numbers") << replaced("-2.1", "[]") << "entries[0].rule.params.low: is an empty list";
        QTest::newRow("value")
            << replaced("0.1", "[true]")
            << "field entries[1].rule.params.gamma: a number, a list of numbers, a text, true or false";
        QTest::newRow("twice") << replaced("\"low\": -2.1", "\"high\": 3")
                               << "line 7, field entries[0].rule.params.high: this field stands twice";
        QTest::newRow("no rule") << replaced("{ \"rule\": { \"name\": \"gradient\" } }", "{ }")
                                 << "line 17, field entries[3]: the field \"rule\" is missing";
        QTest::newRow("no name") << replaced("{ \"name\": \"gradient\" }", "{ }")
                                 << "line 17, field entries[3].rule: the field \"name\" is missing";
        QTest::newRow("operators") << replaced("[\"Conv\", \"ConvTranspose\"]", "[]")
                                   << "line 6, field entries[0].match.op: the list is empty";
        QTest::newRow("operator") << replaced("[\"Conv\", \"ConvTranspose\"]", "3")
                                  << "field entries[0].match.op: an operator name or a list";
        QTest::newRow("operand") << replaced("\"operand\": 0", "\"operand\": -1")
                                 << "line 14, field entries[2].match.operand: an operand from 0 to 1023";
        QTest::newRow("operand of nothing") << replaced("\"operand_from\": \"Softmax\", ", "")
                                            << "field entries[2].match.operand: the field goes with \"operand_from\"";
        QTest::newRow("signal") << replaced("\"signal\": 1", "\"signal\": 2")
                                << "field entries[2].rule.params.signal: must be a number from 0 to 1";
        QTest::newRow("no entries") << "{\"format\": \"retrograde-composite/1\", \"entries\": []}"
                                    << "field entries: a list of 1 to 10000 entries";
        QTest::newRow("deep") << QString(40, '[') + QString(40, ']') << "nested deeper than 16";
        QTest::newRow("large") << QString(int(lrp::kMaxCompositeBytes) + 1, ' ') << "at most 1048576 are read";
    }
    void errors()
    {
        QFETCH(QString, text);
        QFETCH(QString, message);
        QVERIFY(!text.isEmpty());
        const QString error = errorOf(text);
        QVERIFY2(error.contains(message), qPrintable(error));
        const auto composite = lrp::parseComposite(text.toStdString(), "mine.json");
        QCOMPARE(composite.error().code, base::ErrorCode::Input);
    }
};

QTEST_GUILESS_MAIN(CompositeJsonTest)
#include "compositejsontest.moc"
