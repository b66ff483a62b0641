// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/engine/model/loadmodel.h"
#include "tests/core/rewrite/graphs.h"

#include <cstdint>
#include <utility>

namespace retro::tests
{

/// The graph as it is.
inline engine::LoadedModel modelOf(rewrite::testing::SharedGraph graph)
{
    engine::LoadedModel model;
    model.rewritten = rewrite::rewrite(std::move(graph), rewrite::noRewrites()).value();
    return model;
}

/// A Scan between operators that read it: h ← tanh(h·W + x_t) · h + h, over `count` rounds. Inputs `first` (1, 4) and
/// `sequence` (count, 1, 4); with `isScored` the output goes through a Sigmoid.
inline engine::LoadedModel loopModel(std::int64_t count, bool isScored)
{
    using rewrite::testing::ValueId;
    using rewrite::testing::Writer;
    Writer inner;
    const ValueId h = inner.input("h", {1, 4});
    const ValueId x = inner.input("xt", {1, 4});
    const auto weight = inner.constant("W", rewrite::testing::randomTensor({4, 4}, 1));
    const ValueId product = inner.node("MatMul", "product", {h, weight});
    const ValueId bent = inner.node("Tanh", "bend", {inner.node("Add", "plus", {product, x})});
    inner.output(inner.node("Add", "next", {inner.node("Mul", "gate", {bent, h}), h}));
    Writer w;
    const ValueId first = w.input("first", {1, 4});
    const ValueId sequence = w.input("sequence", {count, 1, 4});
    const ValueId state = w.node("Exp", "start", {first});
    const ValueId whole = w.node("Tanh", "signal", {sequence});
    const ValueId last = w.node("Scan", "steps", {state, whole},
                                {{"body", graph::Subgraph{inner.finish(), 0}}, {"num_scan_inputs", std::int64_t{1}}});
    w.output(isScored ? w.node("Sigmoid", "score", {last}) : last);
    return modelOf(w.finish());
}

} // namespace retro::tests
