// SPDX-License-Identifier: Apache-2.0
#include "views/run/preparation.h"

#include "core/engine/question/fields.h"

#include <QLocale>
#include <QRegularExpression>

#include <algorithm>
#include <array>
#include <cmath>

namespace retro::views
{

namespace
{

// Of the pictures of ImageNet, as the model zoos state them.
constexpr std::array kImageNetMean{0.485, 0.456, 0.406};
constexpr std::array kImageNetDeviation{0.229, 0.224, 0.225};

bool isAbout(const std::vector<double>& a, const std::vector<double>& b)
{
    constexpr double kTolerance = 1e-6;
    return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin(), [](double x, double y) {
               return std::abs(x - y) <= kTolerance * std::max(1.0, std::abs(y));
           });
}

bool isAll(const std::vector<double>& numbers, double value)
{
    return std::all_of(numbers.begin(), numbers.end(), [&](double number) { return number == value; });
}

} // namespace

void setPreparation(const Preparation& preparation, engine::Question& question)
{
    question.layout = preparation.layout.toStdString();
    question.channels = preparation.channels.toStdString();
    question.pixels = preparation.pixels.toStdString();
    question.frame = preparation.frame.toStdString();
    question.scale = engine::writtenNumbers(std::array{preparation.low, preparation.high});
    question.mean = engine::writtenNumbers(preparation.mean);
    question.deviation = engine::writtenNumbers(preparation.deviation);
}

Preparation preparationOf(const engine::Question& question, Preparation usual)
{
    const auto take = [](const std::string& text, QString& to) {
        to = text.empty() ? to : QString::fromStdString(text);
    };
    const auto takeNumbers = [](const std::vector<std::string>& texts, std::vector<double>& to) {
        const auto numbers = engine::readNumbers(texts);
        to = texts.empty() || !numbers ? to : *numbers;
    };
    take(question.layout, usual.layout);
    take(question.channels, usual.channels);
    take(question.pixels, usual.pixels);
    take(question.frame, usual.frame);
    std::vector<double> scale{usual.low, usual.high};
    takeNumbers(question.scale, scale);
    usual.low = scale.front();
    usual.high = scale.back();
    takeNumbers(question.mean, usual.mean);
    takeNumbers(question.deviation, usual.deviation);
    return usual;
}

Normalisation normalisationOf(const Preparation& preparation)
{
    if (isAll(preparation.mean, 0) && isAll(preparation.deviation, 1)) {
        return Normalisation::None;
    }
    for (const Normalisation preset : {Normalisation::ImageNet, Normalisation::Centred}) {
        Preparation like = preparation;
        normalise(like, preset);
        if (isAbout(preparation.mean, like.mean) && isAbout(preparation.deviation, like.deviation)) {
            return preset;
        }
    }
    return Normalisation::Custom;
}

void normalise(Preparation& preparation, Normalisation preset)
{
    const double range = preparation.high - preparation.low;
    switch (preset) {
    case Normalisation::None:
        preparation.mean.clear();
        preparation.deviation.clear();
        break;
    case Normalisation::ImageNet:
        preparation.mean.clear();
        preparation.deviation.clear();
        for (std::size_t i = 0; i < kImageNetMean.size(); ++i) {
            const std::size_t at = preparation.channels == QLatin1String("BGR") ? 2 - i : i;
            preparation.mean.push_back(preparation.low + kImageNetMean[at] * range);
            preparation.deviation.push_back(kImageNetDeviation[at] * range);
        }
        break;
    case Normalisation::Centred:
        preparation.mean = {preparation.low + range / 2};
        preparation.deviation = {range / 2};
        break;
    case Normalisation::Custom:
        break;
    }
}

QString numbersText(const std::vector<double>& numbers)
{
    QStringList texts;
    for (const double number : numbers) {
        texts << QLocale::c().toString(number, 'g', 6);
    }
    return texts.join(QStringLiteral(", "));
}

bool parseNumbers(const QString& text, std::vector<double>& numbers)
{
    static const QRegularExpression kSeparator(QStringLiteral("[,;\\s]+"));
    std::vector<double> read;
    for (const QString& part : text.split(kSeparator, Qt::SkipEmptyParts)) {
        bool isNumber = false;
        read.push_back(QLocale::c().toDouble(part, &isNumber));
        if (!isNumber || !std::isfinite(read.back())) {
            return false;
        }
    }
    if (read.size() > 3 || read.size() == 2) {
        return false;
    }
    numbers = std::move(read);
    return true;
}

} // namespace retro::views
