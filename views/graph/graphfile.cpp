// SPDX-License-Identifier: Apache-2.0
#include "views/graph/graphfile.h"

#include "views/graph/graphfigure.h"

namespace retro::views
{

base::Result<void> writeGraphFigure(const std::filesystem::path& path, const graph::Graph& graph,
                                    const trace::RunState* state, const trace::Run& run,
                                    std::optional<std::uint64_t> position)
{
    // Borrowed for the length of this call: the pointers own nothing.
    const auto book =
        makeBook(std::shared_ptr<const trace::Run>(std::shared_ptr<void>(), &run),
                 std::shared_ptr<const graph::Graph>(std::shared_ptr<void>(), &graph), BoxMetrics::ofFonts());
    const std::uint64_t assumed = state != nullptr ? positionOf(run, *state) : 0;
    FigureOptions options;
    options.closed = initiallyClosed(*book);
    return writeFigure(path, book, {state, position.value_or(assumed), {}}, options);
}

} // namespace retro::views
