// SPDX-License-Identifier: Apache-2.0
#include "app/gui/shell/settingsource.h"

#include "app/gui/shell/preferences.h"
#include "core/base/memorylimit.h"
#include "views/palette/fuzzymatch.h"

#include <cmath>

namespace retro::app
{

namespace
{

/// One value of one setting.
struct Choice
{
    QString text;
    const char* icon;
    bool isNow = false;
    std::function<void()> choose;
    QString note{}; ///< when it takes effect, if not at once
};

void addColours(std::vector<Choice>& choices, Preferences& preferences)
{
    const std::array names{Preferences::tr("Colours: as the desktop"), Preferences::tr("Colours: light"),
                           Preferences::tr("Colours: dark")};
    for (std::size_t i = 0; i < names.size(); ++i) {
        const auto theme = static_cast<views::ThemeChoice>(i);
        choices.push_back({names[i], "theme", preferences.settings().theme == theme,
                           [&preferences, theme] { preferences.setTheme(theme); }});
    }
}

void addTextSizes(std::vector<Choice>& choices, Preferences& preferences)
{
    const auto now = std::lround(preferences.settings().fontScale * 100);
    for (const int percent : Settings::kTextPercents) {
        choices.push_back({Preferences::tr("Size of the text: %1 %").arg(percent), "settings", now == percent,
                           [&preferences, percent] { preferences.setFontScale(percent / 100.0); },
                           Preferences::tr("from the next start on")});
    }
}

/// Some shares of the machine; the preferences take any size.
void addMemory(std::vector<Choice>& choices, Preferences& preferences)
{
    for (const char* share : {"", "25%", "50%", "90%"}) {
        const QString text = QLatin1String(share);
        const QString shown = text.isEmpty() ? QStringLiteral("%1%").arg(base::MemoryLimit::kUsualPercent) : text;
        choices.push_back({Preferences::tr("Memory for tensors: %1 of the machine").arg(shown), "settings",
                           preferences.settings().memory == text,
                           [&preferences, text] { static_cast<void>(preferences.setMemory(text)); },
                           Preferences::tr("from the next job on")});
    }
}

/// "Name: on" and "Name: off".
void addSwitch(std::vector<Choice>& choices, const QString& name, bool isOn, const std::function<void(bool)>& set)
{
    choices.push_back({Preferences::tr("%1: on").arg(name), "settings", isOn, [set] { set(true); }});
    choices.push_back({Preferences::tr("%1: off").arg(name), "settings", !isOn, [set] { set(false); }});
}

std::vector<Choice> choicesOf(Preferences& preferences)
{
    std::vector<Choice> choices;
    addColours(choices, preferences);
    addSwitch(choices, Preferences::tr("Reduced motion"), preferences.settings().isMotionReduced,
              [&preferences](bool isOn) { preferences.setMotionReduced(isOn); });
    addSwitch(choices, Preferences::tr("Sentences under the names of panes"), preferences.settings().hasHints,
              [&preferences](bool isOn) { preferences.setHints(isOn); });
    addTextSizes(choices, preferences);
    addMemory(choices, preferences);
    choices.push_back({Preferences::tr("Keys: as they were at first"), "keyboard",
                       preferences.settings().keys.isEmpty(), [&preferences] { preferences.resetKeys(); }});
    return choices;
}

} // namespace

QString SettingSource::name() const { return Preferences::tr("setting"); }

std::vector<views::PaletteItem> SettingSource::find(const QString& pattern, std::size_t limit)
{
    std::vector<views::PaletteItem> items;
    for (const Choice& choice : choicesOf(m_preferences)) {
        const auto match = views::fuzzyMatch(pattern.toStdU16String(), choice.text.toStdU16String());
        if (!match) {
            continue;
        }
        views::PaletteItem item;
        item.text = choice.text;
        item.detail = choice.isNow ? Preferences::tr("now") : choice.note;
        item.icon = QLatin1String(choice.icon);
        item.score = match->score;
        item.places = match->places;
        item.run = [choose = choice.choose](bool /*isFar*/) { choose(); };
        items.push_back(std::move(item));
    }
    views::keepBest(items, limit);
    return items;
}

} // namespace retro::app
