// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/trace/run.h"
#include "views/common/paint/picture.h"

#include <cstdint>
#include <string>

namespace retro::views
{

/// Name and version of the program, as pictures carry them: "Retrograde 0.1.0".
[[nodiscard]] const std::string& softwareText();

/// Hash of a model's graph (graph::structuralHash) in hexadecimal digits: the same model has the same, whatever its
/// file is called.
[[nodiscard]] std::string modelHashText(const graph::Graph& graph);

/// Where a picture comes from, for its text chunks: model, model_hash, target, rules, software; with events also step
/// (events applied) and visit, both at `position`. What the run does not know is left out.
[[nodiscard]] PictureTexts runTexts(const trace::Run& run, std::uint64_t position);

} // namespace retro::views
