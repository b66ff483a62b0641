// SPDX-License-Identifier: Apache-2.0
#include "core/lrp/traversal/knownsums.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>

namespace retro::lrp
{

using tensor::Tensor;

namespace
{

/// The sums of a tensor.
struct KnownSums
{
    std::weak_ptr<const tensor::Storage> storage; // holds the identity, not the memory
    std::int64_t offset = 0;
    tensor::Shape shape;
    tensor::Shape strides;
    ops::algebra::SumAndMagnitude sums;

    [[nodiscard]] bool isOf(const Tensor& tensor) const
    {
        const bool isSame = !storage.owner_before(tensor.storage()) && !tensor.storage().owner_before(storage);
        return isSame && offset == tensor.offset() && shape == tensor.shape() && strides == tensor.strides();
    }
};

/// Of the last few tensors.
class SumsMemory
{
public:
    [[nodiscard]] const ops::algebra::SumAndMagnitude* find(const Tensor& tensor) const
    {
        const auto found = std::ranges::find_if(m_known, [&](const KnownSums& each) { return each.isOf(tensor); });
        return found == m_known.end() ? nullptr : &found->sums;
    }
    void keep(const Tensor& tensor, const ops::algebra::SumAndMagnitude& sums)
    {
        m_known[m_oldest] = {tensor.storage(), tensor.offset(), tensor.shape(), tensor.strides(), sums};
        m_oldest = (m_oldest + 1) % m_known.size();
    }

private:
    std::array<KnownSums, 16> m_known;
    std::size_t m_oldest = 0;
};

thread_local SumsMemory sumsMemory;

} // namespace

std::optional<ops::algebra::SumAndMagnitude> rememberedSums(const Tensor& tensor)
{
    const ops::algebra::SumAndMagnitude* const found = sumsMemory.find(tensor);
    return found == nullptr ? std::nullopt : std::optional(*found);
}

ops::algebra::SumAndMagnitude knownSums(const Tensor& tensor)
{
    if (const auto found = rememberedSums(tensor)) {
        return *found;
    }
    const ops::algebra::SumAndMagnitude sums = ops::algebra::sumAndMagnitude(tensor);
    sumsMemory.keep(tensor, sums);
    return sums;
}

void keepSums(const Tensor& tensor, const ops::algebra::SumAndMagnitude& sums) { sumsMemory.keep(tensor, sums); }

} // namespace retro::lrp
