// SPDX-License-Identifier: Apache-2.0
#include "views/graph/graphfind.h"

#include "views/common/paint/fonts.h"
#include "views/common/paint/icons.h"
#include "views/common/paint/theme.h"
#include "views/common/widgets/boxes.h"
#include "views/graph/graphoverlays.h"
#include "views/graph/graphsearch.h"

#include <QHBoxLayout>
#include <QKeyEvent>
#include <QLabel>
#include <QLineEdit>
#include <QPainter>
#include <QToolButton>

namespace retro::views
{

namespace
{

QToolButton* makeButton(const QString& text, const QString& icon, const QString& tip, QWidget* parent)
{
    auto* button = new QToolButton(parent);
    button->setAutoRaise(true);
    button->setText(text);
    if (!icon.isEmpty()) {
        button->setIcon(icons::icon(icon));
    }
    button->setToolTip(tip);
    button->setAccessibleName(tip);
    button->setFocusPolicy(Qt::TabFocus);
    return button;
}

} // namespace

GraphFind::GraphFind(QWidget* parent) : QWidget(parent)
{
    auto* row = makeBox<QHBoxLayout>(this, {fonts::px(6), fonts::px(4), fonts::px(4), fonts::px(4)}, fonts::px(4));
    m_line = new QLineEdit(this);
    m_line->setPlaceholderText(tr("Name, op:Conv, scope:layer.1"));
    m_line->setAccessibleName(tr("Find nodes by name, operator type or scope"));
    m_line->setToolTip(tr("Finds nodes by name, operator type or scope; op:Conv, name:fc or scope:layer.1 look in one "
                          "place only"));
    m_line->setClearButtonEnabled(true);
    m_line->setFixedWidth(fonts::px(230));
    m_count = new QLabel(this);
    m_count->setFont(fonts::numbers());
    m_count->setMinimumWidth(static_cast<int>(fonts::widthOf(fonts::numbers(), QStringLiteral("000 / 000"))));
    m_count->setAlignment(Qt::AlignCenter);
    auto* back = makeButton(QStringLiteral("↑"), {}, tr("Previous match (Shift+F3)"), this);
    auto* forth = makeButton(QStringLiteral("↓"), {}, tr("Next match (F3)"), this);
    auto* hide = makeButton({}, QStringLiteral("close"), tr("Hide the find box (Escape)"), this);
    for (QWidget* part : std::initializer_list<QWidget*>{m_line, m_count, back, forth, hide}) {
        row->addWidget(part);
    }
    connect(m_line, &QLineEdit::textChanged, this, &GraphFind::search);
    connect(back, &QToolButton::clicked, this, &GraphFind::previous);
    connect(forth, &QToolButton::clicked, this, &GraphFind::next);
    connect(hide, &QToolButton::clicked, this, &GraphFind::dismiss);
    setFocusProxy(m_line);
    setAutoFillBackground(false);
    QWidget::hide();
    showCount();
}

void GraphFind::setGraph(std::shared_ptr<const graph::Graph> graph)
{
    if (m_graph == graph) {
        return;
    }
    m_graph = std::move(graph);
    m_matches.clear();
    m_current = 0;
    if (isVisible()) {
        search(m_line->text());
    } else {
        showCount();
    }
}

void GraphFind::open()
{
    adjustSize();
    show();
    raise();
    m_line->setFocus();
    m_line->selectAll();
    emit matchesChanged();
}

std::vector<base::NodeId> GraphFind::matches() const { return isHidden() ? std::vector<base::NodeId>() : m_matches; }

void GraphFind::search(const QString& text)
{
    m_current = 0;
    m_matches.clear();
    if (m_graph != nullptr) {
        m_matches = findNodes(*m_graph, text.toStdString());
    }
    showCount();
    emit matchesChanged();
    if (!m_matches.empty()) {
        emit found(m_matches.front());
    }
}

void GraphFind::go(int step)
{
    if (m_matches.empty()) {
        search(m_line->text());
        return;
    }
    m_current = (m_current + m_matches.size() + static_cast<std::size_t>(step)) % m_matches.size();
    showCount();
    emit found(m_matches[m_current]);
}

void GraphFind::showCount()
{
    if (m_line->text().isEmpty()) {
        m_count->clear();
    } else if (m_matches.empty()) {
        m_count->setText(tr("none"));
    } else {
        m_count->setText(QStringLiteral("%1 / %2").arg(m_current + 1).arg(m_matches.size()));
    }
}

void GraphFind::dismiss()
{
    hide();
    emit matchesChanged();
    emit closed();
}

void GraphFind::keyPressEvent(QKeyEvent* event)
{
    if (event->key() == Qt::Key_Escape) {
        dismiss();
    } else if (event->key() == Qt::Key_Return || event->key() == Qt::Key_Enter) {
        go(event->modifiers() & Qt::ShiftModifier ? -1 : 1);
    } else {
        QWidget::keyPressEvent(event);
    }
}

void GraphFind::paintEvent(QPaintEvent*)
{
    QPainter painter(this);
    paintCornerPanel(painter, rect(), theme(this), Role::Header);
}

} // namespace retro::views

#include "moc_graphfind.cpp"
