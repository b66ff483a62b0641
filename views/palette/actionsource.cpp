// SPDX-License-Identifier: Apache-2.0
#include "views/palette/actionsource.h"

#include "views/palette/fuzzymatch.h"

#include <QCoreApplication>

#include <algorithm>

namespace retro::views
{

namespace
{

/// Score of a use: the last one counts most; never more than a good fit of two letters.
constexpr int kRecent = 20;
constexpr int kDisabled = -1000;

int recency(const QStringList& used, const QString& id)
{
    const auto at = static_cast<int>(used.indexOf(id));
    return at < 0 ? 0 : std::max(1, kRecent - at);
}

} // namespace

QString ActionSource::name() const { return QCoreApplication::translate("retro::views::ActionSource", "action"); }

std::vector<PaletteItem> ActionSource::find(const QString& pattern, std::size_t limit)
{
    const std::u16string letters = pattern.toStdU16String();
    std::vector<PaletteItem> items;
    for (QAction* action : m_actions.all()) {
        const QString text = ActionRegistry::plainText(*action);
        const auto match = fuzzyMatch(letters, text.toStdU16String());
        if (!match || !action->isVisible() || action->objectName() == m_except) {
            continue;
        }
        PaletteItem item;
        item.text = text;
        item.detail = action->statusTip();
        item.key = action->shortcut().toString(QKeySequence::NativeText);
        item.icon = m_actions.iconName(action->objectName());
        item.isEnabled = action->isEnabled();
        item.score = match->score + recency(m_actions.used(), action->objectName()) + (item.isEnabled ? 0 : kDisabled);
        item.places = match->places;
        item.run = [action](bool /*isFar*/) { action->trigger(); };
        items.push_back(std::move(item));
    }
    keepBest(items, limit);
    return items;
}

} // namespace retro::views
