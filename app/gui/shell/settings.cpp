// SPDX-License-Identifier: Apache-2.0
#include "app/gui/shell/settings.h"

#include <QSettings>

#include <algorithm>
#include <cmath>

namespace retro::app
{

namespace
{

const QString kTheme = QStringLiteral("theme");
const QString kHints = QStringLiteral("hints");
const QString kMotion = QStringLiteral("reducedMotion");
const QString kFontScale = QStringLiteral("fontScale");
const QString kMemory = QStringLiteral("memory");
const QString kKeys = QStringLiteral("keys");
const QString kRecent = QStringLiteral("recentFiles");
const QString kUsed = QStringLiteral("usedActions");

QStringList themeNames() { return {QStringLiteral("system"), QStringLiteral("light"), QStringLiteral("dark")}; }

template <class T>
void write(QSettings& store, const QString& name, const T& value, const T& fallback)
{
    if (value == fallback) {
        store.remove(name);
    } else {
        store.setValue(name, QVariant::fromValue(value));
    }
}

double readScale(const QSettings& store)
{
    const double scale = store.value(kFontScale, 1.0).toDouble();
    return std::isfinite(scale) && scale > 0 ? std::clamp(scale, Settings::kLeastFontScale, Settings::kMostFontScale)
                                             : 1.0;
}

} // namespace

Settings readSettings(const QSettings& store)
{
    Settings settings;
    const auto theme = themeNames().indexOf(store.value(kTheme).toString());
    settings.theme = theme < 0 ? settings.theme : static_cast<views::ThemeChoice>(theme);
    settings.hasHints = store.value(kHints, settings.hasHints).toBool();
    settings.isMotionReduced = store.value(kMotion, settings.isMotionReduced).toBool();
    settings.fontScale = readScale(store);
    settings.memory = store.value(kMemory).toString();
    const QVariantMap keys = store.value(kKeys).toMap();
    for (auto at = keys.begin(); at != keys.end(); ++at) {
        settings.keys.insert(at.key(), at.value().toString());
    }
    settings.recentFiles = store.value(kRecent).toStringList();
    settings.usedActions = store.value(kUsed).toStringList();
    return settings;
}

void writeSettings(QSettings& store, const Settings& settings)
{
    const Settings first;
    write(store, kTheme, themeNames().at(static_cast<int>(settings.theme)), themeNames().front());
    write(store, kHints, settings.hasHints, first.hasHints);
    write(store, kMotion, settings.isMotionReduced, first.isMotionReduced);
    write(store, kFontScale, settings.fontScale, first.fontScale);
    write(store, kMemory, settings.memory, first.memory);
    QVariantMap keys;
    for (auto at = settings.keys.begin(); at != settings.keys.end(); ++at) {
        keys.insert(at.key(), at.value());
    }
    write(store, kKeys, keys, QVariantMap());
    write(store, kRecent, settings.recentFiles, first.recentFiles);
    write(store, kUsed, settings.usedActions, first.usedActions);
}

} // namespace retro::app
