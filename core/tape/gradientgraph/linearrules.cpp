// SPDX-License-Identifier: Apache-2.0
#include "core/tape/gradientgraph/emitrule.h"

#include <array>

namespace retro::tape
{

namespace
{

using Ints = std::vector<std::int64_t>;

std::string atLeastMatrices(const EmitSite& site)
{
    const bool isVector = site.shape(0).size() < 2 || site.shape(1).size() < 2;
    return isVector ? "an operand is a vector; make it a matrix with Unsqueeze" : "";
}

EmittedParts matMul(EmitSite& site)
{
    EmittedParts parts(2);
    const tensor::Shape& a = site.shape(0);
    const tensor::Shape& b = site.shape(1);
    if (site.wants(0)) {
        const ValueId whole = site.emit.node("MatMul", {site.up(), site.emit.swapLast(site.operands[1], b.size())});
        tensor::Shape from = site.outputShape();
        from.back() = a.back();
        parts[0] = site.emit.sumTo(whole, from, a);
    }
    if (site.wants(1)) {
        const ValueId whole = site.emit.node("MatMul", {site.emit.swapLast(site.operands[0], a.size()), site.up()});
        tensor::Shape from = site.outputShape();
        from[from.size() - 2] = b[b.size() - 2];
        parts[1] = site.emit.sumTo(whole, from, b);
    }
    return parts;
}

/// α · op(a)·op(b), transposed as asked.
ValueId gemmOf(EmitSite& site, ValueId a, ValueId b, bool transposeA, bool transposeB)
{
    return site.emit.node("Gemm", {a, b},
                          {{"alpha", site.number("alpha", 1)},
                           {"transA", std::int64_t{transposeA}},
                           {"transB", std::int64_t{transposeB}}});
}

EmittedParts gemm(EmitSite& site)
{
    EmittedParts parts(site.operands.size());
    const bool a = site.integer("transA", 0) != 0;
    const bool b = site.integer("transB", 0) != 0;
    const ValueId up = site.up();
    if (site.wants(0)) {
        parts[0] = a ? gemmOf(site, site.operands[1], up, b, true) : gemmOf(site, up, site.operands[1], false, !b);
    }
    if (site.wants(1)) {
        parts[1] = b ? gemmOf(site, up, site.operands[0], true, a) : gemmOf(site, site.operands[0], up, !a, false);
    }
    if (site.wants(2)) {
        const ValueId scaled = site.emit.node("Mul", {up, site.emit.scalar(site.number("beta", 1))});
        parts[2] = site.emit.sumTo(scaled, site.outputShape(), site.shape(2));
    }
    return parts;
}

/// Geometry of a window, spelled out.
struct Window
{
    Ints kernel;
    Ints strides;
    Ints dilations;
    Ints pads;

    Window(const EmitSite& site, Ints extents) : kernel(std::move(extents))
    {
        strides = site.integers("strides", Ints(kernel.size(), 1));
        dilations = site.integers("dilations", Ints(kernel.size(), 1));
        pads = site.integers("pads", Ints(2 * kernel.size(), 0));
    }

    /// What a transposed window lacks at the end to be as large as the operand was.
    [[nodiscard]] Ints missing(const tensor::Shape& operand, const tensor::Shape& result) const
    {
        Ints missing;
        for (std::size_t i = 0; i < kernel.size(); ++i) {
            const std::int64_t covered = strides[i] * (result[i + 2] - 1) + dilations[i] * (kernel[i] - 1) + 1 -
                                         pads[i] - pads[i + kernel.size()];
            missing.push_back(operand[i + 2] - covered);
        }
        return missing;
    }

    [[nodiscard]] graph::Attributes attributes(std::int64_t group) const
    {
        return {
            {"kernel_shape", kernel}, {"strides", strides}, {"dilations", dilations}, {"pads", pads}, {"group", group}};
    }
};

Ints extentsOf(const tensor::Shape& weight) { return {weight.begin() + 2, weight.end()}; }

std::string plainWindow(const EmitSite& site)
{
    const std::string automatic = site.text("auto_pad", "NOTSET");
    return automatic == "NOTSET" || automatic.empty() ? "" : "it pads automatically; export the model with pads";
}

std::string constantWeight(const EmitSite& site)
{
    if (site.wants(1) || site.wants(2)) {
        return "its weight is computed; only constant weights have a rule here";
    }
    return plainWindow(site);
}

EmittedParts convolution(EmitSite& site)
{
    const Window window(site, extentsOf(site.shape(1)));
    graph::Attributes attributes = window.attributes(site.integer("group", 1));
    attributes["output_padding"] = window.missing(site.shape(0), site.outputShape());
    return {site.emit.node("ConvTranspose", {site.up(), site.operands[1]}, std::move(attributes)), {}, {}};
}

std::string plainTransposed(const EmitSite& site)
{
    const bool hasShape = site.node.attributes.contains("output_shape");
    return hasShape ? "it states its output shape; export the model with pads" : constantWeight(site);
}

EmittedParts transposedConvolution(EmitSite& site)
{
    const Window window(site, extentsOf(site.shape(1)));
    return {site.emit.node("Conv", {site.up(), site.operands[1]}, window.attributes(site.integer("group", 1))), {}, {}};
}

std::string constantStatistics(const EmitSite& site)
{
    const bool isComputed = site.wants(1) || site.wants(2) || site.wants(3) || site.wants(4);
    const bool isTraining = site.integer("training_mode", 0) != 0;
    return isComputed || isTraining ? "it is not in inference form; export the model for inference" : "";
}

EmittedParts batchNormalization(EmitSite& site)
{
    const ValueId epsilon = site.emit.scalar(site.number("epsilon", 1e-5));
    const ValueId deviation = site.emit.node("Sqrt", {site.emit.node("Add", {site.operands[4], epsilon})});
    const ValueId factor = site.emit.node("Div", {site.operands[1], deviation});
    tensor::Shape shape(site.shape(0).size(), 1);
    shape[1] = site.shape(0)[1];
    return {site.emit.node("Mul", {site.up(), site.emit.reshape(factor, shape)}), {}, {}, {}, {}};
}

std::string plainAverage(const EmitSite& site)
{
    const bool isPadded = site.integers("pads", {}) != Ints(site.integers("pads", {}).size(), 0);
    if (site.integer("ceil_mode", 0) != 0 || (isPadded && site.integer("count_include_pad", 0) == 0)) {
        return "its windows at the border are smaller; only windows of one size have a rule here";
    }
    return plainWindow(site);
}

EmittedParts averagePool(EmitSite& site)
{
    const Window window(site, site.integers("kernel_shape", {}));
    const std::int64_t channels = site.shape(0)[1];
    tensor::Shape weight{channels, 1};
    weight.insert(weight.end(), window.kernel.begin(), window.kernel.end());
    const double count = static_cast<double>(tensor::elementCount(window.kernel));
    graph::Attributes attributes = window.attributes(channels);
    attributes["output_padding"] = window.missing(site.shape(0), site.outputShape());
    return {site.emit.node("ConvTranspose", {site.up(), site.emit.filled(weight, 1 / count)}, std::move(attributes))};
}

std::string hasScatterAdd(const EmitSite& site)
{
    if (site.emit.opset() < 16) {
        return "its rule adds by ScatterElements, which needs opset 16; convert the model to a newer opset";
    }
    return site.integer("storage_order", 0) != 0 ? "it counts its indices by columns; export it with storage_order 0"
                                                 : "";
}

/// The winners' places come from another MaxPool; what arrived is added there.
EmittedParts maxPool(EmitSite& site)
{
    const std::vector<ValueId> pooled = site.emit.node("MaxPool", {site.operands[0]}, site.node.attributes, 2);
    const tensor::Shape flat{tensor::elementCount(site.shape(0))};
    const ValueId zeros = site.emit.filled(flat, 0);
    const ValueId sum = site.emit.node("ScatterElements",
                                       {zeros, site.emit.reshape(pooled[1], {-1}), site.emit.reshape(site.up(), {-1})},
                                       {{"axis", std::int64_t{0}}, {"reduction", std::string("add")}});
    return {site.emit.reshape(sum, site.shape(0))};
}

constexpr std::array kRules{
    EmitRule{"AveragePool", plainAverage, averagePool},
    EmitRule{"BatchNormalization", constantStatistics, batchNormalization},
    EmitRule{"Conv", constantWeight, convolution},
    EmitRule{"ConvTranspose", plainTransposed, transposedConvolution},
    EmitRule{"Gemm", never, gemm},
    EmitRule{"MatMul", atLeastMatrices, matMul},
    EmitRule{"MaxPool", hasScatterAdd, maxPool},
};

} // namespace

std::span<const EmitRule> linearRules() { return kRules; }

} // namespace retro::tape
