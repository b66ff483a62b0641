// SPDX-License-Identifier: Apache-2.0
// LUT cases: what is read, every way in which a case can be bad, and damaged files.
#include "core/formats/lutcase.h"
#include "core/base/file.h"

#include <QtTest>

#include <random>

using namespace retro;
using formats::LutCase;

namespace
{

const QByteArray kCase = R"({
 "name": "small", "mode": "sparse_seq",
 "B": 1, "S": 2, "I": 2, "O": 2, "T": 1, "C": 1, "P": 0,
 "anchors": [[[0, 1]]],
 "x": [[[2.0, 1.0], [0.0, 3.0]]],
 "weights": [1.5, -2],
 "row_ptr": [0, 0, 1, 1, 2], "col": [1, 0],
 "grad_output": [[[1, 2], [3, 4]]],
 "forward": {"output": [[[0, 0], [0, 1.5]]]},
 "lrp_eps": 1e-3
})";

base::Result<LutCase> parse(const QByteArray& text) { return formats::parseLutCase(text.toStdString(), "case.json"); }

/// The message of a case that was changed in one place.
QString problemWith(const char* before, const char* after)
{
    QByteArray text = kCase;
    text.replace(before, after);
    const auto read = parse(text);
    return read.ok() ? QString() : QString::fromStdString(read.error().text());
}

} // namespace

class LutCaseTest : public QObject
{
    Q_OBJECT

private slots:
    void everyFieldIsRead()
    {
        RETRO_MADE(read, parse(kCase));
        QCOMPARE(read->name, std::string("small"));
        QVERIFY(read->isSparse && read->shape.isSequence);
        QCOMPARE(read->shape.length, 2U);
        QCOMPARE(read->shape.rows(), std::uint64_t{4});
        QCOMPARE(read->anchors.size(), std::size_t{1});
        QCOMPARE(read->anchors[0].b, 1U);
        QCOMPARE(read->input, (std::vector<double>{2, 1, 0, 3}));
        QCOMPARE(read->weights, (std::vector<double>{1.5, -2}));
        QCOMPARE(read->rowStarts, (std::vector<std::uint64_t>{0, 0, 1, 1, 2}));
        QCOMPARE(read->columns, (std::vector<std::uint32_t>{1, 0}));
        QCOMPARE(read->outputGradients, (std::vector<double>{1, 2, 3, 4}));
        QCOMPARE(read->epsilon, 1e-3);
        QCOMPARE(read->expected.at("forward.output"), (std::vector<double>{0, 0, 0, 1.5}));
        const formats::LutCaseLayer<float> numbers(*read);
        QVERIFY(numbers.layer().ok());
    }

    void rowsMayHave16Bits()
    {
        QByteArray text = kCase;
        text.replace("\"S\": 2,", "\"S\": 2, \"rows\": \"float16\",").replace("[1.5, -2]", "[1.5, -0.1]");
        RETRO_MADE(half, parse(text));
        QCOMPARE(formats::narrowWeights(*half), (std::vector<std::uint16_t>{0x3E00, 0xAE66}));
        const formats::LutCaseLayer<float> numbers(*half);
        RETRO_MADE(layer, numbers.layer());
        QVERIFY(layer->description().weights.empty());
        QCOMPARE(layer->description().weightCount(), std::size_t{2});
        text.replace("float16", "bfloat16");
        QCOMPARE(formats::narrowWeights(*parse(text)), (std::vector<std::uint16_t>{0x3FC0, 0xBDCD}));
    }

    void badCasesAreTold_data()
    {
        QTest::addColumn<QByteArray>("before");
        QTest::addColumn<QByteArray>("after");
        QTest::addColumn<QString>("words");
        const auto row = [](const char* name, const char* before, const char* after, const char* words) {
            QTest::newRow(name) << QByteArray(before) << QByteArray(after) << QString(words);
        };
        row("mode", "sparse_seq", "sparse", "line 2, field mode: mode must be one of: fc_nonseq");
        row("rows", "\"S\": 2,", "\"S\": 2, \"rows\": \"int8\",", "rows must be one of: float32, float16, bfloat16");
        row("size missing", "\"B\": 1, ", "", "the size B is missing");
        row("size negative", "\"C\": 1", "\"C\": -1", "line 3, field C: C must be a whole number");
        row("size too large", "\"C\": 1", "\"C\": 4294967296", "C must be a whole number");
        row("no list", "[[[2.0, 1.0], [0.0, 3.0]]]", "\"many\"", "line 5, field x: x must be a list of numbers");
        row("text in a list", "2.0, 1.0", "2.0, \"one\"", "x must be a list of numbers");
        row("weights missing", "\"weights\"", "\"wheats\"", "the list weights is missing");
        row("anchor alone", "[[[0, 1]]]", "[[[0, 1, 1]]]", "anchors must be pairs");
        row("anchor a fraction", "[[[0, 1]]]", "[[[0, 0.5]]]", "0.5 is no number of an input");
        row("row starts missing", "\"row_ptr\"", "\"starts\"", "a list row_ptr is needed");
        row("column negative", "\"col\": [1, 0]", "\"col\": [1, -1]",
            "col must be a whole number from 0 to 4294967295, not -1");
        row("expected no object", "{\"output\": [[[0, 0], [0, 1.5]]]}", "[1]",
            "field forward: it must be an object in braces");
        row("epsilon", "1e-3", "0", "lrp_eps must be a number above 0");
        row("no object", kCase.constData(), "[1, 2]", "this is no LUT case");
        row("too deep", "[[[0, 1]]]", "[[[[[[[[[[0, 1]]]]]]]]]]", "nested");
    }

    void badCasesAreTold()
    {
        QFETCH(QByteArray, before);
        QFETCH(QByteArray, after);
        QFETCH(QString, words);
        const QString problem = problemWith(before.constData(), after.constData());
        RETRO_SAYS(problem, words, "case.json");
    }

    void whatTheLayerRefusesNamesTheFile()
    {
        QByteArray text = kCase;
        text.replace("[[[0, 1]]]", "[[[0, 7]]]");
        RETRO_MADE(read, parse(text));
        RETRO_REFUSED(formats::LutCaseLayer<double>(*read).layer(), "case.json", "(0, 7) of 2 inputs");
    }

    void everyTruncationIsTold()
    {
        for (qsizetype length = 0; length < kCase.size(); ++length) {
            QVERIFY2(!parse(kCase.left(length)).ok(), qPrintable(QString::number(length)));
        }
    }

    void mutationsGiveACaseOrAnError()
    {
        std::mt19937 random(3);
        int refused = 0;
        for (int i = 0; i < 3000; ++i) {
            QByteArray text = kCase;
            for (unsigned k = 0; k <= random() % 3; ++k) {
                const auto at = static_cast<qsizetype>(random() % static_cast<unsigned>(text.size()));
                text[at] = "0123456789-.,[]{}\"e "[random() % 20];
            }
            const auto read = parse(text);
            if (read.ok()) {
                // Whatever was read, the layer's own checks hold it.
                static_cast<void>(formats::LutCaseLayer<float>(*read).layer());
            } else {
                QCOMPARE(read.error().code, base::ErrorCode::Input);
                ++refused;
            }
        }
        QVERIFY(refused > 500);
    }
};

QTEST_GUILESS_MAIN(LutCaseTest)
#include "lutcasetest.moc"
