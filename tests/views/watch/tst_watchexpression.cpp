// SPDX-License-Identifier: Apache-2.0
#include <QtTest>

#include "tests/views/support/tinyrun.h"
#include "views/watch/watchexpression.h"

#include <limits>
#include <random>

using namespace retro;
using namespace retro::views;

namespace
{

WatchExpression parsed(const char* text)
{
    auto expression = WatchExpression::parse(QString::fromUtf8(text));
    if (!expression.ok()) {
        qFatal("%s", expression.error().text().c_str());
    }
    return std::move(expression).value();
}

tensor::Tensor numbers()
{
    constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
    const std::vector<double> values{3, -4, 0, kNan, 1, 2};
    tensor::TensorBuffer buffer(tensor::DType::Float64, {2, 3});
    std::copy(values.begin(), values.end(), buffer.data<double>());
    return std::move(buffer).freeze();
}

} // namespace

class WatchExpressionTest : public QObject
{
    Q_OBJECT

private slots:
    void isReadAndWritten_data()
    {
        QTest::addColumn<QString>("text");
        QTest::addColumn<QString>("written");
        const auto row = [](const char* text, const char* written) { QTest::newRow(text) << text << written; };
        row("R(fc)", "R(fc)");
        row(" r( block1/add ).max ", "R(block1/add).max");
        row("V(fc) . nan", "V(fc).nan");
        row("R(a(b)c)[0, 3]", "R(a(b)c)[0,3]");
        row("R(fc).sum", "R(fc)");
    }
    void isReadAndWritten()
    {
        QFETCH(QString, text);
        QFETCH(QString, written);
        const auto expression = WatchExpression::parse(text);
        QVERIFY2(expression.ok(), expression.ok() ? "" : expression.error().text().c_str());
        QCOMPARE(expression->text(), written);
        QVERIFY(*WatchExpression::parse(written) == *expression);
    }

    void whatIsUnclearIsRefused_data()
    {
        QTest::addColumn<QString>("text");
        for (const char* text : {"", "R", "R()", "R( )", "Q(fc)", "R(fc).median", "R(fc)[", "R(fc)[a]", "R(fc)[1,,2]",
                                 "R(fc)[99999999999999999999]", "R(fc) + 1", "fc"}) {
            QTest::newRow(text) << text;
        }
    }
    void whatIsUnclearIsRefused()
    {
        QFETCH(QString, text);
        const auto expression = WatchExpression::parse(text);
        QVERIFY(!expression.ok());
        QCOMPARE(expression.error().code, base::ErrorCode::Usage);
        QVERIFY(!expression.error().message.empty());
    }

    void anyTextIsReadOrRefused()
    {
        std::mt19937 random(3);
        const QString letters = QStringLiteral("RVrv()[].,0123 maxinsueé/\\\"");
        for (int round = 0; round < 3000; ++round) {
            QString text;
            for (std::uint32_t i = 0; i < random() % 24; ++i) {
                text += letters[static_cast<qsizetype>(random() % static_cast<std::uint32_t>(letters.size()))];
            }
            const auto expression = WatchExpression::parse(text);
            if (expression.ok()) {
                const auto again = WatchExpression::parse(expression->text());
                QVERIFY2(again.ok() && *again == *expression, qPrintable(text));
            }
        }
        QVERIFY(!WatchExpression::parse(QString(100'000, QLatin1Char('('))).ok());
    }

    void partsOfATensor()
    {
        const tensor::Tensor tensor = numbers();
        QCOMPARE(partOf(tensor, parsed("R(x)")).number, std::optional(2.0));
        QCOMPARE(partOf(tensor, parsed("R(x).min")).number, std::optional(-4.0));
        QCOMPARE(partOf(tensor, parsed("R(x).max")).number, std::optional(3.0));
        QCOMPARE(partOf(tensor, parsed("R(x).mean")).number, std::optional(0.4)); // NaN counts nowhere else
        QCOMPARE(partOf(tensor, parsed("R(x).norm")).number, std::optional(std::sqrt(30.0)));
        QCOMPARE(partOf(tensor, parsed("R(x).nan")).number, std::optional(1.0));
        QCOMPARE(partOf(tensor, parsed("R(x)[1,2]")).number, std::optional(2.0));
        QVERIFY(!partOf(tensor, parsed("R(x)[1]")).number);
        QVERIFY(partOf(tensor, parsed("R(x)[1]")).reason.contains(QStringLiteral("2 axes")));
        QVERIFY(partOf(tensor, parsed("R(x)[1,3]")).reason.contains(QStringLiteral("out of range")));
        const tensor::Tensor none = tensor::Tensor::full(tensor::DType::Float32, {0}, 0);
        QVERIFY(!partOf(none, parsed("R(x).max")).number);
    }

    void namesAreWholeOrUniqueEnds()
    {
        tests::TinyContext context;
        const graph::Graph& graph = context.model.graph();
        const auto nodeOf = [&](const char* name) {
            const auto value = valueNamed(graph, QString::fromUtf8(name));
            return value.ok() ? graph.nodeOf(*value) : base::NodeId();
        };
        QCOMPARE(nodeOf("block1/add"), base::NodeId(std::uint32_t{tests::kAdd}));
        QCOMPARE(nodeOf("add"), base::NodeId(std::uint32_t{tests::kAdd}));
        QCOMPARE(nodeOf("image"), base::NodeId(std::uint32_t{tests::kImage}));
        const auto missing = valueNamed(graph, QStringLiteral("dd"));
        QVERIFY(!missing.ok());
        QVERIFY(missing.error().message.find("dd") != std::string::npos);
    }
};

QTEST_GUILESS_MAIN(WatchExpressionTest)
#include "tst_watchexpression.moc"
