// SPDX-License-Identifier: Apache-2.0
// Cast between every two element types, at the edges of their ranges, against values that another runtime gave
// (tests/data/casts.txt).
#include "core/execute/forward.h"
#include "core/graph/graphbuilder.h"

#include <QFile>
#include <QTest>

#include <cmath>
#include <memory>
#include <optional>

using namespace retro;
using execute::BoundModel;
using execute::Precision;
using tensor::DType;
using tensor::Tensor;

namespace
{

std::optional<DType> typeNamed(const QString& name)
{
    for (std::size_t i = 0; i < tensor::kDTypeCount; ++i) {
        const auto type = static_cast<DType>(i);
        const std::string_view known = tensor::nameOf(type);
        if (name == QString::fromUtf8(known.data(), static_cast<qsizetype>(known.size()))) {
            return type;
        }
    }
    return std::nullopt;
}

std::int64_t onnxNumberOf(DType type)
{
    constexpr std::array kNumbers{1, 11, 10, 16, 3, 2, 5, 4, 6, 12, 7, 13, 9, 17, 18, 19, 20}; // in the order of DType
    return kNumbers.at(static_cast<std::size_t>(type));
}

/// Integers of 64 bits keep their digits.
Tensor tensorOf(const QStringList& numbers, DType type)
{
    std::vector<std::int64_t> wholes;
    std::vector<double> values;
    for (const QString& number : numbers) {
        wholes.push_back(type == DType::UInt64 ? static_cast<std::int64_t>(number.toULongLong()) : number.toLongLong());
        values.push_back(number.toDouble());
    }
    const tensor::Shape shape{static_cast<std::int64_t>(numbers.size())};
    if (type == DType::Int64 || type == DType::UInt64) {
        return Tensor::of<std::int64_t>(shape, wholes).to(type);
    }
    return Tensor::of<double>(shape, values).to(type);
}

/// x → Cast → y.
base::Result<Tensor> cast(const Tensor& x, DType to, bool isSaturating)
{
    graph::GraphBuilder builder("cast", 19);
    const auto in = builder.addInput("x", x.dtype(), std::vector<graph::Dimension>{{x.size(), ""}});
    const auto out = builder.addResult("y");
    graph::Node node{"Cast", "", "cast", "", 19, {in}, {out}, {{"to", onnxNumberOf(to)}}};
    if (!isSaturating) {
        node.attributes["saturate"] = std::int64_t{0};
    }
    builder.addNode(std::move(node));
    builder.addOutput(out);
    RETRO_TRY(graph::Graph built, std::move(builder).build());
    const auto graph = std::make_shared<const graph::Graph>(std::move(built));
    const bool isWide = x.dtype() == DType::Float64 || to == DType::Float64;
    const Precision precision = isWide ? Precision::Declared : Precision::Float;
    const std::vector<ops::TensorType> types{{x.dtype(), x.shape()}};
    RETRO_TRY(const auto model, BoundModel::bind(graph, types, precision));
    RETRO_TRY(
        const execute::ForwardResult result,
        execute::forward(model, execute::inRun(*graph, std::span(&x, 1), precision), execute::SavePolicy::Nothing));
    return model->inModelType(out, result.outputs.front());
}

} // namespace

class CastTest : public QObject
{
    Q_OBJECT

private slots:
    void everyPair()
    {
        QFile file(RETRO_SOURCE_DIR "/tests/data/casts.txt");
        QVERIFY(file.open(QIODevice::ReadOnly));
        int pairs = 0;
        while (!file.atEnd()) {
            const QString line = QString::fromUtf8(file.readLine()).trimmed();
            if (line.isEmpty() || line.startsWith('#')) {
                continue;
            }
            const QStringList parts = line.split(QStringLiteral(" : "));
            const QStringList head = parts[0].split(' ');
            const auto from = typeNamed(head[0]);
            const auto to = typeNamed(head[1]);
            QVERIFY2(parts.size() == 3 && from && to, qPrintable(line));
            RETRO_MADE(made, cast(tensorOf(parts[1].split(' '), *from), *to, head[2] == QStringLiteral("1")));
            QCOMPARE(made->dtype(), *to);
            compare(parts[0], parts[1].split(' '), parts[2].split(' '), *made);
            ++pairs;
        }
        QVERIFY(pairs > 200);
    }

private:
    static void compare(const QString& which, const QStringList& operands, const QStringList& expected,
                        const Tensor& made)
    {
        QCOMPARE(made.size(), static_cast<std::int64_t>(expected.size()));
        for (qsizetype i = 0; i < expected.size(); ++i) {
            const double wanted = expected[i].toDouble();
            const double value = made.at(i);
            const bool isSame = std::isnan(wanted) ? std::isnan(value) : value == wanted;
            QVERIFY2(isSame, qPrintable(QStringLiteral("%1: %2 became %3, not %4")
                                            .arg(which, operands[i])
                                            .arg(value, 0, 'g', 17)
                                            .arg(expected[i])));
        }
    }
};

QTEST_GUILESS_MAIN(CastTest)
#include "casttest.moc"
