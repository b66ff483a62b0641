// SPDX-License-Identifier: Apache-2.0
#include "core/ops/bind/bindcheck.h"
#include "core/ops/families.h"
#include "core/ops/normalise/standardised.h"

#include <fmt/format.h>

#include <algorithm>

namespace retro::ops
{

namespace
{

using tensor::Shape;

BoundResult boundTo(const BindContext& context, StandardisedView view, std::vector<TensorType> outputs)
{
    view.operands = operandShapes(context);
    return bound<Standardised>(std::move(outputs), std::move(view));
}

/// Extents before and from `axis` on, as rows and their length.
void splitAt(const Shape& shape, std::size_t axis, reference::Standardisation& form)
{
    const auto at = shape.begin() + static_cast<std::ptrdiff_t>(axis);
    form.rows = tensor::elementCount({shape.begin(), at});
    form.length = tensor::elementCount({at, shape.end()});
}

/// Scale and bias broadcast to `target`.
base::Result<void> expectAffine(const BindContext& context, const Shape& target)
{
    for (std::size_t slot = 1; slot < context.node.inputs.size(); ++slot) {
        if (!context.present(slot)) {
            continue;
        }
        RETRO_TRY(const Shape shape, broadcastShape(context, target, context.operandTypes[slot].shape));
        if (shape != target) {
            return context.error(fmt::format("operand {} of shape [{}] does not broadcast to [{}]", slot,
                                             tensor::toText(context.operandTypes[slot].shape), tensor::toText(target)));
        }
    }
    return {};
}

/// Standardises from `axis` on; `statistics` outputs of one element per row follow.
BoundResult bindFromAxis(const BindContext& context, bool isCentred, std::size_t statistics)
{
    const TensorType& x = firstType(context);
    RETRO_TRY(const std::size_t axis, axisWithin(context, context.intAttribute("axis", -1), x.shape.size()));
    StandardisedView view;
    splitAt(x.shape, axis, view.form);
    view.form.isCentred = isCentred;
    view.form.epsilon = context.floatAttribute("epsilon", 1e-5);
    RETRO_CHECK(expectAffine(context, x.shape));
    Shape reduced = x.shape;
    std::fill(reduced.begin() + static_cast<std::ptrdiff_t>(axis), reduced.end(), 1);
    std::vector<TensorType> outputs{x};
    for (std::size_t k = 1; k < std::min(context.node.outputs.size(), statistics + 1); ++k) {
        outputs.push_back({x.dtype, reduced});
    }
    return boundTo(context, std::move(view), std::move(outputs));
}

BoundResult bindLayerNormalization(const BindContext& context)
{
    RETRO_CHECK(expect(context, OperandTypes::Floats));
    return bindFromAxis(context, true, 2);
}

BoundResult bindRmsNormalization(const BindContext& context)
{
    RETRO_CHECK(expectOneOutput(context));
    RETRO_CHECK(expect(context, OperandTypes::Floats));
    return bindFromAxis(context, false, 0);
}

/// Scale and bias have one value per `count`.
base::Result<void> expectVectors(const BindContext& context, std::int64_t count, std::string_view what)
{
    for (std::size_t slot = 1; slot < 3; ++slot) {
        if (context.operandTypes[slot].shape != Shape{count}) {
            return context.error(
                fmt::format("operand {} must have the shape [{}], one value per {}", slot, count, what));
        }
    }
    return {};
}

/// Batch × channels × at least `more` axes.
base::Result<void> expectChannels(const BindContext& context, std::size_t more)
{
    if (firstType(context).shape.size() < 2 + more) {
        return context.error(
            fmt::format("the operand needs the axes batch × channels{}", more > 0 ? " and at least one more" : ""));
    }
    return {};
}

BoundResult bindInstanceNormalization(const BindContext& context)
{
    RETRO_CHECK(expect(context, OperandTypes::Floats));
    RETRO_CHECK(expectChannels(context, 1));
    const TensorType& x = firstType(context);
    RETRO_CHECK(expectVectors(context, x.shape[1], "channel"));
    StandardisedView view;
    splitAt(x.shape, 2, view.form);
    view.form.epsilon = context.floatAttribute("epsilon", 1e-5);
    view.affine.assign(x.shape.size(), 1);
    view.affine[1] = x.shape[1];
    return boundTo(context, std::move(view), {x});
}

/// `perChannel`: scale and bias have a value per channel, as since opset 21; before, one per group.
BoundResult bindGroups(const BindContext& context, bool perChannel)
{
    RETRO_CHECK(expect(context, OperandTypes::Floats));
    RETRO_CHECK(expectChannels(context, 0));
    const TensorType& x = firstType(context);
    const std::int64_t groups = context.intAttribute("num_groups", 0);
    if (groups < 1 || x.shape[1] % groups != 0) {
        return context.error(fmt::format("num_groups is {}, which does not divide {} channels", groups, x.shape[1]));
    }
    RETRO_CHECK(expectVectors(context, perChannel ? x.shape[1] : groups, perChannel ? "channel" : "group"));
    StandardisedView view;
    view.form.rows = x.shape[0] * groups;
    view.form.length = view.form.rows == 0 ? 0 : tensor::elementCount(x.shape) / view.form.rows;
    view.form.epsilon = context.floatAttribute("epsilon", 1e-5);
    if (perChannel) {
        view.affine.assign(x.shape.size(), 1);
        view.affine[1] = x.shape[1];
    } else {
        view.shape = {x.shape[0], groups, view.form.length};
        view.affine = {1, groups, 1};
    }
    return boundTo(context, std::move(view), {x});
}
BoundResult bindGroupNormalization18(const BindContext& context) { return bindGroups(context, false); }
BoundResult bindGroupNormalization(const BindContext& context) { return bindGroups(context, true); }

BoundResult bindMeanVarianceNormalization(const BindContext& context)
{
    RETRO_CHECK(expect(context, OperandTypes::Floats));
    const TensorType& x = firstType(context);
    RETRO_TRY(const auto axes, axesWithin(context, context.intsAttribute("axes", {0, 2, 3}), x.shape.size()));
    StandardisedView view;
    view.form.length = 1;
    std::vector<std::int64_t> tail;
    for (std::size_t axis = 0; axis < x.shape.size(); ++axis) {
        const bool isReduced = std::binary_search(axes.begin(), axes.end(), axis);
        (isReduced ? view.form.length : view.form.rows) *= x.shape[axis];
        (isReduced ? tail : view.order).push_back(static_cast<std::int64_t>(axis));
    }
    view.order.insert(view.order.end(), tail.begin(), tail.end());
    view.form.epsilon = 1e-9; // fixed by the standard
    view.form.isEpsilonOnDeviation = true;
    return boundTo(context, std::move(view), {x});
}

} // namespace

const OperatorFamily kStandardisationOperators{
    {"", "LayerNormalization", 1, 16, "self-normalisation", true, bindLayerNormalization},
    {"", "LayerNormalization", 17, 0, "self-normalisation", true, bindLayerNormalization},
    {"com.microsoft", "LayerNormalization", 1, 0, "self-normalisation", true, bindLayerNormalization},
    {"", "SimplifiedLayerNormalization", 1, 0, "self-normalisation", true, bindRmsNormalization},
    {"", "RMSNormalization", 23, 0, "self-normalisation", true, bindRmsNormalization},
    {"", "InstanceNormalization", 6, 0, "self-normalisation", true, bindInstanceNormalization},
    {"", "GroupNormalization", 18, 20, "self-normalisation", true, bindGroupNormalization18},
    {"", "GroupNormalization", 21, 0, "self-normalisation", true, bindGroupNormalization},
    {"", "MeanVarianceNormalization", 9, 0, "self-normalisation", true, bindMeanVarianceNormalization},
};

} // namespace retro::ops
