// SPDX-License-Identifier: Apache-2.0
#include "core/ops/lut/lutlayer.h"
#include "kernels/lut/cuda.h"

#include <memory>
#include <optional>

namespace retro::ops
{

using tensor::DType;

namespace
{

constexpr int kRuns = 30; ///< the least of so many counts

base::Error deviceError(const lut::Status& status) { return base::engineError(status.message); }

} // namespace

base::Result<LutDeviceTimes> LutOperator::timeOnDevice(std::span<const Tensor> operands, lut::Path path) const
{
    if (const lut::Status status = lut::availability(lut::Backend::Cuda); !status.ok()) {
        return deviceError(status);
    }
    const bool hasCodes = operands.size() > kCodes && operands[kCodes].isValid();
    const Tensor x = operands[kInput].to(DType::Float32).contiguous();
    const Tensor weights = operands[kWeights].to(DType::Float32).contiguous();
    const Tensor codes = hasCodes ? operands[kCodes].to(DType::Float32).contiguous() : Tensor();
    std::optional<lut::Layer<float>> layer;
    std::unique_ptr<lut::CudaLayer> device;
    lut::Tape<float> tape;
    std::vector<float> output(m_batch * m_layer.shape.length * m_layer.shape.outputs);
    LutDeviceTimes times;
    const auto steps = {
        std::function<lut::Status()>([&] {
            const std::span<const float> given = hasCodes ? codes.span<float>() : std::span<const float>();
            return lut::Layer<float>::create(descriptionOf<float>(m_layer, weights.span<float>(), given), layer);
        }),
        std::function<lut::Status()>([&] {
            return lut::CudaLayer::create(*layer, m_batch, device, {path, lut::kScratchLimit});
        }),
        std::function<lut::Status()>([&] {
            return device->forward({m_batch, x.span<float>(), output, &tape});
        }),
        // Any gradient takes the same time.
        std::function<lut::Status()>([&] {
            return device->backward({m_batch, &tape, output, {}, {}, {}});
        }),
        std::function<lut::Status()>([&] { return device->time(lut::Pass::Forward, kRuns, times.forward); }),
        std::function<lut::Status()>([&] { return device->time(lut::Pass::Backward, kRuns, times.backward); }),
    };
    for (const auto& step : steps) {
        if (const lut::Status status = step(); !status.ok()) {
            return deviceError(status);
        }
    }
    return times;
}

} // namespace retro::ops
