// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/result.h"
#include "core/layout/layeredlayout.h"
#include "core/layout/layoutinput.h"

#include <string>
#include <string_view>

namespace retro::layout
{

/// First line of every answer of the layout program.
inline constexpr std::string_view kAnswerHead = "retrograde-layout 1";

/// The question to the layout program: a graph in the language of Graphviz whose ids are numbers and nothing else, so
/// that no name has to be quoted. Sizes and distances in inches of 72 scene units; open groups are clusters.
[[nodiscard]] std::string writeQuestion(const LayoutInput& input, const LayoutOptions& options);

/// Makes a layout of an answer, which is one item per line, in scene units with y downwards:
///   retrograde-layout 1
///   node ID X Y             centre
///   edge ID COUNT X Y …     points from the source to the target
///   group ID X Y WIDTH HEIGHT
///   end
/// Nodes of one height of the picture become one layer. Errors (Input): a line that is not understood (with its
/// number), an item that is missing or comes twice, a number that is not finite, ranks or boxes that overlap.
[[nodiscard]] base::Result<LayeredLayout> readAnswer(std::string_view answer, const LayoutInput& input);

} // namespace retro::layout
