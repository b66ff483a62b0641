// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "views/common/viewcontext.h"

namespace retro::tests
{

/// A small vision transformer (embedding, `layers` blocks of 19 nodes, head) with a scope per block: 46 nodes for two
/// layers. The events are those of the real traversal; sums and tensors behind the handles are made up. With `leaks`
/// the rule of every Softmax loses a tenth without a cause.
[[nodiscard]] views::RunHandle makeTransformerRun(int layers = 2, bool leaks = false);

/// Blocks of convolution, activation, convolution and a sum with what went in; no scopes. `nodes` is rounded down to
/// whole blocks.
[[nodiscard]] views::RunHandle makeResidualRun(int nodes);

/// A product of the input with itself: two edges between the same two nodes, of which the first gets twice as much.
[[nodiscard]] views::RunHandle makeSquareRun();

/// One node of that name that reads an input; no events.
[[nodiscard]] views::RunHandle makeNamedRun(const char* name);

/// x → Reshape → Relu, where the shape comes from a constant over an operator "shape"; no events. Five nodes, two of
/// which no input reaches.
[[nodiscard]] views::RunHandle makeConstantRun();

/// x → Conv in "stem/first/conv" → Relu in "stem/act", each alone in its scope and named after its operator; no events.
[[nodiscard]] views::RunHandle makeLonelyScopesRun();

/// The node of that name, which must exist.
[[nodiscard]] base::NodeId nodeNamed(const views::RunHandle& handle, const char* name);

} // namespace retro::tests
