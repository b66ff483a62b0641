// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QWidget>

#include "core/event/event.h"

#include <QStringList>

#include <vector>

class QLabel;
class QToolBar;

namespace retro::views
{
class ElidedLabel;
}

namespace retro::app
{

class ModeMark;

/// A figure beside the words; when there is no room for all, the one with the lowest rank goes first.
struct NowFigure
{
    QString text;
    int rank = 0;
};

/// Which of the figures stay when they and the gaps before them must fit into `room`; all widths in pixels. A figure
/// stays only when every one of higher rank does.
[[nodiscard]] std::vector<bool> figuresThatFit(const std::vector<NowFigure>& figures, const std::vector<double>& widths,
                                               double gap, double room);

class NowLine;
/// Pixels that a tool bar needs for everything on it but its line.
[[nodiscard]] int widthBeside(const NowLine* line, const QToolBar& bar);

/// What happens now: the mode, a sentence, figures at the right end. With less room the sentence is elided first, down
/// to a few words; then figures go by their rank; then the sentence takes what is left. The tool tip has all of it.
/// GUI thread.
class NowLine final : public QWidget
{
    Q_OBJECT

public:
    explicit NowLine(QWidget* parent = nullptr);
    void setMode(event::Mode mode);
    void setWords(const QString& words);
    void setFigures(std::vector<NowFigure> figures);

    /// The figures on screen, from left to right.
    [[nodiscard]] const QStringList& shownFigures() const { return m_shown; }
    [[nodiscard]] QSize sizeHint() const override;
    [[nodiscard]] QSize minimumSizeHint() const override;

protected:
    void resizeEvent(QResizeEvent* event) override;

private:
    void arrange();
    void showTip();

    ModeMark* m_mark = nullptr;
    views::ElidedLabel* m_words = nullptr;
    QLabel* m_figuresLabel = nullptr;
    std::vector<NowFigure> m_figures;
    QStringList m_shown;
};

} // namespace retro::app
