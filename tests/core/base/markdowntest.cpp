// SPDX-License-Identifier: Apache-2.0
// An answer as a page: what is said once, a table for each list of records, nothing that breaks a table.
#include "core/base/markdown.h"

#include <nlohmann/json.hpp>

#include <QtTest>

using nlohmann::ordered_json;
using retro::base::markdownOf;

class MarkdownTest : public QObject
{
    Q_OBJECT

private slots:
    void fieldsAndTables()
    {
        const ordered_json answer = ordered_json::parse(R"~({"format": "f/1", "failure": null, "share": 0.123456789,
            "names": ["a", "b"], "findings": [{"node": "conv (block1)", "numbers": {"of": 2}, "chart": null},
            {"node": "x|y", "list": [[1, 2]]}], "seconds": {"load": 1, "parts": [{"n": 1}]}})~");
        QCOMPARE(markdownOf(answer, "diagnose m.onnx"), std::string(R"~(# diagnose m.onnx

- format: f/1
- share: 0.123457
- names: a, b

## findings

| node | numbers.of | list |
|---|---|---|
| conv (block1) | 2 |  |
| x\|y |  | [[1,2]] |

## seconds

- load: 1

## seconds.parts

| n |
|---|
| 1 |
)~"));
    }

    void listsAndSingleValues()
    {
        QCOMPARE(markdownOf(ordered_json::parse(R"([{"a": 1}, {"a": 2}])"), "t"),
                 std::string("# t\n\n| a |\n|---|\n| 1 |\n| 2 |\n"));
        QCOMPARE(markdownOf(ordered_json("one"), "t"), std::string("# t\n\none\n"));
        ordered_json deep = 1;
        for (int i = 0; i < 2000; ++i) {
            deep = ordered_json{{"d", std::move(deep)}};
        }
        QVERIFY(markdownOf(deep, "t").size() > 2000); // no end of the stack
    }
};

QTEST_GUILESS_MAIN(MarkdownTest)
#include "markdowntest.moc"
