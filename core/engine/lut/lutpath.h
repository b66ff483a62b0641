// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/engine/model/loadmodel.h"
#include "core/tensor/dtype.h"
#include "kernels/lut/run.h"
#include "kernels/lut/schedule.h"

#include <string>

namespace retro::engine
{

/// The same model with all its LUT layers (outside the graphs of If, Loop and Scan) on this path: their attribute
/// `documented` is set or cleared; nothing is read again. The model itself when nothing changes. That a layer's scratch
/// fits is checked when it is bound.
[[nodiscard]] base::Result<LoadedModelPointer> withLutPath(const LoadedModelPointer& model, lut::Path path);

/// True when the graph has a layer on the documented path.
[[nodiscard]] bool hasDocumentedLut(const graph::Graph& graph);

/// The same model with the passes of all its LUT layers on this back end: their attribute `cuda` is set or cleared, as
/// withLutPath does. Runs in float64 stay on the CPU.
[[nodiscard]] base::Result<LoadedModelPointer> withLutBackend(const LoadedModelPointer& model, lut::Backend backend);

/// Where the LUT layers of a run were carried out.
struct LutPlace
{
    lut::Backend backend = lut::Backend::Cpu;
    std::string why; ///< that the CPU ran although a GPU was asked for; empty else
};

/// Of a graph whose layers withLutBackend has set, in a run in this type.
[[nodiscard]] LutPlace lutPlace(const graph::Graph& graph, tensor::DType type);

} // namespace retro::engine
