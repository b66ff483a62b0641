// SPDX-License-Identifier: Apache-2.0
// What the event log keeps: filters that were saved, and the part of the run that it lists.
#include "views/common/run/timerange.h"
#include "views/common/widgets/rangechip.h"
#include "views/log/logfilter.h"
#include "views/log/logview.h"

#include <QDataStream>
#include <QIODevice>
#include <QMenu>
#include <QToolButton>

namespace retro::views
{

namespace
{
constexpr quint32 kStateMark = 0x4c4f4732; // "LOG2"
}

void LogView::followRange(TimeRange& range)
{
    m_range = &range;
    m_chip->follow(range);
    connect(&range, &TimeRange::changed, this, &LogView::applyFilter);
    applyFilter();
}

QWidget* LogView::makeSavedButton(QWidget* parent)
{
    auto* button = new QToolButton(parent);
    button->setObjectName(QStringLiteral("savedfilters"));
    button->setText(tr("Filters ▾"));
    button->setToolTip(tr("Saved filters, and saving the present one"));
    button->setAccessibleName(tr("Saved filters"));
    button->setAutoRaise(true);
    button->setPopupMode(QToolButton::InstantPopup);
    auto* menu = new QMenu(button);
    button->setMenu(menu);
    connect(menu, &QMenu::aboutToShow, this, [this, menu] {
        menu->clear();
        fillSavedMenu(*menu);
    });
    return button;
}

void LogView::fillSavedMenu(QMenu& menu)
{
    const QString now = m_filter->text().simplified();
    const bool isSaved = m_saved.contains(now);
    const auto filter = LogFilter::parse(now);
    QAction* save = menu.addAction(isSaved ? tr("Forget this filter") : tr("Save this filter"));
    save->setObjectName(QStringLiteral("log.savefilter"));
    save->setEnabled(filter.ok() && !filter->isEmpty());
    connect(save, &QAction::triggered, this, &LogView::toggleSaved);
    menu.addSeparator();
    for (const QString& text : m_saved) {
        QAction* one = menu.addAction(QString(text).replace(QLatin1Char('&'), QStringLiteral("&&")));
        one->setObjectName(QStringLiteral("log.filter"));
        one->setCheckable(true);
        one->setChecked(text == now);
        connect(one, &QAction::triggered, this, [this, text] { setFilter(text); });
    }
    if (m_saved.isEmpty()) {
        menu.addAction(tr("No filter is saved yet"))->setEnabled(false);
    }
}

void LogView::toggleSaved()
{
    const QString now = m_filter->text().simplified();
    const auto filter = LogFilter::parse(now);
    if (!filter.ok() || filter->isEmpty()) {
        return;
    }
    if (m_saved.removeAll(now) == 0) {
        m_saved.prepend(now);
        m_saved = m_saved.mid(0, kMostSaved);
    }
}

QByteArray LogView::saveState() const
{
    QByteArray bytes;
    QDataStream out(&bytes, QIODevice::WriteOnly);
    out.setVersion(QDataStream::Qt_6_4);
    out << kStateMark << m_filter->text() << m_saved;
    return bytes;
}

void LogView::restoreState(const QByteArray& state)
{
    QDataStream in(state);
    in.setVersion(QDataStream::Qt_6_4);
    quint32 mark = 0;
    QString filter;
    QStringList saved;
    in >> mark >> filter >> saved;
    if (in.status() == QDataStream::Ok && mark == kStateMark) {
        m_saved = saved.mid(0, kMostSaved);
        setFilter(filter);
    }
}

} // namespace retro::views
