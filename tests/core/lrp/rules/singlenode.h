// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tests/core/rewrite/graphs.h"

#include <string>
#include <vector>

namespace retro::tests
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

} // namespace retro::tests
