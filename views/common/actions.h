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

/// A text of an action, marked for translation in the context in which ActionRegistry translates it.
#define RETRO_ACTION(text) QT_TRANSLATE_NOOP("retro::views::actions", text)

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

/// Every action of the window, each made once; knows its key at first, its key now, and what was used last. GUI thread;
/// owns its actions.
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

    /// Gives an action another key (empty = none). The one that had it keeps it: ask ownerOf() before.
    void setKey(const QString& id, const QKeySequence& key);
    /// The key that the action was made with.
    [[nodiscard]] QKeySequence defaultKey(const QString& id) const { return m_defaultKeys.value(id); }
    /// The action that a key belongs to, other than `except`; null when it is free.
    [[nodiscard]] QAction* ownerOf(const QKeySequence& key, const QString& except = {}) const;
    /// Name of the drawing that the action was made with.
    [[nodiscard]] QString iconName(const QString& id) const { return m_icons.value(id); }
    /// Text without the marks of menus: "Open".
    [[nodiscard]] static QString plainText(const QAction& action);

    /// Ids of the actions that were used last, the newest first, at most kUsedCount.
    [[nodiscard]] const QStringList& used() const { return m_used; }
    void setUsed(const QStringList& ids) { m_used = ids; }
    static constexpr int kUsedCount = 20;

signals:
    void keyChanged(const QString& id);

private:
    QHash<QString, QAction*> m_byId;
    QHash<QString, QKeySequence> m_defaultKeys;
    QHash<QString, QString> m_icons;
    std::vector<QAction*> m_all;
    QStringList m_used;
};

/// The actions of the window that belong to no single view: file, run, go, view, export, help.
[[nodiscard]] std::span<const ActionSpec> standardActions();

} // namespace retro::views
