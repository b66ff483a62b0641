// SPDX-License-Identifier: Apache-2.0
#include "core/ops/onednn/sgemm.h"

#include "core/ops/onednn/onednncontext.h"

#include <oneapi/dnnl/dnnl.h>

namespace retro::ops::onednn
{

namespace
{

using reference::MatrixView;

/// How the interface takes a matrix.
struct Layout
{
    char turn = 'N';
    std::int64_t leading = 0;

    explicit Layout(const MatrixView<float>& m)
        : turn(m.columnStride == 1 ? 'N' : 'T'), leading(m.columnStride == 1 ? m.rowStride : m.columnStride)
    {}
};

} // namespace

bool isDenseAlongAnAxis(const MatrixView<float>& m) { return m.columnStride == 1 || m.rowStride == 1; }

bool sgemm(const MatrixView<float>& a, const MatrixView<float>& b, float beta, float* c, std::int64_t stride)
{
    const Layout left(a);
    const Layout right(b);
    base::requireRoom(kRoom);
    return dnnl_sgemm(left.turn, right.turn, a.rows, b.columns, a.columns, 1, a.data, left.leading, b.data,
                      right.leading, beta, c, stride) == dnnl_success;
}

} // namespace retro::ops::onednn
