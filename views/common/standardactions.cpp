// SPDX-License-Identifier: Apache-2.0
#include "views/common/actions.h"

#include <array>

namespace retro::views
{

namespace
{

// Keys: the Visual Studio family, Shift = the same thing backwards.
constexpr std::array kActions{
    ActionSpec{"file.open", RETRO_ACTION("&Open…"), RETRO_ACTION("Open a model, a picture or a recorded run"), "open",
               "Ctrl+O"},
    ActionSpec{"file.save", RETRO_ACTION("&Save run…"),
               RETRO_ACTION("Save this run, into its file when it has one; it opens without the model"), "save",
               "Ctrl+S"},
    ActionSpec{"file.saveas", RETRO_ACTION("Save run &as…"), RETRO_ACTION("Save this run to another file"), "save",
               "Ctrl+Shift+S"},
    ActionSpec{"file.quit", RETRO_ACTION("&Quit"), RETRO_ACTION("Close the window"), "close", "Ctrl+Q"},
    ActionSpec{"run.start", RETRO_ACTION("&Explain"), RETRO_ACTION("Run the model and explain its answer"), "play",
               "Ctrl+R"},
    ActionSpec{"run.stop", RETRO_ACTION("S&top"), RETRO_ACTION("Stop the job that is running"), "stop", "Esc"},
    ActionSpec{"go.first", RETRO_ACTION("To the &start"), RETRO_ACTION("Go to before the first step"), "first", "Home"},
    ActionSpec{"go.runback", RETRO_ACTION("Run bac&k"),
               RETRO_ACTION("Run back to what is chosen in the tool bar (a breakpoint, at first)"), "runback",
               "Shift+F5"},
    ActionSpec{"go.back", RETRO_ACTION("Step &back"), RETRO_ACTION("One step back"), "back", "Shift+F11"},
    ActionSpec{"go.play", RETRO_ACTION("&Play"), RETRO_ACTION("Play step by step, or pause"), "play", "Space"},
    ActionSpec{"go.forward", RETRO_ACTION("Step &forward"), RETRO_ACTION("One step forward"), "forward", "F11"},
    ActionSpec{"go.run", RETRO_ACTION("&Run on"),
               RETRO_ACTION("Run to what is chosen in the tool bar (a breakpoint, at first)"), "runforward", "F5"},
    ActionSpec{"go.last", RETRO_ACTION("To the &end"), RETRO_ACTION("Go to after the last step"), "last", "End"},
    ActionSpec{"go.over", RETRO_ACTION("Step &over"), RETRO_ACTION("To the next visit outside this group"), "stepover",
               "F10"},
    ActionSpec{"go.overback", RETRO_ACTION("Step over, back"),
               RETRO_ACTION("Back to the last visit outside this group"), "stepoverback", "Shift+F10"},
    ActionSpec{"go.out", RETRO_ACTION("Finish the &promise"),
               RETRO_ACTION("On to where the promise that waits is fulfilled"), "stepout", "Ctrl+F11"},
    ActionSpec{"go.outback", RETRO_ACTION("Back to its opening"), RETRO_ACTION("Back to where the promise was opened"),
               "stepoutback", "Ctrl+Shift+F11"},
    ActionSpec{"go.selection", RETRO_ACTION("Run to se&lection"),
               RETRO_ACTION("To the next visit of the selected node, or the next change of the selected promise"),
               "runto", "Ctrl+F10"},
    ActionSpec{"go.selectionback", RETRO_ACTION("Run back to selection"),
               RETRO_ACTION("Back to the last visit of the selected node, or change of the selected promise"),
               "runtoback", "Ctrl+Shift+F10"},
    ActionSpec{"go.mode", RETRO_ACTION("Next &mode change"), RETRO_ACTION("To the next visit in another mode"),
               "modechange", "F6"},
    ActionSpec{"go.modeback", RETRO_ACTION("Previous mode change"), RETRO_ACTION("Back to the last change of mode"),
               "modechange", "Shift+F6"},
    ActionSpec{"go.violation", RETRO_ACTION("Next lost relevance"),
               RETRO_ACTION("To the next rule that loses relevance"), "violation", "F7"},
    ActionSpec{"go.violationback", RETRO_ACTION("Previous lost relevance"),
               RETRO_ACTION("Back to the last rule that lost relevance"), "violation", "Shift+F7"},
    ActionSpec{"go.fulfilled", RETRO_ACTION("Next &fulfilment"), RETRO_ACTION("To where the next promise is fulfilled"),
               "fulfilled", "F8"},
    ActionSpec{"go.fulfilledback", RETRO_ACTION("Previous fulfilment"),
               RETRO_ACTION("Back to where the last promise was fulfilled"), "fulfilled", "Shift+F8"},
    ActionSpec{"go.creep", RETRO_ACTION("A tenth of a visit on"),
               RETRO_ACTION("Show the motion of a visit frame by frame"), "forward", "."},
    ActionSpec{"go.creepback", RETRO_ACTION("A tenth of a visit back"),
               RETRO_ACTION("Show the motion of a visit frame by frame, backwards"), "back", ","},
    ActionSpec{"go.slower", RETRO_ACTION("Play slower"), RETRO_ACTION("Fewer steps per second while playing"), "slower",
               "["},
    ActionSpec{"go.faster", RETRO_ACTION("Play faster"), RETRO_ACTION("More steps per second while playing"), "faster",
               "]"},
    ActionSpec{"run.breakpoint", RETRO_ACTION("Toggle &breakpoint"),
               RETRO_ACTION("Stop at the selected node, or no longer"), "breakpoint", "F9"},
    ActionSpec{"run.breakpointedit", RETRO_ACTION("&Edit breakpoint…"),
               RETRO_ACTION("Change the condition of the breakpoint at the selected node"), "breakpoint", "Ctrl+F9"},
    ActionSpec{"view.zoomin", RETRO_ACTION("Zoom &in"), RETRO_ACTION("Show the graph larger"), "zoomin", "Ctrl++"},
    ActionSpec{"view.zoomout", RETRO_ACTION("Zoom &out"), RETRO_ACTION("Show the graph smaller"), "zoomout", "Ctrl+-"},
    ActionSpec{"view.zoomfit", RETRO_ACTION("&Fit"), RETRO_ACTION("Show the whole graph"), "zoomfit", "Ctrl+0"},
    ActionSpec{"view.find", RETRO_ACTION("&Find…"), RETRO_ACTION("Find a node by name"), "search", "Ctrl+F"},
    ActionSpec{"view.resetlayout", RETRO_ACTION("Reset &layout"),
               RETRO_ACTION("Put every pane back where it was at first"), "layout", ""},
};

} // namespace

std::span<const ActionSpec> standardActions() { return kActions; }

} // namespace retro::views
