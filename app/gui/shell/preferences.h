// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QObject>

#include "app/gui/shell/keyschemes.h"
#include "app/gui/shell/settings.h"

class QSettings;

namespace retro::views
{
class ActionRegistry;
}

namespace retro::app
{

class RecentFiles;
class Workspace;

/// Keeps the settings, applies each as it changes, and writes them when it was given a store. Without one (tests,
/// pictures of the window) nothing is remembered. GUI thread.
class Preferences final : public QObject
{
    Q_OBJECT

public:
    Preferences(views::ActionRegistry& actions, RecentFiles& recent, QList<Workspace*> spaces,
                QObject* parent = nullptr);

    /// Reads and applies what `store` has, and writes every change to it from now on. It must outlive this.
    void useStore(QSettings& store);
    [[nodiscard]] const Settings& settings() const { return m_settings; }

    void setTheme(views::ThemeChoice theme);
    void setHints(bool hasHints);
    void setMotionReduced(bool isReduced);
    /// 1 = 13 px; everything on screen follows at once.
    void setFontScale(double scale);
    /// What tensors may take: a size or a share of the machine's memory as base::parseBytesOrShare() reads it; empty =
    /// the usual share. False, and nothing changes, when it is neither.
    [[nodiscard]] bool setMemory(const QString& text);
    /// Gives the key to the action and takes it from whoever had it.
    void setKey(const QString& id, const QKeySequence& key);
    /// Every action gets the key of the scheme, or the one that it was made with.
    void useScheme(const KeyScheme& scheme);
    /// Every action gets back the key that it was made with.
    void resetKeys();
    /// Puts the workspaces back as they were left; false when nothing (or nothing that fits) was remembered.
    bool restoreLayouts();
    /// Remembers how the workspaces are arranged.
    void saveLayouts();

signals:
    void changed();

private:
    void apply();
    void applyKeys();
    void keepKey(const QString& id);
    void write();

    views::ActionRegistry& m_actions;
    RecentFiles& m_recent;
    QList<Workspace*> m_spaces;
    QSettings* m_store = nullptr;
    Settings m_settings;
};

} // namespace retro::app
