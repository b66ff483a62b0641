// SPDX-License-Identifier: Apache-2.0
#include "core/rewrite/nanguard.h"

#include "core/rewrite/attributes.h"

namespace retro::rewrite
{

using graph::Node;

namespace
{

bool isAllZero(const tensor::Tensor& data)
{
    for (std::int64_t i = 0; i < data.size(); ++i) {
        if (data.at(i) != 0) {
            return false;
        }
    }
    return true;
}

/// The shape of `data` is the declared one of `value`.
bool isShapedLike(const Draft& draft, const tensor::Tensor& data, ValueId value)
{
    const auto& shape = draft.value(value).shape;
    if (!shape || shape->size() != data.rank()) {
        return false;
    }
    for (std::size_t i = 0; i < shape->size(); ++i) {
        if ((*shape)[i].extent != data.shape()[i]) {
            return false;
        }
    }
    return true;
}

/// One zero, or zeros of the shape of `like`: constant, or ConstantOfShape(Shape(like)).
bool isZero(Pattern& pattern, ValueId value, ValueId like)
{
    const Draft& draft = pattern.draft();
    if (draft.isConstant(value)) {
        const tensor::Tensor& data = draft.value(value).constant;
        return pattern.scalar(value) == 0.0 || (isShapedLike(draft, data, like) && isAllZero(data));
    }
    const Node* zeros = pattern.maker(value, "ConstantOfShape");
    const Node* shape = zeros == nullptr ? nullptr : pattern.maker(zeros->inputs[0], "Shape");
    if (shape == nullptr || shape->inputs[0] != like || shape->attributes.contains("start") ||
        shape->attributes.contains("end")) {
        return false;
    }
    const auto fill = attributeOr<tensor::Tensor>(*zeros, "value", {});
    return !fill.isValid() || isAllZero(fill);
}

} // namespace

const Node* softmaxBehindGuard(Pattern& pattern, ValueId probabilities)
{
    const Node* where = pattern.maker(probabilities, "Where");
    if (where == nullptr) {
        return pattern.maker(probabilities, "Softmax");
    }
    const ValueId own = where->inputs[2];
    const ValueId zero = where->inputs[1];
    const Node* isNan = pattern.maker(where->inputs[0], "IsNaN");
    const bool isGuard = isNan != nullptr && isNan->inputs[0] == own && isZero(pattern, zero, own);
    return isGuard ? pattern.maker(own, "Softmax") : nullptr;
}

} // namespace retro::rewrite
