// SPDX-License-Identifier: Apache-2.0
#include "app/gui/stepping/nowline.h"

#include "views/common/paint/fonts.h"
#include "views/common/paint/marks.h"
#include "views/common/widgets/elidedlabel.h"

#include <QAction>
#include <QLabel>
#include <QPainter>
#include <QStyle>
#include <QToolBar>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace retro::app
{

using views::fonts::px;

/// The letter of a mode in its border, as in captions and tables; empty for no mode.
class ModeMark final : public QWidget
{
public:
    explicit ModeMark(QWidget* parent = nullptr);
    void setMode(event::Mode mode);

protected:
    void paintEvent(QPaintEvent* event) override;

private:
    event::Mode m_mode = event::Mode::None;
};

ModeMark::ModeMark(QWidget* parent) : QWidget(parent) { setFixedSize(views::fonts::px(16), views::fonts::px(16)); }

void ModeMark::setMode(event::Mode mode)
{
    m_mode = mode;
    setAccessibleName(views::wordOf(mode));
    setVisible(mode != event::Mode::None);
    update();
}

void ModeMark::paintEvent(QPaintEvent* /*event*/)
{
    QPainter painter(this);
    views::paintModeMark(painter, QRectF(rect()), m_mode, views::theme(this));
}

namespace
{

// Design pixels.
constexpr double kLeastWords = 132; ///< the sentence beside figures
constexpr double kUsual = 420;
constexpr double kLeast = 40;
constexpr double kEnd = 6; ///< free at the right end, which may be that of the window

const QString kBetween = QStringLiteral("   ");

} // namespace

std::vector<bool> figuresThatFit(const std::vector<NowFigure>& figures, const std::vector<double>& widths, double gap,
                                 double room)
{
    std::vector<std::size_t> order(figures.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t one, std::size_t other) { return figures[one].rank > figures[other].rank; });
    std::vector<bool> stays(figures.size(), false);
    double used = 0;
    for (const std::size_t at : order) {
        used += gap + widths[at];
        if (used > room) {
            break;
        }
        stays[at] = true;
    }
    return stays;
}

NowLine::NowLine(QWidget* parent)
    : QWidget(parent), m_mark(new ModeMark(this)),
      m_words(new views::ElidedLabel(QString(), views::Role::Text, views::fonts::content(), this)),
      m_figuresLabel(new QLabel(this))
{
    m_figuresLabel->setFont(views::fonts::label());
    m_figuresLabel->setTextFormat(Qt::PlainText);
    m_figuresLabel->setAlignment(Qt::AlignRight | Qt::AlignVCenter);
    setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Preferred);
    m_mark->setMode(event::Mode::None);
}

void NowLine::setMode(event::Mode mode)
{
    m_mark->setMode(mode);
    arrange();
}

void NowLine::setWords(const QString& words)
{
    m_words->setText(words);
    showTip();
}

void NowLine::setFigures(std::vector<NowFigure> figures)
{
    m_figures = std::move(figures);
    arrange();
    showTip();
}

// Both are the same whatever is said, so that a step does not lay the tool bar out anew.
QSize NowLine::sizeHint() const { return {px(kUsual), m_words->sizeHint().height()}; }

QSize NowLine::minimumSizeHint() const { return {px(kLeast), m_words->sizeHint().height()}; }

void NowLine::resizeEvent(QResizeEvent* event)
{
    QWidget::resizeEvent(event);
    arrange();
}

void NowLine::arrange()
{
    const int words = m_mark->isHidden() ? 0 : m_mark->width() + px(6);
    const QFont font = m_figuresLabel->font();
    std::vector<double> widths;
    for (const NowFigure& figure : m_figures) {
        widths.push_back(std::ceil(views::fonts::widthOf(font, figure.text)));
    }
    const double gap = std::ceil(views::fonts::widthOf(font, kBetween));
    const std::vector<bool> stays =
        figuresThatFit(m_figures, widths, gap, width() - words - px(kLeastWords) - px(kEnd));
    m_shown.clear();
    double taken = 0;
    for (std::size_t i = 0; i < m_figures.size(); ++i) {
        if (stays[i]) {
            m_shown.append(m_figures[i].text);
            taken += gap + widths[i];
        }
    }
    m_figuresLabel->setText(m_shown.join(kBetween));
    const int figures = static_cast<int>(taken);
    m_mark->move(0, (height() - m_mark->height()) / 2);
    const int end = width() - px(kEnd);
    m_words->setGeometry(words, 0, std::max(0, end - words - figures), height());
    m_figuresLabel->setGeometry(end - figures, 0, figures, height());
}

void NowLine::showTip()
{
    QStringList lines{m_words->text()};
    for (const NowFigure& figure : m_figures) {
        lines.append(figure.text);
    }
    const QString tip = lines.join(QLatin1Char('\n'));
    for (QWidget* widget : std::initializer_list<QWidget*>{this, m_words, m_figuresLabel}) {
        widget->setToolTip(tip);
    }
}

int widthBeside(const NowLine* line, const QToolBar& bar)
{
    int width = 2 * bar.style()->pixelMetric(QStyle::PM_ToolBarItemMargin, nullptr, &bar);
    const int gap = bar.style()->pixelMetric(QStyle::PM_ToolBarItemSpacing, nullptr, &bar);
    for (QAction* action : bar.actions()) {
        const QWidget* widget = bar.widgetForAction(action);
        if (action->isVisible() && widget != nullptr && widget != line) {
            width += widget->sizeHint().width() + gap;
        }
    }
    return width;
}

} // namespace retro::app

#include "moc_nowline.cpp"
