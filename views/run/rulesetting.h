// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QString>

#include <optional>
#include <vector>

namespace retro::views
{

/// A number of a composite that a person may turn.
struct RuleSetting
{
    QString key;   ///< "epsilon", as in the composite's text
    QString title; ///< "Epsilon"
    QString tip;
    double least = 0;
    double most = 1;
    double usual = 0;      ///< what the composite takes by itself
    bool isPowers = false; ///< the slider walks in powers of ten

    /// Value at a position of the slider, 0…kSliderSteps, and back (nearest).
    [[nodiscard]] double at(int position) const;
    [[nodiscard]] int positionOf(double value) const;
};
inline constexpr int kSliderSteps = 120;

/// The settings of a built-in composite, by name without parameters; none for composites without numbers.
[[nodiscard]] std::vector<RuleSetting> settingsOf(const QString& composite);

/// "epsilon_plus:epsilon=0.1,bias=zero" → "epsilon_plus".
[[nodiscard]] QString baseOf(const QString& specification);
/// The number given for a key; none when it is not given.
[[nodiscard]] std::optional<double> settingIn(const QString& specification, const QString& key);
/// The specification with a key set, or without it when `value` is none; other parameters stay as they are.
[[nodiscard]] QString withSetting(const QString& specification, const QString& key, std::optional<double> value);

} // namespace retro::views
