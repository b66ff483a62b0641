// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tests/views/support/tinyrun.h"
#include "views/graph/graphcanvas.h"
#include "views/graph/graphview.h"

#include <utility>

namespace retro::tests
{

/// The graph of a run, shown.
struct GraphStage
{
    explicit GraphStage(views::RunHandle of)
        : handle(std::move(of)), view(context.model, context.cursor, context.selection)
    {
        context.model.setRun(handle);
        view.resize(880, 620);
        view.show();
        view.flush();
    }
    [[nodiscard]] views::GraphCanvas& canvas() const { return view.canvas(); }
    [[nodiscard]] const views::GraphScene& scene() const { return *canvas().scene(); }

    views::RunHandle handle;
    ViewContext context;
    views::GraphView view;
};

} // namespace retro::tests
