// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/ops/structure.h"

#include <map>
#include <memory>
#include <mutex>

namespace retro::ops
{

/// The tensor with a weight variant applied: w, w⁺, w⁻, w + g·w⁺, w + g·w⁻, w², 1. Invalid stays invalid.
[[nodiscard]] Tensor variantOf(const Tensor& weight, WeightVariant variant);

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

private:
    mutable std::mutex m_mutex;
    mutable std::map<Key, std::unique_ptr<const Prepared>> m_prepared;
};

/// Variants of one constant tensor, each made once.
class WeightVariants
{
public:
    explicit WeightVariants(Tensor weight) : m_weight(std::move(weight)) {}

    [[nodiscard]] const Tensor& weight() const { return m_weight; }
    /// The tensor with the variant applied.
    [[nodiscard]] const Tensor& get(WeightVariant variant) const
    {
        return variant.part == WeightPart::All
                   ? m_weight
                   : m_variants.get(canonical(variant), [&] { return variantOf(m_weight, variant); });
    }
    /// Gamma set to 0 where it does not count, so that equal variants are equal keys.
    [[nodiscard]] static WeightVariant canonical(WeightVariant variant);

private:
    Tensor m_weight;
    PreparedCache<WeightVariant, Tensor> m_variants;
};

} // namespace retro::ops
