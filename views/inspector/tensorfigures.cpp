// SPDX-License-Identifier: Apache-2.0
#include "views/inspector/tensorfigures.h"

namespace retro::views
{

TensorFigures figuresOf(const tensor::Tensor& tensor)
{
    TensorFigures figures;
    figures.stats = statsOf(tensor);
    figures.histogram = histogramOf(tensor, figures.stats);
    figures.grid = sliceGrid(tensor, 64, 64, 2.2);
    return figures;
}

} // namespace retro::views
