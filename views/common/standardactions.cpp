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
               QT_TRANSLATE_NOOP("retro::views::actions",
                                 "Save this run, into its file when it has one; it opens without the model"),
               "save", "Ctrl+S"},
    ActionSpec{"file.saveas", QT_TRANSLATE_NOOP("retro::views::actions", "Save run &as…"),
               QT_TRANSLATE_NOOP("retro::views::actions", "Save this run to another file"), "save", "Ctrl+Shift+S"},
    ActionSpec{"file.quit", QT_TRANSLATE_NOOP("retro::views::actions", "&Quit"),
               QT_TRANSLATE_NOOP("retro::views::actions", "Close the window"), "close", "Ctrl+Q"},
    ActionSpec{"run.start", QT_TRANSLATE_NOOP("retro::views::actions", "&Explain"),
               QT_TRANSLATE_NOOP("retro::views::actions", "Run the model and explain its answer"), "play", "Ctrl+R"},
    ActionSpec{"run.stop", QT_TRANSLATE_NOOP("retro::views::actions", "S&top"),
               QT_TRANSLATE_NOOP("retro::views::actions", "Stop the job that is running"), "stop", "Esc"},
    ActionSpec{"go.first", QT_TRANSLATE_NOOP("retro::views::actions", "To the &start"),
               QT_TRANSLATE_NOOP("retro::views::actions", "Go to before the first step"), "first", "Home"},
    ActionSpec{"go.runback", QT_TRANSLATE_NOOP("retro::views::actions", "Run bac&k"),
               QT_TRANSLATE_NOOP("retro::views::actions",
                                 "Run back to what is chosen in the tool bar (a breakpoint, at first)"),
               "runback", "Shift+F5"},
    ActionSpec{"go.back", QT_TRANSLATE_NOOP("retro::views::actions", "Step &back"),
               QT_TRANSLATE_NOOP("retro::views::actions", "One step back"), "back", "Shift+F11"},
    ActionSpec{"go.play", QT_TRANSLATE_NOOP("retro::views::actions", "&Play"),
               QT_TRANSLATE_NOOP("retro::views::actions", "Play step by step, or pause"), "play", "Space"},
    ActionSpec{"go.forward", QT_TRANSLATE_NOOP("retro::views::actions", "Step &forward"),
               QT_TRANSLATE_NOOP("retro::views::actions", "One step forward"), "forward", "F11"},
    ActionSpec{
        "go.run", QT_TRANSLATE_NOOP("retro::views::actions", "&Run on"),
        QT_TRANSLATE_NOOP("retro::views::actions", "Run to what is chosen in the tool bar (a breakpoint, at first)"),
        "runforward", "F5"},
    ActionSpec{"go.last", QT_TRANSLATE_NOOP("retro::views::actions", "To the &end"),
               QT_TRANSLATE_NOOP("retro::views::actions", "Go to after the last step"), "last", "End"},
    ActionSpec{"go.over", QT_TRANSLATE_NOOP("retro::views::actions", "Step &over"),
               QT_TRANSLATE_NOOP("retro::views::actions", "To the next visit outside this group"), "stepover", "F10"},
    ActionSpec{"go.overback", QT_TRANSLATE_NOOP("retro::views::actions", "Step over, back"),
               QT_TRANSLATE_NOOP("retro::views::actions", "Back to the last visit outside this group"), "stepoverback",
               "Shift+F10"},
    ActionSpec{"go.out", QT_TRANSLATE_NOOP("retro::views::actions", "Finish the &promise"),
               QT_TRANSLATE_NOOP("retro::views::actions", "On to where the promise that waits is fulfilled"), "stepout",
               "Ctrl+F11"},
    ActionSpec{"go.outback", QT_TRANSLATE_NOOP("retro::views::actions", "Back to its opening"),
               QT_TRANSLATE_NOOP("retro::views::actions", "Back to where the promise was opened"), "stepoutback",
               "Ctrl+Shift+F11"},
    ActionSpec{"go.selection", QT_TRANSLATE_NOOP("retro::views::actions", "Run to se&lection"),
               QT_TRANSLATE_NOOP("retro::views::actions",
                                 "To the next visit of the selected node, or the next change of the selected promise"),
               "runto", "Ctrl+F10"},
    ActionSpec{"go.selectionback", QT_TRANSLATE_NOOP("retro::views::actions", "Run back to selection"),
               QT_TRANSLATE_NOOP("retro::views::actions",
                                 "Back to the last visit of the selected node, or change of the selected promise"),
               "runtoback", "Ctrl+Shift+F10"},
    ActionSpec{"go.mode", QT_TRANSLATE_NOOP("retro::views::actions", "Next &mode change"),
               QT_TRANSLATE_NOOP("retro::views::actions", "To the next visit in another mode"), "modechange", "F6"},
    ActionSpec{"go.modeback", QT_TRANSLATE_NOOP("retro::views::actions", "Previous mode change"),
               QT_TRANSLATE_NOOP("retro::views::actions", "Back to the last change of mode"), "modechange", "Shift+F6"},
    ActionSpec{"go.violation", QT_TRANSLATE_NOOP("retro::views::actions", "Next lost relevance"),
               QT_TRANSLATE_NOOP("retro::views::actions", "To the next rule that loses relevance"), "violation", "F7"},
    ActionSpec{"go.violationback", QT_TRANSLATE_NOOP("retro::views::actions", "Previous lost relevance"),
               QT_TRANSLATE_NOOP("retro::views::actions", "Back to the last rule that lost relevance"), "violation",
               "Shift+F7"},
    ActionSpec{"go.fulfilled", QT_TRANSLATE_NOOP("retro::views::actions", "Next &fulfilment"),
               QT_TRANSLATE_NOOP("retro::views::actions", "To where the next promise is fulfilled"), "fulfilled", "F8"},
    ActionSpec{"go.fulfilledback", QT_TRANSLATE_NOOP("retro::views::actions", "Previous fulfilment"),
               QT_TRANSLATE_NOOP("retro::views::actions", "Back to where the last promise was fulfilled"), "fulfilled",
               "Shift+F8"},
    ActionSpec{"go.creep", QT_TRANSLATE_NOOP("retro::views::actions", "A tenth of a visit on"),
               QT_TRANSLATE_NOOP("retro::views::actions", "Show the motion of a visit frame by frame"), "forward", "."},
    ActionSpec{"go.creepback", QT_TRANSLATE_NOOP("retro::views::actions", "A tenth of a visit back"),
               QT_TRANSLATE_NOOP("retro::views::actions", "Show the motion of a visit frame by frame, backwards"),
               "back", ","},
    ActionSpec{"go.slower", QT_TRANSLATE_NOOP("retro::views::actions", "Play slower"),
               QT_TRANSLATE_NOOP("retro::views::actions", "Fewer steps per second while playing"), "slower", "["},
    ActionSpec{"go.faster", QT_TRANSLATE_NOOP("retro::views::actions", "Play faster"),
               QT_TRANSLATE_NOOP("retro::views::actions", "More steps per second while playing"), "faster", "]"},
    ActionSpec{"run.breakpoint", QT_TRANSLATE_NOOP("retro::views::actions", "Toggle &breakpoint"),
               QT_TRANSLATE_NOOP("retro::views::actions", "Stop at the selected node, or no longer"), "breakpoint",
               "F9"},
    ActionSpec{
        "run.breakpointedit", QT_TRANSLATE_NOOP("retro::views::actions", "&Edit breakpoint…"),
        QT_TRANSLATE_NOOP("retro::views::actions", "Change the condition of the breakpoint at the selected node"),
        "breakpoint", "Ctrl+F9"},
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
};

} // namespace

std::span<const ActionSpec> standardActions() { return kActions; }

} // namespace retro::views
