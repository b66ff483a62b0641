// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QObject>

#include "app/gui/facts/runproblems.h"
#include "app/gui/window/workspaces.h"
#include "views/problems/problemlist.h"

#include <QAbstractButton>

class QDockWidget;
class QMainWindow;
class QPainter;

namespace retro::views
{
class ActionRegistry;
class ProblemsPanel;
} // namespace retro::views

namespace retro::app
{

/// Number of problems at the right end of the status bar; a click shows the list.
class ProblemBadge final : public QAbstractButton
{
    Q_OBJECT

public:
    explicit ProblemBadge(const views::ProblemList& list, QWidget* parent = nullptr);

    [[nodiscard]] QSize sizeHint() const override;
    /// Drawing before the words: a check where nothing is wrong.
    [[nodiscard]] QString iconName() const;

protected:
    void paintEvent(QPaintEvent* event) override;

private:
    void take();
    void paintGround(QPainter& painter) const;
    const views::ProblemList& m_list;
};

/// The list of problems at the bottom of the window, under every workspace, and its badge. Opens by itself when an
/// error comes, and then closes when nothing is left in it. GUI thread.
class ProblemsController final : public QObject
{
    Q_OBJECT

public:
    ProblemsController(QMainWindow& window, views::ActionRegistry& actions, const WorkspaceContext& context);

    [[nodiscard]] views::ProblemList& list() { return m_list; }
    [[nodiscard]] views::ProblemsPanel& panel() const { return *m_panel; }
    [[nodiscard]] QDockWidget& dock() const { return *m_dock; }
    /// A job or a file operation went wrong.
    void addError(views::ProblemOrigin origin, const QString& what, const QString& remedy);
    /// Another model was read; what was said of the one before goes.
    void takeModel(std::vector<views::Problem> problems);
    /// Another run is shown: errors of jobs before go. `warnings` are of the question that led to it.
    void takeRun(const std::vector<std::string>& warnings);
    /// Nothing is open any more.
    void clear();

private:
    void open();
    void goAgain();
    void showList(bool isShown);

    QMainWindow& m_window;
    const views::RunModel& m_model;
    views::ProblemList m_list;
    views::ProblemsPanel* m_panel = nullptr;
    QDockWidget* m_dock = nullptr;
    bool m_hasHeight = false;
    bool m_cameByItself = false;
};

} // namespace retro::app
