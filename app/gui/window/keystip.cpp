// SPDX-License-Identifier: Apache-2.0
#include "app/gui/window/keystip.h"

#include "app/gui/shell/keyschemes.h"
#include "app/gui/shell/preferences.h"
#include "app/gui/window/callout.h"
#include "views/common/actions.h"

#include <QAction>
#include <QApplication>
#include <QKeyEvent>
#include <QSettings>

#include <algorithm>

namespace retro::app
{

namespace
{

const QString kRead = QStringLiteral("tips/keys");

} // namespace

KeysTip::KeysTip(QWidget& window, QWidget& target, const views::ActionRegistry& actions, Preferences& preferences,
                 QSettings& store)
    : QObject(&window), m_window(window), m_target(target), m_actions(actions), m_preferences(preferences),
      m_store(store), m_callOut(new CallOut(window))
{
    connect(m_callOut, &CallOut::nextRequested, this, [this] { end(false); });
    connect(m_callOut, &CallOut::backRequested, this, [this] { end(true); });
}

void KeysTip::offerOnce()
{
    if (m_store.value(kRead, false).toBool() || !hasFirstKeys()) {
        return;
    }
    m_callOut->setWords(tr("Shift is the same thing backwards"),
                        tr("%1 goes one step on and %2 one step back; it is so for every key of the Go menu. To step "
                           "out, as %2 does in Visual Studio, press %3.")
                            .arg(keyOf("go.forward"), keyOf("go.back"), keyOf("go.out")));
    m_callOut->setButtons({}, tr("Use Visual Studio's keys"), tr("Got it"));
    m_callOut->pointAt({m_target.mapTo(m_target.window(), QPoint()), m_target.size()});
    qApp->installEventFilter(this);
}

void KeysTip::hide()
{
    m_callOut->hide();
    qApp->removeEventFilter(this);
}

bool KeysTip::eventFilter(QObject* watched, QEvent* event)
{
    const bool isKey = event->type() == QEvent::ShortcutOverride || event->type() == QEvent::KeyPress;
    if (!isKey || static_cast<QKeyEvent*>(event)->key() != Qt::Key_Escape || m_callOut->isHidden()) {
        return QObject::eventFilter(watched, event);
    }
    const QWidget* focus = QApplication::focusWidget();
    const bool isElsewhere = QApplication::activePopupWidget() != nullptr ||
                             QApplication::activeModalWidget() != nullptr ||
                             (focus != nullptr && focus->window() != &m_window);
    if (isElsewhere) {
        return QObject::eventFilter(watched, event);
    }
    event->accept();
    if (event->type() == QEvent::KeyPress) {
        end(false);
    }
    return true;
}

void KeysTip::end(bool takesOtherKeys)
{
    hide();
    m_store.setValue(kRead, true);
    if (takesOtherKeys) {
        m_preferences.useScheme(keySchemes().back());
    }
}

QString KeysTip::keyOf(const char* action) const
{
    const QKeySequence key = m_actions.at(QString::fromLatin1(action)).shortcut();
    return key.isEmpty() ? tr("no key") : key.toString(QKeySequence::NativeText);
}

bool KeysTip::hasFirstKeys() const
{
    const std::vector<QAction*>& all = m_actions.all();
    return std::all_of(all.begin(), all.end(), [this](const QAction* action) {
        return action->shortcut() == m_actions.defaultKey(action->objectName());
    });
}

} // namespace retro::app

#include "moc_keystip.cpp"
