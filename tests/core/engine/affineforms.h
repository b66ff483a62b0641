// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tests/core/rewrite/graphs.h"

#include <array>
#include <functional>
#include <numeric>

namespace retro::tests
{

using rewrite::testing::Shape;
using rewrite::testing::SharedGraph;
using rewrite::testing::Tensor;
using rewrite::testing::ValueId;
using rewrite::testing::Writer;

/// A layer with a constant weight.
struct LayerSpec
{
    const char* op = "Conv";
    std::int64_t read = 1;
    std::int64_t made = 1;
    std::int64_t groups = 1;
    std::int64_t kernel = 1;
    std::int64_t pad = 0;
    bool isTurned = false; ///< Gemm: transB; MatMul: W·x

    [[nodiscard]] bool isPicture() const { return std::string_view(op).starts_with("Conv"); }
    [[nodiscard]] bool isTransposed() const { return std::string_view(op) == "ConvTranspose"; }
};

/// y = factor·x + shift, per channel. Powers of two and fractions of them: every way of writing it is exact.
struct ScaleAndShift
{
    std::vector<double> factor;
    std::vector<double> shift;
};

/// A network x → layer → Relu → Gemm with a scale and shift before or behind the layer, which can be written in many
/// forms. Weights and everything else follow from the seed.
class FormCase
{
public:
    /// Names of the forms.
    static constexpr std::array kForms{"BatchNormalization",
                                       "Mul, Add",
                                       "Add, Mul",
                                       "Sub, Mul, Add",
                                       "Div, Add",
                                       "Sub, Div with the shift first",
                                       "Mul, BatchNormalization",
                                       "shift − Mul",
                                       "Neg, Mul, Add",
                                       "Mul, Add, Mul",
                                       "between two Reshape",
                                       "between two Transpose",
                                       "between Unsqueeze and Squeeze",
                                       "constants of the whole shape",
                                       "Mul, then Add between two Reshape",
                                       "Flatten or Reshape of all axes"};
    static constexpr std::size_t kBatchNorm = 0;

    FormCase(const LayerSpec& layer, bool isBefore, unsigned seed)
        : m_layer(layer), m_isBefore(isBefore), m_random(seed)
    {
        const auto count = static_cast<std::size_t>(isBefore ? layer.read : layer.made);
        for (std::size_t c = 0; c < count; ++c) {
            m_affine.factor.push_back(std::ldexp(draw() < 0.3 ? -1 : 1, static_cast<int>(draw() * 5) - 2));
            m_affine.shift.push_back(std::ldexp(std::floor(draw() * 16) - 8, -3));
        }
        const std::int64_t taps = layer.isPicture() ? layer.kernel * layer.kernel : 1;
        for (std::int64_t i = 0; i < layer.made * layer.read * taps; ++i) {
            m_weights.push_back(std::ldexp(std::floor(draw() * 64) - 32, -5));
        }
        for (std::int64_t c = 0; c < layer.made; ++c) {
            m_bias.push_back(std::ldexp(std::floor(draw() * 32) - 16, -4));
        }
    }

    [[nodiscard]] Tensor input() const { return rewrite::testing::randomTensor(before(), 7); }

    /// A layer exists that holds the scale and shift in its weights.
    [[nodiscard]] bool canMerge() const
    {
        const bool isPoint = m_layer.kernel == 1;
        return !m_isBefore || (m_layer.pad == 0 && (!m_layer.isTransposed() || isPoint));
    }

    /// The layer that holds the scale and shift in its weights.
    [[nodiscard]] SharedGraph merged() const
    {
        std::vector<double> weights = m_weights;
        std::vector<double> bias = m_bias;
        const std::int64_t taps = static_cast<std::int64_t>(weights.size()) / (m_layer.made * m_layer.read);
        for (std::size_t i = 0; i < weights.size(); ++i) {
            const auto at = static_cast<std::int64_t>(i) / taps;
            const std::int64_t made = at / m_layer.read;
            const std::int64_t read = at % m_layer.read;
            const auto channel = static_cast<std::size_t>(m_isBefore ? read : made);
            if (m_isBefore && isInGroup(made, read)) {
                bias[static_cast<std::size_t>(made)] += weights[i] * m_affine.shift[channel];
            }
            weights[i] *= m_affine.factor[channel];
        }
        for (std::size_t c = 0; !m_isBefore && c < bias.size(); ++c) {
            bias[c] = bias[c] * m_affine.factor[c] + m_affine.shift[c];
        }
        Writer writer;
        return finished(writer, layer(writer, writer.input("x", before()), weights, bias));
    }

    /// The same function with scale and shift in a form; null where the layer has none such.
    [[nodiscard]] SharedGraph written(std::size_t form) const
    {
        Writer writer;
        ValueId value = writer.input("x", before());
        m_isPossible = true;
        if (m_isBefore) {
            value = scaled(writer, value, form, before(), m_layer.read);
        }
        value = layer(writer, value, m_weights, m_bias);
        if (!m_isBefore) {
            value = scaled(writer, value, form, behind(), m_layer.made);
        }
        const SharedGraph graph = finished(writer, value);
        return m_isPossible ? graph : nullptr;
    }

private:
    double draw() { return std::uniform_real_distribution<double>(0, 1)(m_random); }

    [[nodiscard]] bool isInGroup(std::int64_t made, std::int64_t read) const
    {
        return made / (m_layer.made / m_layer.groups) == read / (m_layer.read / m_layer.groups);
    }

    [[nodiscard]] std::size_t axis() const
    {
        return std::string_view(m_layer.op) == "MatMul" && !m_layer.isTurned ? 2 : 1;
    }

    [[nodiscard]] Shape shapeWith(std::int64_t channels, std::int64_t extent) const
    {
        if (m_layer.isPicture()) {
            return {1, channels, extent, extent};
        }
        if (std::string_view(m_layer.op) == "Gemm") {
            return {2, channels};
        }
        return m_layer.isTurned ? Shape{2, channels, 3} : Shape{2, 3, channels};
    }
    [[nodiscard]] Shape before() const { return shapeWith(m_layer.read, 4); }
    [[nodiscard]] Shape behind() const
    {
        const std::int64_t grown = m_layer.kernel - 1 - 2 * m_layer.pad;
        return shapeWith(m_layer.made, m_layer.isTransposed() ? 4 + grown : 4 - grown);
    }

    static Tensor floats(const Shape& shape, const std::vector<double>& numbers)
    {
        return Tensor::of<double>(shape, numbers).to(tensor::DType::Float32);
    }

    /// Weights are made × read × taps, whatever the layout is.
    ValueId layer(Writer& writer, ValueId x, const std::vector<double>& weights, const std::vector<double>& bias) const
    {
        const LayerSpec& l = m_layer;
        const std::int64_t taps = static_cast<std::int64_t>(weights.size()) / (l.made * l.read);
        const bool isReadFirst = l.isTransposed() || (!l.isPicture() && !l.isTurned);
        std::vector<double> laid;
        for (std::int64_t a = 0; a < (isReadFirst ? l.read : l.made); ++a) {
            for (std::int64_t b = 0; b < (isReadFirst ? l.made : l.read); ++b) {
                const std::int64_t made = isReadFirst ? b : a;
                const std::int64_t read = isReadFirst ? a : b;
                for (std::int64_t t = 0; isInGroup(made, read) && t < taps; ++t) {
                    laid.push_back(weights[static_cast<std::size_t>((made * l.read + read) * taps + t)]);
                }
            }
        }
        Shape shape{isReadFirst ? l.read : l.made, (isReadFirst ? l.made : l.read) / l.groups};
        rewrite::testing::Attributes attributes;
        if (l.isPicture()) {
            shape.insert(shape.end(), {l.kernel, l.kernel});
            attributes = {{"group", l.groups}, {"pads", std::vector<std::int64_t>(4, l.pad)}};
        } else if (std::string_view(l.op) == "Gemm") {
            attributes = {{"transB", std::int64_t{l.isTurned}}, {"beta", 0.5}};
        }
        const ValueId weight = writer.constant("layer.weight", floats(shape, laid));
        if (std::string_view(l.op) == "MatMul") {
            const Shape column = l.isTurned ? Shape{l.made, 1} : Shape{l.made};
            const auto operands = l.isTurned ? std::vector{weight, x} : std::vector{x, weight};
            return writer.node(
                "Add", "layer/bias",
                {writer.node("MatMul", "layer", operands), writer.constant("layer.bias", floats(column, bias))});
        }
        std::vector<double> stored = bias;
        for (double& b : stored) {
            b *= l.isPicture() ? 1 : 2; // beta
        }
        return writer.node(l.op, "layer", {x, weight, writer.constant("layer.bias", floats({l.made}, stored))},
                           attributes);
    }

    [[nodiscard]] SharedGraph finished(Writer& writer, ValueId value) const
    {
        const ValueId relu = writer.node("Relu", "relu", {value});
        const ValueId flat = writer.node("Flatten", "flat", {relu});
        const std::int64_t columns = tensor::elementCount(behind()) / behind()[0];
        const ValueId head = writer.constant("head.weight", rewrite::testing::randomTensor({3, columns}, 5));
        writer.output(writer.node("Gemm", "head", {flat, head}, {{"transB", std::int64_t{1}}}));
        return writer.finish();
    }

    using Numbers = std::vector<double>;

    [[nodiscard]] static Numbers each(const Numbers& a, const std::function<double(double)>& f)
    {
        Numbers result(a.size());
        std::transform(a.begin(), a.end(), result.begin(), f);
        return result;
    }
    [[nodiscard]] static Numbers both(const Numbers& a, const Numbers& b,
                                      const std::function<double(double, double)>& f)
    {
        Numbers result(a.size());
        std::transform(a.begin(), a.end(), b.begin(), result.begin(), f);
        return result;
    }

    /// A value with its shape and the axis of its channels, to which nodes are added.
    struct Place
    {
        Writer& writer;
        ValueId value;
        Shape shape;
        std::size_t axis = 1;
        bool isWhole = false; ///< constants have the whole shape
        int count = 0;

        std::string name(const std::string& op) { return op + std::to_string(count++); }

        Tensor constant(const Numbers& numbers) const
        {
            Shape broadcast(shape.begin() + static_cast<std::ptrdiff_t>(axis), shape.end());
            std::fill(broadcast.begin() + 1, broadcast.end(), 1);
            if (!isWhole) {
                return floats(broadcast, numbers);
            }
            const std::int64_t inner = std::accumulate(shape.begin() + static_cast<std::ptrdiff_t>(axis) + 1,
                                                       shape.end(), std::int64_t{1}, std::multiplies<>());
            Numbers all;
            for (std::int64_t i = 0; i < tensor::elementCount(shape); ++i) {
                all.push_back(numbers[static_cast<std::size_t>(i / inner % shape[axis])]);
            }
            return floats(shape, all);
        }
        void by(const std::string& op, const Numbers& numbers, bool isConstantFirst = false)
        {
            const std::string node = name(op);
            const ValueId k = writer.constant(node + ".k", constant(numbers));
            value = writer.node(op, node, isConstantFirst ? std::vector{k, value} : std::vector{value, k});
        }
        void neg() { value = writer.node("Neg", name("Neg"), {value}); }
        /// scale/√(0.75 + 0.25) · (x − mean) + b.
        void norm(const Numbers& scale, const Numbers& b)
        {
            const std::string node = name("norm");
            const auto vector = [&](const char* what, const Numbers& numbers) {
                return writer.constant(node + what, floats({static_cast<std::int64_t>(numbers.size())}, numbers));
            };
            const Numbers mean(scale.size(), 0.5);
            const Numbers shifted = both(b, scale, [](double t, double f) { return t + f * 0.5; });
            value = writer.node("BatchNormalization", node,
                                {value, vector(".scale", scale), vector(".b", shifted), vector(".mean", mean),
                                 vector(".var", Numbers(scale.size(), 0.75))},
                                {{"epsilon", 0.25}});
        }
        void reshape(const Shape& to, std::size_t channels)
        {
            const std::string node = name("Reshape");
            value = writer.node(
                "Reshape", node,
                {value, writer.constant(node + ".shape",
                                        Tensor::of<std::int64_t>({static_cast<std::int64_t>(to.size())}, to))});
            shape = to;
            axis = channels;
        }
        /// Moves an axis to another place.
        void move(std::size_t from, std::size_t to)
        {
            Shape order(shape.size());
            std::iota(order.begin(), order.end(), 0);
            order.erase(order.begin() + static_cast<std::ptrdiff_t>(from));
            order.insert(order.begin() + static_cast<std::ptrdiff_t>(to), static_cast<std::int64_t>(from));
            value = writer.node("Transpose", name("Transpose"), {value}, {{"perm", order}});
            Shape moved;
            for (const std::int64_t i : order) {
                moved.push_back(shape[static_cast<std::size_t>(i)]);
            }
            shape = moved;
            axis = to;
        }
        void squeeze(const char* op, std::int64_t at)
        {
            const std::string node = name(op);
            value = writer.node(
                op, node, {value, writer.constant(node + ".axes", Tensor::of<std::int64_t>({1}, std::vector{at}))});
        }
    };

    /// channels in front of everything behind them, as one axis each.
    static Shape grouped(const Place& place)
    {
        std::int64_t outer = 1;
        std::int64_t inner = 1;
        for (std::size_t i = 0; i < place.shape.size(); ++i) {
            outer *= i < place.axis ? place.shape[i] : 1;
            inner *= i > place.axis ? place.shape[i] : 1;
        }
        return {outer, place.shape[place.axis], inner};
    }

    ValueId scaled(Writer& writer, ValueId value, std::size_t form, const Shape& shape, std::int64_t) const
    {
        const Numbers& f = m_affine.factor;
        const Numbers& t = m_affine.shift;
        const Numbers inverse = each(f, [](double x) { return 1 / x; });
        const Numbers ratio = both(t, f, [](double a, double b) { return a / b; });
        const Numbers negative = each(f, [](double x) { return -x; });
        Place at{writer, value, shape, axis()};
        const Shape whole = shape;
        const std::size_t own = axis();
        switch (form) {
        case 0: // through axis 1, where the channels are another
            if (own != 1) {
                at.move(own, 1);
            }
            at.norm(f, t);
            if (own != 1) {
                at.move(1, own);
            }
            break;
        case 1:
            at.by("Mul", f);
            at.by("Add", t, true);
            break;
        case 2:
            at.by("Add", ratio);
            at.by("Mul", f, true);
            break;
        case 3: {
            const Numbers mean(f.size(), 0.75);
            at.by("Sub", mean);
            at.by("Mul", f);
            at.by("Add", both(t, f, [](double a, double b) { return a + b * 0.75; }));
            break;
        }
        case 4:
            at.by("Div", inverse);
            at.by("Add", t);
            break;
        case 5:
            at.by("Sub", each(ratio, [](double x) { return -x; }));
            at.by("Div", inverse);
            break;
        case 6:
            m_isPossible = own == 1;
            at.by("Mul", Numbers(f.size(), 0.5));
            at.norm(each(f, [](double x) { return 2 * x; }), t);
            break;
        case 7:
            at.by("Mul", negative);
            at.by("Sub", t, true);
            break;
        case 8:
            at.neg();
            at.by("Mul", negative);
            at.by("Add", t);
            break;
        case 9:
            at.by("Mul", each(f, [](double x) { return x / 4; }));
            at.by("Add", each(t, [](double x) { return x / 4; }));
            at.by("Mul", Numbers(f.size(), 4.0));
            break;
        case 10:
            at.reshape(grouped(at), 1);
            at.by("Mul", f);
            at.by("Add", t);
            at.reshape(whole, own);
            break;
        case 11:
            at.move(own, own == whole.size() - 1 ? 0 : whole.size() - 1);
            at.by("Mul", f);
            at.by("Add", t);
            at.move(at.axis, own);
            break;
        case 12:
            at.squeeze("Unsqueeze", 1);
            at.shape.insert(at.shape.begin() + 1, 1);
            at.axis = own + 1;
            at.by("Mul", f);
            at.by("Add", t);
            at.squeeze("Squeeze", 1);
            break;
        case 13:
            at.isWhole = true;
            at.by("Mul", f);
            at.by("Add", t);
            break;
        case 14:
            at.by("Mul", f);
            at.reshape(grouped(at), 1);
            at.by("Add", t);
            at.reshape(whole, own);
            break;
        default: { // channels split in two axes
            const Shape parts = grouped(at);
            m_isPossible = parts[1] % 2 == 0;
            at.reshape({parts[0], 2, parts[1] / 2, parts[2]}, 1);
            const auto k = [&](const Numbers& numbers) { return floats({2, parts[1] / 2, 1}, numbers); };
            at.value =
                writer.node("Mul", "split",
                            {at.value, writer.constant("split.f", k(m_isPossible ? f : Numbers(2 * (parts[1] / 2))))});
            at.value =
                writer.node("Add", "split/shift",
                            {at.value, writer.constant("split.t", k(m_isPossible ? t : Numbers(2 * (parts[1] / 2))))});
            at.reshape(whole, own);
            break;
        }
        }
        return at.value;
    }

    LayerSpec m_layer;
    bool m_isBefore;
    std::mt19937 m_random;
    ScaleAndShift m_affine;
    std::vector<double> m_weights;
    std::vector<double> m_bias;
    mutable bool m_isPossible = true;
};

} // namespace retro::tests
