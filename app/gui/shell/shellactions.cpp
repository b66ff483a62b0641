// SPDX-License-Identifier: Apache-2.0
#include "app/gui/shell/shellactions.h"

#include <array>

#include <QtGlobal>

namespace retro::app
{

namespace
{

using views::ActionSpec;

// Pane n of the workspace on screen; the text becomes the pane's name.
#define RETRO_PANE(n)                                                                                                  \
    ActionSpec                                                                                                         \
    {                                                                                                                  \
        "window.dock" #n, QT_TRANSLATE_NOOP("retro::views::actions", "Pane " #n),                                      \
            QT_TRANSLATE_NOOP("retro::views::actions", "Show this pane and put the keyboard there"), "pane", "Alt+" #n \
    }

// File n of those opened last; bookmark n of the run. Text and tip become theirs.
#define RETRO_RECENT(n)                                                                                                \
    ActionSpec                                                                                                         \
    {                                                                                                                  \
        "file.recent." #n, QT_TRANSLATE_NOOP("retro::views::actions", "Recent file " #n),                              \
            QT_TRANSLATE_NOOP("retro::views::actions", "Open this file again"), "recent", ""                           \
    }
#define RETRO_BOOKMARK(n)                                                                                              \
    ActionSpec                                                                                                         \
    {                                                                                                                  \
        "go.bookmark." #n, QT_TRANSLATE_NOOP("retro::views::actions", "Bookmark " #n),                                 \
            QT_TRANSLATE_NOOP("retro::views::actions", "Go to this bookmark"), "bookmark", "Ctrl+" #n                  \
    }

constexpr std::array kShellActions{
    ActionSpec{"file.openrecent", QT_TRANSLATE_NOOP("retro::views::actions", "Find a recent &file…"),
               QT_TRANSLATE_NOOP("retro::views::actions", "Find a file that was opened before"), "recent",
               "Ctrl+Shift+O"},
    RETRO_RECENT(1),
    RETRO_RECENT(2),
    RETRO_RECENT(3),
    RETRO_RECENT(4),
    RETRO_RECENT(5),
    RETRO_RECENT(6),
    RETRO_RECENT(7),
    RETRO_RECENT(8),
    RETRO_RECENT(9),
    ActionSpec{"file.sample", QT_TRANSLATE_NOOP("retro::views::actions", "Open the sa&mple"),
               QT_TRANSLATE_NOOP("retro::views::actions", "Open and explain the built-in sample, Clever Hans"), "play",
               ""},
    ActionSpec{"file.sample.groups", QT_TRANSLATE_NOOP("retro::views::actions", "Silent &groups"),
               QT_TRANSLATE_NOOP("retro::views::actions",
                                 "Open and explain a network in which relevance vanishes at one grouped convolution"),
               "play", ""},
    ActionSpec{"file.sample.step", QT_TRANSLATE_NOOP("retro::views::actions", "&Marked step"),
               QT_TRANSLATE_NOOP("retro::views::actions", "Open and explain an LSTM that listens to one step"), "play",
               ""},
    ActionSpec{
        "file.sample.word", QT_TRANSLATE_NOOP("retro::views::actions", "Planted &word"),
        QT_TRANSLATE_NOOP("retro::views::actions", "Open and explain a transformer that judges reviews by one word"),
        "play", ""},
    ActionSpec{"file.sample.segment", QT_TRANSLATE_NOOP("retro::views::actions", "&One segment"),
               QT_TRANSLATE_NOOP("retro::views::actions", "Open a network that finds objects and explain one of them"),
               "play", ""},
    ActionSpec{"file.sample.digits", QT_TRANSLATE_NOOP("retro::views::actions", "LUT &digits"),
               QT_TRANSLATE_NOOP("retro::views::actions", "Open and explain a layer of tables that reads digits"),
               "play", ""},
    ActionSpec{"file.sample.byte", QT_TRANSLATE_NOOP("retro::views::actions", "Marked &byte"),
               QT_TRANSLATE_NOOP("retro::views::actions", "Open and explain a layer of tables that reads strings"),
               "play", ""},
    ActionSpec{"file.close", QT_TRANSLATE_NOOP("retro::views::actions", "&Close"),
               QT_TRANSLATE_NOOP("retro::views::actions", "Close the model and go to the welcome page"), "close",
               "Ctrl+Shift+W"},
    ActionSpec{"edit.preferences", QT_TRANSLATE_NOOP("retro::views::actions", "&Preferences…"),
               QT_TRANSLATE_NOOP("retro::views::actions", "Change colours, text size, sentences and keys"), "settings",
               "Ctrl+,"},
    ActionSpec{"go.historyback", QT_TRANSLATE_NOOP("retro::views::actions", "&Back"),
               QT_TRANSLATE_NOOP("retro::views::actions", "To the step and selection before"), "historyback",
               "Alt+Left"},
    ActionSpec{"go.historyforward", QT_TRANSLATE_NOOP("retro::views::actions", "&Forward"),
               QT_TRANSLATE_NOOP("retro::views::actions", "To the step and selection that you came back from"),
               "historyforward", "Alt+Right"},
    ActionSpec{"go.mark", QT_TRANSLATE_NOOP("retro::views::actions", "Set or remove boo&kmark"),
               QT_TRANSLATE_NOOP("retro::views::actions", "Remember this step, or no longer"), "bookmark", "Ctrl+B"},
    ActionSpec{"go.marknext", QT_TRANSLATE_NOOP("retro::views::actions", "Next bookmark"),
               QT_TRANSLATE_NOOP("retro::views::actions", "To the next bookmark"), "bookmark", "F2"},
    ActionSpec{"go.markback", QT_TRANSLATE_NOOP("retro::views::actions", "Previous bookmark"),
               QT_TRANSLATE_NOOP("retro::views::actions", "Back to the last bookmark"), "bookmark", "Shift+F2"},
    ActionSpec{"go.note", QT_TRANSLATE_NOOP("retro::views::actions", "Pin in the &notebook…"),
               QT_TRANSLATE_NOOP("retro::views::actions", "Keep this step and selection with a comment"), "pin",
               "Ctrl+M"},
    RETRO_BOOKMARK(1),
    RETRO_BOOKMARK(2),
    RETRO_BOOKMARK(3),
    RETRO_BOOKMARK(4),
    RETRO_BOOKMARK(5),
    RETRO_BOOKMARK(6),
    RETRO_BOOKMARK(7),
    RETRO_BOOKMARK(8),
    RETRO_BOOKMARK(9),
    ActionSpec{"view.palette", QT_TRANSLATE_NOOP("retro::views::actions", "&Command palette…"),
               QT_TRANSLATE_NOOP("retro::views::actions", "Find an action, a layer, a step or a promise by name"),
               "search", "Ctrl+Shift+P"},
    ActionSpec{"view.theme.system", QT_TRANSLATE_NOOP("retro::views::actions", "Colours as the &desktop"),
               QT_TRANSLATE_NOOP("retro::views::actions", "Light or dark as the desktop is"), "theme", "", true},
    ActionSpec{"view.theme.light", QT_TRANSLATE_NOOP("retro::views::actions", "&Light colours"),
               QT_TRANSLATE_NOOP("retro::views::actions", "Dark text on white"), "theme", "", true},
    ActionSpec{"view.theme.dark", QT_TRANSLATE_NOOP("retro::views::actions", "D&ark colours"),
               QT_TRANSLATE_NOOP("retro::views::actions", "Light text on near-black"), "theme", "", true},
    ActionSpec{"window.explain", QT_TRANSLATE_NOOP("retro::views::actions", "&Explain"),
               QT_TRANSLATE_NOOP("retro::views::actions", "Show the workspace in pictures, classes and layers"),
               "layout", "Ctrl+Alt+1", true},
    ActionSpec{"window.engine", QT_TRANSLATE_NOOP("retro::views::actions", "E&ngine"),
               QT_TRANSLATE_NOOP("retro::views::actions", "Show the workspace of graph, promises and timeline"),
               "layout", "Ctrl+Alt+2", true},
    ActionSpec{"window.plan", QT_TRANSLATE_NOOP("retro::views::actions", "&Plan"),
               QT_TRANSLATE_NOOP("retro::views::actions", "Show the workspace of memory, plans and their planners"),
               "layout", "Ctrl+Alt+3", true},
    ActionSpec{"window.kernels", QT_TRANSLATE_NOOP("retro::views::actions", "&Kernels"),
               QT_TRANSLATE_NOOP("retro::views::actions", "Show the workspace of LUT layers: kernels, tables, pairs"),
               "layout", "Ctrl+Alt+4", true},
    RETRO_PANE(1),
    RETRO_PANE(2),
    RETRO_PANE(3),
    RETRO_PANE(4),
    RETRO_PANE(5),
    RETRO_PANE(6),
    RETRO_PANE(7),
    RETRO_PANE(8),
    RETRO_PANE(9),
    ActionSpec{"window.maximise", QT_TRANSLATE_NOOP("retro::views::actions", "&Maximise pane"),
               QT_TRANSLATE_NOOP("retro::views::actions", "Show only this pane, or all of them again"), "expand", "F12",
               true},
    ActionSpec{"window.close", QT_TRANSLATE_NOOP("retro::views::actions", "&Close pane"),
               QT_TRANSLATE_NOOP("retro::views::actions", "Hide this pane; Alt and its number bring it back"), "close",
               "Ctrl+W"},
    ActionSpec{"window.notebook", QT_TRANSLATE_NOOP("retro::views::actions", "Note&book"),
               QT_TRANSLATE_NOOP("retro::views::actions", "Show where you have been and what you noted"), "pin", ""},
    ActionSpec{"window.problems", QT_TRANSLATE_NOOP("retro::views::actions", "&Problems"),
               QT_TRANSLATE_NOOP("retro::views::actions", "Show what went wrong, or may mislead"), "warning",
               "Ctrl+Shift+M", true},
    ActionSpec{"help.page", QT_TRANSLATE_NOOP("retro::views::actions", "&Help on this view"),
               QT_TRANSLATE_NOOP("retro::views::actions", "Show the page about the view that has the keyboard"), "help",
               "F1"},
    ActionSpec{"help.keys", QT_TRANSLATE_NOOP("retro::views::actions", "&Keys"),
               QT_TRANSLATE_NOOP("retro::views::actions", "Show every key on one sheet"), "keyboard", "?"},
    ActionSpec{"help.log", QT_TRANSLATE_NOOP("retro::views::actions", "&Log"),
               QT_TRANSLATE_NOOP("retro::views::actions", "Show what the program noted of its own doings"), "node", ""},
    ActionSpec{"help.about", QT_TRANSLATE_NOOP("retro::views::actions", "&About Retrograde"),
               QT_TRANSLATE_NOOP("retro::views::actions", "Version and licence"), "help", ""},
};

#undef RETRO_PANE
#undef RETRO_RECENT
#undef RETRO_BOOKMARK

} // namespace

std::span<const views::ActionSpec> shellActions() { return kShellActions; }

} // namespace retro::app
