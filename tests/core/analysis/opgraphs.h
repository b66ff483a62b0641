// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/analysis/joint.h"
#include "core/analysis/opgraph.h"

#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace retro::planningtest
{

/// A node that makes one value of its own name, as the planning vectors write graphs.
struct SimpleNode
{
    std::string name;
    std::vector<std::string> inputs;
    std::uint64_t bytes = 1;
    double cost = 1;
    std::string save = "input"; ///< input, output, both, none
};

/// The graph of such nodes; ids follow the names when `sortsByName`, else the list. Nodes named in `inputs` become
/// sources.
[[nodiscard]] base::Result<analysis::OpGraph> graphOf(std::vector<SimpleNode> nodes,
                                                      const std::vector<std::string>& inputs,
                                                      const std::vector<std::string>& outputs,
                                                      bool sortsByName = false);

/// x → n0 → n1 → …: every node of one byte, of cost 1, saving its input.
[[nodiscard]] analysis::OpGraph unitChain(std::size_t length);

/// A random graph of `count` operators behind one or two inputs: operands may repeat, sizes and costs may be 0, some
/// results are dead ends.
[[nodiscard]] analysis::OpGraph randomGraph(std::mt19937_64& random, std::size_t count);

/// The joint graph in the order of the graph.
[[nodiscard]] analysis::JointGraph jointOfGraph(const analysis::OpGraph& graph);

} // namespace retro::planningtest
