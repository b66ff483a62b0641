// SPDX-License-Identifier: Apache-2.0
#include "views/input/inputpane.h"

#include "views/common/paint/fonts.h"
#include "views/common/paint/theme.h"
#include "views/common/widgets/arrowstep.h"

#include <QKeyEvent>
#include <QMouseEvent>
#include <QPainter>
#include <QWheelEvent>

#include <algorithm>
#include <array>
#include <cmath>

namespace retro::views
{

namespace
{

/// A new brush is this part of the picture's shorter side wide, and at most that part.
constexpr int kUsualBrush = 12;
constexpr int kWidestBrush = 2;
/// Pixels that an arrow key with Shift moves the brush.
constexpr int kLargeStep = 8;

constexpr std::array kBrushKeys{Qt::Key_Left,        Qt::Key_Right,        Qt::Key_Up,    Qt::Key_Down,
                                Qt::Key_BracketLeft, Qt::Key_BracketRight, Qt::Key_Space, Qt::Key_Escape};

bool isBrushKey(const QKeyEvent& event)
{
    const bool isPlain = (event.modifiers() & ~(Qt::ShiftModifier | Qt::KeypadModifier)) == Qt::NoModifier;
    return isPlain && std::find(kBrushKeys.begin(), kBrushKeys.end(), event.key()) != kBrushKeys.end();
}

QPoint stepOf(const QKeyEvent& event)
{
    return arrowStep(event.key()) * (event.modifiers().testFlag(Qt::ShiftModifier) ? kLargeStep : 1);
}

/// Words that are wider than the pane (names of files) lose their middle: they cannot be broken.
QString fittingWords(const QString& sentence, const QFont& font, double width)
{
    const QFontMetricsF metrics(font);
    QStringList lines = sentence.split(QLatin1Char('\n'));
    for (QString& line : lines) {
        QStringList words = line.split(QLatin1Char(' '));
        for (QString& word : words) {
            word = metrics.elidedText(word, Qt::ElideMiddle, width);
        }
        line = words.join(QLatin1Char(' '));
    }
    return lines.join(QLatin1Char('\n'));
}

/// Light under accent, so that the line is seen on any picture.
void drawOnPicture(QPainter& painter, const Theme& colors, double width, const auto& draw)
{
    painter.setBrush(Qt::NoBrush);
    painter.setPen(QPen(colors[Role::Base], width + 2));
    draw();
    painter.setPen(QPen(colors[Role::Accent], width));
    draw();
}

} // namespace

QPoint InputLayout::pixelAt(const QPointF& point, const QSize& size) const
{
    const QPointF inside = (point - picture.topLeft()) / pixel;
    return {std::clamp(static_cast<int>(std::floor(inside.x())), 0, std::max(0, size.width() - 1)),
            std::clamp(static_cast<int>(std::floor(inside.y())), 0, std::max(0, size.height() - 1))};
}

InputLayout layoutInput(const QSize& picture, const QRectF& area, double sentenceHeight)
{
    InputLayout layout;
    if (picture.isEmpty()) { // a text: the sentence alone
        layout.sentence = QRectF(area.left(), area.top(), area.width(), sentenceHeight);
        return layout;
    }
    const double gap = sentenceHeight > 0 ? 6 : 0;
    const double room = std::max(1.0, area.height() - sentenceHeight - gap);
    const double exact = std::min(area.width() / picture.width(), room / picture.height());
    layout.pixel = exact >= 1 ? std::floor(exact) : exact;
    const QSizeF size = QSizeF(picture) * layout.pixel;
    layout.picture = QRectF(QPointF(std::round(area.left() + (area.width() - size.width()) / 2), area.top()), size);
    layout.sentence = QRectF(area.left(), layout.picture.bottom() + gap, area.width(), sentenceHeight);
    return layout;
}

QList<QLineF> outlineOf(const CoverSheet& sheet)
{
    QList<QLineF> lines;
    for (int y = 0; y <= sheet.size().height(); ++y) {
        for (int x = 0; x <= sheet.size().width(); ++x) {
            if (sheet.covers(x, y) != sheet.covers(x - 1, y)) {
                lines.append(QLineF(x, y, x, y + 1));
            }
            if (sheet.covers(x, y) != sheet.covers(x, y - 1)) {
                lines.append(QLineF(x, y, x + 1, y));
            }
        }
    }
    return lines;
}

InputPane::InputPane(QWidget* parent) : QWidget(parent)
{
    setMinimumSize(fonts::px(80), fonts::px(80));
    setMouseTracking(true);
}

void InputPane::setContent(const QImage& picture, const QString& sentence)
{
    m_picture = picture;
    m_sentence = sentence;
    setAccessibleDescription(sentence);
    if (picture.size() != m_sheet.size()) {
        m_sheet.start(picture.size());
        m_applied.clear();
        m_brush.reset();
        setBrushSize(std::max(1, std::min(picture.width(), picture.height()) / kUsualBrush));
        takeSheet();
    }
    update();
}

void InputPane::takeSheet()
{
    m_outline = outlineOf(m_sheet);
    update();
}

void InputPane::setApplied(const CoverSheet::Pixels& applied)
{
    m_applied = applied;
    update();
}

void InputPane::setTools(bool areShown)
{
    m_hasTools = areShown;
    update();
}

void InputPane::setBrush(bool isOn)
{
    m_hasBrush = isOn;
    m_strokeFrom.reset();
    m_held.reset();
    m_brush.reset();
    setFocusPolicy(isOn ? Qt::StrongFocus : Qt::NoFocus);
    setCursor(isOn ? Qt::CrossCursor : Qt::ArrowCursor);
    update();
}

int InputPane::widestBrush() const
{
    return std::max(1, std::min(m_picture.width(), m_picture.height()) / kWidestBrush);
}

void InputPane::setBrushSize(int pixels)
{
    const int fitting = std::clamp(pixels, 1, widestBrush());
    if (fitting != m_brushSize) {
        m_brushSize = fitting;
        emit brushSizeChanged(fitting);
        update();
    }
}

InputLayout InputPane::layoutNow() const
{
    if (m_held) {
        return *m_held;
    }
    const double margin = fonts::px(10);
    const QRectF area = QRectF(rect()).adjusted(margin, fonts::px(2), -margin, -fonts::px(6));
    const QString words = fittingWords(m_sentence, fonts::label(), area.width());
    const QRectF lines =
        QFontMetricsF(fonts::label()).boundingRect(QRectF(0, 0, area.width(), 1000), Qt::TextWordWrap, words);
    const InputLayout whole = layoutInput(m_picture.size(), area, m_sentence.isEmpty() ? 0 : std::ceil(lines.height()));
    if (!m_hasTools || m_picture.isNull()) {
        return whole;
    }
    const InputLayout bare = layoutInput(m_picture.size(), area, 0);
    return bare.pixel > whole.pixel ? bare
                                    : whole; // the tools take room: a picture that shrinks under the brush is worse
}

void InputPane::paintEvent(QPaintEvent* /*event*/)
{
    const Theme& colors = theme(this);
    const InputLayout layout = layoutNow();
    QPainter painter(this);
    painter.setRenderHint(QPainter::SmoothPixmapTransform, layout.pixel < 1);
    painter.drawImage(layout.picture, m_picture);
    painter.setFont(fonts::label());
    painter.setPen(colors[Role::Text]);
    if (layout.sentence.height() > 0) {
        painter.drawText(layout.sentence, Qt::TextWordWrap,
                         fittingWords(m_sentence, fonts::label(), layout.sentence.width()));
    }
    paintCover(painter, layout, colors);
    paintBrush(painter, layout, colors);
}

void InputPane::paintCover(QPainter& painter, const InputLayout& layout, const Theme& colors) const
{
    if (m_outline.isEmpty()) {
        return;
    }
    painter.save();
    painter.translate(layout.picture.topLeft());
    painter.scale(layout.pixel, layout.pixel);
    const int width = m_sheet.size().width();
    for (std::size_t i = 0; i < m_sheet.pixels().size(); ++i) {
        const bool isShown = i < m_applied.size() && m_applied[i] != 0;
        if (m_sheet.pixels()[i] != 0 && !isShown) {
            const int at = static_cast<int>(i);
            painter.fillRect(QRect(at % width, at / width, 1, 1), colors[Role::Header]);
        }
    }
    const auto lines = [&] { painter.drawLines(m_outline); };
    drawOnPicture(painter, colors, 1, [&] {
        QPen pen = painter.pen();
        pen.setCosmetic(true);
        painter.setPen(pen);
        lines();
    });
    painter.restore();
}

void InputPane::paintBrush(QPainter& painter, const InputLayout& layout, const Theme& colors) const
{
    if (!m_hasBrush || !m_brush) {
        return;
    }
    const double radius = std::max(m_brushSize * layout.pixel / 2, 2.0);
    const QPointF center = layout.picture.topLeft() + (QPointF(*m_brush) + QPointF(0.5, 0.5)) * layout.pixel;
    painter.setRenderHint(QPainter::Antialiasing);
    drawOnPicture(painter, colors, 1.5, [&] { painter.drawEllipse(center, radius, radius); });
}

void InputPane::moveBrush(const QPoint& to)
{
    m_brush = to;
    if (m_strokeFrom) {
        m_sheet.coverLine(*m_strokeFrom, to, m_brushSize);
        m_strokeFrom = to;
        takeSheet();
        emit covered();
    }
    update();
}

void InputPane::coverHere()
{
    m_sheet.beginChange();
    m_sheet.coverSpot(*m_brush, m_brushSize);
    takeSheet();
    emit covered();
}

bool InputPane::event(QEvent* event)
{
    // The window has shortcuts on some of these keys; while the brush is on they belong to it.
    if (m_hasBrush && event->type() == QEvent::ShortcutOverride && isBrushKey(static_cast<QKeyEvent&>(*event))) {
        event->accept();
        return true;
    }
    return QWidget::event(event);
}

void InputPane::mousePressEvent(QMouseEvent* event)
{
    const InputLayout layout = layoutNow();
    if (!m_hasBrush || event->button() != Qt::LeftButton || !layout.picture.contains(event->position())) {
        event->ignore();
        return;
    }
    m_brush = layout.pixelAt(event->position(), m_picture.size());
    m_strokeFrom = m_brush;
    m_held = layout;
    coverHere();
}

void InputPane::mouseMoveEvent(QMouseEvent* event)
{
    if (m_hasBrush) {
        moveBrush(layoutNow().pixelAt(event->position(), m_picture.size()));
    }
}

void InputPane::mouseReleaseEvent(QMouseEvent* /*event*/)
{
    m_strokeFrom.reset();
    m_held.reset();
    update();
}

void InputPane::leaveEvent(QEvent* /*event*/)
{
    m_brush.reset();
    update();
}

void InputPane::wheelEvent(QWheelEvent* event)
{
    if (!m_hasBrush || event->angleDelta().y() == 0) {
        event->ignore();
        return;
    }
    setBrushSize(m_brushSize + (event->angleDelta().y() > 0 ? 1 : -1));
}

void InputPane::keyPressEvent(QKeyEvent* event)
{
    if (!m_hasBrush || m_picture.isNull() || !isBrushKey(*event)) {
        return QWidget::keyPressEvent(event);
    }
    if (event->key() == Qt::Key_Escape) {
        emit brushLeft();
        return;
    }
    if (event->key() == Qt::Key_BracketLeft || event->key() == Qt::Key_BracketRight) {
        return setBrushSize(m_brushSize + (event->key() == Qt::Key_BracketRight ? 1 : -1));
    }
    const QPoint middle(m_picture.width() / 2, m_picture.height() / 2);
    const QPoint at = m_brush ? *m_brush + stepOf(*event) : middle;
    moveBrush({std::clamp(at.x(), 0, m_picture.width() - 1), std::clamp(at.y(), 0, m_picture.height() - 1)});
    if (event->key() == Qt::Key_Space) {
        coverHere();
    }
}

void InputPane::focusOutEvent(QFocusEvent* event)
{
    QWidget::focusOutEvent(event);
    m_strokeFrom.reset();
    m_held.reset();
    update();
}

} // namespace retro::views

#include "moc_inputpane.cpp"
