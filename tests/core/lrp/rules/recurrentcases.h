// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tests/core/rewrite/graphs.h"

#include <string>
#include <utility>
#include <vector>

namespace retro::tests
{

namespace
{

/// One node with these operands as inputs and constants.
struct SingleNode
{
    std::string op;
    std::string domain;
    std::int64_t opset = 1;
    std::vector<tensor::Tensor> operands; ///< invalid: absent
    graph::Attributes attributes = {};
    std::size_t outputs = 1;
    std::size_t constantsFrom = 99;           ///< operands from this slot on are constant …
    std::vector<std::size_t> alsoInputs = {}; ///< … but for these
};

} // namespace

/// Recurrent operators with everything that is optional, and a deformable convolution, each as a node by itself.
[[nodiscard]] std::vector<std::pair<const char*, SingleNode>> recurrentCases();

} // namespace retro::tests
