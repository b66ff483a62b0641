// SPDX-License-Identifier: Apache-2.0
// Reverse rules of Fourier transforms: products of rows by the transposed matrix of the operator.
#include "core/ops/signal/fouriermatrix.h"
#include "core/tape/gradientgraph/emitrule.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace retro::tape
{

namespace
{

using tensor::Shape;

const ops::FourierRows& rowsOf(const EmitSite& site) { return dynamic_cast<const ops::FourierRows&>(site.op()); }

/// Of the floating type that the graph computes in: results × elements of a signal.
tensor::Tensor turnedMatrix(const EmitSite& site)
{
    return rowsOf(site).matrix().permuted(Shape{1, 0}).contiguous().to(site.emit.floatType());
}

/// Along one axis: it changes places with the last but one, and its numbers with their parts are rows.
EmittedParts transform(EmitSite& site)
{
    const tensor::Tensor matrix = turnedMatrix(site);
    const std::size_t axis = rowsOf(site).axis();
    std::vector<std::int64_t> order(site.shape(0).size());
    std::iota(order.begin(), order.end(), std::int64_t{0});
    std::swap(order[axis], order[order.size() - 2]);
    const auto turned = [&](ValueId value) {
        return std::ranges::is_sorted(order) ? value : site.emit.node("Transpose", {value}, {{"perm", order}});
    };
    Shape inner = site.shape(0);
    std::swap(inner[axis], inner[inner.size() - 2]);
    const ValueId rows = site.emit.reshape(turned(site.up()), {-1, matrix.shape()[0]});
    const ValueId back = site.emit.node("MatMul", {rows, site.emit.constant(matrix)});
    EmittedParts parts(site.operands.size());
    parts[0] = turned(site.emit.reshape(back, inner));
    return parts;
}

std::string hasFixedWindow(const EmitSite& site)
{
    return site.wants(2) ? "its window depends on an input, and the slope by it has no nodes; export it as a constant"
                         : "";
}

/// Overlapping frames: a transposed convolution, whose filters are the lines of the matrix, times the window.
EmittedParts transformOfFrames(EmitSite& site)
{
    const Shape& signal = site.shape(0);
    const Shape& frames = site.outputShape(); // batch × frames × bins × 2
    const std::int64_t parts = signal.size() == 3 ? signal[2] : 1;
    const tensor::Tensor matrix = turnedMatrix(site);
    const std::int64_t bins = matrix.shape()[0];
    const std::int64_t length = matrix.shape()[1] / parts;
    const std::int64_t step = site.known(1).value().front();
    const tensor::Tensor filters = matrix.reshaped({bins, length, parts}).permuted(Shape{0, 2, 1}).contiguous();
    ValueId weight = site.emit.constant(filters);
    if (site.has(2)) {
        weight = site.emit.node("Mul", {weight, site.operands[2]});
    }
    const ValueId rows = site.emit.reshape(site.up(), {frames[0], frames[1], bins});
    const ValueId columns = site.emit.node("Transpose", {rows}, {{"perm", std::vector<std::int64_t>{0, 2, 1}}});
    ValueId sum = site.emit.node("ConvTranspose", {columns, weight}, {{"strides", std::vector<std::int64_t>{step}}});
    if (const std::int64_t rest = signal[1] - (frames[1] - 1) * step - length; rest > 0) {
        sum = site.emit.pad(sum, {0, 0, 0}, {0, 0, rest});
    }
    if (parts > 1) {
        sum = site.emit.node("Transpose", {sum}, {{"perm", std::vector<std::int64_t>{0, 2, 1}}});
    }
    EmittedParts result(site.operands.size());
    result[0] = site.emit.reshape(sum, signal);
    return result;
}

} // namespace

const EmitRules kSignalRules{
    {"DFT", never, transform},
    {"STFT", hasFixedWindow, transformOfFrames},
};

} // namespace retro::tape
