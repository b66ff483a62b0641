// SPDX-License-Identifier: Apache-2.0
// DeformConv as what its taps read, then a linear layer at every window. Where they read (offsets) and how much of it
// (mask) steers and carries no relevance: the signal takes all.
#include "core/graph/attributes.h"
#include "core/rewrite/body/bodybuilder.h"

namespace retro::rewrite
{

namespace
{

struct DeformSlot
{
    enum : std::size_t { kImage, kWeight, kOffset, kBias, kMask };
};

ValueId sampled(BodyBuilder& body)
{
    std::vector<ValueId> inputs{body.operand(DeformSlot::kImage),
                                body.detached(body.operand(DeformSlot::kOffset), "offsets")};
    if (body.isGiven(DeformSlot::kMask)) {
        inputs.push_back(body.detached(body.operand(DeformSlot::kMask), "mask"));
    }
    const Shape& weight = body.shapeOf(DeformSlot::kWeight);
    graph::Attributes attributes = body.node().attributes;
    attributes.erase("group");
    attributes["kernel_shape"] = std::vector<std::int64_t>{weight[2], weight[3]};
    return body.addOf("retrograde", "DeformSample", "samples", std::move(inputs), std::move(attributes));
}

} // namespace

base::Result<FunctionBody> deformConvolutionBody(BodyBuilder body)
{
    const Shape& own = body.shapeOf(DeformSlot::kWeight);
    const Shape flat{own[0], own[1] * own[2] * own[3], 1, 1};
    const tensor::Tensor& constant = body.given(DeformSlot::kWeight).constant;
    const ValueId weights = constant.isValid() ? body.constant("weights", constant.contiguous().reshaped(flat))
                                               : body.reshape("weights", body.operand(DeformSlot::kWeight), flat);
    std::vector<ValueId> inputs{sampled(body), weights};
    if (body.isGiven(DeformSlot::kBias)) {
        inputs.push_back(body.operand(DeformSlot::kBias));
    }
    body.output(0, body.add("Conv", "result", std::move(inputs),
                            {{"group", body.attribute("group", std::int64_t{1})},
                             {"kernel_shape", std::vector<std::int64_t>{1, 1}}}));
    return std::move(body).finish();
}

} // namespace retro::rewrite
