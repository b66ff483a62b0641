// SPDX-License-Identifier: Apache-2.0
#include "core/ops/onednn/onednnmatrix.h"

#include "core/ops/onednn/onednncontext.h"
#include "core/ops/onednn/panelproduct.h"
#include "core/ops/onednn/sgemm.h"
#include "core/ops/threads.h"

#include <algorithm>

namespace retro::ops::onednn
{

namespace
{

using dnnl::memory;
using reference::MatrixView;

memory::desc descOf(std::int64_t count, const MatrixBatch& batch)
{
    const auto& m = batch.matrix;
    const bool isOne = count == 1 || batch.stride == 0;
    return {{isOne ? 1 : count, m.rows, m.columns},
            kFloat,
            {isOne ? m.rows * m.columns : batch.stride, m.rowStride, m.columnStride}};
}

/// How much work it is; no more than fits.
std::int64_t multiplicationsOf(std::int64_t count, const MatrixView<float>& a, const MatrixView<float>& b)
{
    const double all = static_cast<double>(count) * static_cast<double>(a.rows) * static_cast<double>(b.columns) *
                       static_cast<double>(a.columns);
    return static_cast<std::int64_t>(std::min(all, 0x1p62));
}

/// One product through the BLAS interface. False when it cannot take these strides or refused.
bool multiplyOne(const MatrixView<float>& a, const MatrixView<float>& b, float* c)
{
    if (!isDenseAlongAnAxis(a) || !isDenseAlongAnAxis(b)) {
        return false;
    }
    if (wantsPanels(a, b)) {
        return multiplyInPanels(a, b, c);
    }
    applyThreadsFor(multiplicationsOf(1, a, b));
    return sgemm(a, b, 0, c, b.columns);
}

} // namespace

bool multiply(std::int64_t count, const MatrixBatch& a, const MatrixBatch& b, float* c)
{
    if (count == 1 && multiplyOne(a.matrix, b.matrix, c)) {
        return true;
    }
    const std::int64_t rows = a.matrix.rows;
    const std::int64_t columns = b.matrix.columns;
    dnnl::stream& queue = stream();
    applyThreadsFor(multiplicationsOf(count, a.matrix, b.matrix));
    return asFailure([&] {
        const memory::desc left = descOf(count, a);
        const memory::desc right = descOf(count, b);
        const memory::desc result({count, rows, columns}, kFloat, {rows * columns, columns, 1});
        const dnnl::matmul::primitive_desc plan(dnnl::matmul::desc(left, right, result), engine(), true);
        if (!plan) {
            return false;
        }
        dnnl::matmul(plan).execute(queue, {{DNNL_ARG_SRC, readOnly(left, a.matrix.data)},
                                           {DNNL_ARG_WEIGHTS, readOnly(right, b.matrix.data)},
                                           {DNNL_ARG_DST, memory(result, engine(), c)}});
        queue.wait();
        return true;
    });
}

} // namespace retro::ops::onednn
