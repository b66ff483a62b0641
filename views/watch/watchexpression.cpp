// SPDX-License-Identifier: Apache-2.0
#include "views/watch/watchexpression.h"

#include "kernels/lut/schedule.h"

#include <QCoreApplication>
#include <QRegularExpression>
#include <QStringList>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace retro::views
{

namespace
{

constexpr std::array<const char*, 6> kPartNames{"sum", "min", "max", "mean", "norm", "nan"}; // by WatchPart
constexpr int kMostLetters = 1000;

QString translated(const char* text) { return QCoreApplication::translate("retro::views::WatchView", text); }

/// "0, 3" as indices; empty when a number is too large.
std::vector<std::int64_t> readIndex(const QString& text)
{
    std::vector<std::int64_t> index;
    for (const QString& number : text.split(QLatin1Char(','))) {
        bool isNumber = false;
        index.push_back(number.trimmed().toLongLong(&isNumber));
        if (!isNumber) {
            return {};
        }
    }
    return index;
}

/// What the elements of a tensor come to in one pass.
struct Tally
{
    double sum = 0;
    double squares = 0;
    double smallest = std::numeric_limits<double>::infinity();
    double largest = -std::numeric_limits<double>::infinity();
    std::int64_t finite = 0;
    std::int64_t notFinite = 0;
};

Tally tallyOf(const tensor::Tensor& tensor)
{
    Tally tally;
    const tensor::Tensor plain = tensor.to(tensor::DType::Float64).contiguous();
    for (const double v : plain.span<double>()) {
        if (!std::isfinite(v)) {
            ++tally.notFinite;
            continue;
        }
        ++tally.finite;
        tally.sum += v;
        tally.squares += v * v;
        tally.smallest = std::min(tally.smallest, v);
        tally.largest = std::max(tally.largest, v);
    }
    return tally;
}

WatchResult elementOf(const tensor::Tensor& tensor, const std::vector<std::int64_t>& index)
{
    if (index.size() != tensor.rank()) {
        return {std::nullopt, translated("it has %1 axes, the index has %2").arg(tensor.rank()).arg(index.size())};
    }
    std::int64_t at = 0;
    for (std::size_t axis = 0; axis < index.size(); ++axis) {
        const std::int64_t length = tensor.shape()[axis];
        if (index[axis] < 0 || index[axis] >= length) {
            return {std::nullopt,
                    translated("index %1 is out of range, axis %2 has %3").arg(index[axis]).arg(axis).arg(length)};
        }
        at = at * length + index[axis];
    }
    return {tensor.at(at), {}};
}

/// The buffer of a LUT layer of that name, whatever the case; empty where there is none.
QString bufferNamed(const QString& name)
{
    for (std::uint32_t id = 0; id <= static_cast<std::uint32_t>(lut::BufferId::PairMap); ++id) {
        const std::string_view known = lut::nameOf(static_cast<lut::BufferId>(id));
        const QString word = QString::fromLatin1(known.data(), static_cast<qsizetype>(known.size()));
        if (word.compare(name, Qt::CaseInsensitive) == 0) {
            return word;
        }
    }
    return {};
}

bool endsWithPart(std::string_view whole, std::string_view part)
{
    return whole.size() > part.size() && whole.ends_with(part) && whole[whole.size() - part.size() - 1] == '/';
}

} // namespace

base::Result<WatchExpression> WatchExpression::parse(const QString& text)
{
    static const QRegularExpression pattern(
        QStringLiteral(R"(^\s*([RrVvBb])\((.+)\)\s*(?:\.\s*(sum|min|max|mean|norm|nan)|\[([0-9,\s]+)\])?\s*$)"));
    const QRegularExpressionMatch match = text.size() > kMostLetters ? QRegularExpressionMatch() : pattern.match(text);
    WatchExpression out;
    out.name = match.captured(2).trimmed();
    const bool isBuffer = match.captured(1).toUpper() == QLatin1String("B");
    if (isBuffer) {
        const qsizetype comma = out.name.lastIndexOf(QLatin1Char(','));
        out.buffer = comma < 0 ? QString() : bufferNamed(out.name.mid(comma + 1).trimmed());
        out.name = out.buffer.isEmpty() ? QString() : out.name.left(comma).trimmed();
    }
    if (!match.hasMatch() || out.name.isEmpty()) {
        return base::usageError(
            translated("\"%1\" is unclear. Write R(node), V(node).max, R(node)[0,3] or B(node, Output); after the dot "
                       "sum, min, max, mean, norm or nan.")
                .arg(text.left(60))
                .toStdString());
    }
    out.of = isBuffer                                            ? WatchOf::Buffer
             : match.captured(1).toUpper() == QLatin1String("R") ? WatchOf::Relevance
                                                                 : WatchOf::Value;
    const auto named = std::find(kPartNames.begin(), kPartNames.end(), match.captured(3).toStdString());
    out.part = named == kPartNames.end() ? WatchPart::Sum : static_cast<WatchPart>(named - kPartNames.begin());
    if (!match.captured(4).isEmpty()) {
        out.part = WatchPart::Element;
        out.index = readIndex(match.captured(4));
        if (out.index.empty()) {
            return base::usageError(translated("[%1] is no index. Write numbers with commas between.")
                                        .arg(match.captured(4))
                                        .toStdString());
        }
    }
    return out;
}

QString WatchExpression::text() const
{
    const QLatin1Char letter(of == WatchOf::Relevance ? 'R' : of == WatchOf::Value ? 'V' : 'B');
    const QString what = of == WatchOf::Buffer ? name + QStringLiteral(", ") + buffer : name;
    QString out = QStringLiteral("%1(%2)").arg(letter).arg(what);
    if (part == WatchPart::Element) {
        QStringList numbers;
        for (const std::int64_t number : index) {
            numbers.append(QString::number(number));
        }
        return out + QLatin1Char('[') + numbers.join(QLatin1Char(',')) + QLatin1Char(']');
    }
    return part == WatchPart::Sum ? out
                                  : out + QLatin1Char('.') + QLatin1String(kPartNames[static_cast<std::size_t>(part)]);
}

base::Result<base::ValueId> valueNamed(const graph::Graph& graph, const QString& name)
{
    const std::string wanted = name.toStdString();
    std::vector<base::NodeId> byPart;
    for (std::size_t i = 0; i < graph.runNodeCount(); ++i) {
        const base::NodeId node(i);
        const std::string_view label = graph.labelOf(node);
        if (label == wanted && graph.firstOutput(node).isValid()) {
            return graph.firstOutput(node);
        }
        if (endsWithPart(label, wanted)) {
            byPart.push_back(node);
        }
    }
    for (std::size_t i = 0; i < graph.valueCount(); ++i) {
        if (graph.value(base::ValueId(i)).name == wanted) {
            return base::ValueId(i);
        }
    }
    if (byPart.size() == 1 && graph.firstOutput(byPart.front()).isValid()) {
        return graph.firstOutput(byPart.front());
    }
    if (byPart.size() > 1) {
        return base::usageError(
            translated("%1 nodes end in %2; write the whole name").arg(byPart.size()).arg(name).toStdString());
    }
    return base::usageError(translated("no node or value is called %1").arg(name).toStdString());
}

WatchResult partOf(const tensor::Tensor& tensor, const WatchExpression& expression)
{
    if (expression.part == WatchPart::Element) {
        return elementOf(tensor, expression.index);
    }
    const Tally tally = tallyOf(tensor);
    if (expression.part == WatchPart::NotFinite) {
        return {static_cast<double>(tally.notFinite), {}};
    }
    if (tally.finite == 0) {
        return {std::nullopt, translated("no element is a number")};
    }
    switch (expression.part) {
    case WatchPart::Smallest:
        return {tally.smallest, {}};
    case WatchPart::Largest:
        return {tally.largest, {}};
    case WatchPart::Mean:
        return {tally.sum / static_cast<double>(tally.finite), {}};
    case WatchPart::Norm:
        return {std::sqrt(tally.squares), {}};
    default:
        return {tally.sum, {}};
    }
}

} // namespace retro::views
