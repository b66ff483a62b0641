// SPDX-License-Identifier: Apache-2.0
#include "views/classes/classespane.h"

#include "views/classes/classestranslation.h"
#include "views/common/numbertext.h"
#include "views/common/paint/fonts.h"
#include "views/common/paint/marks.h"

#include <QFontMetricsF>
#include <QKeyEvent>
#include <QMouseEvent>
#include <QPainter>

#include <algorithm>

namespace retro::views
{

namespace
{

constexpr auto kRight = Qt::AlignRight | Qt::AlignVCenter;
constexpr double kBar = 9;
constexpr double kSide = 6; // of a row beyond its words, design pixels
constexpr double kMark = 3; // width of the mark at the explained class
constexpr double kLeastName = 64;

double lineOf(const QFont& font) { return std::ceil(QFontMetricsF(font).height()) + 2; }

double widest(const std::vector<QString>& texts, const QFont& font)
{
    double width = 0;
    for (const QString& text : texts) {
        width = std::max(width, fonts::widthOf(font, text));
    }
    return std::ceil(width);
}

/// Probabilities are shown once, not as scores again.
bool hasScores(const ClassAnswer& answer) { return answer.kind != formats::ScoreKind::Probabilities; }
bool hasProbabilities(const ClassAnswer& answer) { return answer.kind != formats::ScoreKind::Numbers; }

QString scoreText(const ClassScore& score) { return fixedText(score.score, 2); }
QString scoreTitle(const ClassAnswer& answer)
{
    return hasProbabilities(answer) ? classesText("score") : classesText("value");
}
QString shareText(const ClassScore& score) { return score.probability ? percentText(*score.probability) : QString(); }

double scoreColumn(const ClassAnswer& answer)
{
    std::vector<QString> scores{scoreTitle(answer)};
    for (const ClassScore& score : answer.best) {
        scores.push_back(scoreText(score));
    }
    return widest(scores, fonts::numbers(QFont::DemiBold));
}

/// Width of the column of scores with `room` for it and the names; beside probabilities it gives way to the names.
double scoreRoom(const ClassAnswer& answer, double room)
{
    const double wanted = hasScores(answer) ? scoreColumn(answer) : 0;
    return hasProbabilities(answer) && room - wanted < fonts::px(kLeastName) ? 0 : wanted;
}

QString shareTitle(const ClassAnswer& answer)
{
    return answer.isSegments ? classesText("of the places") : classesText("probability");
}

double shareColumn(const ClassAnswer& answer)
{
    return std::max(widest({QStringLiteral("100.0 %")}, fonts::numbers(QFont::DemiBold)),
                    widest({shareTitle(answer)}, fonts::small()));
}

/// The two columns of figures of one row; the score stands back beside a probability and is the figure itself without.
void paintFigures(QPainter& painter, const ClassAnswer& answer, std::size_t i, const ClassRowLayout& row,
                  const Theme& theme)
{
    const ClassScore& score = answer.best[i];
    const QFont::Weight weight = i == 0 ? QFont::DemiBold : QFont::Normal;
    if (hasProbabilities(answer)) {
        painter.setFont(fonts::numbers(weight));
        painter.drawText(row.probability, kRight, shareText(score));
    }
    if (!row.score.isEmpty()) {
        painter.setFont(fonts::numbers(hasProbabilities(answer) ? QFont::Normal : weight));
        painter.setPen(hasProbabilities(answer) ? theme[Role::Text2] : theme[Role::Text]);
        painter.drawText(row.score, kRight, scoreText(score));
    }
}

} // namespace

ClassesLayout layoutClasses(const ClassAnswer& answer, const QRectF& area)
{
    ClassesLayout layout;
    const double shareWidth = hasProbabilities(answer) ? shareColumn(answer) : 0;
    const double gap = fonts::px(16);
    const double scoreWidth = scoreRoom(answer, area.width() - shareWidth - 2 * gap);
    const QRectF score(area.right() - scoreWidth, 0, scoreWidth, 0);
    const QRectF share(score.left() - (scoreWidth > 0 && hasProbabilities(answer) ? gap : 0) - shareWidth, 0,
                       shareWidth, 0);
    const auto at = [](QRectF column, double y, double height) {
        column.moveTop(y);
        column.setHeight(height);
        return column;
    };
    double y = area.top();
    const double titles = lineOf(fonts::small());
    layout.probabilityTitle = at(share, y, titles);
    layout.scoreTitle = at(score, y, titles);
    y += titles;
    const double line = lineOf(fonts::content());
    for (std::size_t i = 0; i < answer.best.size(); ++i) {
        ClassRowLayout row;
        row.name = QRectF(area.left(), y, share.left() - gap - area.left(), line);
        row.probability = at(share, y, line);
        row.score = at(score, y, line);
        row.bar = QRectF(area.left(), y + line + 1, area.width(), kBar);
        const double side = fonts::px(kSide);
        row.row = QRectF(area.left() - side, y - 1, area.width() + 2 * side, line + kBar + 5);
        layout.rows.push_back(row);
        y += line + 1 + kBar + fonts::px(5);
    }
    y += fonts::px(4);
    layout.rule = QRectF(area.left(), y, area.width(), 1);
    y += fonts::px(6);
    const QRectF sentence = QFontMetricsF(fonts::content(QFont::DemiBold))
                                .boundingRect({0, 0, area.width(), 1000}, Qt::TextWordWrap, answerSentence(answer));
    layout.sentence = QRectF(area.left(), y, area.width(), std::max(line, std::ceil(sentence.height())));
    layout.height = layout.sentence.bottom() - area.top();
    return layout;
}

int ClassesLayout::rowAt(const QPointF& point) const
{
    for (std::size_t i = 0; i < rows.size(); ++i) {
        if (rows[i].row.contains(point)) {
            return static_cast<int>(i);
        }
    }
    return -1;
}

void paintClasses(QPainter& painter, const ClassAnswer& answer, const ClassesLayout& layout, const Theme& theme)
{
    painter.save();
    painter.setFont(fonts::small());
    painter.setPen(theme[Role::Text3]);
    if (hasProbabilities(answer)) {
        painter.drawText(layout.probabilityTitle, kRight, shareTitle(answer));
    }
    if (!layout.scoreTitle.isEmpty()) {
        painter.drawText(layout.scoreTitle, kRight, scoreTitle(answer));
    }
    for (std::size_t i = 0; i < layout.rows.size(); ++i) {
        const ClassScore& score = answer.best[i];
        const ClassRowLayout& row = layout.rows[i];
        const QFont::Weight weight = i == 0 ? QFont::DemiBold : QFont::Normal;
        const QFont name = fonts::content(weight);
        if (score.isTarget) {
            painter.fillRect(row.row, theme[Role::Sel]);
            painter.fillRect(QRectF(row.row.topLeft(), QSizeF(kMark, row.row.height())), theme[Role::Accent]);
        }
        painter.setPen(theme[Role::Text]);
        painter.setFont(name);
        painter.drawText(row.name, Qt::AlignLeft | Qt::AlignVCenter,
                         QFontMetricsF(name).elidedText(score.name, Qt::ElideMiddle, row.name.width()));
        paintFigures(painter, answer, i, row, theme);
        paintShareBar(painter, row.bar, score.bar, i == 0 ? theme[Role::Accent] : theme[Role::Strong], theme);
    }
    paintHairline(painter, layout.rule.topLeft(), layout.rule.topRight(), theme[Role::Line]);
    painter.setFont(fonts::content(QFont::DemiBold));
    painter.setPen(theme[Role::Text]);
    painter.drawText(layout.sentence, Qt::AlignLeft | Qt::AlignVCenter | Qt::TextWordWrap, answerSentence(answer));
    painter.restore();
}

ClassesPane::ClassesPane(QWidget* parent) : DrawnPane(parent)
{
    setFocusPolicy(Qt::StrongFocus);
    setMouseTracking(true);
}

void ClassesPane::setAnswer(ClassAnswer answer)
{
    m_answer = std::move(answer);
    m_current = std::min(m_current, static_cast<int>(m_answer.best.size()) - 1);
    setAccessibleDescription(answerSentence(m_answer));
    updateGeometry();
    update();
}

bool ClassesPane::canChoose(int row) const
{
    return row >= 0 && row < static_cast<int>(m_answer.best.size()) &&
           !m_answer.best[static_cast<std::size_t>(row)].isTarget;
}

QString ClassesPane::tipOf(int row) const
{
    if (row < 0) {
        return {};
    }
    const ClassScore& score = m_answer.best[static_cast<std::size_t>(row)];
    return score.isTarget ? tr("%1 is explained now").arg(score.name)
                          : tr("Click, or press Enter, to explain %1").arg(score.name);
}

void ClassesPane::choose(int row)
{
    if (canChoose(row)) {
        emit chosen(m_answer.best[static_cast<std::size_t>(row)].index);
    }
}

void ClassesPane::moveTo(int row)
{
    const int last = static_cast<int>(m_answer.best.size()) - 1;
    m_current = std::clamp(row, std::min(0, last), last);
    if (m_current >= 0) {
        const ClassScore& score = m_answer.best[static_cast<std::size_t>(m_current)];
        setAccessibleDescription(
            tr("%1, %2. %3")
                .arg(score.name, score.probability ? shareText(score) : scoreText(score), tipOf(m_current)));
        emit currentMoved(layoutNow().rows[static_cast<std::size_t>(m_current)].row.toAlignedRect());
    }
    update();
}

QRectF ClassesPane::area() const
{
    const double margin = fonts::px(10);
    return QRectF(rect()).adjusted(margin, fonts::px(2), -margin, 0);
}

QSize ClassesPane::sizeHint() const
{
    const double width = std::max(area().width(), 120.0);
    return {fonts::px(260),
            static_cast<int>(std::ceil(layoutClasses(m_answer, {0, 0, width, 0}).height)) + fonts::px(8)};
}

QSize ClassesPane::minimumSizeHint() const { return {fonts::px(160), sizeHint().height()}; }

void ClassesPane::resizeEvent(QResizeEvent* event)
{
    QWidget::resizeEvent(event);
    updateGeometry(); // the sentence may need another line
}

void ClassesPane::paintEvent(QPaintEvent* /*event*/)
{
    const ClassesLayout layout = layoutNow();
    QPainter painter(this);
    paintClasses(painter, m_answer, layout, theme(this));
    if (hasFocus() && m_current >= 0) {
        painter.setPen(QPen(theme(this)[Role::Accent], 1));
        painter.setBrush(Qt::NoBrush);
        painter.drawRect(layout.rows[static_cast<std::size_t>(m_current)].row.toAlignedRect().adjusted(0, 0, -1, -1));
    }
}

void ClassesPane::mouseMoveEvent(QMouseEvent* event)
{
    const bool leads = canChoose(layoutNow().rowAt(event->position()));
    setCursor(leads ? Qt::PointingHandCursor : Qt::ArrowCursor);
}

void ClassesPane::mouseReleaseEvent(QMouseEvent* event)
{
    const int row = layoutNow().rowAt(event->position());
    if (event->button() == Qt::LeftButton && row >= 0) {
        moveTo(row);
        choose(row);
    }
}

void ClassesPane::keyPressEvent(QKeyEvent* event)
{
    switch (event->key()) {
    case Qt::Key_Up:
        return moveTo(m_current - 1);
    case Qt::Key_Down:
        return moveTo(m_current + 1);
    case Qt::Key_Return:
    case Qt::Key_Enter:
        return choose(m_current);
    default:
        return QWidget::keyPressEvent(event);
    }
}

void ClassesPane::focusInEvent(QFocusEvent* event)
{
    QWidget::focusInEvent(event);
    if (m_current < 0 && event->reason() != Qt::MouseFocusReason) {
        moveTo(0);
    }
}

QString ClassesPane::tipAt(const QPointF& at) const { return tipOf(layoutNow().rowAt(at)); }

} // namespace retro::views

#include "moc_classespane.cpp"
