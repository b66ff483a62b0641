// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "app/gui/stepping/navigator.h"
#include "app/gui/stepping/player.h"

#include <QToolBar>

#include <memory>
#include <vector>

class QActionGroup;
class QComboBox;
class QLabel;
class QLineEdit;

namespace retro::app
{

class NowLine;
class RunFigures;
struct NowFigure;

/// The tool bar of time: first, run back, back, play, forward, run, last; over and out; layer, visit or event at a
/// time; what to run to; where the run is, what happens there in words, a few figures, and the speed of playing. GUI
/// thread.
class TransportBar final : public QToolBar
{
    Q_OBJECT

public:
    explicit TransportBar(const NavigatorContext& context, QWidget* parent = nullptr);
    ~TransportBar() override;

    [[nodiscard]] Navigator& navigator() const { return *m_navigator; }
    [[nodiscard]] Player& player() const { return *m_player; }
    /// Everything (Engine), or only what people who think in layers need (Explain).
    void setDetailed(bool isDetailed);
    /// An action at the right end.
    void addToolAction(const char* id);
    /// An action with its name at the right end, while the bar is not detailed.
    void addExplainTool(const char* id);

protected:
    void resizeEvent(QResizeEvent* event) override;

private:
    void makeRoom();
    void giveWay(int steps);
    void addOverAndOut();
    QAction* addDetail(QWidget* widget);
    void addGranularity();
    void addRunTarget();
    void addPosition();
    void addSpeed();
    void showGranularity();
    void showRun();
    void showPosition();
    void goToTyped();
    [[nodiscard]] QString nowInWords() const;
    [[nodiscard]] std::vector<NowFigure> figures() const;

    NavigatorContext m_context;
    Navigator* m_navigator = nullptr;
    Player* m_player = nullptr;
    std::shared_ptr<const RunFigures> m_sums;
    QList<QAction*> m_details;
    QList<QAction*> m_plain;
    bool m_isDetailed = true;
    QActionGroup* m_group = nullptr;
    QComboBox* m_target = nullptr;
    QComboBox* m_speed = nullptr;
    QLineEdit* m_position = nullptr;
    QLabel* m_count = nullptr;
    QList<QLabel*> m_captions; ///< words before boxes
    QAction* m_granularityPlace = nullptr;
    QAction* m_speedPlace = nullptr; ///< of the box of the speed
    NowLine* m_now = nullptr;
};

} // namespace retro::app
