// SPDX-License-Identifier: Apache-2.0
#include "app/gui/shell/preferences.h"

#include "app/gui/shell/recentfiles.h"
#include "app/gui/window/workspace.h"
#include "core/base/bytesize.h"
#include "core/base/memorylimit.h"
#include "views/common/actions.h"
#include "views/common/paint/motion.h"
#include "views/common/paint/textsize.h"
#include "views/common/view.h"

#include <QApplication>
#include <QList>
#include <QMainWindow>
#include <QSettings>

#include <algorithm>

class QSettings;

namespace retro::app
{

namespace
{

/// "views/engine/LogView": a workspace has one view of a kind.
QString keyOf(const Workspace& space, const views::View& view)
{
    const QString name = QString::fromLatin1(view.metaObject()->className()).section(QStringLiteral("::"), -1);
    return QStringLiteral("views/%1/%2").arg(space.id(), name);
}

/// Writes what the views of the workspaces keep of themselves: filters, colours, columns.
void saveViewStates(QSettings& store, const QList<Workspace*>& spaces)
{
    for (const Workspace* space : spaces) {
        for (const views::View* view : space->views()) {
            const QByteArray state = view->saveState();
            if (state.isEmpty()) {
                store.remove(keyOf(*space, *view));
            } else {
                store.setValue(keyOf(*space, *view), state);
            }
        }
    }
}

/// Gives it back to them; views ignore what they do not understand.
void restoreViewStates(const QSettings& store, const QList<Workspace*>& spaces)
{
    for (const Workspace* space : spaces) {
        for (views::View* view : space->views()) {
            if (const QByteArray state = store.value(keyOf(*space, *view)).toByteArray(); !state.isEmpty()) {
                view->restoreState(state);
            }
        }
    }
}

/// Number of the arrangement of docks: goes up when docks come, go or are renamed, so that an old layout is not used.
constexpr int kLayoutVersion = 6;

QString layoutName(const Workspace& space) { return QStringLiteral("layout/") + space.id(); }

/// Whether a person has chosen the sizes of the docks.
QString arrangedName(const Workspace& space) { return QStringLiteral("arranged/") + space.id(); }

} // namespace

Preferences::Preferences(views::ActionRegistry& actions, RecentFiles& recent, QList<Workspace*> spaces, QObject* parent)
    : QObject(parent), m_actions(actions), m_recent(recent), m_spaces(std::move(spaces))
{
    m_settings.theme = views::ThemeHub::instance().choice();
    connect(&recent, &RecentFiles::changed, this, [this] {
        m_settings.recentFiles = m_recent.files();
        write();
    });
    for (const QAction* action : actions.all()) {
        connect(action, &QAction::triggered, this, [this] {
            m_settings.usedActions = m_actions.used();
            write();
        });
    }
}

void Preferences::useStore(QSettings& store)
{
    m_store = nullptr; // what is being applied needs not be written
    m_settings = readSettings(store);
    apply();
    m_store = &store;
}

void Preferences::apply()
{
    const Settings settings = m_settings;
    m_actions.setUsed(settings.usedActions);
    m_recent.setFiles(settings.recentFiles);
    setTheme(settings.theme);
    setHints(settings.hasHints);
    setMotionReduced(settings.isMotionReduced);
    if (!setMemory(settings.memory)) {
        static_cast<void>(setMemory({})); // the file was changed by hand
    }
    applyKeys();
    const QString memory = m_settings.memory;
    m_settings = settings;
    m_settings.memory = memory;
    emit changed();
}

void Preferences::applyKeys()
{
    for (auto at = m_settings.keys.begin(); at != m_settings.keys.end(); ++at) {
        if (m_actions.find(at.key()) != nullptr) {
            m_actions.setKey(at.key(), QKeySequence::fromString(at.value(), QKeySequence::PortableText));
        }
    }
}

void Preferences::setTheme(views::ThemeChoice theme)
{
    m_settings.theme = theme;
    views::ThemeHub::instance().setChoice(theme);
    write();
    emit changed();
}

void Preferences::setHints(bool hasHints)
{
    m_settings.hasHints = hasHints;
    for (Workspace* space : m_spaces) {
        space->setHintsShown(hasHints);
    }
    write();
    emit changed();
}

void Preferences::setMotionReduced(bool isReduced)
{
    m_settings.isMotionReduced = isReduced;
    views::setMotionReduced(isReduced);
    for (const Qt::UIEffect effect : {Qt::UI_AnimateMenu, Qt::UI_FadeMenu, Qt::UI_AnimateCombo, Qt::UI_AnimateTooltip,
                                      Qt::UI_FadeTooltip, Qt::UI_AnimateToolBox}) {
        QApplication::setEffectEnabled(effect, !isReduced);
    }
    static const int kFlashTime = QApplication::cursorFlashTime(); // as the desktop has it
    QApplication::setCursorFlashTime(isReduced ? 0 : kFlashTime);
    for (Workspace* space : m_spaces) {
        if (auto* window = qobject_cast<QMainWindow*>(space->window())) {
            window->setAnimated(!isReduced);
        }
    }
    write();
    emit changed();
}

void Preferences::setFontScale(double scale)
{
    m_settings.fontScale = std::clamp(scale, Settings::kLeastFontScale, Settings::kMostFontScale);
    views::setTextSize(m_settings.fontScale);
    for (Workspace* space : m_spaces) {
        space->takeSizes();
    }
    write();
    emit changed();
}

bool Preferences::setMemory(const QString& text)
{
    const QString plain = text.trimmed();
    std::optional<std::uint64_t> bytes;
    if (!plain.isEmpty()) {
        const auto parsed = base::parseBytesOrShare(plain.toStdString(), base::machineMemory().total);
        if (!parsed.ok() || *parsed == 0) {
            return false;
        }
        bytes = *parsed;
    }
    base::MemoryLimit::choose(bytes);
    m_settings.memory = plain;
    write();
    emit changed();
    return true;
}

void Preferences::keepKey(const QString& id)
{
    const QKeySequence key = m_actions.at(id).shortcut();
    if (key == m_actions.defaultKey(id)) {
        m_settings.keys.remove(id);
    } else {
        m_settings.keys.insert(id, key.toString(QKeySequence::PortableText));
    }
}

void Preferences::setKey(const QString& id, const QKeySequence& key)
{
    if (const QAction* owner = m_actions.ownerOf(key, id)) {
        const QString other = owner->objectName();
        m_actions.setKey(other, {});
        keepKey(other);
    }
    m_actions.setKey(id, key);
    keepKey(id);
    write();
    emit changed();
}

void Preferences::resetKeys()
{
    m_settings.keys.clear();
    for (const QAction* action : m_actions.all()) {
        m_actions.setKey(action->objectName(), m_actions.defaultKey(action->objectName()));
    }
    write();
    emit changed();
}

void Preferences::useScheme(const KeyScheme& scheme)
{
    resetKeys();
    for (const auto& [id, key] : scheme.keys) {
        setKey(id, key);
    }
}

bool Preferences::restoreLayouts()
{
    bool isRestored = false;
    for (Workspace* space : m_spaces) {
        const QByteArray layout = m_store == nullptr ? QByteArray() : m_store->value(layoutName(*space)).toByteArray();
        const bool isArranged = m_store != nullptr && m_store->value(arrangedName(*space), false).toBool();
        isRestored = (!layout.isEmpty() && space->takeLayout(layout, kLayoutVersion, isArranged)) || isRestored;
    }
    if (m_store != nullptr) {
        restoreViewStates(*m_store, m_spaces);
    }
    return isRestored;
}

void Preferences::saveLayouts()
{
    if (m_store != nullptr) {
        saveViewStates(*m_store, m_spaces);
    }
    for (const Workspace* space : m_spaces) {
        if (m_store != nullptr && space->wasShown()) {
            m_store->setValue(layoutName(*space), space->layout(kLayoutVersion));
            m_store->setValue(arrangedName(*space), space->isArranged());
        }
    }
}

void Preferences::write()
{
    if (m_store != nullptr) {
        writeSettings(*m_store, m_settings);
    }
}

} // namespace retro::app

#include "moc_preferences.cpp"
