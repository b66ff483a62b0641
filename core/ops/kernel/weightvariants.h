// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/ops/structure.h"

#include <map>
#include <memory>
#include <mutex>

namespace retro::ops
{

/// True for the floats of 16 bits, which are kept as they are stored and widened where they are used.
[[nodiscard]] constexpr bool isSixteenBit(tensor::DType t)
{
    return t == tensor::DType::Float16 || t == tensor::DType::BFloat16;
}

/// The tensor with a weight variant applied: w, w⁺, w⁻, w + g·w⁺, w + g·w⁻, w², 1; in its memory when it is given away.
/// Invalid stays invalid.
[[nodiscard]] Tensor variantOf(Tensor weight, WeightVariant variant);

/// Keeps one prepared object per key for the life of its owner. Safe from several threads: made once, under a mutex.
template <class Key, class Prepared>
class PreparedCache
{
public:
    /// The object for `key`; made by `make()` (→ Prepared) when it is asked for the first time.
    template <class Make>
    [[nodiscard]] const Prepared& get(const Key& key, const Make& make) const
    {
        const std::lock_guard lock(m_mutex);
        auto& slot = m_prepared[key];
        if (slot == nullptr) {
            slot = std::make_unique<const Prepared>(make());
        }
        return *slot;
    }

    /// The object for `key` from the second time on that it is asked for, null before: a single pass uses each once,
    /// and keeps nothing.
    template <class Make>
    [[nodiscard]] const Prepared* fromSecond(const Key& key, const Make& make) const
    {
        {
            const std::lock_guard lock(m_mutex);
            if (m_prepared.try_emplace(key).second) {
                return nullptr;
            }
        }
        return &get(key, make);
    }
    /// A copy of the object for `key`, which is kept from the second time on.
    template <class Make>
    [[nodiscard]] Prepared getKeptFromSecond(const Key& key, const Make& make) const
    {
        const Prepared* kept = fromSecond(key, make);
        return kept != nullptr ? *kept : make();
    }

private:
    mutable std::mutex m_mutex;
    mutable std::map<Key, std::unique_ptr<const Prepared>> m_prepared; // null: asked for, and not kept
};

/// Variants of one constant tensor, in the type of the run. Each is made once and kept; those of a float16 or bfloat16
/// tensor, which stays as it is stored, are made for each use, so that no wider copy of it outlives one.
class WeightVariants
{
public:
    /// `weight` as it is stored; `type` is float32 or float64.
    WeightVariants(Tensor weight, tensor::DType type) : m_weight(std::move(weight)), m_type(type) {}

    [[nodiscard]] bool isValid() const { return m_weight.isValid(); }
    [[nodiscard]] const tensor::Shape& shape() const { return m_weight.shape(); }
    /// The tensor as it is stored.
    [[nodiscard]] const Tensor& stored() const { return m_weight; }
    /// False when variants, and what is prepared from them, must not be kept.
    [[nodiscard]] bool isKept() const { return !isValid() || !isSixteenBit(m_weight.dtype()); }
    /// The tensor with the variant applied; invalid when there is none.
    [[nodiscard]] Tensor get(WeightVariant variant) const
    {
        if (variant.part == WeightPart::All || !isKept()) {
            return make(variant);
        }
        return m_variants.get(canonical(variant), [&] { return make(variant); });
    }
    /// As get(), but a variant that has to be made is not kept: for what is packed from it.
    [[nodiscard]] Tensor make(WeightVariant variant) const;
    /// Gamma set to 0 where it does not count, so that equal variants are equal keys.
    [[nodiscard]] static WeightVariant canonical(WeightVariant variant);

private:
    Tensor m_weight;
    tensor::DType m_type;
    PreparedCache<WeightVariant, Tensor> m_variants;
};

} // namespace retro::ops
