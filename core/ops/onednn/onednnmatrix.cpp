// SPDX-License-Identifier: Apache-2.0
#include "core/ops/onednn/onednnmatrix.h"

#include "core/ops/onednn/onednncontext.h"

namespace retro::ops::onednn
{

namespace
{

using dnnl::memory;
using reference::MatrixView;

constexpr auto kFloat = memory::data_type::f32;

memory::desc descOf(std::int64_t count, const MatrixBatch& batch)
{
    const auto& m = batch.matrix;
    const bool isOne = count == 1 || batch.stride == 0;
    return {{isOne ? 1 : count, m.rows, m.columns},
            kFloat,
            {isOne ? m.rows * m.columns : batch.stride, m.rowStride, m.columnStride}};
}

} // namespace

bool multiply(std::int64_t count, const MatrixBatch& a, const MatrixBatch& b, float* c)
{
    const std::int64_t rows = a.matrix.rows;
    const std::int64_t columns = b.matrix.columns;
    dnnl::stream& queue = stream();
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
}

struct PackedMatrix::State
{
    dnnl::matmul::primitive_desc plan;
    dnnl::matmul primitive;
    memory weights;
};

PackedMatrix::PackedMatrix(std::int64_t rows, const MatrixView<float>& b)
{
    dnnl::stream& queue = stream();
    const memory::desc left({rows, b.rows}, kFloat, memory::format_tag::ab);
    const memory::desc right({b.rows, b.columns}, kFloat, memory::format_tag::any);
    const memory::desc result({rows, b.columns}, kFloat, memory::format_tag::ab);
    dnnl::matmul::primitive_desc plan(dnnl::matmul::desc(left, right, result), engine(), true);
    if (!plan) {
        return;
    }
    memory given = readOnly({{b.rows, b.columns}, kFloat, {b.rowStride, b.columnStride}}, b.data);
    memory packed(plan.weights_desc(), engine());
    dnnl::reorder(given, packed).execute(queue, given, packed);
    queue.wait();
    dnnl::matmul primitive(plan);
    m_state = std::make_unique<State>(State{std::move(plan), std::move(primitive), std::move(packed)});
}

PackedMatrix::~PackedMatrix() = default;
PackedMatrix::PackedMatrix(PackedMatrix&&) noexcept = default;

void PackedMatrix::multiply(const float* a, float* c) const
{
    dnnl::stream& queue = stream();
    m_state->primitive.execute(queue, {{DNNL_ARG_SRC, readOnly(m_state->plan.src_desc(), a)},
                                       {DNNL_ARG_WEIGHTS, m_state->weights},
                                       {DNNL_ARG_DST, memory(m_state->plan.dst_desc(), engine(), c)}});
    queue.wait();
}

} // namespace retro::ops::onednn
