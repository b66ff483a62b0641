// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "views/common/actions.h"
#include "views/common/viewcontext.h"

#include <QObject>

#include <functional>
#include <vector>

class QKeyEvent;

namespace retro::views
{
class InputView;
}

namespace retro::app
{

class CallOut;
class CallOutRing;

/// The views that the tour speaks of.
struct TourStops
{
    views::InputView* input = nullptr;
    QWidget* classes = nullptr;
    QWidget* heatmap = nullptr;
    QWidget* graph = nullptr; ///< of Engine
    QWidget* layers = nullptr;
    QWidget* ledger = nullptr;
};

/// Six call-outs on the sample: the input, the classes, the heatmap, relevance on its way, layers and ledger, and at
/// last the user covers the tag and sees class and heatmap change. About a minute. Escape or Skip ends it anywhere. GUI
/// thread.
class Tour final : public QObject
{
    Q_OBJECT

public:
    Tour(const TourStops& stops, views::RunModel& model, views::ActionRegistry& actions, QWidget& window);
    ~Tour() override;

    /// Shows the first stop; the sample must be explained already, with nothing covered.
    void start();
    void stop();
    /// A bubble that asks whether to take the tour; wanted() says yes.
    void offer();
    /// Another workspace is on screen: outside of the one that its stop speaks of nothing of the tour is shown.
    void takeWorkspace(const QString& id);
    /// What is to be said of the moment while relevance is on its way; empty = what is said of all of it.
    void setCaption(const QString& caption);
    /// Number of stops.
    static constexpr int kStops = 6;
    [[nodiscard]] bool isRunning() const { return m_stop >= 0; }
    /// The stop at which relevance runs through the graph.
    static constexpr int kMotion = 3;
    static constexpr int kLayers = 4;
    /// Stop on screen, from 0; −1 when it does not run.
    [[nodiscard]] int stopIndex() const { return m_stop; }
    [[nodiscard]] const CallOut& callOut() const { return *m_callOut; }
    /// See CallOut::setKept().
    void setKept(std::function<QRect()> kept);

signals:
    /// The offer was taken.
    void wanted();
    /// What comes now is in this workspace.
    void workspaceWanted(const QString& id);
    /// Another stop is on screen.
    void stopShown(int stop);
    /// The tour (or its offer) is over; `isDone`: the last stop was reached.
    void ended(bool isDone);

protected:
    bool eventFilter(QObject* watched, QEvent* event) override;

private:
    void show(int stop);
    void next();
    void end(bool isDone);
    void showWords();
    [[nodiscard]] bool takesKey(const QKeyEvent& key) const;
    void turnPage(int key);
    void place();
    void placeIfShown();
    [[nodiscard]] std::vector<QWidget*> targets() const;
    [[nodiscard]] QString workspace() const;
    [[nodiscard]] QString title() const;
    [[nodiscard]] QString text() const;
    [[nodiscard]] QString closingText() const;
    [[nodiscard]] bool isTagCovered() const;

    TourStops m_stops;
    views::RunModel& m_model;
    views::ActionRegistry& m_actions;
    QWidget& m_window;
    CallOut* m_callOut = nullptr;
    CallOutRing* m_ring = nullptr;
    QString m_caption;
    QString m_firstAnswer; ///< what the model said of the whole picture
    int m_stop = -1;
    bool m_isOffer = false;
};

/// Whether the tour was taken or declined on this machine; and remembers that it was.
[[nodiscard]] bool wasTourOffered();
void rememberTourOffered();

} // namespace retro::app
