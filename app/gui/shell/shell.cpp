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
#include "app/gui/shell/shellactions.h"
#include "app/gui/shell/welcomepage.h"
#include "app/gui/shell/windowplace.h"
#include "core/base/memorylimit.h"
#include "views/common/paint/theme.h"
#include "views/palette/actionsource.h"
#include "views/palette/commandpalette.h"
#include "views/palette/fuzzymatch.h"
#include "views/palette/paletteitem.h"
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
#include <cmath>

namespace retro::app
{

namespace
{

/// The settings in the command palette, one line per value: "Colours: dark". The sign is ':'.
class SettingSource final : public views::PaletteSource
{
public:
    explicit SettingSource(Preferences& preferences) : m_preferences(preferences) {}
    [[nodiscard]] QChar sign() const override { return u':'; }
    [[nodiscard]] QString name() const override;
    [[nodiscard]] std::vector<views::PaletteItem> find(const QString& pattern, std::size_t limit) override;

private:
    Preferences& m_preferences;
};

/// One value of one setting.
struct Choice
{
    QString text;
    const char* icon;
    bool isNow = false;
    std::function<void()> choose;
    QString note{}; ///< when it takes effect, if not at once
};

void addColours(std::vector<Choice>& choices, Preferences& preferences)
{
    const std::array names{Preferences::tr("Colours: as the desktop"), Preferences::tr("Colours: light"),
                           Preferences::tr("Colours: dark")};
    for (std::size_t i = 0; i < names.size(); ++i) {
        const auto theme = static_cast<views::ThemeChoice>(i);
        choices.push_back({names[i], "theme", preferences.settings().theme == theme,
                           [&preferences, theme] { preferences.setTheme(theme); }});
    }
}

void addTextSizes(std::vector<Choice>& choices, Preferences& preferences)
{
    const auto now = std::lround(preferences.settings().fontScale * 100);
    for (const int percent : Settings::kTextPercents) {
        choices.push_back({Preferences::tr("Size of the text: %1 %").arg(percent), "settings", now == percent,
                           [&preferences, percent] { preferences.setFontScale(percent / 100.0); },
                           Preferences::tr("from the next start on")});
    }
}

/// Some shares of the machine; the preferences take any size.
void addMemory(std::vector<Choice>& choices, Preferences& preferences)
{
    for (const char* share : {"", "25%", "50%", "90%"}) {
        const QString text = QLatin1String(share);
        const QString shown = text.isEmpty() ? QStringLiteral("%1%").arg(base::MemoryLimit::kUsualPercent) : text;
        choices.push_back({Preferences::tr("Memory for tensors: %1 of the machine").arg(shown), "settings",
                           preferences.settings().memory == text,
                           [&preferences, text] { static_cast<void>(preferences.setMemory(text)); },
                           Preferences::tr("from the next job on")});
    }
}

/// "Name: on" and "Name: off".
void addSwitch(std::vector<Choice>& choices, const QString& name, bool isOn, const std::function<void(bool)>& set)
{
    choices.push_back({Preferences::tr("%1: on").arg(name), "settings", isOn, [set] { set(true); }});
    choices.push_back({Preferences::tr("%1: off").arg(name), "settings", !isOn, [set] { set(false); }});
}

std::vector<Choice> choicesOf(Preferences& preferences)
{
    std::vector<Choice> choices;
    addColours(choices, preferences);
    addSwitch(choices, Preferences::tr("Reduced motion"), preferences.settings().isMotionReduced,
              [&preferences](bool isOn) { preferences.setMotionReduced(isOn); });
    addSwitch(choices, Preferences::tr("Sentences under the names of panes"), preferences.settings().hasHints,
              [&preferences](bool isOn) { preferences.setHints(isOn); });
    addTextSizes(choices, preferences);
    addMemory(choices, preferences);
    choices.push_back({Preferences::tr("Keys: as they were at first"), "keyboard",
                       preferences.settings().keys.isEmpty(), [&preferences] { preferences.resetKeys(); }});
    return choices;
}

QString SettingSource::name() const { return Preferences::tr("setting"); }

std::vector<views::PaletteItem> SettingSource::find(const QString& pattern, std::size_t limit)
{
    std::vector<views::PaletteItem> items;
    for (const Choice& choice : choicesOf(m_preferences)) {
        const auto match = views::fuzzyMatch(pattern.toStdU16String(), choice.text.toStdU16String());
        if (!match) {
            continue;
        }
        views::PaletteItem item;
        item.text = choice.text;
        item.detail = choice.isNow ? Preferences::tr("now") : choice.note;
        item.icon = QLatin1String(choice.icon);
        item.score = match->score;
        item.places = match->places;
        item.run = [choose = choice.choose](bool /*isFar*/) { choose(); };
        items.push_back(std::move(item));
    }
    views::keepBest(items, limit);
    return items;
}

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
    fitInto([this] { return roomOnScreen(m_window); });
}

void Shell::fitInto(const std::function<QSize()>& room)
{
    const auto ofSpaces = [this, room] {
        int bars = m_window.statusBar()->sizeHint().height() + m_window.menuBar()->sizeHint().height();
        int highest = 0; // one of them is there at a time
        for (const QToolBar* bar : m_window.findChildren<QToolBar*>(QString(), Qt::FindDirectChildrenOnly)) {
            highest = std::max(highest, bar->sizeHint().height());
        }
        return room() - QSize(0, bars + highest);
    };
    for (int i = 0; i < m_spaces.count(); ++i) {
        if (auto* space = qobject_cast<Workspace*>(m_spaces.widget(i))) {
            space->setRoom(ofSpaces);
            disconnect(space, &Workspace::packed, this, nullptr);
            const auto keep = [this, room] {
                if (m_window.size() != m_window.size().boundedTo(room())) {
                    keepOnScreen(m_window);
                }
            };
            connect(space, &Workspace::packed, this, keep, Qt::QueuedConnection); // when layouts have new least sizes
        }
    }
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

#include "moc_shell.cpp"
