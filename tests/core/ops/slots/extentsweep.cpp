// SPDX-License-Identifier: Apache-2.0
#include "tests/core/ops/slots/extentsweep.h"

#include "core/base/failure.h"
#include "core/lrp/rules/gradientparts.h"

#include <cmath>
#include <functional>
#include <set>

namespace retro::tests
{

namespace lrp = retro::lrp;

namespace
{

constexpr int kDrawsOfExtents = 2;
constexpr std::int64_t kMany = 17; // beyond what kernels do one by one
constexpr std::int64_t kMostElements = 3000;

using Extent = std::function<std::int64_t(std::int64_t)>;

bool isFloatOperand(const Tensor& t) { return t.isValid() && tensor::isFloating(t.dtype()); }

/// Another operand of its kind; itself where it would be large.
Tensor ofShape(const Tensor& like, Shape shape, Draw& draw)
{
    if (tensor::elementCount(shape) > kMostElements) {
        return like;
    }
    if (isFloatOperand(like)) {
        return draw.tensor(std::move(shape), 0.2, 2).to(like.dtype());
    }
    return draw.integers(std::move(shape), 0, 0).to(like.dtype());
}

Shape replaced(Shape shape, const Extent& extent)
{
    std::ranges::transform(shape, shape.begin(), extent);
    return shape;
}

/// The draw with other extents of all floating operands; with `integers`, of the others that are no constants as well.
OpCase withExtents(const OpCase& drawn, const Extent& extent, bool integers, Draw& draw)
{
    OpCase made = drawn;
    for (std::size_t slot = 0; slot < drawn.operands().size(); ++slot) {
        const Tensor& t = drawn.operands()[slot];
        if (isFloatOperand(t) || (integers && t.isValid() && !drawn.isConstant(slot))) {
            made.replaceOperand(slot, ofShape(t, replaced(t.shape(), extent), draw));
        }
    }
    return made;
}

/// Everything that is tried of one draw.
std::vector<OpCase> variantsOf(const OpCase& drawn, Draw& draw)
{
    std::set<std::int64_t> extents;
    for (const Tensor& t : drawn.operands()) {
        if (t.isValid()) {
            extents.insert(t.shape().begin(), t.shape().end());
        }
    }
    std::vector<OpCase> all;
    for (const bool integers : {false, true}) {
        all.push_back(withExtents(
            drawn, [](std::int64_t) { return kMany; }, integers, draw));
        for (const std::int64_t one : extents) {
            for (const std::int64_t to : {0, 1}) {
                const auto alone = [one, to](std::int64_t e) { return e == one ? to : e; };
                const auto amongMany = [one, to](std::int64_t e) { return e == one ? to : kMany; };
                all.push_back(withExtents(drawn, alone, integers, draw));
                all.push_back(withExtents(drawn, amongMany, integers, draw));
            }
        }
    }
    for (std::size_t slot = 0; slot < drawn.operands().size(); ++slot) {
        const Tensor& t = drawn.operands()[slot];
        for (std::size_t axis = 0; t.isValid() && axis < t.rank(); ++axis) {
            for (const std::int64_t to : {std::int64_t{0}, std::int64_t{1}, kMany}) {
                Shape shape = t.shape();
                shape[axis] = to;
                all.push_back(drawn);
                all.back().replaceOperand(slot, ofShape(t, std::move(shape), draw));
            }
        }
    }
    return all;
}

bool isClose(double a, double b)
{
    return a == b || (std::isnan(a) && std::isnan(b)) || std::abs(a - b) <= 1e-4 * (1 + std::abs(b));
}

std::string differences(const std::vector<Tensor>& results, const std::vector<Tensor>& wanted)
{
    for (std::size_t k = 0; k < wanted.size(); ++k) {
        if (!wanted[k].isValid()) {
            continue;
        }
        if (!results[k].isValid() || results[k].shape() != wanted[k].shape()) {
            return fmt::format("another order in memory gives another shape of result {}", k);
        }
        for (std::int64_t i = 0; i < wanted[k].size(); ++i) {
            if (!isClose(results[k].at(i), wanted[k].at(i))) {
                return fmt::format("another order in memory gives {} for {}", results[k].at(i), wanted[k].at(i));
            }
        }
    }
    return {};
}

std::string typeFault(const OpCase& c, const std::vector<Tensor>& results)
{
    const auto& types = c.op().outputTypes();
    for (std::size_t k = 0; k < types.size(); ++k) {
        if (k >= results.size() || results[k].shape() != types[k].shape || results[k].dtype() != types[k].dtype) {
            return fmt::format("result {} is not of the declared type [{}]", k, tensor::toText(types[k].shape));
        }
    }
    return {};
}

/// The reverse rule's part of every floating operand.
std::string partFault(const OpCase& c, const std::vector<Tensor>& results)
{
    if (c.op().structure().kind() == ops::StructureKind::NoRelevance) {
        return {};
    }
    std::vector<ops::TensorType> types;
    for (const Tensor& t : c.operands()) {
        types.push_back({t.dtype(), t.shape()});
    }
    std::vector<Tensor> seeds;
    for (const Tensor& y : results) {
        seeds.push_back(isFloatOperand(y) ? Tensor::full(y.dtype(), y.shape(), 1) : Tensor());
    }
    if (std::ranges::none_of(seeds, [](const Tensor& s) { return s.isValid(); })) {
        return {};
    }
    for (std::size_t slot = 0; slot < types.size(); ++slot) {
        if (!isFloatOperand(c.operands()[slot]) || c.isConstant(slot)) {
            continue;
        }
        std::vector<std::uint8_t> tracked(types.size(), 0);
        tracked[slot] = 1;
        const Tensor part = lrp::gradientPart({c.op(), c.operands(), results, seeds, tracked, types}, slot);
        if (!part.isValid() || part.shape() != types[slot].shape) {
            return fmt::format("the part of operand {} has another shape", slot);
        }
    }
    return {};
}

/// Empty for what is refused.
std::string faultOf(OpCase c, DType type)
{
    for (std::size_t slot = 0; slot < c.operands().size(); ++slot) {
        const Tensor& t = c.operands()[slot];
        if (isFloatOperand(t)) {
            c.replaceOperand(slot, t.to(type));
        }
    }
    if (!c.bind() || !c.op().check(c.operands()).ok()) {
        return {};
    }
    for (const ops::TensorType& result : c.op().outputTypes()) {
        if (tensor::elementCount(result.shape) > kMostElements) {
            return {};
        }
    }
    const std::vector<Tensor> results = c.forward();
    std::string fault = typeFault(c, results);
    fault = fault.empty() ? partFault(c, results) : fault;
    if (!fault.empty()) {
        return fault;
    }
    for (std::size_t slot = 0; slot < c.operands().size(); ++slot) {
        if (isFloatOperand(c.operands()[slot]) && !c.isConstant(slot)) {
            c.replaceOperand(slot, inOtherOrder(c.operands()[slot]));
        }
    }
    return differences(c.forward(), results);
}

} // namespace

std::string extentFault(const Generator& generator)
{
    for (int i = 0; i < kDrawsOfExtents; ++i) {
        Draw draw(static_cast<std::uint32_t>(9000 + i));
        const OpCase drawn = generator.make(draw);
        for (const OpCase& variant : variantsOf(drawn, draw)) {
            for (const DType type : {DType::Float32, DType::Float64}) {
                std::string fault;
                const auto tried =
                    base::caughtAt([&variant] { return variant.text(); }, [&] { fault = faultOf(variant, type); });
                fault = tried.ok() ? fault : tried.error().text();
                if (!fault.empty()) {
                    return fmt::format("{} of {}: {}", variant.text(), tensor::nameOf(type), fault);
                }
            }
        }
    }
    return {};
}

} // namespace retro::tests
