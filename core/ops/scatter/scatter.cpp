// SPDX-License-Identifier: Apache-2.0
#include "core/ops/scatter/scatter.h"

#include "core/ops/kernel/rowloop.h"
#include "core/ops/kernel/visitnumber.h"

#include <cstring>

namespace retro::ops
{

using tensor::DType;
using tensor::Tensor;

namespace
{

bool isOnAxis(std::int64_t position, std::int64_t count) { return position >= 0 && position < count; }

template <class T>
T combined(T x, T y, ScatterReduction reduction)
{
    switch (reduction) {
    case ScatterReduction::Add:
        return plus(x, y);
    case ScatterReduction::Mul:
        return times(x, y);
    case ScatterReduction::Max:
        return x < y ? y : x;
    case ScatterReduction::Min:
        return y < x ? y : x;
    case ScatterReduction::None:
        break;
    }
    return y;
}

template <class T>
void combineAll(const ElementMap& map, const T* updates, T* out, std::int64_t count, ScatterReduction reduction)
{
    for (std::size_t i = 0; i < map.size(); ++i) {
        if (isOnAxis(map[i], count)) {
            out[map[i]] = combined(out[map[i]], updates[i], reduction);
        }
    }
}

/// Product of the factors of one element other than 0, and how many are 0.
template <class T>
struct Factors
{
    T product{1};
    int zeros = 0;

    void take(T factor)
    {
        product *= factor == T{0} ? T{1} : factor;
        zeros += factor == T{0} ? 1 : 0;
    }
    [[nodiscard]] T without(T factor) const
    {
        const int left = zeros - (factor == T{0} ? 1 : 0);
        return left > 0 ? T{0} : factor == T{0} ? product : product / factor;
    }
};

template <class T>
struct Buffers
{
    const T* s;
    const T* data;
    const T* updates;
    T* toData;
    T* toUpdates;
    std::int64_t count;
};

template <class T>
void productGradients(const Buffers<T>& b, const ElementMap& map)
{
    std::vector<Factors<T>> factors(static_cast<std::size_t>(b.count));
    for (std::int64_t i = 0; i < b.count; ++i) {
        factors[static_cast<std::size_t>(i)].take(b.data[i]);
    }
    for (std::size_t i = 0; i < map.size(); ++i) {
        if (isOnAxis(map[i], b.count)) {
            factors[static_cast<std::size_t>(map[i])].take(b.updates[i]);
        }
    }
    for (std::int64_t i = 0; i < b.count; ++i) {
        b.toData[i] = b.s[i] * factors[static_cast<std::size_t>(i)].without(b.data[i]);
    }
    for (std::size_t i = 0; i < map.size(); ++i) {
        const bool isIn = isOnAxis(map[i], b.count);
        b.toUpdates[i] = isIn ? b.s[map[i]] * factors[static_cast<std::size_t>(map[i])].without(b.updates[i]) : T{0};
    }
}

template <class T>
void extremeGradients(const Buffers<T>& b, const ElementMap& map, const T* y)
{
    std::vector<bool> isTaken(static_cast<std::size_t>(b.count));
    for (std::int64_t i = 0; i < b.count; ++i) {
        isTaken[static_cast<std::size_t>(i)] = b.data[i] == y[i];
        b.toData[i] = b.data[i] == y[i] ? b.s[i] : T{0};
    }
    for (std::size_t i = 0; i < map.size(); ++i) {
        b.toUpdates[i] = T{0};
        if (isOnAxis(map[i], b.count) && !isTaken[static_cast<std::size_t>(map[i])] && b.updates[i] == y[map[i]]) {
            isTaken[static_cast<std::size_t>(map[i])] = true;
            b.toUpdates[i] = b.s[map[i]];
        }
    }
}

/// The map without the elements that a later one overwrites.
ElementMap lastWriters(ElementMap map, std::int64_t count)
{
    std::vector<std::int64_t> last(static_cast<std::size_t>(count), -1);
    for (std::size_t i = 0; i < map.size(); ++i) {
        if (map[i] >= 0 && map[i] < count) {
            last[static_cast<std::size_t>(map[i])] = static_cast<std::int64_t>(i);
        }
    }
    for (std::size_t i = 0; i < map.size(); ++i) {
        const bool isIn = map[i] >= 0 && map[i] < count;
        map[i] = isIn && last[static_cast<std::size_t>(map[i])] == static_cast<std::int64_t>(i) ? map[i] : -1;
    }
    return map;
}

} // namespace

Tensor scatterReduced(const Tensor& data, const ElementMap& map, const Tensor& updates, ScatterReduction reduction)
{
    const DType computing = computingType(data.dtype());
    const Tensor source = data.to(computing).contiguous();
    const Tensor parts = updates.to(computing).contiguous();
    tensor::TensorBuffer buffer(computing, data.shape());
    std::memcpy(buffer.rawData(), source.rawData(), buffer.bytes());
    const auto run = [&](auto zero) {
        using T = decltype(zero);
        combineAll(map, reinterpret_cast<const T*>(parts.rawData()), reinterpret_cast<T*>(buffer.rawData()),
                   source.size(), reduction);
    };
    if (computing == DType::UInt64) {
        run(std::uint64_t{});
    } else {
        visitNumber(computing, run);
    }
    return std::move(buffer).freeze().to(data.dtype());
}

ScatterGradients scatterGradients(const Tensor& s, const Tensor& data, const ElementMap& map, const Tensor& updates,
                                  ScatterReduction reduction)
{
    if (reduction == ScatterReduction::Add) {
        return {s, gathered(s, map, updates.shape())};
    }
    const Tensor y = scatterReduced(data, map, updates, reduction);
    const Tensor plainS = s.contiguous();
    const Tensor plainData = data.contiguous();
    const Tensor plainUpdates = updates.contiguous();
    tensor::TensorBuffer toData(data.dtype(), data.shape());
    tensor::TensorBuffer toUpdates(data.dtype(), updates.shape());
    visitFloat(data.dtype(), [&](auto zero) {
        using T = decltype(zero);
        const Buffers<T> buffers{plainS.data<T>(), plainData.data<T>(), plainUpdates.data<T>(),
                                 toData.data<T>(), toUpdates.data<T>(), data.size()};
        if (reduction == ScatterReduction::Mul) {
            productGradients(buffers, map);
        } else {
            extremeGradients(buffers, map, y.data<T>());
        }
    });
    return {std::move(toData).freeze(), std::move(toUpdates).freeze()};
}

ScatterOverwrite::ScatterOverwrite(ScatterLayout layout, std::unique_ptr<const ScatterTarget> target)
    : Operator(layout.data), m_layout(std::move(layout)), m_target(std::move(target))
{}

std::vector<Tensor> ScatterOverwrite::forward(std::span<const Tensor> operands) const
{
    return {overwritten(operands[0], m_target->positions(operands), operands[m_layout.updateSlot])};
}

Tensor ScatterOverwrite::carryBack(std::span<const Tensor>, std::size_t slot) const
{
    // Without the indices nothing is known.
    return Tensor::zeros(m_layout.data.dtype, slot == m_layout.updateSlot ? m_layout.updates : m_layout.data.shape);
}

Tensor ScatterOverwrite::carryBack(std::span<const Tensor> perOutput, std::span<const Tensor> operands,
                                   std::size_t slot) const
{
    if (!perOutput[0].isValid() || (slot != 0 && slot != m_layout.updateSlot)) {
        return carryBack(perOutput, slot);
    }
    const ElementMap map = m_target->positions(operands);
    const Tensor& s = perOutput[0];
    return slot == 0 ? overwritten(s, map, Tensor::zeros(s.dtype(), m_layout.updates))
                     : gathered(s, lastWriters(map, s.size()), m_layout.updates);
}

ScatterCombine::ScatterCombine(ScatterLayout layout, std::unique_ptr<const ScatterTarget> target,
                               ScatterReduction reduction)
    : Operator(layout.data), m_layout(std::move(layout)), m_target(std::move(target)), m_reduction(reduction)
{}

std::vector<Tensor> ScatterCombine::forward(std::span<const Tensor> operands) const
{
    return {scatterReduced(operands[0], m_target->positions(operands), operands[m_layout.updateSlot], m_reduction)};
}

Reads ScatterCombine::savedForGradient() const
{
    return m_reduction == ScatterReduction::Add ? Reads{Reads::bit(m_layout.indexSlot), 0} : Reads::allOperands();
}

Tensor ScatterCombine::pullback(std::span<const Tensor> s, std::span<const Tensor> operands, std::span<const Tensor>,
                                std::size_t slot) const
{
    if (slot != 0 && slot != m_layout.updateSlot) {
        return Tensor::zeros(m_layout.data.dtype, {});
    }
    const ElementMap map = m_target->positions(operands);
    if (m_reduction == ScatterReduction::Add) {
        return slot == 0 ? s[0] : gathered(s[0], map, m_layout.updates);
    }
    const ScatterGradients gradients =
        scatterGradients(s[0], operands[0], map, operands[m_layout.updateSlot], m_reduction);
    return slot == 0 ? gradients.data : gradients.updates;
}

} // namespace retro::ops
