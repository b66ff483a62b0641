// SPDX-License-Identifier: Apache-2.0
#include "app/gui/shell/shellactions.h"

#include <array>

namespace retro::app
{

namespace
{

using views::ActionSpec;

// Pane n of the workspace on screen; the text becomes the pane's name.
#define RETRO_PANE(n)                                                                                                  \
    ActionSpec                                                                                                         \
    {                                                                                                                  \
        "window.dock" #n, RETRO_ACTION("Pane " #n), RETRO_ACTION("Show this pane and put the keyboard there"), "pane", \
            "Alt+" #n                                                                                                  \
    }

// File n of those opened last; bookmark n of the run. Text and tip become theirs.
#define RETRO_RECENT(n)                                                                                                \
    ActionSpec                                                                                                         \
    {                                                                                                                  \
        "file.recent." #n, RETRO_ACTION("Recent file " #n), RETRO_ACTION("Open this file again"), "recent", ""         \
    }
#define RETRO_BOOKMARK(n)                                                                                              \
    ActionSpec                                                                                                         \
    {                                                                                                                  \
        "go.bookmark." #n, RETRO_ACTION("Bookmark " #n), RETRO_ACTION("Go to this bookmark"), "bookmark", "Ctrl+" #n   \
    }

constexpr std::array kShellActions{
    ActionSpec{"file.openrecent", RETRO_ACTION("Find a recent &file…"),
               RETRO_ACTION("Find a file that was opened before"), "recent", "Ctrl+Shift+O"},
    RETRO_RECENT(1),
    RETRO_RECENT(2),
    RETRO_RECENT(3),
    RETRO_RECENT(4),
    RETRO_RECENT(5),
    RETRO_RECENT(6),
    RETRO_RECENT(7),
    RETRO_RECENT(8),
    RETRO_RECENT(9),
    ActionSpec{"file.sample", RETRO_ACTION("Open the sa&mple"),
               RETRO_ACTION("Open and explain the built-in sample, Clever Hans"), "play", ""},
    ActionSpec{"file.sample.groups", RETRO_ACTION("Silent &groups"),
               RETRO_ACTION("Open and explain a network in which relevance vanishes at one grouped convolution"),
               "play", ""},
    ActionSpec{"file.sample.step", RETRO_ACTION("&Marked step"),
               RETRO_ACTION("Open and explain an LSTM that listens to one step"), "play", ""},
    ActionSpec{"file.sample.word", RETRO_ACTION("Planted &word"),
               RETRO_ACTION("Open and explain a transformer that judges reviews by one word"), "play", ""},
    ActionSpec{"file.sample.segment", RETRO_ACTION("&One segment"),
               RETRO_ACTION("Open a network that finds objects and explain one of them"), "play", ""},
    ActionSpec{"file.sample.digits", RETRO_ACTION("LUT &digits"),
               RETRO_ACTION("Open and explain a layer of tables that reads digits"), "play", ""},
    ActionSpec{"file.sample.byte", RETRO_ACTION("Marked &byte"),
               RETRO_ACTION("Open and explain a layer of tables that reads strings"), "play", ""},
    ActionSpec{"file.sample.skips", RETRO_ACTION("LUT &skips"),
               RETRO_ACTION("Open and explain a network with layers of tables between convolutions and a head"), "play",
               ""},
    ActionSpec{"file.close", RETRO_ACTION("&Close"), RETRO_ACTION("Close the model and go to the welcome page"),
               "close", "Ctrl+Shift+W"},
    ActionSpec{"edit.preferences", RETRO_ACTION("&Preferences…"),
               RETRO_ACTION("Change colours, text size, sentences and keys"), "settings", "Ctrl+,"},
    ActionSpec{"go.historyback", RETRO_ACTION("&Back"), RETRO_ACTION("To the step and selection before"), "historyback",
               "Alt+Left"},
    ActionSpec{"go.historyforward", RETRO_ACTION("&Forward"),
               RETRO_ACTION("To the step and selection that you came back from"), "historyforward", "Alt+Right"},
    ActionSpec{"go.mark", RETRO_ACTION("Set or remove boo&kmark"), RETRO_ACTION("Remember this step, or no longer"),
               "bookmark", "Ctrl+B"},
    ActionSpec{"go.marknext", RETRO_ACTION("Next bookmark"), RETRO_ACTION("To the next bookmark"), "bookmark", "F2"},
    ActionSpec{"go.markback", RETRO_ACTION("Previous bookmark"), RETRO_ACTION("Back to the last bookmark"), "bookmark",
               "Shift+F2"},
    ActionSpec{"go.note", RETRO_ACTION("Pin in the &notebook…"),
               RETRO_ACTION("Keep this step and selection with a comment"), "pin", "Ctrl+M"},
    RETRO_BOOKMARK(1),
    RETRO_BOOKMARK(2),
    RETRO_BOOKMARK(3),
    RETRO_BOOKMARK(4),
    RETRO_BOOKMARK(5),
    RETRO_BOOKMARK(6),
    RETRO_BOOKMARK(7),
    RETRO_BOOKMARK(8),
    RETRO_BOOKMARK(9),
    ActionSpec{"view.palette", RETRO_ACTION("&Command palette…"),
               RETRO_ACTION("Find an action, a layer, a step or a promise by name"), "search", "Ctrl+Shift+P"},
    ActionSpec{"view.theme.system", RETRO_ACTION("Colours as the &desktop"),
               RETRO_ACTION("Light or dark as the desktop is"), "theme", "", true},
    ActionSpec{"view.theme.light", RETRO_ACTION("&Light colours"), RETRO_ACTION("Dark text on white"), "theme", "",
               true},
    ActionSpec{"view.theme.dark", RETRO_ACTION("D&ark colours"), RETRO_ACTION("Light text on near-black"), "theme", "",
               true},
    ActionSpec{"window.explain", RETRO_ACTION("&Explain"),
               RETRO_ACTION("Show the workspace in pictures, classes and layers"), "layout", "Ctrl+Alt+1", true},
    ActionSpec{"window.engine", RETRO_ACTION("E&ngine"),
               RETRO_ACTION("Show the workspace of graph, promises and timeline"), "layout", "Ctrl+Alt+2", true},
    ActionSpec{"window.plan", RETRO_ACTION("&Plan"),
               RETRO_ACTION("Show the workspace of memory, plans and their planners"), "layout", "Ctrl+Alt+3", true},
    ActionSpec{"window.kernels", RETRO_ACTION("&Kernels"),
               RETRO_ACTION("Show the workspace of LUT layers: kernels, tables, pairs"), "layout", "Ctrl+Alt+4", true},
    RETRO_PANE(1),
    RETRO_PANE(2),
    RETRO_PANE(3),
    RETRO_PANE(4),
    RETRO_PANE(5),
    RETRO_PANE(6),
    RETRO_PANE(7),
    RETRO_PANE(8),
    RETRO_PANE(9),
    ActionSpec{"window.maximise", RETRO_ACTION("&Maximise pane"),
               RETRO_ACTION("Show only this pane, or all of them again"), "expand", "F12", true},
    ActionSpec{"window.close", RETRO_ACTION("&Close pane"),
               RETRO_ACTION("Hide this pane; Alt and its number bring it back"), "close", "Ctrl+W"},
    ActionSpec{"window.notebook", RETRO_ACTION("Note&book"),
               RETRO_ACTION("Show where you have been and what you noted"), "pin", ""},
    ActionSpec{"window.problems", RETRO_ACTION("&Problems"), RETRO_ACTION("Show what went wrong, or may mislead"),
               "warning", "Ctrl+Shift+M", true},
    ActionSpec{"help.page", RETRO_ACTION("&Help on this view"),
               RETRO_ACTION("Show the page about the view that has the keyboard"), "help", "F1"},
    ActionSpec{"help.keys", RETRO_ACTION("&Keys"), RETRO_ACTION("Show every key on one sheet"), "keyboard", "?"},
    ActionSpec{"help.log", RETRO_ACTION("&Log"), RETRO_ACTION("Show what the program noted of its own doings"), "node",
               ""},
    ActionSpec{"help.about", RETRO_ACTION("&About Retrograde"), RETRO_ACTION("Version and licence"), "help", ""},
};

#undef RETRO_PANE
#undef RETRO_RECENT
#undef RETRO_BOOKMARK

} // namespace

std::span<const views::ActionSpec> shellActions() { return kShellActions; }

} // namespace retro::app
