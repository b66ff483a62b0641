// SPDX-License-Identifier: Apache-2.0
#include "views/run/rulesetting.h"

#include <QCoreApplication>
#include <QLocale>
#include <QStringList>

#include <algorithm>
#include <cmath>

namespace retro::views
{

namespace
{

QString translated(const char* text) { return QCoreApplication::translate("retro::views::RunPanel", text); }

RuleSetting epsilon(double usual)
{
    return {QStringLiteral("epsilon"),
            translated("Epsilon"),
            translated("Added to what is divided by: larger values mute weak evidence"),
            1e-12,
            1,
            usual,
            true};
}

QStringList parametersOf(const QString& specification)
{
    return specification.section(QLatin1Char(':'), 1).split(QLatin1Char(','), Qt::SkipEmptyParts);
}

} // namespace

double RuleSetting::at(int position) const
{
    const double share = static_cast<double>(position) / kSliderSteps;
    if (!isPowers) {
        return least + share * (most - least);
    }
    const double power = std::log10(least) + share * (std::log10(most) - std::log10(least));
    // One significant digit: 1e-6, 3e-6 and not 9.9999e-7.
    const double whole = std::floor(power + 1e-9);
    return std::max(1.0, std::round(std::pow(10, power - whole))) * std::pow(10, whole);
}

int RuleSetting::positionOf(double value) const
{
    const double fitting = std::clamp(value, least, most);
    const double share = isPowers ? (std::log10(fitting) - std::log10(least)) / (std::log10(most) - std::log10(least))
                                  : (fitting - least) / (most - least);
    return static_cast<int>(std::lround(share * kSliderSteps));
}

std::vector<RuleSetting> settingsOf(const QString& composite)
{
    constexpr double kUsualEpsilon = 1e-6;
    if (composite == QLatin1String("epsilon_gamma_box")) {
        return {epsilon(kUsualEpsilon),
                {QStringLiteral("gamma"), translated("Gamma"),
                 translated("How much positive weights are favoured in convolutions"), 0, 3, 0.25, false}};
    }
    if (composite.startsWith(QLatin1String("epsilon")) || composite == QLatin1String("excitation_backprop")) {
        return {epsilon(kUsualEpsilon)};
    }
    if (composite == QLatin1String("dynamic")) {
        return {epsilon(1e-11)};
    }
    if (composite == QLatin1String("beta_smooth")) {
        return {{QStringLiteral("beta"), translated("Beta"), translated("How sharp the smoothed activation is"), 1, 61,
                 10, false}};
    }
    return {};
}

QString baseOf(const QString& specification) { return specification.section(QLatin1Char(':'), 0, 0); }

std::optional<double> settingIn(const QString& specification, const QString& key)
{
    for (const QString& parameter : parametersOf(specification)) {
        if (parameter.section(QLatin1Char('='), 0, 0).trimmed() == key) {
            bool isNumber = false;
            const double value = QLocale::c().toDouble(parameter.section(QLatin1Char('='), 1).trimmed(), &isNumber);
            return isNumber ? std::optional(value) : std::nullopt;
        }
    }
    return std::nullopt;
}

QString withSetting(const QString& specification, const QString& key, std::optional<double> value)
{
    QStringList parameters = parametersOf(specification);
    parameters.removeIf(
        [&](const QString& parameter) { return parameter.section(QLatin1Char('='), 0, 0).trimmed() == key; });
    if (value) {
        parameters << key + QLatin1Char('=') + QLocale::c().toString(*value, 'g', 6);
    }
    const QString base = baseOf(specification);
    return parameters.isEmpty() ? base : base + QLatin1Char(':') + parameters.join(QLatin1Char(','));
}

} // namespace retro::views
