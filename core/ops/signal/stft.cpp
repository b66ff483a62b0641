// SPDX-License-Identifier: Apache-2.0
#include "core/ops/algebra.h"
#include "core/ops/bind/bindcheck.h"
#include "core/ops/bind/operatorbase.h"
#include "core/ops/families.h"
#include "core/ops/kernel/filled.h"
#include "core/ops/kernel/matrixproduct.h"
#include "core/ops/signal/fouriermatrix.h"

#include <fmt/format.h>

namespace retro::ops
{

namespace
{

using tensor::Shape;

struct Frames
{
    std::int64_t batch = 1;
    std::int64_t signal = 1; ///< elements per signal
    std::int64_t count = 1;
    std::int64_t step = 1;
    FourierForm form; ///< of one frame
};

/// Fourier transforms of overlapping frames, each times a window (operand 2): linear in the signal.
class Stft final : public Operator<Differentiable>, public FourierRows
{
public:
    Stft(TensorType output, const Frames& frames)
        : Operator(std::move(output)), FourierRows(fourierMatrix(m_outputTypes[0].dtype, frames.form)), m_frames(frames)
    {}

    [[nodiscard]] std::vector<Tensor> forward(std::span<const Tensor> operands) const override
    {
        const Tensor rows = windowed(framesOf(operands[0]), operands);
        return {matrixProduct(flat(rows), m_matrix).reshaped(m_outputTypes[0].shape)};
    }
    [[nodiscard]] Reads savedForGradient() const override { return {Reads::bit(0) | Reads::bit(2), 0}; }
    [[nodiscard]] Tensor pullback(std::span<const Tensor> s, std::span<const Tensor> operands, std::span<const Tensor>,
                                  std::size_t slot) const override
    {
        const Shape spectra{m_frames.batch * m_frames.count, m_frames.form.bins * 2};
        const Tensor rows =
            matrixProduct(s[0].contiguous().reshaped(spectra), swapped(m_matrix)).reshaped(frameShape());
        if (slot == 2) {
            const Tensor products = algebra::multiply(rows, framesOf(operands[0]));
            return algebra::reduceTo(products, {m_frames.form.signal, 1}).contiguous().reshaped({m_frames.form.signal});
        }
        return overlapped(windowed(rows, operands));
    }
    [[nodiscard]] double share(std::span<const std::uint8_t>, std::size_t slot) const override
    {
        return slot == 0 ? 1 : 0;
    }

private:
    [[nodiscard]] Shape frameShape() const
    {
        return {m_frames.batch, m_frames.count, m_frames.form.signal, m_frames.form.components};
    }
    [[nodiscard]] Tensor flat(const Tensor& rows) const
    {
        return rows.contiguous().reshaped(
            {m_frames.batch * m_frames.count, m_frames.form.signal * m_frames.form.components});
    }
    /// The frames as a view with overlapping rows, made dense.
    [[nodiscard]] Tensor framesOf(const Tensor& signal) const
    {
        const Tensor x = signal.contiguous();
        const std::int64_t width = m_frames.form.components;
        return Tensor(x.dtype(), frameShape(), {m_frames.signal * width, m_frames.step * width, width, 1}, x.offset(),
                      x.storage())
            .contiguous();
    }
    static Tensor windowed(const Tensor& rows, std::span<const Tensor> operands)
    {
        if (operands.size() < 3 || !operands[2].isValid()) {
            return rows;
        }
        return algebra::multiplyBroadcast(rows, operands[2].contiguous().reshaped({operands[2].size(), 1}));
    }
    [[nodiscard]] Tensor overlapped(const Tensor& frames) const
    {
        const Tensor rows = frames.contiguous();
        const std::int64_t width = m_frames.form.components;
        const std::int64_t length = m_frames.form.signal * width;
        return accumulated(rows.dtype(), {m_frames.batch, m_frames.signal, width}, [&](auto* r) {
            const auto* in = elements(rows, r);
            for (std::int64_t frame = 0; frame < m_frames.batch * m_frames.count; ++frame) {
                auto* to = r + frame / m_frames.count * m_frames.signal * width +
                           frame % m_frames.count * m_frames.step * width;
                for (std::int64_t i = 0; i < length; ++i) {
                    to[i] += in[frame * length + i];
                }
            }
        });
    }

    Frames m_frames;
};

/// frame_length, else the length of the window.
base::Result<std::int64_t> frameLength(const BindContext& context)
{
    RETRO_TRY(const auto length, context.constantInts(3));
    if (!length.empty()) {
        return length.front();
    }
    if (context.present(2) && context.operandTypes[2].shape.size() == 1) {
        return context.operandTypes[2].shape[0];
    }
    return context.error("a frame_length or a window is needed");
}

base::Result<Frames> framesOf(const BindContext& context)
{
    const Shape& x = firstType(context).shape;
    if (!tensor::isFloating(firstType(context).dtype) || x.size() < 2 || x.size() > 3 ||
        (x.size() == 3 && x[2] != 1 && x[2] != 2)) {
        return context.error("a floating signal batch × length × 1 or 2 is needed");
    }
    RETRO_TRY(const auto step, context.constantInts(1));
    RETRO_TRY(const std::int64_t length, frameLength(context));
    Frames frames;
    frames.batch = x[0];
    frames.signal = x[1];
    frames.step = step.empty() ? 0 : step.front();
    if (frames.step < 1 || length < 1 || length > kMaxTransform || length > frames.signal) {
        return context.error(fmt::format("frames of {} elements every {} do not fit a signal of {} (at most {})",
                                         length, frames.step, frames.signal, kMaxTransform));
    }
    frames.count = (frames.signal - length) / frames.step + 1;
    const std::int64_t components = x.size() == 3 ? x[2] : 1;
    const bool isOneSided = context.intAttribute("onesided", 1) != 0 && components == 1;
    frames.form = {length, components, length, isOneSided ? length / 2 + 1 : length, false};
    return frames;
}

BoundResult bindStft(const BindContext& context)
{
    RETRO_TRY(const Frames frames, framesOf(context));
    if (context.present(2) && (context.operandTypes[2].shape != Shape{frames.form.signal} ||
                               context.operandTypes[2].dtype != firstType(context).dtype)) {
        return context.error(fmt::format("the window must be floating of shape [{}]", frames.form.signal));
    }
    Shape shape{frames.batch, frames.count, frames.form.bins, 2};
    RETRO_CHECK(expectSize(context, shape));
    return bound<Stft>(TensorType{firstType(context).dtype, std::move(shape)}, frames);
}

} // namespace

const OperatorFamily kStftOperators{
    {"", "STFT", 17, 0, "function", true, bindStft},
};

} // namespace retro::ops
