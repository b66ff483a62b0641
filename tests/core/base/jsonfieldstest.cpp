// SPDX-License-Identifier: Apache-2.0
#include "core/base/jsonfields.h"

#include <QtTest>

using namespace retro;
using base::JsonFields;
using base::JsonText;

namespace
{

constexpr const char* kText = R"({
  "name": "one", "empty": null, "deep": {"x": {"y": 3}},
  "list": [1, -2.5, 1e3],
  "words": ["a", "b"], "flag": true, "whole": 7, "large": 18446744073709551615,
  "objects": [{"a": 1},
    4], "negative": -1, "a[b": 2
})";

} // namespace

class JsonFieldsTest : public QObject
{
    Q_OBJECT
    const JsonText m_text = JsonText::parse(kText, "f.json", {}).value();
    const JsonFields m_fields = JsonFields::of(m_text, m_text.root(), "").value();

    template <class T>
    static QString problem(const base::Result<T>& result)
    {
        return result.ok() ? QString() : QString::fromStdString(result.error().text());
    }

private slots:
    void whatIsThereIsRead()
    {
        QCOMPARE(m_fields.text("name").value(), std::string("one"));
        QCOMPARE(m_fields.numbers("list").value(), (std::vector<double>{1, -2.5, 1000}));
        QCOMPARE(m_fields.texts("words").value(), (std::vector<std::string>{"a", "b"}));
        QCOMPARE(m_fields.flag("flag", false).value(), true);
        QCOMPARE(m_fields.whole("whole", 0, 7).value(), std::optional<std::int64_t>(7));
        QCOMPARE(m_fields.object("deep")->value().object("x")->value().pathOf("y"), std::string("deep.x.y"));
        QCOMPARE(m_fields.item("objects", 0)->whole("a", 0).value(), std::optional<std::int64_t>(1));
        QCOMPARE(m_fields.list("list", 3).value()->size(), std::size_t{3});
    }

    void whatIsMissingOrNullIsTheFallback()
    {
        for (const char* name : {"empty", "none"}) {
            QVERIFY(!m_fields.has(name));
            QCOMPARE(m_fields.text(name, "else").value(), std::string("else"));
            QCOMPARE(m_fields.numbers(name, {4}).value(), std::vector<double>{4});
            QCOMPARE(m_fields.texts(name, {"t"}).value(), std::vector<std::string>{"t"});
            QCOMPARE(m_fields.flag(name, true).value(), true);
            QVERIFY(!m_fields.whole(name, 0).value());
            QVERIFY(!m_fields.object(name).value());
            QVERIFY(m_fields.list(name).value() == nullptr);
        }
    }

    void aWrongTypeNamesLineAndField()
    {
        QCOMPARE(problem(m_fields.text("whole")), QStringLiteral("f.json, line 4, field whole: it must be a text"));
        QCOMPARE(problem(m_fields.whole("whole", 8)).left(44),
                 QStringLiteral("f.json, line 4, field whole: it must be a wh"));
        QVERIFY(problem(m_fields.whole("large", 0)).contains("whole number"));
        QVERIFY(problem(m_fields.number("negative")).contains("line 6, field negative"));
        QVERIFY(problem(m_fields.numbers("words")).contains("list of numbers"));
        QVERIFY(problem(m_fields.texts("list")).contains("list of texts"));
        QVERIFY(problem(m_fields.flag("name", true)).contains("true or false"));
        QVERIFY(problem(m_fields.object("list")).contains("an object in braces"));
        QVERIFY(problem(m_fields.item("objects", 1)).startsWith("f.json, line 6, field objects[1]:"));
        QVERIFY(problem(m_fields.list("list", 2)).contains("at most 2 items"));
        const std::string_view words[] = {"two", "three"};
        QVERIFY(problem(m_fields.word("name", words, "two")).contains("'one' is not one of: two, three"));
        QCOMPARE(m_fields.word("none", words, "two").value(), std::string("two"));
    }

    void anErrorAtWhatIsMissingNamesTheObject()
    {
        const JsonFields deep = *m_fields.object("deep").value();
        QCOMPARE(QString::fromStdString(deep.error("z", "it is missing").text()),
                 QStringLiteral("f.json, line 2, field deep: it is missing"));
        QCOMPARE(QString::fromStdString(m_fields.error("a[b", "odd").text()),
                 QStringLiteral("f.json, line 6, field a[b: odd"));
    }

    void onlyKnownNamesWithAValue()
    {
        const JsonFields deep = *m_fields.object("deep").value();
        QVERIFY(deep.onlyKnown({"x", "z"}).ok());
        QVERIFY(problem(deep.onlyKnown({"z"})).contains("field deep.x: there is no such field; known are z"));
        const auto null = JsonText::parse(R"({"a": null})", "n.json", {});
        QVERIFY(problem(JsonFields::of(*null, null->root(), "")->onlyKnown({"a"})).contains("field a: it is null"));
    }
};

QTEST_GUILESS_MAIN(JsonFieldsTest)
#include "jsonfieldstest.moc"
