// SPDX-License-Identifier: Apache-2.0
#include "core/ops/lut/lutondevice.h"

#include "core/base/failure.h"
#include "core/ops/lut/lutlayer.h"

#include <fmt/format.h>

#include <optional>

namespace retro::ops
{

namespace
{

void expectOnDevice(const lut::Status& status)
{
    if (!status.ok()) {
        throw base::Failure(base::engineError(
            fmt::format("a LUT layer on the GPU: {}; --lut-backend cpu runs it on the CPU", status.message)));
    }
}

bool isSameMemory(const Tensor& a, const Tensor& b)
{
    return a.isValid() == b.isValid() && (!a.isValid() || a.span<float>().data() == b.span<float>().data());
}

} // namespace

lut::CudaLayer& LutOnDevice::onDevice(const Tensor& weights, const Tensor& codes)
{
    if (m_made == nullptr || !isSameMemory(weights, m_weights) || !isSameMemory(codes, m_codes)) {
        m_made.reset();
        const std::span<const float> given = codes.isValid() ? codes.span<float>() : std::span<const float>();
        std::optional<lut::Layer<float>> layer;
        expectOnDevice(lut::Layer<float>::create(descriptionOf<float>(m_layer, weights.span<float>(), given), layer));
        expectOnDevice(lut::CudaLayer::create(*layer, m_batch, m_made, {m_layer.path, lut::kScratchLimit}));
        m_weights = weights;
        m_codes = codes;
    }
    return *m_made;
}

void LutOnDevice::forward(const Tensor& input, const Tensor& weights, const Tensor& codes, std::span<float> output,
                          lut::Tape<float>* tape, std::vector<double>* seconds)
{
    const std::lock_guard lock(m_mutex);
    lut::CudaLayer& layer = onDevice(weights, codes);
    expectOnDevice(layer.forward({m_batch, input.span<float>(), output, tape}));
    if (seconds != nullptr) {
        expectOnDevice(layer.time(lut::Pass::Forward, 1, *seconds));
    }
}

void LutOnDevice::backward(const Tensor& weights, const Tensor& codes, const lut::BackwardCall<float>& call,
                           std::vector<double>* seconds)
{
    const std::lock_guard lock(m_mutex);
    lut::CudaLayer& layer = onDevice(weights, codes);
    expectOnDevice(layer.backward(call));
    if (seconds != nullptr) {
        expectOnDevice(layer.time(lut::Pass::Backward, 1, *seconds));
    }
}

void LutOnDevice::relevance(const Tensor& weights, const Tensor& codes, const lut::RelevanceCall<float>& call)
{
    const std::lock_guard lock(m_mutex);
    expectOnDevice(onDevice(weights, codes).relevance(call));
}

} // namespace retro::ops
