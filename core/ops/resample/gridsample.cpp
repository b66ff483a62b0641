// SPDX-License-Identifier: Apache-2.0
#include "core/ops/bind/bindcheck.h"
#include "core/ops/bind/choice.h"
#include "core/ops/bind/operatorbase.h"
#include "core/ops/families.h"
#include "core/ops/kernel/filled.h"
#include "core/ops/linearoperands.h"
#include "core/ops/resample/gridsampler.h"
#include "core/ops/threads.h"

#include <fmt/format.h>

#include <array>

namespace retro::ops
{

namespace
{

using tensor::Shape;

/// An image (operand 0) sampled where a grid (operand 1) says: linear in the image.
class GridSample final : public Operator<Differentiable>, public LinearOperands
{
public:
    GridSample(TensorType output, Shape image, Shape grid, GridSampler sampler)
        : Operator(std::move(output)), m_image(std::move(image)), m_grid(std::move(grid)),
          m_sampler(std::move(sampler)), m_size(tensor::elementCount({m_image.begin() + 2, m_image.end()})),
          m_samples(tensor::elementCount({m_grid.begin() + 1, m_grid.end() - 1}))
    {}

    [[nodiscard]] std::vector<Tensor> forward(std::span<const Tensor> operands) const override
    {
        const Tensor x = operands[0].contiguous();
        const Tensor grid = operands[1].contiguous();
        return {accumulated(x.dtype(), m_outputTypes[0].shape, [&](auto* y) {
            const auto* in = elements(x, y);
            forEachTap(elements(grid, y), [&](const Place& at, const SampleTap& tap) {
                y[at.result] += static_cast<std::decay_t<decltype(*y)>>(tap.weight) * in[at.image + tap.at];
            });
        })};
    }
    [[nodiscard]] bool isLinearIn(std::size_t slot) const override { return slot == 0; }
    [[nodiscard]] Reads savedForGradient() const override { return {Reads::bit(0) | Reads::bit(1), 0}; }
    [[nodiscard]] Tensor pullback(std::span<const Tensor> s, std::span<const Tensor> operands, std::span<const Tensor>,
                                  std::size_t slot) const override
    {
        const Tensor gradient = s[0].contiguous();
        const Tensor grid = operands[1].contiguous();
        const Tensor x = operands[0].contiguous();
        if (slot == 0) {
            return accumulated(gradient.dtype(), m_image, [&](auto* r) {
                const auto* g = elements(gradient, r);
                forEachTap(elements(grid, r), [&](const Place& at, const SampleTap& tap) {
                    r[at.image + tap.at] += static_cast<std::decay_t<decltype(*r)>>(tap.weight) * g[at.result];
                });
            });
        }
        return accumulated(gradient.dtype(), m_grid, [&](auto* r) {
            using T = std::decay_t<decltype(*r)>;
            const T* g = elements(gradient, r);
            const T* in = elements(x, r);
            forEachTap(elements(grid, r), [&](const Place& at, const SampleTap& tap) {
                const T product = g[at.result] * in[at.image + tap.at];
                for (std::size_t c = 0; c < m_sampler.axes(); ++c) {
                    r[at.grid + static_cast<std::int64_t>(c)] += static_cast<T>(tap.slopes[c]) * product;
                }
            });
        });
    }
    /// The grid chooses coefficients and takes no relevance.
    [[nodiscard]] double share(std::span<const std::uint8_t>, std::size_t slot) const override
    {
        return slot == 0 ? 1 : 0;
    }

private:
    /// Offsets of one sample of one channel: of the channel's image, of the result element, of the grid's coordinates.
    struct Place
    {
        std::int64_t image;
        std::int64_t result;
        std::int64_t grid;
    };

    /// Calls f(place, tap) for every element that every sample of every channel reads; the images of a batch run in
    /// parallel.
    template <class T, class F>
    void forEachTap(const T* grid, const F& f) const
    {
        const std::int64_t channels = m_image[1];
        const auto components = static_cast<std::int64_t>(m_sampler.axes());
        const auto sampleImage = [&](std::int64_t n, std::vector<SampleTap>& taps) {
            for (std::int64_t i = 0; i < m_samples; ++i) {
                const std::int64_t gridAt = (n * m_samples + i) * components;
                std::array<double, kMaxSampledAxes> coordinates{};
                for (std::size_t c = 0; c < m_sampler.axes(); ++c) {
                    coordinates[c] = static_cast<double>(grid[gridAt + static_cast<std::int64_t>(c)]);
                }
                m_sampler.tapsAt(coordinates, taps);
                for (std::int64_t plane = n * channels; plane < (n + 1) * channels; ++plane) {
                    const Place at{plane * m_size, plane * m_samples + i, gridAt};
                    std::for_each(taps.begin(), taps.end(), [&](const SampleTap& tap) { f(at, tap); });
                }
            }
        };
        parallelFor(m_image[0], 1, [&](std::int64_t begin, std::int64_t end) {
            std::vector<SampleTap> taps;
            for (std::int64_t n = begin; n < end; ++n) {
                sampleImage(n, taps);
            }
        });
    }

    Shape m_image;
    Shape m_grid;
    GridSampler m_sampler;
    std::int64_t m_size;
    std::int64_t m_samples;
};

base::Result<void> expectGrid(const BindContext& context)
{
    const Shape& x = context.operandTypes[0].shape;
    const Shape& grid = context.operandTypes[1].shape;
    if (x.size() < 3 || x.size() > 2 + kMaxSampledAxes || grid.size() != x.size() || grid[0] != x[0] ||
        grid.back() != static_cast<std::int64_t>(x.size() - 2)) {
        return context.error("an image batch × channels × one to three axes and a grid batch × positions × one "
                             "coordinate per axis are needed");
    }
    if (std::find(x.begin() + 2, x.end(), 0) != x.end()) {
        return context.error("an image without elements cannot be sampled");
    }
    return {};
}

BoundResult bindGridSample(const BindContext& context)
{
    RETRO_CHECK(expect(
        context,
        {.least = 2, .most = 2, .types = OperandTypes::Floats, .attributes = {{"align_corners", AttributeKind::Int}}}));
    RETRO_CHECK(expectGrid(context));
    RETRO_TRY(const auto mode, choice<GridInterpolation>(context, "mode", "linear",
                                                         {{"linear", GridInterpolation::Linear},
                                                          {"bilinear", GridInterpolation::Linear},
                                                          {"nearest", GridInterpolation::Nearest},
                                                          {"cubic", GridInterpolation::Cubic},
                                                          {"bicubic", GridInterpolation::Cubic}}));
    RETRO_TRY(const auto padding, choice<GridPadding>(context, "padding_mode", "zeros",
                                                      {{"zeros", GridPadding::Zeros},
                                                       {"border", GridPadding::Border},
                                                       {"reflection", GridPadding::Reflection}}));
    const Shape& x = firstType(context).shape;
    const Shape& grid = context.operandTypes[1].shape;
    Shape shape{x[0], x[1]};
    shape.insert(shape.end(), grid.begin() + 1, grid.end() - 1);
    RETRO_CHECK(expectSize(context, shape));
    GridSampler sampler({x.begin() + 2, x.end()}, mode, padding, context.intAttribute("align_corners", 0) != 0);
    return bound<GridSample>(TensorType{firstType(context).dtype, std::move(shape)}, x, grid, std::move(sampler));
}

} // namespace

std::span<const OperatorDeclaration> gridSampleDeclarations()
{
    static constexpr std::array kDeclarations{
        OperatorDeclaration{"", "GridSample", 16, 0, "function", true, bindGridSample},
    };
    return kDeclarations;
}

} // namespace retro::ops
