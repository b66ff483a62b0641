// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/engine/model/loadmodel.h"
#include "kernels/lut/schedule.h"

namespace retro::engine
{

/// The same model with all its LUT layers (outside the graphs of If, Loop and Scan) on this path: their attribute
/// `documented` is set or cleared; nothing is read again. The model itself when nothing changes. That a layer's scratch
/// fits is checked when it is bound.
[[nodiscard]] base::Result<LoadedModelPointer> withLutPath(const LoadedModelPointer& model, lut::Path path);

/// True when the graph has a layer on the documented path.
[[nodiscard]] bool hasDocumentedLut(const graph::Graph& graph);

} // namespace retro::engine
