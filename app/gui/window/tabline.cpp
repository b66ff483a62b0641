// SPDX-License-Identifier: Apache-2.0
#include "app/gui/window/tabline.h"

#include "views/common/paint/fonts.h"
#include "views/common/widgets/elidedlabel.h"
#include "views/common/widgets/hintlabel.h"

#include <QPainter>

#include <algorithm>

namespace retro::app
{

using views::fonts::px;

namespace
{
constexpr double kLineMargin = 10; // design pixels
constexpr double kLineGap = 8;
constexpr double kMostName = 0.62; // of the width, for name and subject each
} // namespace

TabLine::TabLine(QWidget* parent) : QWidget(parent)
{
    m_hint = new views::HintLabel(this); // below the others: its first line begins behind them
    m_name = new views::ElidedLabel({}, views::Role::Text, views::fonts::label(QFont::DemiBold), this);
    m_subject = new views::ElidedLabel({}, views::Role::Text3, views::fonts::label(), this);
    setSizePolicy(QSizePolicy::Preferred, QSizePolicy::Fixed);
}

void TabLine::setCaption(const DockCaption& caption, const QString& tab)
{
    const QString name = caption.name == tab ? QString() : caption.name;
    m_name->setText(name);
    m_name->setVisible(!name.isEmpty());
    m_subject->setText(caption.subject);
    m_subject->setVisible(!caption.subject.isEmpty());
    m_hint->setText(caption.hint);
    m_hint->setVisible(!caption.hint.isEmpty());
    m_hasWords = !(name + caption.subject + caption.hint).isEmpty();
    arrange();
    updateGeometry();
}

void TabLine::resizeEvent(QResizeEvent* event)
{
    QWidget::resizeEvent(event);
    arrange();
    updateGeometry(); // another width may need another line
}

void TabLine::arrange()
{
    const int margin = px(kLineMargin);
    const int room = std::max(0, width() - 2 * margin);
    int indent = 0;
    for (views::ElidedLabel* label : {m_name, m_subject}) {
        if (!label->isHidden()) {
            const int most = std::min(room - indent, static_cast<int>(room * kMostName));
            const int wide = std::clamp(label->sizeHint().width(), 0, std::max(0, most));
            label->setGeometry(margin + indent, 0, wide, px(24));
            indent += wide + px(kLineGap);
        }
    }
    m_hint->setFirstIndent(indent);
    m_hint->setGeometry(margin, 0, room, m_hint->isHidden() ? 0 : m_hint->sizeHint().height());
}

QSize TabLine::sizeHint() const
{
    const int hint = m_hint->isHidden() ? 0 : m_hint->sizeHint().height();
    return {m_hint->isHidden() ? m_name->sizeHint().width() + m_subject->sizeHint().width() + 2 * px(kLineMargin)
                               : m_hint->sizeHint().width() + 2 * px(kLineMargin),
            m_hasWords ? std::max(px(24), hint) : 0};
}

QSize TabLine::minimumSizeHint() const { return {px(60), sizeHint().height()}; }

void TabLine::paintEvent(QPaintEvent* /*event*/)
{
    QPainter(this).fillRect(rect(), views::theme(this)[views::Role::Base]);
}

} // namespace retro::app
