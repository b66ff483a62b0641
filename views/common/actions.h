// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QAction>
#include <QHash>
#include <QKeySequence>
#include <QObject>
#include <QString>
#include <QStringList>

#include <span>
#include <vector>

namespace retro::views
{

/// What an action is; menus, tool bar, palette, shortcut page and help read it from the registry.
struct ActionSpec
{
    const char* id;   ///< "run.forward"
    const char* text; ///< English source text, translated on registration
    const char* tip;
    const char* icon; ///< name of a drawing (icons.h)
    const char* key;  ///< portable text, "F11"; empty = none
    bool isCheckable = false;
};

/// Every action of the window, each made once. GUI thread; owns its actions.
class ActionRegistry final : public QObject
{
    Q_OBJECT

public:
    explicit ActionRegistry(QObject* parent = nullptr) : QObject(parent) {}

    /// Makes an action. Asking twice for one id is a programming error (assertion).
    QAction* add(const ActionSpec& spec);
    void addAll(std::span<const ActionSpec> specs);
    /// The action of that id; null when there is none.
    [[nodiscard]] QAction* find(const QString& id) const { return m_byId.value(id, nullptr); }
    /// The action of that id, which must exist.
    [[nodiscard]] QAction& at(const QString& id) const;
    /// In order of registration.
    [[nodiscard]] const std::vector<QAction*>& all() const { return m_all; }
    /// What is wrong with the registered actions, one line each: no text, no tip, no icon, a key used twice.
    [[nodiscard]] QStringList problems() const;

private:
    QHash<QString, QAction*> m_byId;
    std::vector<QAction*> m_all;
};

/// The actions of the window that belong to no single view: file, run, go, view, export, help.
[[nodiscard]] std::span<const ActionSpec> standardActions();

} // namespace retro::views
