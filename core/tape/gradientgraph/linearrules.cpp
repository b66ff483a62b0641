// SPDX-License-Identifier: Apache-2.0
#include "core/tape/gradientgraph/emitrule.h"

namespace retro::tape
{

namespace
{

/// A vector on the left is a row, one on the right a column.
tensor::Shape asMatrix(const tensor::Shape& shape, bool isLeft)
{
    if (shape.size() > 1) {
        return shape;
    }
    return isLeft ? tensor::Shape{1, shape[0]} : tensor::Shape{shape[0], 1};
}

/// Of the product of both as matrices.
tensor::Shape productShape(const EmitSite& site)
{
    tensor::Shape made = site.outputShape();
    if (site.shape(0).size() < 2) {
        made.insert(made.end() - (site.shape(1).size() < 2 ? 0 : 1), 1);
    }
    if (site.shape(1).size() < 2) {
        made.push_back(1);
    }
    return made;
}

EmittedParts matMul(EmitSite& site)
{
    EmittedParts parts(2);
    const tensor::Shape a = asMatrix(site.shape(0), true);
    const tensor::Shape b = asMatrix(site.shape(1), false);
    const auto wide = [&site](std::size_t slot, const tensor::Shape& shape) {
        return shape == site.shape(slot) ? site.operands[slot] : site.emit.reshape(site.operands[slot], shape);
    };
    const tensor::Shape made = productShape(site);
    const ValueId up = made == site.outputShape() ? site.up() : site.emit.reshape(site.up(), made);
    const auto narrow = [&site](ValueId part, const tensor::Shape& from, const tensor::Shape& to, std::size_t slot) {
        const ValueId sum = site.emit.sumTo(part, from, to);
        return to == site.shape(slot) ? sum : site.emit.reshape(sum, site.shape(slot));
    };
    if (site.wants(0)) {
        const ValueId whole = site.emit.node("MatMul", {up, site.emit.swapLast(wide(1, b), b.size())});
        tensor::Shape from = made;
        from.back() = a.back();
        parts[0] = narrow(whole, from, a, 0);
    }
    if (site.wants(1)) {
        const ValueId whole = site.emit.node("MatMul", {site.emit.swapLast(wide(0, a), a.size()), up});
        tensor::Shape from = made;
        from[from.size() - 2] = b[b.size() - 2];
        parts[1] = narrow(whole, from, b, 1);
    }
    return parts;
}

/// No operand is a vector.
bool areMatrices(const EmitSite& site) { return site.shape(0).size() > 1 && site.shape(1).size() > 1; }

/// α · op(a)·op(b), transposed as asked. Before operator set 11 the third operand had to be there.
ValueId gemmOf(EmitSite& site, ValueId a, ValueId b, bool transposeA, bool transposeB)
{
    std::vector<ValueId> inputs{a, b};
    if (site.emit.opset() < 11) {
        inputs.push_back(site.emit.scalar(0));
    }
    return site.emit.node("Gemm", std::move(inputs),
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

std::string atInference(const EmitSite& site)
{
    return site.integer("training_mode", 0) != 0 ? "it is not in inference form; export the model for inference" : "";
}

/// With x̂ = (x − mean) / σ, σ = √(variance + ε), sums over all axes but the channels.
EmittedParts batchNormalization(EmitSite& site)
{
    Emitter& emit = site.emit;
    const std::int64_t channels = site.shape(0)[1];
    tensor::Shape shape(site.shape(0).size(), 1);
    shape[1] = channels;
    const ValueId epsilon = emit.scalar(site.number("epsilon", 1e-5));
    const ValueId stable = emit.node("Add", {site.operands[4], epsilon});
    const ValueId deviation = emit.node("Sqrt", {stable});
    const ValueId factor = emit.node("Div", {site.operands[1], deviation});
    const auto total = [&](ValueId value) {
        return emit.reshape(emit.sumTo(value, site.outputShape(), shape), {channels});
    };
    EmittedParts parts(5);
    if (site.wants(0)) {
        parts[0] = emit.node("Mul", {site.up(), emit.reshape(factor, shape)});
    }
    if (site.wants(2)) {
        parts[2] = total(site.up());
    }
    if (site.wants(3)) {
        parts[3] = emit.node("Neg", {emit.node("Mul", {factor, total(site.up())})});
    }
    if (site.wants(1) || site.wants(4)) {
        const ValueId centred = emit.node("Sub", {site.operands[0], emit.reshape(site.operands[3], shape)});
        const ValueId unit = emit.node("Div", {total(emit.node("Mul", {site.up(), centred})), deviation});
        parts[1] = unit;
        const ValueId half = emit.node("Mul", {emit.scalar(-0.5), emit.node("Div", {factor, deviation})});
        parts[4] = site.wants(4) ? emit.node("Mul", {half, unit}) : ValueId();
    }
    return parts;
}

} // namespace

const EmitRules kLinearRules{
    {"BatchNormalization", atInference, batchNormalization},
    {"Gemm", never, gemm, kAllSlots, always},
    {"MatMul", never, matMul, kAllSlots, areMatrices},
};

} // namespace retro::tape
