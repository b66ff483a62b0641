// SPDX-License-Identifier: Apache-2.0
// JSON of strangers: what it costs is bounded by its size, and what is wrong is said with its line.
#include "core/base/jsontext.h"

#include <QtTest>

using namespace retro::base;

namespace
{

QString problemOf(std::string text, const JsonLimits& limits)
{
    const auto parsed = JsonText::parse(std::move(text), "a.json", limits);
    return parsed.ok() ? QString() : QString::fromStdString(parsed.error().text());
}

} // namespace

class JsonTextTest : public QObject
{
    Q_OBJECT

private slots:
    void brackets_data()
    {
        QTest::addColumn<QString>("one");
        QTest::newRow("lists") << "[";
        QTest::newRow("objects") << "{\"a\":";
    }
    // The text is not even valid: nothing behind the limit is looked at.
    void brackets()
    {
        QFETCH(QString, one);
        const JsonLimits limits{std::size_t{64} << 20U, 8};
        const QString problem = problemOf(one.repeated(2'000'000).toStdString(), limits);
        QVERIFY2(problem.contains("a.json, line 1: brackets are nested deeper than 8"), qPrintable(problem));
        QVERIFY(problemOf("[[[[[[[[1]]]]]]]]", limits).isEmpty());
        QVERIFY(problemOf("[[[[[[[[[1]]]]]]]]]", limits).contains("nested deeper than 8"));
    }

    void memory_data()
    {
        QTest::addColumn<QString>("one");
        QTest::newRow("numbers") << "1,";
        QTest::newRow("texts") << "\"\",";
        QTest::newRow("lists") << "[],";
        QTest::newRow("objects") << "{},";
    }
    void memory()
    {
        QFETCH(QString, one);
        const JsonLimits limits{std::size_t{64} << 20U, 8, std::size_t{1} << 20U};
        const QString problem = problemOf("[" + one.repeated(100'000).toStdString() + "0]", limits);
        QVERIFY2(problem.contains("take more than 1 MiB of memory"), qPrintable(problem));
    }

    void lines_data()
    {
        QTest::addColumn<QByteArray>("field");
        QTest::addColumn<int>("line");
        QTest::newRow("member") << QByteArray("a") << 2;
        QTest::newRow("element") << QByteArray("a[1]") << 4;
        QTest::newRow("in an element") << QByteArray("a[1].b") << 4;
        QTest::newRow("behind it") << QByteArray("a[1].c.d[0]") << 6;
        QTest::newRow("key that begins as another") << QByteArray("ab") << 9;
        QTest::newRow("key with a dot") << QByteArray("x.y") << 10;
    }
    void lines()
    {
        QFETCH(QByteArray, field);
        QFETCH(int, line);
        RETRO_MADE(text,
                   JsonText::parse("{\n\"a\": [\n0,\n{\"b\": 1,\n\"c\": {\n\"d\": [1]}\n}\n],\n\"ab\": 2,\n\"x.y\": 3}",
                                   "a.json", {}));
        QCOMPARE(QString::fromStdString(text->error(field.toStdString(), "wrong").text()),
                 QStringLiteral("a.json, line %1, field %2: wrong").arg(line).arg(QString::fromUtf8(field)));
    }

    void whatStandsTwice()
    {
        QVERIFY(problemOf("{\"a\": {\"b\": 1,\n\"b\": 2}}", {}).contains("field a.b: this field stands twice"));
    }

    // The place of a long key among many elements is found without its path being built for each of them.
    void aLongFieldIsFoundAndShortened()
    {
        const std::string key(500'000, 'k');
        std::string text = "{\"" + key + "\": [0";
        for (int i = 0; i < 200'000; ++i) {
            text += ",1";
        }
        RETRO_MADE(parsed, JsonText::parse(text + "]}", "a.json", {}));
        const std::string message = parsed->error(key + "[200000]", "wrong").text();
        QVERIFY(message.size() < 400);
        QVERIFY(message.find("line 1") != std::string::npos);
    }
};

QTEST_GUILESS_MAIN(JsonTextTest)
#include "jsontexttest.moc"
