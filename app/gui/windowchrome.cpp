// SPDX-License-Identifier: Apache-2.0
// Menus, workspace switch and status bar of the main window.
#include "app/gui/mainwindow.h"
#include "app/gui/workspaces.h"
#include "views/common/fonts.h"
#include "views/common/numbertext.h"
#include "views/common/theme.h"

#include <QActionGroup>
#include <QDockWidget>
#include <QHBoxLayout>
#include <QLabel>
#include <QMenu>
#include <QMenuBar>
#include <QMessageBox>
#include <QStatusBar>
#include <QToolButton>

#include <array>

namespace retro::app
{

namespace
{

struct ThemeEntry
{
    const char* text;
    views::ThemeChoice choice;
};

constexpr std::array kThemes{
    ThemeEntry{QT_TRANSLATE_NOOP("retro::app::MainWindow", "As the desktop"), views::ThemeChoice::System},
    ThemeEntry{QT_TRANSLATE_NOOP("retro::app::MainWindow", "Light"), views::ThemeChoice::Light},
    ThemeEntry{QT_TRANSLATE_NOOP("retro::app::MainWindow", "Dark"), views::ThemeChoice::Dark},
};

} // namespace

void MainWindow::makeMenus()
{
    const auto fill = [this](QMenu* menu, std::initializer_list<const char*> ids) {
        for (const char* id : ids) {
            if (*id == '\0') {
                menu->addSeparator();
            } else {
                menu->addAction(&m_actions.at(QLatin1String(id)));
            }
        }
    };
    fill(menuBar()->addMenu(tr("&File")), {"file.open", "file.save", "", "file.quit"});
    fill(menuBar()->addMenu(tr("&Run")), {"run.start", "run.stop"});
    fill(menuBar()->addMenu(tr("&Go")), {"go.first", "go.runback", "go.back", "go.play", "go.forward", "go.run",
                                         "go.last", "", "go.over", "go.mode", "go.modeback"});
    QMenu* view = menuBar()->addMenu(tr("&View"));
    fill(view, {"view.zoomin", "view.zoomout", "view.zoomfit", "view.find", ""});
    QMenu* themes = view->addMenu(tr("&Theme"));
    auto* group = new QActionGroup(this);
    for (const ThemeEntry& entry : kThemes) {
        QAction* action = themes->addAction(tr(entry.text));
        action->setCheckable(true);
        action->setChecked(entry.choice == views::ThemeHub::instance().choice());
        group->addAction(action);
        connect(action, &QAction::triggered, this,
                [choice = entry.choice] { views::ThemeHub::instance().setChoice(choice); });
    }
    fill(view, {"view.resetlayout"});
    fill(menuBar()->addMenu(tr("&Export")), {"export.heatmap", "export.graph"});
    QMenu* window = menuBar()->addMenu(tr("&Window"));
    connect(window, &QMenu::aboutToShow, this, [this, window] {
        window->clear();
        for (QDockWidget* dock : workspace().docks()) {
            window->addAction(dock->toggleViewAction());
        }
    });
    QMenu* help = menuBar()->addMenu(tr("&Help"));
    connect(help->addAction(tr("&About Retrograde")), &QAction::triggered, this, [this] {
        QMessageBox::about(this, tr("About Retrograde"),
                           tr("Retrograde %1\n\nA debugger for relevance propagation: open a model, give it an input, "
                              "and step forwards and backwards "
                              "through the pass that explains its answer.\n\nApache License 2.0")
                               .arg(QStringLiteral(RETRO_VERSION)));
    });
}

void MainWindow::makeCorner()
{
    m_workspaceGroup = new QActionGroup(this);
    auto* corner = new QWidget(this);
    auto* row = new QHBoxLayout(corner);
    row->setContentsMargins(0, views::fonts::px(3), views::fonts::px(8), views::fonts::px(3));
    row->setSpacing(0);
    const std::array titles{tr("Explain"), tr("Engine")};
    for (std::size_t i = 0; i < titles.size(); ++i) {
        auto* action = new QAction(titles[i], m_workspaceGroup);
        action->setCheckable(true);
        action->setShortcut(QKeySequence(QStringLiteral("Ctrl+%1").arg(i + 1)));
        action->setToolTip(
            tr("Show the %1 workspace (%2)").arg(titles[i], action->shortcut().toString(QKeySequence::NativeText)));
        action->setData(workspaceIds().at(static_cast<qsizetype>(i)));
        addAction(action);
        auto* button = new QToolButton(corner);
        button->setDefaultAction(action);
        button->setToolButtonStyle(Qt::ToolButtonTextOnly);
        button->setProperty("segment", true);
        button->setProperty("filled", true);
        button->setMinimumWidth(views::fonts::px(72));
        row->addWidget(button);
    }
    connect(m_workspaceGroup, &QActionGroup::triggered, this,
            [this](const QAction* action) { showWorkspace(action->data().toString()); });
    menuBar()->setCornerWidget(corner, Qt::TopRightCorner);
}

void MainWindow::makeStatusBar()
{
    m_statusLeft = new QLabel(this);
    m_statusRight = new QLabel(this);
    for (QLabel* label : {m_statusLeft, m_statusRight}) {
        label->setFont(views::fonts::label());
        label->setContentsMargins(views::fonts::px(8), 0, views::fonts::px(8), 0);
        label->setTextFormat(Qt::PlainText);
    }
    statusBar()->addWidget(m_statusLeft, 1);
    statusBar()->addPermanentWidget(m_statusRight);
    statusBar()->setSizeGripEnabled(false);
}

void MainWindow::showStatus()
{
    if (!m_model.hasRun()) {
        m_statusLeft->setText(tr("Nothing is open. Open a model, or drop one here."));
        m_statusRight->clear();
        return;
    }
    const trace::Run& run = m_model.run();
    const auto number = [&](const char* name) {
        const auto at = run.facts.numbers.find(name);
        return at == run.facts.numbers.end() ? 0.0 : at->second;
    };
    QStringList left{tr("Ready"), QString::fromStdString(run.facts.modelName)};
    if (run.eventCount() > 0) {
        left << tr("CPU, %1").arg(QString::fromStdString(run.facts.precision))
             << tr("rules %1").arg(QString::fromStdString(run.facts.composite));
    }
    m_statusLeft->setText(left.join(QStringLiteral("    ")));
    QStringList right{tr("%1 nodes").arg(views::countText(static_cast<std::int64_t>(run.graph->nodeCount())))};
    if (run.eventCount() > 0) {
        right.prepend(tr("relevance %1 ms").arg(views::fixedText(number("seconds_relevance") * 1000, 0)));
        right.prepend(tr("forward %1 ms").arg(views::fixedText(number("seconds_forward") * 1000, 0)));
        right << tr("%1 visits, %2 events")
                     .arg(views::countText(run.visitCount()),
                          views::countText(static_cast<std::int64_t>(run.eventCount())));
    }
    m_statusRight->setText(right.join(QStringLiteral("    ")));
}

} // namespace retro::app
