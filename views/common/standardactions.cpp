// SPDX-License-Identifier: Apache-2.0
#include "views/common/actions.h"

#include <array>

#include <QtGlobal>

namespace retro::views
{

namespace
{

// Keys: the Visual Studio family, Shift = the same thing backwards.
constexpr std::array kActions{
    ActionSpec{"file.open", QT_TRANSLATE_NOOP("retro::views::actions", "&Open…"),
               QT_TRANSLATE_NOOP("retro::views::actions", "Open a model, a picture or a recorded run"), "open",
               "Ctrl+O"},
    ActionSpec{"file.save", QT_TRANSLATE_NOOP("retro::views::actions", "&Save run…"),
               QT_TRANSLATE_NOOP("retro::views::actions", "Save this run to a file that opens without the model"),
               "save", "Ctrl+S"},
    ActionSpec{"file.quit", QT_TRANSLATE_NOOP("retro::views::actions", "&Quit"),
               QT_TRANSLATE_NOOP("retro::views::actions", "Close the window"), "close", "Ctrl+Q"},
    ActionSpec{"run.start", QT_TRANSLATE_NOOP("retro::views::actions", "&Explain"),
               QT_TRANSLATE_NOOP("retro::views::actions", "Run the model and explain its answer"), "play", "Ctrl+R"},
    ActionSpec{"run.stop", QT_TRANSLATE_NOOP("retro::views::actions", "S&top"),
               QT_TRANSLATE_NOOP("retro::views::actions", "Stop the job that is running"), "stop", "Esc"},
    ActionSpec{"go.first", QT_TRANSLATE_NOOP("retro::views::actions", "To the &start"),
               QT_TRANSLATE_NOOP("retro::views::actions", "Go to before the first step"), "first", "Home"},
    ActionSpec{"go.runback", QT_TRANSLATE_NOOP("retro::views::actions", "Run bac&k"),
               QT_TRANSLATE_NOOP("retro::views::actions", "Play backwards to the start"), "runback", "Shift+F5"},
    ActionSpec{"go.back", QT_TRANSLATE_NOOP("retro::views::actions", "Step &back"),
               QT_TRANSLATE_NOOP("retro::views::actions", "One step back"), "back", "Shift+F11"},
    ActionSpec{"go.play", QT_TRANSLATE_NOOP("retro::views::actions", "&Play"),
               QT_TRANSLATE_NOOP("retro::views::actions", "Play step by step, or pause"), "play", "Space"},
    ActionSpec{"go.forward", QT_TRANSLATE_NOOP("retro::views::actions", "Step &forward"),
               QT_TRANSLATE_NOOP("retro::views::actions", "One step forward"), "forward", "F11"},
    ActionSpec{"go.run", QT_TRANSLATE_NOOP("retro::views::actions", "&Run on"),
               QT_TRANSLATE_NOOP("retro::views::actions", "Play to the end"), "runforward", "F5"},
    ActionSpec{"go.last", QT_TRANSLATE_NOOP("retro::views::actions", "To the &end"),
               QT_TRANSLATE_NOOP("retro::views::actions", "Go to after the last step"), "last", "End"},
    ActionSpec{"go.over", QT_TRANSLATE_NOOP("retro::views::actions", "Step &over"),
               QT_TRANSLATE_NOOP("retro::views::actions", "To the next visit of another group"), "stepover", "F10"},
    ActionSpec{"go.mode", QT_TRANSLATE_NOOP("retro::views::actions", "Next &mode change"),
               QT_TRANSLATE_NOOP("retro::views::actions", "To the next visit in another mode"), "stepout", "F6"},
    ActionSpec{"go.modeback", QT_TRANSLATE_NOOP("retro::views::actions", "Previous mode change"),
               QT_TRANSLATE_NOOP("retro::views::actions", "Back to the last visit in another mode"), "stepout",
               "Shift+F6"},
    ActionSpec{"view.zoomin", QT_TRANSLATE_NOOP("retro::views::actions", "Zoom &in"),
               QT_TRANSLATE_NOOP("retro::views::actions", "Show the graph larger"), "zoomin", "Ctrl++"},
    ActionSpec{"view.zoomout", QT_TRANSLATE_NOOP("retro::views::actions", "Zoom &out"),
               QT_TRANSLATE_NOOP("retro::views::actions", "Show the graph smaller"), "zoomout", "Ctrl+-"},
    ActionSpec{"view.zoomfit", QT_TRANSLATE_NOOP("retro::views::actions", "&Fit"),
               QT_TRANSLATE_NOOP("retro::views::actions", "Show the whole graph"), "zoomfit", "Ctrl+0"},
    ActionSpec{"view.find", QT_TRANSLATE_NOOP("retro::views::actions", "&Find…"),
               QT_TRANSLATE_NOOP("retro::views::actions", "Find a node by name"), "search", "Ctrl+F"},
    ActionSpec{"view.resetlayout", QT_TRANSLATE_NOOP("retro::views::actions", "Reset &layout"),
               QT_TRANSLATE_NOOP("retro::views::actions", "Put every pane back where it was at first"), "layout", ""},
    ActionSpec{"export.heatmap", QT_TRANSLATE_NOOP("retro::views::actions", "Export &heatmap…"),
               QT_TRANSLATE_NOOP("retro::views::actions", "Save the heatmap as PNG, SVG or PDF"), "export", "Ctrl+E"},
    ActionSpec{"export.graph", QT_TRANSLATE_NOOP("retro::views::actions", "Export &graph…"),
               QT_TRANSLATE_NOOP("retro::views::actions", "Save the graph as PNG, SVG or PDF"), "export",
               "Ctrl+Shift+E"},
};

} // namespace

std::span<const ActionSpec> standardActions() { return kActions; }

} // namespace retro::views
