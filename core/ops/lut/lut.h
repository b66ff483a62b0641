// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/ops/bind/operatorbase.h"
#include "core/ops/tablelookup.h"
#include "kernels/lut/run.h"

#include <cstdint>
#include <memory>
#include <vector>

namespace retro::ops
{

/// The parts of a LUT layer that choose rows and connect them; weights and codes are operands.
struct LutStructure
{
    lut::LayerShape shape;
    std::vector<lut::Anchor> anchors; ///< [T, C]
    bool isSparse = false;
    std::vector<std::uint64_t> rowStarts; ///< sparse: [N + 1]
    std::vector<std::uint32_t> columns;   ///< sparse: one per synapse
    std::uint32_t forwardGroup = 32;
    std::uint32_t backwardGroup = 32;
    lut::Path path = lut::Path::Fused;
    lut::Backend backend = lut::Backend::Cpu; ///< Cuda: passes in float32 run on the device where there is one
};

/// Operand types of a LUT node as they were bound; a shape is empty where an operand is absent.
struct LutOperands
{
    TensorType input;
    tensor::Shape weights;
    tensor::Shape codes;
};

/// Seconds of each launch of a layer's passes on a CUDA device, by the device's clock.
struct LutDeviceTimes
{
    std::vector<double> forward;
    std::vector<double> backward;
};

class LutOnDevice;

/// A LUT layer on the kernels of the CPU, in float32 or float64, or of a CUDA device, in float32 (operator LUT,
/// docs/lut.md). How relevance is shared among comparisons is worked out on the CPU. The layer was checked as a whole
/// when it was bound.
class LutOperator final : public Operator<TableLookup>
{
public:
    LutOperator(TensorType output, LutStructure structure, LutOperands operands);
    ~LutOperator() override;

    [[nodiscard]] std::vector<Tensor> forward(std::span<const Tensor> operands) const override;
    [[nodiscard]] Reads savedForGradient() const override;
    /// As Operator's.
    [[nodiscard]] Tensor pullback(std::span<const Tensor> s, std::span<const Tensor> operands, std::span<const Tensor>,
                                  std::size_t slot) const override;
    [[nodiscard]] double flops() const override;
    [[nodiscard]] double traffic() const override;
    [[nodiscard]] std::uint64_t workspace(Work work, std::size_t slot) const override;

    /// As TableLookup's.
    [[nodiscard]] TableRelevance distribute(const Divide& divide, std::span<const Tensor> operands, lut::TableRule rule,
                                            bool wantsDetail) const override;
    [[nodiscard]] TableChoices choices(std::span<const Tensor> operands) const override;
    [[nodiscard]] std::vector<TableBuffer> buffersAfter(std::span<const Tensor> operands, const Tensor& gradients,
                                                        lut::Pass pass, std::size_t launch) const override;
    [[nodiscard]] std::span<const lut::Anchor> anchors() const override { return m_layer.anchors; }
    [[nodiscard]] const lut::LayerShape& layerShape() const override { return m_layer.shape; }
    [[nodiscard]] lut::Path path() const override { return m_layer.path; }
    [[nodiscard]] lut::ScheduleRequest schedule(lut::Path path, lut::Pass pass) const override;

    /// Runs both passes on the current CUDA device, in float32, and measures their launches one by one. `operands`
    /// holds input, weights and codes. Errors (Engine): no device, or the layer does not fit it.
    [[nodiscard]] base::Result<LutDeviceTimes> timeOnDevice(std::span<const Tensor> operands, lut::Path path) const;

    /// Samples: all leading axes of the input together.
    [[nodiscard]] std::uint64_t batch() const { return m_batch; }

private:
    [[nodiscard]] lut::Schedule launchesOf(lut::Pass pass) const;

    LutStructure m_layer;
    LutOperands m_operands;
    std::uint64_t m_batch = 0;
    std::uint64_t m_maxForwardGroups = 0;
    std::unique_ptr<LutOnDevice> m_device; ///< none: passes run on the CPU
};

} // namespace retro::ops
