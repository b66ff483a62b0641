// SPDX-License-Identifier: Apache-2.0
#include "tests/core/formats/onnxsamples.h"

#include <QtTest>

#include <random>

using namespace retro::formats::samples;

class OnnxFuzzTest : public QObject
{
    Q_OBJECT

private slots:
    void everyTruncationIsTold()
    {
        const std::vector<std::byte> whole = bytesOf(smallModel());
        QCOMPARE(problemOf(whole), QString());
        for (std::size_t i = 0; i < whole.size(); ++i) {
            const QString text = problemOf({whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(i)});
            QVERIFY2(!text.isEmpty(), qPrintable(QString::number(i)));
            const bool isTold = text.contains("cut off") || (i == 0 && text.contains("empty"));
            QVERIFY2(isTold, qPrintable(QString("byte %1: %2").arg(i).arg(text)));
            const bool isBetweenFields = text.contains("operator set");
            QVERIFY2(i == 0 || isBetweenFields || text.contains(QString("ends at byte %1 ").arg(i)), qPrintable(text));
        }
    }

    void mutationsGiveAGraphOrAnError_data()
    {
        QTest::addColumn<int>("seed");
        QTest::addColumn<bool>("isPacked");
        for (int seed = 0; seed < 5; ++seed) {
            QTest::addRow("%d", seed) << seed << false;
        }
        for (int seed = 5; seed < 8; ++seed) {
            QTest::addRow("%d, weights of 4 bits", seed) << seed << true;
        }
    }

    void mutationsGiveAGraphOrAnError()
    {
        QFETCH(int, seed);
        QFETCH(bool, isPacked);
        retro::onnxschema::ModelProto model = smallModel();
        if (isPacked) {
            auto& weight = *model.mutable_graph()->mutable_initializer(0);
            weight.set_data_type(retro::onnxschema::TensorProto::INT4);
            weight.clear_float_data();
            weight.set_raw_data("\x21\x03");
        }
        const std::vector<std::byte> whole = bytesOf(model);
        QCOMPARE(problemOf(whole), QString());
        std::mt19937 random(static_cast<unsigned>(seed));
        int refused = 0;
        for (int i = 0; i < 400; ++i) {
            std::vector<std::byte> mutated = whole;
            for (unsigned k = 0; k <= random() % 4; ++k) {
                mutate(mutated, random);
            }
            const auto graph = retro::formats::parseOnnx(mutated, "m.onnx");
            if (graph.ok()) {
                QVERIFY((*graph)->nodeCount() <= whole.size());
                QVERIFY(retro::formats::toOnnx(**graph).ok());
            } else {
                QCOMPARE(graph.error().code, retro::base::ErrorCode::Input);
                ++refused;
            }
        }
        QVERIFY(refused > 100);
    }

private:
    static void mutate(std::vector<std::byte>& data, std::mt19937& random)
    {
        const auto at = static_cast<std::ptrdiff_t>(random() % data.size());
        switch (random() % 4) {
        case 0:
            data[static_cast<std::size_t>(at)] = static_cast<std::byte>(random());
            break;
        case 1:
            data[static_cast<std::size_t>(at)] ^= static_cast<std::byte>(1U << (random() % 8));
            break;
        case 2:
            data.insert(data.begin() + at, static_cast<std::byte>(random()));
            break;
        default:
            if (data.size() > 1) {
                data.erase(data.begin() + at);
            }
        }
    }
};

QTEST_APPLESS_MAIN(OnnxFuzzTest)
#include "onnxfuzztest.moc"
