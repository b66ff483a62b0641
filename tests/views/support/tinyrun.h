// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "views/common/viewcontext.h"

namespace retro::tests
{

/// Side of the tiny run's picture.
inline constexpr int kTinySide = 24;

/// Nodes of the tiny run, by NodeId.
enum TinyNode : std::uint32_t {
    kConv1 = 0,
    kRelu1 = 1,
    kConv2 = 2,
    kAdd = 3,
    kPool = 4,
    kFlatten = 5,
    kFc = 6,
    kImage = 7,
    kTinyNodes = 8
};
inline constexpr std::uint32_t kTinyVisits = 10;

/// A whole run of seven nodes, put together by hand: image → conv1 → relu1 → conv2 → add (with relu1) → pool → flatten
/// → fc. The Add raises a promise of two branches; conv2 answers one by itself, relu1 the other by a Pre-Promise of its
/// own; ten visits: N N N N N T F N N N. The picture has a tag in its upper right corner, which gets most of the
/// relevance; the bias of fc and conv1 take some.
[[nodiscard]] views::RunHandle makeTinyRun();
/// The same run under the gradient rule, which conserves nothing.
[[nodiscard]] views::RunHandle makeTinyGradientRun();
/// How its input is a picture; class names mug, jug, lamp.
[[nodiscard]] views::InputInfo makeTinyInput();
/// Position when visit `visit` of the tiny run is complete.
[[nodiscard]] std::uint64_t endOfVisit(const views::RunModel& model, std::uint32_t visit);

/// Cursor, selection and model of a window without the window.
struct ViewContext
{
    views::Cursor cursor;
    views::Selection selection;
    views::RunModel model{cursor};

    /// Shows the tiny run, at its end.
    void showTinyRun() { model.setRun(makeTinyRun(), makeTinyInput()); }
};

/// With the tiny run.
struct TinyContext : ViewContext
{
    TinyContext() { showTinyRun(); }
};

/// A view on the screen, with what waited for that.
template <class View>
void showAt(View& view, int width, int height)
{
    view.resize(width, height);
    view.show();
    view.flush();
}

} // namespace retro::tests
