// SPDX-License-Identifier: Apache-2.0
#include "views/common/actions.h"

#include "views/common/paint/icons.h"

#include <QCoreApplication>

#include <algorithm>

namespace retro::views
{

namespace
{

QString actionText(const char* text) { return QCoreApplication::translate("retro::views::actions", text); }

QString tipWithKey(const QString& tip, const QKeySequence& key)
{
    return key.isEmpty() ? tip : QStringLiteral("%1 (%2)").arg(tip, key.toString(QKeySequence::NativeText));
}

} // namespace

QAction* ActionRegistry::add(const ActionSpec& spec)
{
    const QString id = QString::fromLatin1(spec.id);
    Q_ASSERT_X(!m_byId.contains(id), "ActionRegistry::add", spec.id);
    auto* action = new QAction(actionText(spec.text), this);
    const QKeySequence key = QKeySequence::fromString(QString::fromLatin1(spec.key), QKeySequence::PortableText);
    action->setObjectName(id);
    action->setShortcut(key);
    action->setToolTip(tipWithKey(actionText(spec.tip), key));
    action->setStatusTip(actionText(spec.tip));
    action->setIcon(icons::icon(QString::fromLatin1(spec.icon)));
    action->setIconVisibleInMenu(false);
    action->setCheckable(spec.isCheckable);
    m_byId.insert(id, action);
    m_defaultKeys.insert(id, key);
    m_icons.insert(id, QString::fromLatin1(spec.icon));
    connect(action, &QAction::triggered, this, [this, id] {
        m_used.removeAll(id);
        m_used.prepend(id);
        m_used = m_used.mid(0, kUsedCount);
    });
    m_all.push_back(action);
    return action;
}

void ActionRegistry::addAll(std::span<const ActionSpec> specs)
{
    for (const ActionSpec& spec : specs) {
        add(spec);
    }
}

QAction& ActionRegistry::at(const QString& id) const
{
    QAction* action = find(id);
    Q_ASSERT_X(action != nullptr, "ActionRegistry::at", qPrintable(id));
    return *action;
}

void ActionRegistry::setKey(const QString& id, const QKeySequence& key)
{
    QAction& action = at(id);
    action.setShortcut(key);
    action.setToolTip(tipWithKey(action.statusTip(), key));
    emit keyChanged(id);
}

QAction* ActionRegistry::ownerOf(const QKeySequence& key, const QString& except) const
{
    const auto owns = [&](const QAction* action) {
        return action->shortcut() == key && action->objectName() != except;
    };
    const auto at = key.isEmpty() ? m_all.end() : std::find_if(m_all.begin(), m_all.end(), owns);
    return at == m_all.end() ? nullptr : *at;
}

QString ActionRegistry::plainText(const QAction& action)
{
    QString text = action.text();
    text.remove(QLatin1Char('&'));
    if (text.endsWith(QStringLiteral("…"))) {
        text.chop(1);
    }
    return text;
}

QStringList ActionRegistry::problems() const
{
    QStringList found;
    QHash<QString, QString> idOfKey;
    for (const QAction* action : m_all) {
        const QString id = action->objectName();
        if (action->text().isEmpty()) {
            found.append(id + QStringLiteral(": no text"));
        }
        if (action->statusTip().isEmpty()) {
            found.append(id + QStringLiteral(": no tip"));
        }
        if (action->icon().isNull()) {
            found.append(id + QStringLiteral(": no icon"));
        }
        const QString key = action->shortcut().toString(QKeySequence::PortableText);
        if (!key.isEmpty() && idOfKey.contains(key)) {
            found.append(QStringLiteral("%1: key %2 belongs to %3").arg(id, key, idOfKey.value(key)));
        }
        idOfKey.insert(key, id);
    }
    return found;
}

} // namespace retro::views

#include "moc_actions.cpp"
