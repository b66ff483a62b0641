// SPDX-License-Identifier: Apache-2.0
#include "app/gui/shell/shell.h"

#include "app/gui/controllers/breakpointmemory.h"
#include "app/gui/shell/bookmarks.h"
#include "app/gui/shell/dockactions.h"
#include "app/gui/shell/helpdialog.h"
#include "app/gui/shell/helppages.h"
#include "app/gui/shell/history.h"
#include "app/gui/shell/keysheet.h"
#include "app/gui/shell/logdialog.h"
#include "app/gui/shell/logfile.h"
#include "app/gui/shell/menucorner.h"
#include "app/gui/shell/menus.h"
#include "app/gui/shell/preferences.h"
#include "app/gui/shell/preferencesdialog.h"
#include "app/gui/shell/problemscontroller.h"
#include "app/gui/shell/recentfiles.h"
#include "app/gui/shell/session.h"
#include "app/gui/shell/settingsource.h"
#include "app/gui/shell/shellactions.h"
#include "app/gui/shell/welcomepage.h"
#include "app/gui/shell/windowplace.h"
#include "views/common/paint/theme.h"
#include "views/palette/actionsource.h"
#include "views/palette/commandpalette.h"
#include "views/palette/runsources.h"

#include <QActionGroup>
#include <QMainWindow>
#include <QMenuBar>
#include <QMessageBox>
#include <QSettings>
#include <QStackedWidget>
#include <QStatusBar>
#include <QToolBar>

#include <array>

namespace retro::app
{

namespace
{

struct ThemeAction
{
    const char* id;
    views::ThemeChoice choice;
};
constexpr int kMessageMilliseconds = 6000;
const QString kGeometry = QStringLiteral("geometry");

constexpr std::array kThemes{ThemeAction{"view.theme.system", views::ThemeChoice::System},
                             ThemeAction{"view.theme.light", views::ThemeChoice::Light},
                             ThemeAction{"view.theme.dark", views::ThemeChoice::Dark}};

QList<Workspace*> workspacesOf(const QStackedWidget& spaces)
{
    QList<Workspace*> found;
    for (int i = 0; i < spaces.count(); ++i) {
        if (auto* space = qobject_cast<Workspace*>(spaces.widget(i))) {
            found << space;
        }
    }
    return found;
}

} // namespace

Shell::Shell(QMainWindow& window, views::ActionRegistry& actions, const WorkspaceContext& context,
             QStackedWidget& spaces)
    : QObject(&window), m_window(window), m_actions(actions), m_spaces(spaces)
{
    actions.addAll(shellActions());
    m_docks = new DockActions(actions, spaces, this);
    m_problems = new ProblemsController(window, actions, context);
    m_recent = new RecentFiles(actions, this);
    m_history = new HistoryController(actions, context.model, context.cursor, context.selection, this);
    m_bookmarks = new Bookmarks(actions, context.model, context.cursor, this);
    m_breakpoints = new BreakpointMemory(context.model, context.breakpoints, this);
    m_preferences = new Preferences(actions, *m_recent, workspacesOf(spaces), this);
    fillMenus(*window.menuBar(), actions);
    for (QAction* action : actions.all()) {
        window.addAction(action); // keys work while menus are closed, and also for what is in no tool bar
    }
    m_corner =
        new MenuCorner(*window.menuBar(), actions.at(QStringLiteral("view.palette")),
                       {&actions.at(QStringLiteral("window.explain")), &actions.at(QStringLiteral("window.engine")),
                        &actions.at(QStringLiteral("window.plan")), &actions.at(QStringLiteral("window.kernels"))});
    makePalette(context);
    makeWelcome(context.model);
    connectThemes();
    connectDialogs();
    connect(m_bookmarks, &Bookmarks::said, this,
            [this](const QString& sentence) { m_window.statusBar()->showMessage(sentence, kMessageMilliseconds); });
}

Shell::~Shell() = default;

void Shell::makeWelcome(const views::RunModel& model)
{
    m_welcome = new WelcomePage(m_actions, *m_recent, &m_window);
    connect(m_welcome, &WelcomePage::sessionWanted, this, &Shell::sessionWanted);
    m_pages = new QStackedWidget(&m_window);
    m_window.takeCentralWidget();
    m_pages->addWidget(m_welcome);
    m_pages->addWidget(&m_spaces);
    m_window.setCentralWidget(m_pages);
    const auto show = [this, &model] { showWelcome(model); };
    connect(&model, &views::RunModel::loadStateChanged, this, show);
    connect(&model, &views::RunModel::runChanged, this, show);
    show();
}

bool Shell::isWelcoming() const { return m_pages->currentWidget() == m_welcome; }

void Shell::showWelcome(const views::RunModel& model)
{
    const bool isWelcome = !model.hasRun() && model.loadState() != views::LoadState::Loading;
    const bool isNew = isWelcome != isWelcoming();
    m_pages->setCurrentWidget(isWelcome ? static_cast<QWidget*>(m_welcome) : &m_spaces);
    if (isWelcome && (isNew || m_window.isHidden())) {
        m_welcome->setFocus(Qt::OtherFocusReason);
    }
    m_actions.at(QStringLiteral("file.close")).setEnabled(!isWelcome);
    showToolBars();
}

void Shell::showToolBars()
{
    for (QToolBar* bar : m_window.findChildren<QToolBar*>(QString(), Qt::FindDirectChildrenOnly)) {
        bar->setVisible(!isWelcoming() && !bar->property(kIsAway).toBool());
    }
}

void Shell::remember(QSettings& store)
{
    m_store = &store;
    m_preferences->useStore(store);
    m_breakpoints->useStore(store);
    m_preferences->restoreLayouts();
    m_welcome->setSession(readSession(store));
    m_window.restoreGeometry(store.value(kGeometry).toByteArray());
    keepOnScreen(m_window);
    keepFrameOnScreen(m_window);
}

void Shell::saveLayouts()
{
    m_docks->restoreAll();
    m_preferences->saveLayouts();
    if (m_store != nullptr) {
        m_store->setValue(kGeometry, m_window.saveGeometry());
        m_store->sync(); // the process may end without destructors
    }
}

void Shell::saveSession(const Session& session)
{
    if (m_store != nullptr && !session.isEmpty()) {
        writeSession(*m_store, session);
        m_store->sync();
    }
}

void Shell::makePalette(const WorkspaceContext& context)
{
    m_palette = new views::CommandPalette(&m_window);
    const views::PaletteContext run{context.model, context.cursor, context.selection};
    m_palette->addSource(std::make_unique<views::ActionSource>(m_actions, QStringLiteral("view.palette")));
    m_palette->addSource(std::make_unique<views::NodeSource>(run));
    m_palette->addSource(std::make_unique<views::VisitSource>(run));
    m_palette->addSource(std::make_unique<views::PromiseSource>(run));
    m_palette->addSource(std::make_unique<RecentSource>(*m_recent));
    m_palette->addSource(std::make_unique<SettingSource>(*m_preferences));
    connect(&m_actions.at(QStringLiteral("view.palette")), &QAction::triggered, this, [this] { openPalette({}); });
    connect(&m_actions.at(QStringLiteral("file.openrecent")), &QAction::triggered, this,
            [this] { openPalette(QStringLiteral("~")); });
    connect(&m_corner->field(), &QAbstractButton::clicked, this, [this] { openPalette({}); });
}

void Shell::openPalette(const QString& text)
{
    const CommandField& field = m_corner->field();
    const QRect anchor = field.isVisible() ? QRect(field.mapTo(&m_window, QPoint(0, 0)), field.size()) : QRect();
    m_palette->open(text, anchor);
}

void Shell::connectThemes()
{
    auto* group = new QActionGroup(this);
    for (const ThemeAction& entry : kThemes) {
        QAction& action = m_actions.at(QLatin1String(entry.id));
        group->addAction(&action);
        connect(&action, &QAction::triggered, this, [this, choice = entry.choice] { m_preferences->setTheme(choice); });
    }
    const auto show = [this] {
        for (const ThemeAction& entry : kThemes) {
            const bool isOn = entry.choice == views::ThemeHub::instance().choice();
            m_actions.at(QLatin1String(entry.id)).setChecked(isOn);
        }
    };
    connect(m_preferences, &Preferences::changed, this, show);
    show();
}

void Shell::connectDialogs()
{
    const auto on = [this](const char* id, void (Shell::*what)()) {
        connect(&m_actions.at(QLatin1String(id)), &QAction::triggered, this, what);
    };
    on("help.page", &Shell::showHelp);
    on("help.keys", &Shell::showKeys);
    on("help.log", &Shell::showLog);
    on("help.about", &Shell::showAbout);
    on("edit.preferences", &Shell::showPreferences);
}

void Shell::showPreferences()
{
    auto* dialog = new PreferencesDialog(m_actions, *m_preferences, &m_window);
    dialog->show();
}

/// Of the widget that has the keyboard; without one, of the workspace or the welcome page on screen.
void Shell::showHelp()
{
    const QWidget* focus = m_window.focusWidget();
    const QWidget* page = isWelcoming() ? static_cast<const QWidget*>(m_welcome) : m_spaces.currentWidget();
    const bool isInside = focus != nullptr && m_pages->isAncestorOf(focus);
    auto* dialog = m_window.findChild<HelpDialog*>();
    if (dialog == nullptr || !dialog->isVisible()) { // one that was closed is about to go
        dialog = new HelpDialog(&m_window);
    }
    dialog->show(); // before the page, so that pictures know how wide it is
    dialog->showPage(helpPageOf(isInside ? focus : page));
}

void Shell::showKeys()
{
    auto* sheet = new KeySheet(m_actions, *m_window.menuBar(), &m_window);
    sheet->show();
}

void Shell::showLog()
{
    auto* dialog = new LogDialog(LogFile::instance(), &m_window);
    dialog->show();
}

void Shell::showAbout()
{
    auto* box = new QMessageBox(QMessageBox::NoIcon, tr("About Retrograde"),
                                tr("Retrograde %1\n\nA debugger for relevance propagation: open a model, give it an "
                                   "input, and step forwards and backwards through the pass that explains its "
                                   "answer.\n\nApache License 2.0")
                                    .arg(QStringLiteral(RETRO_VERSION)),
                                QMessageBox::Ok, &m_window);
    box->setAttribute(Qt::WA_DeleteOnClose);
    box->open();
}

} // namespace retro::app
