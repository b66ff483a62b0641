// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "views/palette/paletteitem.h"

namespace retro::app
{

class Preferences;

/// The settings in the command palette, one line per value: "Colours: dark". The sign is ':'.
class SettingSource final : public views::PaletteSource
{
public:
    explicit SettingSource(Preferences& preferences) : m_preferences(preferences) {}
    [[nodiscard]] QChar sign() const override { return u':'; }
    [[nodiscard]] QString name() const override;
    [[nodiscard]] std::vector<views::PaletteItem> find(const QString& pattern, std::size_t limit) override;

private:
    Preferences& m_preferences;
};

} // namespace retro::app
