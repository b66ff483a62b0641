// SPDX-License-Identifier: Apache-2.0
#include "views/diagnose/findingrow.h"

#include "views/common/paint/fonts.h"
#include "views/common/paint/icons.h"
#include "views/common/paint/style.h"
#include "views/common/widgets/boxes.h"
#include "views/common/widgets/elidedlabel.h"
#include "views/common/widgets/flowlayout.h"
#include "views/diagnose/diagnosewords.h"
#include "views/diagnose/findingmark.h"

#include <QApplication>
#include <QClipboard>
#include <QGridLayout>
#include <QKeyEvent>
#include <QLabel>
#include <QMouseEvent>
#include <QPainter>
#include <QToolButton>
#include <QVBoxLayout>

#include <utility>

namespace retro::views
{

namespace
{

// Design pixels.
constexpr double kSide = 12;
constexpr double kMarkGap = 8;
constexpr double kRowGap = 4;
constexpr double kEdge = 3;

} // namespace

FindingRow::FindingRow(const diagnosis::Finding& finding, const FindingOffer& offer, bool isSetAside, QWidget* parent)
    : QFrame(parent), m_finding(finding), m_isSetAside(isSetAside)
{
    setFocusPolicy(Qt::StrongFocus);
    setAccessibleName(spokenText(finding));
    setAccessibleDescription(tr("Enter goes to it, Tab to what can be done"));
    auto* column = makeBox<QVBoxLayout>(this, {fonts::px(kSide), fonts::px(8), fonts::px(kSide), fonts::px(9)},
                                        fonts::px(kRowGap));
    column->addWidget(makeHead());
    m_more = makeMore(offer);
    column->addWidget(m_more);
    m_more->hide();
    applyColors();
}

QLabel* FindingRow::makeText(const QString& text, const QFont& font, bool isQuiet)
{
    QLabel* label = makeBreakableLabel(text, font, this);
    (isQuiet ? m_quiet : m_texts).push_back(label);
    return label;
}

/// Mark, place and level; below the place the sentence and the number.
QWidget* FindingRow::makeHead()
{
    auto* head = new QWidget(this);
    auto* grid = new QGridLayout(head);
    grid->setContentsMargins(0, 0, 0, 0);
    grid->setHorizontalSpacing(fonts::px(kMarkGap));
    grid->setVerticalSpacing(fonts::px(kRowGap));
    grid->setColumnStretch(1, 1);
    grid->addWidget(new FindingMark(m_finding.level, head), 0, 0, Qt::AlignVCenter);
    const QString name = QString::fromStdString(m_finding.place.name);
    auto* place = new ElidedLabel(name, Role::Text, fonts::content(QFont::DemiBold), head);
    place->setObjectName(QStringLiteral("place"));
    place->setToolTip(name);
    grid->addWidget(place, 0, 1);
    auto* level = new ElidedLabel(wordOf(m_finding.level), roleOf(m_finding.level), fonts::label(), head);
    level->setSizePolicy(QSizePolicy::Fixed, QSizePolicy::Preferred);
    level->setToolTip(QString::fromStdString(m_finding.id));
    grid->addWidget(level, 0, 2);
    auto* what = makeText(QString::fromStdString(m_finding.what), fonts::content(), false);
    what->setObjectName(QStringLiteral("what"));
    grid->addWidget(what, 1, 1, 1, 2);
    if (NumberBar::fits(m_finding)) {
        grid->addWidget(new NumberBar(m_finding, head), 2, 1, 1, 2);
    } else if (const QString figures = figuresOf(m_finding); !figures.isEmpty()) {
        auto* numbers = makeText(figures, fonts::small(), true);
        numbers->setObjectName(QStringLiteral("figures"));
        grid->addWidget(numbers, 2, 1, 1, 2);
    }
    return head;
}

QWidget* FindingRow::makeMore(const FindingOffer& offer)
{
    auto* more = new QWidget(this);
    auto* column = makeBox<QVBoxLayout>(more, {fonts::px(16 + kMarkGap), fonts::px(2), 0, 0}, fonts::px(6));
    QString meaning = QString::fromStdString(m_finding.means);
    if (!m_finding.remedy.empty()) {
        meaning += (meaning.isEmpty() ? QString() : QStringLiteral(" ")) + QString::fromStdString(m_finding.remedy);
        meaning += meaning.endsWith(QLatin1Char('.')) ? QString() : QStringLiteral(".");
    }
    if (!meaning.isEmpty()) {
        auto* text = makeText(meaning, fonts::label(), true);
        text->setObjectName(QStringLiteral("meaning"));
        column->addWidget(text);
    }
    // Above the drawing: in a low window they are in sight all the same.
    auto* buttons = new QWidget(more);
    auto* flow = new FlowLayout(fonts::px(6), fonts::px(6), buttons);
    addButtons(*flow, offer);
    column->addWidget(buttons);
    m_drawings = new QVBoxLayout;
    m_drawings->setSpacing(fonts::px(6));
    column->addLayout(m_drawings);
    addFollowers(*column);
    return more;
}

void FindingRow::addFollowers(QVBoxLayout& column)
{
    if (m_finding.also.empty()) {
        return;
    }
    m_fold = new QToolButton(this);
    m_fold->setObjectName(QStringLiteral("followers"));
    m_fold->setAutoRaise(true);
    m_fold->setCheckable(true);
    m_fold->setFont(fonts::label());
    m_fold->setToolTip(tr("What this finding explains, too"));
    m_fold->setFocusPolicy(Qt::StrongFocus);
    column.addWidget(m_fold, 0, Qt::AlignLeft);
    m_followers = new QWidget(this);
    auto* grid = new QGridLayout(m_followers);
    grid->setContentsMargins(0, 0, 0, 0);
    grid->setHorizontalSpacing(fonts::px(kMarkGap));
    grid->setVerticalSpacing(fonts::px(kRowGap));
    grid->setColumnStretch(1, 1);
    int row = 0;
    for (const diagnosis::Finding& below : m_finding.also) {
        grid->addWidget(new FindingMark(below.level, m_followers), row, 0, Qt::AlignTop);
        grid->addWidget(makeText(QString::fromStdString(below.place.name + ": " + below.what), fonts::label(), true),
                        row, 1);
        ++row;
    }
    column.addWidget(m_followers);
    connect(m_fold, &QToolButton::toggled, this, &FindingRow::setFollowersShown);
    setFollowersShown(false);
}

void FindingRow::setFollowersShown(bool areShown)
{
    if (m_fold == nullptr) {
        return;
    }
    const auto number = static_cast<int>(m_finding.also.size());
    m_fold->setChecked(areShown);
    m_fold->setText((areShown ? QStringLiteral("▾ ") : QStringLiteral("▸ ")) +
                    (number == 1 ? tr("1 other follows from it") : tr("%1 others follow from it").arg(number)));
    m_followers->setVisible(areShown);
}

QToolButton* FindingRow::addButton(FlowLayout& flow, const char* name, const QString& text, const QString& tip)
{
    auto* button = new QToolButton(this);
    button->setObjectName(QLatin1String(name));
    button->setText(text);
    button->setToolTip(tip);
    button->setAccessibleName(text);
    button->setFocusPolicy(Qt::StrongFocus);
    flow.addWidget(button);
    return button;
}

void FindingRow::addButtons(FlowLayout& flow, const FindingOffer& offer)
{
    const QString option = QString::fromStdString(m_finding.action.option);
    if (!offer.text.isEmpty()) {
        auto* mend = addButton(flow, "mend", offer.text, offer.tip);
        connect(mend, &QToolButton::clicked, this, [this] { emit mendRequested(m_finding); });
    }
    if (offer.canPreview) {
        auto* preview = addButton(flow, "preview", tr("Try it"),
                                  tr("Run it aside and show what comes out; nothing is changed yet"));
        connect(preview, &QToolButton::clicked, this, [this] { emit previewRequested(m_finding); });
    }
    auto* show =
        addButton(flow, "show", tr("Show me"),
                  tr("Select it, go to the step where its relevance was known in full, and bring the pane that "
                     "shows it to the front"));
    connect(show, &QToolButton::clicked, this, [this] { emit showRequested(m_finding); });
    const bool isInput = m_finding.place.kind == diagnosis::PlaceKind::Input;
    auto* go = addButton(flow, "goto", isInput ? tr("Go to input") : tr("Go to node"),
                         tr("Select %1 (Enter)").arg(QString::fromStdString(m_finding.place.name)));
    connect(go, &QToolButton::clicked, this, [this] { emit goToRequested(m_finding); });
    if (!option.isEmpty()) {
        auto* copy = addButton(flow, "copy", tr("Copy option"), tr("The same on the command line: %1").arg(option));
        connect(copy, &QToolButton::clicked, this, [option] { QApplication::clipboard()->setText(option); });
    }
    auto* aside = addButton(flow, "aside", m_isSetAside ? tr("A problem again") : tr("Not a problem"),
                            m_isSetAside ? tr("List it among the findings again")
                                         : tr("Fold it away at the end, here and whenever this model is opened; the "
                                              "model's card keeps it, the report still has it"));
    connect(aside, &QToolButton::clicked, this, [this] { emit setAsideRequested(m_finding, !m_isSetAside); });
}

QToolButton* FindingRow::button(const QString& name) const { return findChild<QToolButton*>(name); }

void FindingRow::setCurrent(bool isCurrent)
{
    m_isCurrent = isCurrent;
    m_more->setVisible(isCurrent);
    update();
}

void FindingRow::setEvidence(const FindingEvidence& evidence)
{
    delete std::exchange(m_evidence, nullptr);
    if (evidence.kind != EvidenceKind::None) {
        m_evidence = new EvidenceDrawing(evidence, m_more);
        m_drawings->insertWidget(0, m_evidence);
    }
}

void FindingRow::setPreview(const FindingPreview& preview)
{
    delete std::exchange(m_preview, nullptr);
    if (!preview.isEmpty()) {
        m_preview = new PreviewDrawing(preview, m_more);
        m_drawings->addWidget(m_preview);
    }
}

void FindingRow::setStale(bool isStale)
{
    m_isStale = isStale;
    applyColors();
    for (const char* name : {"mend", "preview", "show", "goto", "aside"}) {
        if (QToolButton* one = button(QLatin1String(name))) {
            one->setEnabled(!isStale);
        }
    }
}

void FindingRow::applyColors()
{
    const Theme& colors = theme(this);
    const auto paint = [](const std::vector<QLabel*>& labels, const QColor& color) {
        for (QLabel* label : labels) {
            QPalette palette = label->palette();
            if (palette.color(QPalette::WindowText) != color) {
                palette.setColor(QPalette::WindowText, color);
                label->setPalette(palette);
            }
        }
    };
    paint(m_texts, colors[m_isStale ? Role::Text3 : Role::Text]);
    paint(m_quiet, colors[m_isStale ? Role::Text3 : Role::Text2]);
    for (ElidedLabel* label : findChildren<ElidedLabel*>(QStringLiteral("place"))) {
        label->setRole(m_isStale ? Role::Text3 : Role::Text);
    }
}

void FindingRow::paintEvent(QPaintEvent* /*event*/)
{
    const Theme& colors = theme(this);
    QPainter painter(this);
    if (m_isCurrent) {
        painter.fillRect(rect(), colors[m_isStale ? Role::Alt : Role::Sel]);
        painter.fillRect(QRect(0, 0, fonts::px(kEdge), height()), colors[m_isStale ? Role::Ghost : Role::Accent]);
    }
    painter.fillRect(QRect(0, height() - 1, width(), 1), colors[Role::Line]);
    if (hasFocus()) {
        painter.setPen(QPen(colors[Role::Accent], 1));
        painter.drawRect(QRectF(rect()).adjusted(0.5, 0.5, -0.5, -1.5));
    }
}

void FindingRow::mousePressEvent(QMouseEvent* event)
{
    emit entered();
    event->accept();
}

void FindingRow::mouseDoubleClickEvent(QMouseEvent* /*event*/) { emit goToRequested(m_finding); }

void FindingRow::keyPressEvent(QKeyEvent* event)
{
    if (event->key() == Qt::Key_Return || event->key() == Qt::Key_Enter) {
        emit goToRequested(m_finding);
    } else {
        QFrame::keyPressEvent(event);
    }
}

void FindingRow::focusInEvent(QFocusEvent* event)
{
    QFrame::focusInEvent(event);
    emit entered();
    update();
}

void FindingRow::changeEvent(QEvent* event)
{
    QFrame::changeEvent(event);
    if (event->type() == QEvent::PaletteChange && m_more != nullptr) {
        applyColors();
    }
}

} // namespace retro::views

#include "moc_findingrow.cpp"
