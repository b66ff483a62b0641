// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/result.h"
#include "views/common/paint/theme.h"
#include "views/graph/graphstatus.h"

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace retro::views
{

/// When a figure of a graph is taken. `run` may be null: nothing has happened.
struct FigureState
{
    const trace::RunState* run = nullptr;
    std::uint64_t position = 0;
    base::ValueId value; ///< marked; may be invalid
};

struct FigureOptions
{
    std::vector<bool> closed; ///< per group; pictures only
    ThemeKind theme = ThemeKind::Light;
    base::PromiseId promise; ///< whose path is drawn; may be invalid
    /// Only these nodes and what lies on the ways between them; empty = the whole graph. Pictures only.
    std::vector<base::NodeId> only = {};
    std::optional<layout::Rect> area = {}; ///< only this part of the drawing, in scene units. Pictures only.
};

/// Writes the whole graph as .svg, .png or .pdf (what is visible with some groups closed) or as .dot or .json (every
/// node; a part of the graph is refused). Needs a QGuiApplication for pictures. Errors: Usage (ending, too large for
/// PNG), Input (cannot be laid out), Output.
[[nodiscard]] base::Result<void> writeFigure(const std::filesystem::path& path,
                                             const std::shared_ptr<const GraphBook>& book, const FigureState& state,
                                             const FigureOptions& options);

/// Graphviz source: one node statement per node, clusters for scopes, edges labelled with their values.
[[nodiscard]] std::string dotOf(const GraphBook& book, const FigureState& state);
/// JSON, format "retrograde-figure/1": nodes with label, op, scope, shape, mode, visits; edges with value, operand and
/// relevance.
[[nodiscard]] std::string jsonOf(const GraphBook& book, const FigureState& state);

} // namespace retro::views
