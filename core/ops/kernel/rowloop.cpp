// SPDX-License-Identifier: Apache-2.0
#include "core/ops/kernel/rowloop.h"

#include "core/base/failure.h"
#include "core/ops/kernel/elementloop.h"

#include <array>

namespace retro::ops
{

using tensor::DType;
using tensor::Shape;
using tensor::Tensor;

namespace
{

constexpr std::size_t kParticipants = kMostRowOperands + 1;
constexpr std::int64_t kChunk = 512;
constexpr std::size_t kWidest = 8;

template <class Word>
void collectWords(const std::byte* from, std::int64_t stride, std::int64_t count, std::byte* to)
{
    const auto* source = reinterpret_cast<const Word*>(from);
    auto* target = reinterpret_cast<Word*>(to);
    for (std::int64_t i = 0; i < count; ++i) {
        target[i] = source[i * stride];
    }
}

/// Elements `stride` apart, put side by side.
void collect(const std::byte* from, std::int64_t stride, std::int64_t count, std::size_t width, std::byte* to)
{
    switch (width) {
    case 1:
        return collectWords<std::uint8_t>(from, stride, count, to);
    case 2:
        return collectWords<std::uint16_t>(from, stride, count, to);
    case 4:
        return collectWords<std::uint32_t>(from, stride, count, to);
    default:
        return collectWords<std::uint64_t>(from, stride, count, to);
    }
}

/// One operand of a row: where it lies, how wide its elements are and how far apart.
struct Lane
{
    const std::byte* data = nullptr;
    std::size_t width = 1;
    std::int64_t stride = 0;
};

using Lanes = std::array<Lane, kMostRowOperands>;

/// Calls f for one row, in chunks where an operand has gaps.
class RowRunner
{
public:
    RowRunner(RowFunction f, RowParameters parameters, std::size_t operands)
        : m_f(f), m_parameters(parameters), m_operands(operands)
    {}

    void run(const Lanes& lanes, std::byte* out, std::size_t outWidth, std::int64_t count) const
    {
        bool hasGaps = false;
        for (std::size_t i = 0; i < m_operands; ++i) {
            hasGaps = hasGaps || lanes[i].stride != 1;
        }
        if (!hasGaps) {
            return call(lanes, 0, out, count);
        }
        for (std::int64_t first = 0; first < count; first += kChunk) {
            runChunk(lanes, first, out + static_cast<std::size_t>(first) * outWidth, std::min(kChunk, count - first));
        }
    }

private:
    void call(const Lanes& lanes, std::int64_t first, std::byte* out, std::int64_t count) const
    {
        std::array<const void*, kMostRowOperands> in{};
        for (std::size_t i = 0; i < m_operands; ++i) {
            in[i] = lanes[i].data + first * static_cast<std::int64_t>(lanes[i].width);
        }
        m_f(in.data(), out, count, m_parameters);
    }

    void runChunk(const Lanes& lanes, std::int64_t first, std::byte* out, std::int64_t count) const
    {
        alignas(64) std::array<std::array<std::byte, kChunk * kWidest>, kMostRowOperands> gathered;
        Lanes dense = lanes;
        for (std::size_t i = 0; i < m_operands; ++i) {
            const auto width = static_cast<std::int64_t>(lanes[i].width);
            const std::byte* start = lanes[i].data + first * lanes[i].stride * width;
            dense[i].data = start;
            if (lanes[i].stride != 1) {
                collect(start, lanes[i].stride, count, lanes[i].width, gathered[i].data());
                dense[i].data = gathered[i].data();
            }
        }
        call(dense, 0, out, count);
    }

    RowFunction m_f;
    RowParameters m_parameters;
    std::size_t m_operands;
};

Shape stridesFor(const Shape& shape, std::span<const Tensor> operands)
{
    for (const Tensor& t : operands) {
        if (t.shape() == shape && t.isDense()) {
            return t.strides();
        }
    }
    return tensor::rowMajorStrides(shape);
}

} // namespace

Tensor mapRows(RowFunction f, DType out, const Shape& shape, std::span<const Tensor> operands, RowParameters parameters)
{
    base::guard(f != nullptr && operands.size() <= kMostRowOperands, "a row function has few operands");
    Shape strides = stridesFor(shape, operands);
    tensor::TensorBuffer buffer(out, shape, strides);
    std::vector<Shape> all{std::move(strides)};
    Lanes lanes{};
    for (std::size_t i = 0; i < operands.size(); ++i) {
        all.push_back(broadcastStrides(operands[i], shape));
        lanes[i] = {operands[i].rawData(), tensor::sizeOf(operands[i].dtype()), 0};
    }
    all.resize(kParticipants, Shape(shape.size(), 0)); // the rest of the participants stands still
    const ElementLoop loop(shape, std::move(all));
    for (std::size_t i = 0; i < operands.size(); ++i) {
        lanes[i].stride = loop.innerStride(i + 1);
    }
    const RowRunner runner(f, parameters, operands.size());
    const std::size_t outWidth = tensor::sizeOf(out);
    std::byte* base = buffer.rawData();
    loop.run<kParticipants>([&](const std::array<std::int64_t, kParticipants>& offsets, std::int64_t count) {
        Lanes row = lanes;
        for (std::size_t i = 0; i < operands.size(); ++i) {
            row[i].data += offsets[i + 1] * static_cast<std::int64_t>(row[i].width);
        }
        runner.run(row, base + static_cast<std::size_t>(offsets[0]) * outWidth, outWidth, count);
    });
    return std::move(buffer).freeze();
}

Tensor mapRows(RowFunction f, DType out, const Shape& shape, std::initializer_list<Tensor> operands,
               RowParameters parameters)
{
    return mapRows(f, out, shape, std::span(operands.begin(), operands.size()), parameters);
}

RowFunction NumberRows::of(DType type) const
{
    switch (type) {
    case DType::Float32:
        return f32;
    case DType::Float64:
        return f64;
    case DType::UInt64:
        return u64;
    default:
        return i64;
    }
}

DType computingType(DType type) { return tensor::isFloating(type) || type == DType::UInt64 ? type : DType::Int64; }

Tensor mapNumbers(const NumberRows& f, DType out, const Shape& shape, std::span<const Tensor> operands,
                  RowParameters parameters)
{
    const DType computing = computingType(operands.front().dtype());
    std::vector<Tensor> wide;
    for (const Tensor& t : operands) {
        wide.push_back(t.to(computing));
    }
    return mapRows(f.of(computing), out == DType::Bool ? out : computing, shape, wide, parameters).to(out);
}

Tensor mapNumbers(const NumberRows& f, DType out, const Shape& shape, std::initializer_list<Tensor> operands,
                  RowParameters parameters)
{
    return mapNumbers(f, out, shape, std::span(operands.begin(), operands.size()), parameters);
}

} // namespace retro::ops
