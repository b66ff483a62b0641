// SPDX-License-Identifier: Apache-2.0
#include "tests/core/ops/gradientcheck/generators.h"

namespace retro::tests
{

namespace
{

constexpr std::int64_t kNewest = ops::kNewestOpset;

/// Scales or sizes for every axis.
OpCase resize(Draw& draw)
{
    OpCase c("Resize", kNewest);
    const Shape shape = draw.shape(1, 3, 6);
    const auto rank = static_cast<std::int64_t>(shape.size());
    c.operand(draw.tensor(shape));
    const auto coordinates = draw.among<std::string>({"half_pixel", "half_pixel_symmetric", "pytorch_half_pixel",
                                                      "align_corners", "asymmetric", "tf_crop_and_resize"});
    if (coordinates == "tf_crop_and_resize") {
        c.constant(draw.tensor({2 * rank}, -0.2, 1.2));
    } else {
        c.absent();
    }
    const auto mode = draw.among<std::string>({"nearest", "linear", "cubic"});
    if (draw.coin()) {
        c.constant(draw.tensor({rank}, 0.8, 2.5));
    } else {
        c.absent().constant(draw.integers({rank}, 1, 7));
        c.with("keep_aspect_ratio_policy", draw.among<std::string>({"stretch", "not_larger", "not_smaller"}));
    }
    c.with("coordinate_transformation_mode", coordinates).with("extrapolation_value", draw.number(-1, 1));
    c.with("mode", mode).with("antialias", draw.whole(0, mode == "nearest" ? 0 : 1));
    c.with("nearest_mode", draw.among<std::string>({"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"}));
    return c.with("exclude_outside", draw.whole(0, 1));
}

OpCase upsample(Draw& draw)
{
    OpCase c("Upsample", 9);
    c.operand(draw.tensor({1, 2, 3, 4})).constant(doubles({4}, {1, 1, draw.number(1, 3), draw.number(1, 3)}));
    return c.with("mode", draw.among<std::string>({"nearest", "linear"}));
}

OpCase gridSample(Draw& draw)
{
    OpCase c("GridSample", kNewest);
    const bool isVolume = draw.coin() && draw.coin();
    Shape image{draw.whole(1, 2), draw.whole(1, 2)};
    Shape grid{image[0]};
    const std::int64_t axes = isVolume ? 3 : 2;
    for (std::int64_t i = 0; i < axes; ++i) {
        image.push_back(draw.whole(2, 4));
        grid.push_back(draw.whole(1, 3));
    }
    grid.push_back(axes);
    c.operand(draw.tensor(image)).operand(draw.tensor(grid, -1.4, 1.4));
    c.with("mode", draw.among<std::string>({"linear", "linear", "nearest", "cubic"}));
    c.with("padding_mode", draw.among<std::string>({"zeros", "border", "reflection"}));
    return c.with("align_corners", draw.whole(0, 1));
}

OpCase affineGrid(Draw& draw)
{
    OpCase c("AffineGrid", kNewest);
    const std::int64_t axes = draw.whole(2, 3);
    std::vector<std::int64_t> size{draw.whole(1, 2), 1};
    for (std::int64_t i = 0; i < axes; ++i) {
        size.push_back(draw.whole(1, 4));
    }
    c.operand(draw.tensor({size[0], axes, axes + 1})).constant(ints(size));
    return c.with("align_corners", draw.whole(0, 1));
}

OpCase col2Im(Draw& draw)
{
    OpCase c("Col2Im", kNewest);
    const std::vector<std::int64_t> block{draw.whole(1, 2), draw.whole(1, 3)};
    const std::vector<std::int64_t> image{draw.whole(4, 6), draw.whole(4, 6)};
    const std::vector<std::int64_t> strides{draw.whole(1, 2), draw.whole(1, 2)};
    const std::vector<std::int64_t> pads{draw.whole(0, 1), 0, draw.whole(0, 1), 1};
    std::int64_t blocks = 1;
    for (std::size_t i = 0; i < 2; ++i) {
        blocks *= (image[i] + pads[i] + pads[2 + i] - block[i]) / strides[i] + 1;
    }
    c.operand(draw.tensor({draw.whole(1, 2), 2 * block[0] * block[1], blocks})).constant(ints(image));
    return c.constant(ints(block)).with("strides", strides).with("pads", pads);
}

OpCase centerCropPad(Draw& draw)
{
    OpCase c("CenterCropPad", kNewest);
    const Shape shape = draw.shape(2, 3, 5);
    c.operand(draw.tensor(shape)).constant(ints({draw.whole(1, 6), draw.whole(1, 6)}));
    return c.with("axes", std::vector<std::int64_t>{-1, 0});
}

OpCase roiAlign(Draw& draw)
{
    OpCase c("RoiAlign", kNewest);
    std::vector<double> rois;
    for (int i = 0; i < 2; ++i) {
        const double left = draw.number(-1, 3);
        const double top = draw.number(-1, 3);
        rois.insert(rois.end(), {left, top, left + draw.number(0.5, 4), top + draw.number(0.5, 4)});
    }
    c.operand(draw.distinct({2, 2, 5, 6})).operand(doubles({2, 4}, rois)).constant(draw.integers({2}, 0, 1));
    c.with("mode", draw.among<std::string>({"avg", "max"})).with("sampling_ratio", draw.whole(0, 2));
    c.with("coordinate_transformation_mode", draw.among<std::string>({"half_pixel", "output_half_pixel"}));
    return c.with("output_height", draw.whole(1, 3)).with("output_width", draw.whole(1, 3));
}

OpCase maxRoiPool(Draw& draw)
{
    OpCase c("MaxRoiPool", kNewest);
    const double left = draw.number(0, 3);
    const double top = draw.number(0, 3);
    c.operand(draw.distinct({2, 2, 5, 6}));
    c.constant(doubles({1, 5}, {static_cast<double>(draw.whole(0, 1)), left, top, left + 2, top + draw.number(0, 3)}));
    return c.with("pooled_shape", std::vector<std::int64_t>{draw.whole(1, 3), 2});
}

OpCase maxUnpool(Draw& draw)
{
    OpCase c("MaxUnpool", kNewest);
    std::vector<std::int64_t> places(32);
    std::iota(places.begin(), places.end(), std::int64_t{0});
    places = draw.shuffled(places);
    places.resize(8);
    c.operand(draw.tensor({1, 2, 2, 2})).constant(Tensor::of<std::int64_t>({1, 2, 2, 2}, places));
    if (draw.coin()) {
        c.constant(ints({1, 2, 5, 6}));
    }
    return c.with("kernel_shape", std::vector<std::int64_t>{2, 2}).with("strides", std::vector<std::int64_t>{2, 2});
}

OpCase lpPool(Draw& draw)
{
    OpCase c("LpPool", kNewest);
    c.operand(draw.tensor({1, 2, draw.whole(3, 6), draw.whole(3, 5)})).with("p", draw.whole(1, 3));
    c.with("kernel_shape", std::vector<std::int64_t>{draw.whole(1, 3), 2});
    c.with("strides", std::vector<std::int64_t>{draw.whole(1, 2), draw.whole(1, 2)});
    return c.with("dilations", std::vector<std::int64_t>{1, draw.whole(1, 2)}).with("ceil_mode", draw.whole(0, 1));
}

OpCase globalLpPool(Draw& draw)
{
    OpCase c("GlobalLpPool", kNewest);
    return c.operand(draw.tensor({2, 2, draw.whole(1, 4), 2})).with("p", draw.whole(1, 4));
}

OpCase dft(std::int64_t opset, Draw& draw)
{
    OpCase c("DFT", opset);
    const std::int64_t components = draw.whole(1, 2);
    c.operand(draw.tensor({2, draw.whole(1, 5), draw.whole(1, 4), components}));
    draw.coin() ? c.constant(ints({draw.whole(1, 6)}).reshaped({})) : c.absent();
    const std::int64_t axis = draw.whole(1, 2);
    opset < 20 ? c.with("axis", axis) : c.constant(ints({axis}).reshaped({}));
    const bool isOneSided = components == 1 && draw.coin();
    return c.with("onesided", std::int64_t{isOneSided ? 1 : 0}).with("inverse", isOneSided ? 0 : draw.whole(0, 1));
}

OpCase stft(Draw& draw)
{
    OpCase c("STFT", kNewest);
    const std::int64_t length = draw.whole(2, 4);
    c.operand(draw.tensor({2, draw.whole(5, 9), draw.whole(1, 2)})).constant(ints({draw.whole(1, 3)}).reshaped({}));
    draw.coin() ? c.operand(draw.tensor({length})) : c.absent();
    return c.constant(ints({length}).reshaped({})).with("onesided", draw.whole(0, 1));
}

OpCase maxPoolWithIndices(Draw& draw)
{
    OpCase c("MaxPool", kNewest);
    c.operand(draw.distinct({2, 2, draw.whole(3, 6), draw.whole(3, 5)})).outputs(2);
    c.with("dilations", std::vector<std::int64_t>{1, draw.whole(1, 2)});
    return c.with("kernel_shape", std::vector<std::int64_t>{draw.whole(2, 3), 2});
}

} // namespace

std::vector<Generator> resampleGenerators()
{
    return {
        {"Resize", resize},
        {"DFT", [](Draw& d) { return dft(17, d); }},
        {"DFT", [](Draw& d) { return dft(kNewest, d); }},
        {"STFT", stft},
        {"Upsample", upsample},
        {"GridSample", gridSample},
        {"AffineGrid", affineGrid},
        {"Col2Im", col2Im},
        {"CenterCropPad", centerCropPad},
        {"RoiAlign", roiAlign},
        {"MaxRoiPool", maxRoiPool},
        {"MaxUnpool", maxUnpool},
        {"LpPool", lpPool},
        {"GlobalLpPool", globalLpPool},
        {"MaxPool", maxPoolWithIndices},
    };
}

} // namespace retro::tests
