// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/ops/bind/operatorbase.h"
#include "core/ops/kernel/pointwiseconvolution.h"
#include "core/ops/kernel/weightvariants.h"
#include "core/ops/onednn/onednnconvolution.h"
#include "core/ops/samplewisemap.h"
#include "core/ops/stackedpullback.h"

#include <map>
#include <mutex>
#include <utility>

namespace retro::ops
{

/// Conv and ConvTranspose with constant weights: the same convolution, walked the other way round.
class ConvolutionMap final : public Operator<LinearMap>, public StackedPullback, public SampleWiseMap
{
public:
    /// `direction` is that of the operator: Forward for Conv, Transposed for ConvTranspose. `weight` (in the output's
    /// type, or narrow as it is stored) in ONNX's layout, which is groups·filters × channels × kernel of `shape` for
    /// both. `bias`: invalid, or 1 × channels × 1 ….
    ConvolutionMap(TensorType output, reference::ConvolutionShape shape, onednn::Direction direction, Tensor weight,
                   Tensor bias);

    [[nodiscard]] std::vector<Tensor> forward(std::span<const Tensor> operands) const override;
    [[nodiscard]] Tensor forwardThrough(std::span<Tensor> operands, const RowsOver& rows) const override;
    [[nodiscard]] Reads savedForGradient() const override { return {Reads::bit(0) | Reads::bit(1), 0}; }
    [[nodiscard]] double flops() const override;

    [[nodiscard]] std::size_t operandSlot() const override { return 0; }
    [[nodiscard]] bool hasBias() const override { return m_bias.isValid(); }
    [[nodiscard]] Tensor bias(WeightVariant variant) const override { return m_bias.get(variant); }
    [[nodiscard]] Tensor apply(const Tensor& x, WeightVariant variant) const override;
    [[nodiscard]] Tensor applyToConstant(std::span<const double> perChannel, WeightVariant variant) const override;
    [[nodiscard]] Tensor pullback(const Tensor& s, WeightVariant variant) const override;
    /// In one call for few input channels, of which the library computes sixteen at a time anyway.
    [[nodiscard]] std::vector<Tensor> pullbackAll(const Tensor& s,
                                                  std::span<const WeightVariant> variants) const override;

private:
    struct WayKey
    {
        onednn::Direction direction = onednn::Direction::Forward;
        std::int64_t samples = 1;
        bool addsBias = false;
        auto operator<=>(const WayKey&) const = default;
    };
    struct PackKey
    {
        WeightVariant variant;
        WayKey way;
        auto operator<=>(const PackKey&) const = default;
    };

    /// The geometry for so many samples.
    [[nodiscard]] reference::ConvolutionShape shapeOf(std::int64_t samples) const;
    /// Shape of what walk() gives in that direction.
    [[nodiscard]] tensor::Shape shapeAfter(onednn::Direction direction, std::int64_t samples) const;
    /// The map without bias, by whichever path computes it.
    [[nodiscard]] Tensor walk(const Tensor& t, WeightVariant variant, onednn::Direction direction) const;
    [[nodiscard]] Tensor fastWalk(const Tensor& t, WeightVariant variant, onednn::Direction direction) const;
    [[nodiscard]] Tensor referenceWalk(const Tensor& t, WeightVariant variant, onednn::Direction direction) const;
    /// The library's walk.
    [[nodiscard]] const onednn::PackedConvolution& way(const WayKey& key) const;
    enum class PackKeeping : std::uint8_t {
        Never, ///< because the variants are not, or a use takes so much longer that a copy is not worth its memory
        FromSecondUse, ///< by passes that are run again: small ones, and where activations take far more memory
        Always
    };
    /// `isOwn`: of the weights as they are, for the operator's own direction.
    [[nodiscard]] PackKeeping packKeeping(bool isOwn) const;
    [[nodiscard]] Tensor packedWeights(WeightVariant variant, const WayKey& key,
                                       const onednn::PackedConvolution& way) const;
    [[nodiscard]] Tensor pack(WeightVariant variant, const onednn::PackedConvolution& way) const;
    /// The object for `key`: from the cache, or made each time.
    template <class Key, class Make>
    [[nodiscard]] Tensor kept(PackKeeping keeping, const PreparedCache<Key, Tensor>& cache, const Key& key,
                              const Make& make) const;
    [[nodiscard]] PackKeeping packKeeping(WeightVariant variant, onednn::Direction direction) const;
    /// The map and its transpose with weights of 1: sums over boxes.
    [[nodiscard]] Tensor walkOnes(const Tensor& t, onednn::Direction direction) const;
    /// Weights of all variants side by side along the channels.
    struct Stack
    {
        onednn::PackedConvolution way;
        Tensor weights; // invalid when there is no way
    };
    [[nodiscard]] Stack packSideBySide(std::span<const WeightVariant> variants) const;
    [[nodiscard]] std::vector<Tensor> pulledBackApart(const Tensor& s, const Stack& stack, std::size_t count) const;
    /// As a matrix product, else through oneDNN; invalid when it has no implementation for this geometry. `after`: a
    /// bias is of Forward alone.
    [[nodiscard]] Tensor packed(const Tensor& t, WeightVariant variant, onednn::Direction direction,
                                const AfterProduct& after = {}) const;
    [[nodiscard]] Tensor pointwise(const PointwiseConvolution& way, const Tensor& t, WeightVariant variant,
                                   onednn::Direction direction, const AfterProduct& after) const;
    /// The transposed map of what is 0 almost everywhere; invalid where it is not, or where that is no gain.
    [[nodiscard]] Tensor transposedSparse(const Tensor& t, WeightVariant variant) const;
    /// The operator in one call; invalid where that does not exist. `rows` may be null.
    [[nodiscard]] Tensor forwardWithBias(const Tensor& x, const RowsOver* rows) const;

    reference::ConvolutionShape m_shape;
    onednn::Direction m_direction;
    WeightVariants m_weight;
    WeightVariants m_bias;
    PreparedCache<WayKey, onednn::PackedConvolution> m_ways;
    PreparedCache<PackKey, Tensor> m_packs;
    PreparedCache<WeightVariant, Tensor> m_sparsePacks;
    PreparedCache<std::vector<WeightVariant>, Stack> m_stacks;
    struct OfConstant
    {
        std::vector<double> perChannel;
        Tensor result; // invalid: none yet
    };
    mutable std::mutex m_constantsMutex;
    mutable std::map<WeightVariant, OfConstant> m_constants;
};

} // namespace retro::ops
