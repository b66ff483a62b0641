// SPDX-License-Identifier: Apache-2.0
#include "app/gui/shell/menus.h"

#include "views/common/actions.h"

#include <QCoreApplication>
#include <QMenu>
#include <QMenuBar>

#include <array>

namespace retro::app
{

namespace
{

/// A menu: title, what ids begin with (several, in words), and its entries in words: an id, "-" (line), "*" (whatever
/// else begins so),
/// ">prefix" (submenu of all that begin so; its title is in kSubmenus).
struct MenuPlan
{
    const char* title;
    const char* prefix;
    const char* entries;
};

constexpr std::array kPlan{
    MenuPlan{QT_TRANSLATE_NOOP("retro::app::menus", "&File"), "file.",
             "file.open >file.recent. file.openrecent file.sample >file.sample. file.save file.saveas - * - file.close "
             "file.quit"},
    MenuPlan{QT_TRANSLATE_NOOP("retro::app::menus", "&Edit"), "edit. cover.",
             "edit.undo edit.redo - cover.brush cover.tag cover.reset * - edit.preferences"},
    MenuPlan{QT_TRANSLATE_NOOP("retro::app::menus", "&View"), "view.",
             "view.palette view.find - view.zoomin view.zoomout view.zoomfit - >view.theme. *"},
    MenuPlan{QT_TRANSLATE_NOOP("retro::app::menus", "&Run"), "run.",
             "run.start run.stop run.oracle run.verify >run.verify. - *"},
    MenuPlan{QT_TRANSLATE_NOOP("retro::app::menus", "&Analyze"), "analyze. region.",
             "run.diagnose run.diagnose.deep run.diagnose.compare run.diagnose.folder - region.mark region.largest "
             "region.whole region.file region.clear - *"},
    MenuPlan{QT_TRANSLATE_NOOP("retro::app::menus", "&Go"), "go.",
             "go.historyback go.historyforward - go.first go.runback go.back go.play go.forward go.run go.last - "
             "go.over go.overback go.out go.outback go.selection go.selectionback go.changed go.changedback - go.mode "
             "go.modeback go.violation go.violationback go.fulfilled go.fulfilledback - * - go.slower go.faster "
             "go.creepback go.creep - go.mark go.marknext "
             "go.markback >go.bookmark. go.note"},
    MenuPlan{QT_TRANSLATE_NOOP("retro::app::menus", "&Plan"), "plan.",
             "plan.first plan.turnback plan.back plan.play plan.forward plan.turn plan.last - plan.fast plan.best "
             "plan.mine - plan.keep "
             "plan.recompute plan.forget - "
             "plan.curve plan.fit *"},
    MenuPlan{QT_TRANSLATE_NOOP("retro::app::menus", "E&xport"), "export.",
             "export.heatmap export.levels export.layers export.classes - export.graph export.graphsight export.film "
             "export.graphselection export.timeline export.ledger export.promises "
             "export.log export.notebook - export.plan export.planners export.tensors - export.explainer * - "
             "export.pane export.all "
             "export.report"},
    MenuPlan{QT_TRANSLATE_NOOP("retro::app::menus", "&Window"), "window.",
             "window.explain window.engine window.plan window.kernels - window.dock1 window.dock2 window.dock3 "
             "window.dock4 window.dock5 "
             "window.dock6 window.dock7 window.dock8 window.dock9 - window.notebook window.problems window.maximise "
             "window.close view.resetlayout *"},
    MenuPlan{QT_TRANSLATE_NOOP("retro::app::menus", "&Help"), "help.", "help.page * - help.about"},
};

struct Submenu
{
    const char* prefix;
    const char* title;
};
constexpr std::array kSubmenus{
    Submenu{"file.recent.", QT_TRANSLATE_NOOP("retro::app::menus", "Open &recent")},
    Submenu{"file.sample.", QT_TRANSLATE_NOOP("retro::app::menus", "Mor&e samples")},
    Submenu{"run.verify.", QT_TRANSLATE_NOOP("retro::app::menus", "&Verification")},
    Submenu{"view.theme.", QT_TRANSLATE_NOOP("retro::app::menus", "&Theme")},
    Submenu{"go.bookmark.", QT_TRANSLATE_NOOP("retro::app::menus", "&Bookmarks")},
};

QString menuText(const char* text) { return QCoreApplication::translate("retro::app::menus", text); }

QStringList entriesOf(const MenuPlan& plan)
{
    return QString::fromLatin1(plan.entries).split(QLatin1Char(' '), Qt::SkipEmptyParts);
}

QStringList idsBeginning(const views::ActionRegistry& actions, const QString& prefix)
{
    QStringList ids;
    for (const QAction* action : actions.all()) {
        if (action->objectName().startsWith(prefix)) {
            ids << action->objectName();
        }
    }
    return ids;
}

QString submenuTitle(const QString& prefix)
{
    for (const Submenu& submenu : kSubmenus) {
        if (prefix == QLatin1String(submenu.prefix)) {
            return menuText(submenu.title);
        }
    }
    return prefix;
}

/// Ids that some plan names, by themselves or through a submenu.
QStringList plannedIds(const views::ActionRegistry& actions)
{
    QStringList ids;
    for (const MenuPlan& plan : kPlan) {
        for (const QString& entry : entriesOf(plan)) {
            ids << (entry.startsWith(QLatin1Char('>')) ? idsBeginning(actions, entry.mid(1)) : QStringList{entry});
        }
    }
    return ids;
}

/// What '*' stands for in a menu.
QStringList unplannedIds(const views::ActionRegistry& actions, const MenuPlan& plan)
{
    const QStringList planned = plannedIds(actions);
    QStringList ids;
    for (const QString& prefix : QString::fromLatin1(plan.prefix).split(QLatin1Char(' '))) {
        ids << idsBeginning(actions, prefix);
    }
    ids.removeIf([&](const QString& id) { return planned.contains(id); });
    return ids;
}

void addActions(QMenu& menu, const views::ActionRegistry& actions, const QStringList& ids)
{
    for (const QString& id : ids) {
        if (QAction* action = actions.find(id)) {
            menu.addAction(action);
        }
    }
}

void addEntry(QMenu& menu, const views::ActionRegistry& actions, const MenuPlan& plan, const QString& entry)
{
    if (entry == QLatin1String("-")) {
        menu.addSeparator();
    } else if (entry == QLatin1String("*")) {
        addActions(menu, actions, unplannedIds(actions, plan));
    } else if (!entry.startsWith(QLatin1Char('>'))) {
        addActions(menu, actions, {entry});
    } else if (const QStringList ids = idsBeginning(actions, entry.mid(1)); !ids.isEmpty()) {
        addActions(*menu.addMenu(submenuTitle(entry.mid(1))), actions, ids);
    }
}

QStringList idsOf(const QMenu& menu)
{
    QStringList ids;
    for (const QAction* action : menu.actions()) {
        if (action->menu() != nullptr) {
            ids << idsOf(*action->menu());
        } else if (!action->isSeparator()) {
            ids << action->objectName();
        }
    }
    return ids;
}

} // namespace

void fillMenus(QMenuBar& bar, const views::ActionRegistry& actions)
{
    for (const MenuPlan& plan : kPlan) {
        auto* menu = new QMenu(menuText(plan.title), &bar);
        menu->setToolTipsVisible(true);
        for (const QString& entry : entriesOf(plan)) {
            addEntry(*menu, actions, plan, entry);
        }
        if (!menu->isEmpty()) {
            bar.addMenu(menu);
        }
    }
}

QList<MenuContent> menuContents(const QMenuBar& bar)
{
    QList<MenuContent> contents;
    for (const QAction* action : bar.actions()) {
        if (action->menu() != nullptr) {
            contents.append({action->text().remove(QLatin1Char('&')), idsOf(*action->menu())});
        }
    }
    return contents;
}

} // namespace retro::app
