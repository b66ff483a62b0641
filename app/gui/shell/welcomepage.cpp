// SPDX-License-Identifier: Apache-2.0
#include "app/gui/shell/welcomepage.h"

#include "app/gui/embeddedsample.h"
#include "app/gui/shell/recentfiles.h"
#include "app/gui/window/filefilters.h"
#include "views/common/actions.h"
#include "views/common/paint/fonts.h"
#include "views/common/paint/icons.h"
#include "views/common/paint/style.h"
#include "views/common/paint/theme.h"
#include "views/common/widgets/boxes.h"
#include "views/common/widgets/elidedlabel.h"

#include <QFileInfo>
#include <QKeyEvent>
#include <QLabel>
#include <QPainter>
#include <QPushButton>
#include <QScrollArea>
#include <QScrollBar>
#include <QVBoxLayout>

namespace retro::app
{

namespace
{

using views::ElidedLabel;
using views::Role;
using views::fonts::px;

constexpr int kPageWidth = 840;
constexpr int kRowsShown = 6;
constexpr int kPicture = 116;

ElidedLabel* makeHeading(const QString& text, QWidget* parent)
{
    return new ElidedLabel(text, Role::Text, views::fonts::content(QFont::DemiBold), parent);
}

QLabel* makeText(const QString& text, QWidget* parent)
{
    auto* label = new QLabel(text, parent);
    label->setTextFormat(Qt::PlainText);
    label->setWordWrap(true);
    return label;
}

/// A button that does what an action does; it says so and follows whether that is possible.
QPushButton* makeActionButton(QAction& action, QWidget* parent)
{
    auto* button = new QPushButton(views::ActionRegistry::plainText(action), parent);
    button->setToolTip(action.toolTip());
    button->setAccessibleDescription(action.statusTip());
    button->setAutoDefault(true); // Return presses it on every desktop
    QObject::connect(button, &QPushButton::clicked, &action, &QAction::trigger);
    return button;
}

} // namespace

WelcomeRow::WelcomeRow(const QString& what, const QString& more, const QString& icon, QWidget* parent)
    : QAbstractButton(parent), m_more(more), m_icon(icon)
{
    setText(what);
    setToolTip(more);
    setAccessibleName(tr("Open %1: %2").arg(what, more));
    setFocusPolicy(Qt::StrongFocus);
    setCursor(Qt::PointingHandCursor);
    setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
}

QSize WelcomeRow::sizeHint() const { return {px(240), px(42)}; }

/// Return opens it, as a button does.
void WelcomeRow::keyPressEvent(QKeyEvent* event)
{
    if (event->key() == Qt::Key_Return || event->key() == Qt::Key_Enter) {
        click();
        return;
    }
    QAbstractButton::keyPressEvent(event);
}

void WelcomeRow::paintEvent(QPaintEvent* /*event*/)
{
    const views::Theme& colors = views::theme(this);
    QPainter painter(this);
    painter.setRenderHint(QPainter::Antialiasing);
    if (underMouse() || hasFocus()) {
        painter.setPen(hasFocus() ? QPen(colors[Role::Accent], 1) : QPen(Qt::NoPen));
        painter.setBrush(colors[Role::Sel]);
        painter.drawRoundedRect(QRectF(rect()).adjusted(0.5, 0.5, -0.5, -0.5), 4, 4);
    }
    const int side = px(16);
    const QRectF box = QRectF(rect()).adjusted(px(8), px(3), -px(8), -px(3));
    painter.drawPixmap(QPointF(box.left(), box.center().y() - side / 2.0),
                       views::icons::pixmap(m_icon, side, colors[Role::Text3], devicePixelRatioF()));
    const QRectF words = box.adjusted(side + px(10), 0, 0, 0);
    const auto line = [&](const QRectF& place, const QString& shown, const QFont& font, Role role) {
        painter.setFont(font);
        painter.setPen(colors[role]);
        const int room = static_cast<int>(place.width());
        painter.drawText(place, Qt::AlignVCenter | Qt::AlignLeft,
                         painter.fontMetrics().elidedText(shown, Qt::ElideMiddle, room));
    };
    const double half = words.height() / 2;
    line({words.left(), words.top(), words.width(), half}, text(), views::fonts::content(), Role::Text);
    line({words.left(), words.top() + half, words.width(), half}, m_more, views::fonts::small(), Role::Text3);
}

WelcomePage::WelcomePage(const views::ActionRegistry& actions, RecentFiles& recent, QWidget* parent)
    : QWidget(parent), m_actions(actions), m_recent(recent)
{
    setAccessibleName(tr("Welcome"));
    auto* page = new QWidget(this);
    auto* middle = new QWidget(page);
    middle->setMaximumWidth(px(kPageWidth));
    auto* column = views::makeBox<QVBoxLayout>(middle, {px(24), px(24), px(24), px(24)}, px(28));
    column->addWidget(makeHead(middle));
    auto* halves = new QHBoxLayout;
    halves->setSpacing(px(48));
    halves->addWidget(makeFiles(middle), 1, Qt::AlignTop);
    halves->addWidget(makeSample(middle), 1, Qt::AlignTop);
    column->addLayout(halves);
    const QString endings = modelAndRunEndings().join(QStringLiteral(", ."));
    auto* drop = makeText(tr("Or drop a model or a recorded run (.%1) anywhere on this window.").arg(endings), middle);
    drop->setAlignment(Qt::AlignCenter);
    drop->setMinimumHeight(px(56));
    m_drop = drop;
    column->addWidget(drop);
    auto* outer = new QVBoxLayout(page);
    outer->setContentsMargins(0, 0, 0, 0);
    outer->addStretch(2);
    auto* row = new QHBoxLayout;
    row->addStretch(1);
    row->addWidget(middle, 100);
    row->addStretch(1);
    outer->addLayout(row);
    outer->addStretch(3);
    auto* scroll = new QScrollArea(this); // with large text in a low window
    scroll->setFrameShape(QFrame::NoFrame);
    scroll->setWidgetResizable(true);
    scroll->setFocusPolicy(Qt::NoFocus);
    scroll->viewport()->setAutoFillBackground(false);
    scroll->setWidget(page);
    page->setAutoFillBackground(false);
    auto* whole = new QVBoxLayout(this);
    whole->setContentsMargins(0, 0, 0, 0);
    whole->addWidget(scroll);
    connect(scroll->verticalScrollBar(), &QScrollBar::valueChanged, this, qOverload<>(&QWidget::update));
    connect(&recent, &RecentFiles::changed, this, &WelcomePage::listRecent);
    connect(&views::ThemeHub::instance(), &views::ThemeHub::changed, this, qOverload<>(&QWidget::update));
    listRecent();
}

QWidget* WelcomePage::makeHead(QWidget* parent)
{
    auto* head = new QWidget(parent);
    auto* row = views::makeBox<QHBoxLayout>(head, {}, px(18));
    m_logo = new QWidget(head);
    m_logo->setFixedSize(px(56), px(56));
    row->addWidget(m_logo);
    auto* words = new QVBoxLayout;
    words->setSpacing(px(2));
    words->addStretch(1);
    words->addWidget(new ElidedLabel(tr("Retrograde"), Role::Text, views::fonts::sized(24, QFont::DemiBold), head));
    words->addWidget(
        new ElidedLabel(tr("See why a network says what it says, and step through the pass that explains it."),
                        Role::Text2, views::fonts::content(), head));
    words->addStretch(1);
    row->addLayout(words, 1);
    return head;
}

QWidget* WelcomePage::makeFiles(QWidget* parent)
{
    auto* files = new QWidget(parent);
    auto* column = views::makeBox<QVBoxLayout>(files, {}, px(10));
    m_last = new QVBoxLayout;
    m_last->setSpacing(px(4));
    column->addLayout(m_last);
    column->addWidget(makeHeading(tr("Open a file"), files));
    auto* buttons = new QHBoxLayout;
    buttons->addWidget(makeActionButton(m_actions.at(QStringLiteral("file.open")), files));
    buttons->addStretch(1);
    column->addLayout(buttons);
    column->addSpacing(px(6));
    column->addWidget(makeHeading(tr("Opened last"), files));
    m_rows = new QVBoxLayout;
    m_rows->setSpacing(px(2));
    column->addLayout(m_rows);
    return files;
}

QWidget* WelcomePage::makeSample(QWidget* parent)
{
    auto* sample = new QWidget(parent);
    auto* column = views::makeBox<QVBoxLayout>(sample, {}, px(10));
    column->addWidget(makeHeading(tr("Or see it at work on a sample"), sample));
    auto* row = new QHBoxLayout;
    row->setSpacing(px(16));
    auto* picture = new QLabel(sample);
    picture->setFixedSize(px(kPicture), px(kPicture));
    picture->setScaledContents(true);
    picture->setPixmap(QPixmap(samplePicture()));
    picture->setAccessibleName(tr("A jug with a small tag in its corner"));
    row->addWidget(picture, 0, Qt::AlignTop);
    auto* words = new QVBoxLayout;
    words->setSpacing(px(8));
    words->addWidget(makeHeading(titleOf(embeddedSamples().front()), sample));
    words->addWidget(makeText(wordsOf(embeddedSamples().front()), sample));
    QPushButton* open = makeActionButton(m_actions.at(QStringLiteral("file.sample")), sample);
    open->setText(tr("Open and run"));
    views::setFilled(*open, true);
    setFocusProxy(open);
    auto* buttons = new QHBoxLayout;
    buttons->addWidget(open);
    if (QAction* tour = m_actions.find(QStringLiteral("help.tour"))) {
        buttons->addWidget(makeActionButton(*tour, sample));
    }
    buttons->addStretch(1);
    words->addLayout(buttons);
    words->addStretch(1);
    row->addLayout(words, 1);
    column->addLayout(row);
    addMoreSamples(*column, sample);
    return sample;
}

void WelcomePage::addMoreSamples(QVBoxLayout& column, QWidget* parent)
{
    auto* rows = new QVBoxLayout;
    rows->setSpacing(px(2));
    for (const EmbeddedSample& sample : embeddedSamples().subspan(1)) {
        auto* row = new WelcomeRow(titleOf(sample), wordsOf(sample), QStringLiteral("play"), parent);
        QAction& action = m_actions.at(QString::fromLatin1(sample.action));
        connect(row, &WelcomeRow::clicked, &action, &QAction::trigger);
        rows->addWidget(row);
    }
    column.addLayout(rows);
}

void WelcomePage::setSession(const Session& session)
{
    while (QLayoutItem* item = m_last->takeAt(0)) {
        delete item->widget();
        delete item;
    }
    if (!session.canResume()) {
        return;
    }
    QWidget* parent = m_rows->parentWidget();
    m_last->addWidget(makeHeading(tr("Go on where you left"), parent));
    const QString workspace = session.workspace.left(1).toUpper() + session.workspace.mid(1);
    const QString input = session.inputs.isEmpty() ? QString() : QFileInfo(session.inputs.front()).fileName();
    QStringList more{workspace, input, session.node};
    more.removeAll(QString());
    auto* row = new WelcomeRow(QFileInfo(session.path).fileName(), more.join(QStringLiteral(" · ")),
                               QStringLiteral("historyforward"), parent);
    connect(row, &WelcomeRow::clicked, this, [this, session] { emit sessionWanted(session); });
    m_last->addWidget(row);
    m_last->addSpacing(px(8));
}

void WelcomePage::listRecent()
{
    while (QLayoutItem* item = m_rows->takeAt(0)) {
        if (item->widget() != nullptr) {
            item->widget()->hide();
            item->widget()->deleteLater();
        }
        delete item;
    }
    for (const QString& path : m_recent.files().mid(0, kRowsShown)) {
        auto* row =
            new WelcomeRow(QFileInfo(path).fileName(), RecentFiles::folderText(path), QStringLiteral("recent"), this);
        row->setToolTip(path);
        connect(row, &WelcomeRow::clicked, &m_recent, [this, path] { emit m_recent.openRequested(path); });
        m_rows->addWidget(row);
    }
    if (m_recent.files().isEmpty()) {
        m_rows->addWidget(new ElidedLabel(tr("Nothing yet. Files that you open are listed here."), Role::Text2,
                                          views::fonts::content(), this));
    }
}

void WelcomePage::paintEvent(QPaintEvent* /*event*/)
{
    const views::Theme& colors = views::theme(this);
    QPainter painter(this);
    painter.fillRect(rect(), colors[Role::Base]);
    painter.drawPixmap(m_logo->mapTo(this, QPoint(0, 0)), views::icons::logo(m_logo->width(), devicePixelRatioF()));
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setPen(QPen(colors[Role::Strong], 1, Qt::DashLine));
    painter.setBrush(colors[Role::Alt]);
    painter.drawRoundedRect(QRectF(m_drop->mapTo(this, QPoint(0, 0)), m_drop->size()).adjusted(0.5, 0.5, -0.5, -0.5), 4,
                            4);
}

} // namespace retro::app

#include "moc_welcomepage.cpp"
