// SPDX-License-Identifier: Apache-2.0
#include "core/engine/verify/probing.h"

#include "core/ops/algebra.h"
#include "core/ops/layerkind.h"
#include "core/ops/quantise/straightthrough.h"

#include <algorithm>
#include <limits>
#include <vector>

namespace retro::engine::probing
{

using tape::Bundle;
using tensor::Tensor;

double roundingOf(double size, double step)
{
    constexpr double kRoundings = 32;
    return kRoundings * std::numeric_limits<double>::epsilon() * size / step;
}

bool isFloating(const Tensor& tensor) { return tensor.isValid() && tensor::isFloating(tensor.dtype()); }

double magnitude(const Tensor& tensor)
{
    return tensor.size() == 0 ? 0 : ops::algebra::sumAbsolute(tensor) / static_cast<double>(tensor.size());
}

Tensor onlyBetween(const Tensor& tensor, std::int64_t begin, std::int64_t end)
{
    std::vector<double> values(static_cast<std::size_t>(tensor.size()), 0);
    for (std::int64_t i = begin; i < end; ++i) {
        values[static_cast<std::size_t>(i)] = tensor.at(i);
    }
    return Tensor::of<double>(tensor.shape(), values);
}

Tensor oneAt(const Tensor& like, std::int64_t element)
{
    return onlyBetween(Tensor::full(tensor::DType::Float64, like.shape(), 1), element, element + 1);
}

Tensor Directions::like(const Tensor& like)
{
    if (!isFloating(like)) {
        return {};
    }
    std::vector<double> values(static_cast<std::size_t>(like.size()));
    std::ranges::generate(values, [this] { return static_cast<double>(m_engine() >> 11) * 0x1p-52 - 1; });
    return Tensor::of<double>(like.shape(), values);
}

Tensor moved(const Tensor& x, const Tensor& direction, double step)
{
    return direction.isValid() ? ops::algebra::addScaled(x.contiguous(), direction, step) : x;
}

double dotAll(const Bundle& a, const Bundle& b)
{
    double sum = 0;
    for (std::size_t k = 0; k < a.tensors.size(); ++k) {
        if (isFloating(a.tensors[k]) && isFloating(b.tensors[k])) {
            sum += ops::algebra::dot(a.tensors[k].contiguous(), b.tensors[k].contiguous());
        }
    }
    return sum;
}

double dotAbsolute(const Bundle& a, const Bundle& b)
{
    double sum = 0;
    for (std::size_t k = 0; k < a.tensors.size(); ++k) {
        if (isFloating(a.tensors[k]) && isFloating(b.tensors[k])) {
            sum +=
                ops::algebra::sumAbsolute(ops::algebra::multiply(a.tensors[k].contiguous(), b.tensors[k].contiguous()));
        }
    }
    return sum;
}

Bundle scaledDifference(const Bundle& a, const Bundle& b, double factor)
{
    Bundle result;
    for (std::size_t k = 0; k < a.tensors.size(); ++k) {
        const bool counts = isFloating(a.tensors[k]);
        result.tensors.push_back(
            counts ? ops::algebra::scale(ops::algebra::subtract(a.tensors[k].contiguous(), b.tensors[k].contiguous()),
                                         factor)
                   : Tensor());
    }
    return result;
}

bool isSurrogate(const tape::ModelTape& made, tape::Id id)
{
    if (!made.nodeOf[id].isValid() || made.model->graph().isInput(made.nodeOf[id])) {
        return false;
    }
    const ops::BoundOperator& op = made.model->op(made.nodeOf[id]);
    const graph::Node& node = made.model->graph().node(made.nodeOf[id]);
    if (ops::isDynamicQuantize(node)) {
        return true; // its scale says how to read levels, and follows the largest elements
    }
    return op.structure().kind() == ops::StructureKind::TableLookup || ops::isStraightThrough(op);
}

} // namespace retro::engine::probing
